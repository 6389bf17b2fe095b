package linking

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
)

// deprecatedOutput warns about the use of a deprecated output value in an expression, once for each such value.
// Terraform tracks such values during evaluation; here they are found by references.
func (l *linker) deprecatedOutput(of any, t hcl.Traversal, ref addr.Reference) {
	child := l.u.Calls[ref.Name]
	if child == nil || l.judging || quiet(l.u.Module) {
		return
	}
	name := ref.Output
	switch ref.Kind {
	case addr.RefOutput:
	case addr.RefModule:
		name = outputOfKey(of, t)
	default:
		return
	}
	o := child.Module.Outputs[name]
	if o == nil || o.DeprecatedRange == nil {
		return
	}
	origin := child.Module.Path.String() + "." + name
	warning := diag.List(nil).Warnf(usePlace(of, t.SourceRange()), "Deprecated value used",
		"%s\n\nThe deprecation originates from %s.", o.Deprecated, origin)[0]
	warning.Extra = diag.Deprecation{Origin: origin, Remote: child.Module.FromElsewhere()}
	if l.s.Kind == SlotResource {
		warning.Address = l.s.ConfigAddr().String()
	}
	if !slices.ContainsFunc(l.s.warnings, func(d *diag.Diagnostic) bool {
		return d.Summary == warning.Summary && d.Detail == warning.Detail && *d.Subject == *warning.Subject
	}) {
		l.s.warnings = append(l.s.warnings, warning)
	}
}

// outputOfKey returns the name of the output value in module.NAME[KEY].OUTPUT, of which t is the first part because the
// key is an expression, or "" for other references to a module.
func outputOfKey(of any, t hcl.Traversal) (name string) {
	e := argumentAt(of, t.SourceRange())
	node, ok := e.(hclsyntax.Node)
	if !ok {
		return ""
	}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		member, ok := n.(*hclsyntax.RelativeTraversalExpr)
		if !ok || len(member.Traversal) == 0 {
			return nil
		}
		index, ok := member.Source.(*hclsyntax.IndexExpr)
		if !ok || index.Collection.Range() != t.SourceRange() {
			return nil
		}
		if output, ok := member.Traversal[0].(hcl.TraverseAttr); ok {
			name = output.Name
		}
		return nil
	})
	return name
}

// quiet reports whether a module call suppresses warnings about deprecated values in a module.
func quiet(m *config.Module) bool {
	for ; m != nil && m.Call != nil; m = m.Parent {
		if m.Call.IgnoreNestedDeprecations {
			return true
		}
	}
	return false
}

// usePlace returns the source range for a reference: the whole expression or, in a body, the element of the argument.
func usePlace(of any, at hcl.Range) *hcl.Range {
	e := argumentAt(of, at)
	switch _, whole := of.(hcl.Expression); {
	case e == nil:
		return &at
	case whole:
		return e.Range().Ptr()
	}
	return element(e, at).Range().Ptr()
}

// argumentAt returns the expression with a reference: of itself or, in a body, its argument there, or nil.
func argumentAt(of any, at hcl.Range) hcl.Expression {
	switch of := of.(type) {
	case hcl.Expression:
		return of
	case *blocks.Body:
		return of.ArgumentAt(at)
	}
	return nil
}

// element returns the element of nested lists and objects that contains a range.
func element(e hcl.Expression, at hcl.Range) hcl.Expression {
	var parts []hclsyntax.Expression
	switch e := e.(type) {
	case *hclsyntax.TupleConsExpr:
		parts = e.Exprs
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			parts = append(parts, item.ValueExpr)
		}
	}
	for _, part := range parts {
		if part.Range().Overlaps(at) {
			return element(part, at)
		}
	}
	return e
}

// deprecatedArgument warns about an argument for a deprecated variable of the module m.
func (s *Slot) deprecatedArgument(m *config.Module) {
	v := s.Variable
	if v.DeprecatedRange == nil || s.Arg == nil {
		return
	}
	if given, diags := s.Arg.Value(nil); !diags.HasErrors() && given.IsNull() {
		return
	}
	s.warnings = append(s.warnings, &diag.Diagnostic{Severity: diag.Warning, Subject: s.Arg.Range().Ptr(),
		Summary: "Deprecated variable got a value", Detail: v.Deprecated,
		Extra: diag.Deprecation{Remote: m.FromElsewhere()}})
}

// deprecatedRootOutputs reports deprecations of root outputs: no configuration would see them.
func deprecatedRootOutputs(root *config.Module) (diags diag.List) {
	if root.DeprecatesRootOutputs() {
		return nil
	}
	for _, o := range root.SortedOutputs() {
		if o.DeprecatedRange != nil {
			diags = diags.Errorf(o.DeprecatedRange, "Root module output deprecated", "The output value %q of the "+
				"root module cannot be deprecated, because no module can use it. Remove the argument.", o.Name)
		}
	}
	return diags
}
