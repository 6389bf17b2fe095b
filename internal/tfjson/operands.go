package tfjson

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// Properties of a diagnostic that its Extra may have. Hidden values are only listed if they are the cause.
type (
	causedByUnknown   interface{ DiagnosticCausedByUnknown() bool }
	causedBySensitive interface{ DiagnosticCausedBySensitive() bool }
	unwrapper         interface{ UnwrapDiagnosticExtra() any }
)

// extra returns a value in the chain of a diagnostic's Extra.
func extra[T any](d *diag.Diagnostic) (T, bool) {
	at := d.Extra
	for at != nil {
		if t, ok := at.(T); ok {
			return t, true
		}
		u, ok := at.(unwrapper)
		if !ok {
			break
		}
		at = u.UnwrapDiagnosticExtra()
	}
	var zero T
	return zero, false
}

// operands returns the values of the expression's operands, and the function that it called.
func (s *Snippet) operands(d *diag.Diagnostic) {
	if call, ok := extra[hclsyntax.FunctionCallDiagExtra](d); ok && call.CalledFunctionName() != "" {
		s.FunctionCall = functionCall(call.CalledFunctionName(), d.EvalContext)
	}
	if d.Expression == nil || d.EvalContext == nil {
		return
	}
	unknown, sensitive := false, false
	if c, ok := extra[causedByUnknown](d); ok {
		unknown = c.DiagnosticCausedByUnknown()
	}
	if c, ok := extra[causedBySensitive](d); ok {
		sensitive = c.DiagnosticCausedBySensitive()
	}
	seen := map[string]bool{}
	for _, t := range d.Expression.Variables() {
		// The longest part of the traversal that has a value is shown.
		for ; len(t) > 1; t = t[:len(t)-1] {
			v, diags := t.TraverseAbs(d.EvalContext)
			if diags.HasErrors() {
				continue
			}
			name := traversal(t)
			if seen[name] {
				break
			}
			seen[name] = true
			if statement := statementOf(v, unknown, sensitive); statement != "" {
				if d.Redact != nil {
					statement = d.Redact(statement)
				}
				s.Values = append(s.Values, SnippetValue{Traversal: name, Statement: statement})
			}
			break
		}
	}
	slices.SortFunc(s.Values, func(a, b SnippetValue) int { return strings.Compare(a.Traversal, b.Traversal) })
}

// statementOf returns a description of a value, or "" if that would not help.
func statementOf(v cty.Value, unknown, sensitive bool) string {
	switch {
	case value.IsSensitive(v) && sensitive:
		return "has a sensitive value"
	case value.IsSensitive(v):
		return ""
	case value.IsEphemeral(v):
		return "has an ephemeral value"
	case v.IsMarked() && sensitive: // an element of a secret value
		return "has a sensitive value"
	case v.IsMarked():
		return ""
	}
	v, _ = v.Unmark()
	if v.IsKnown() {
		return "is " + brief(v)
	}
	ty := v.Type()
	switch {
	case ty == cty.DynamicPseudoType && unknown:
		return "will be known only after apply"
	case ty == cty.DynamicPseudoType:
		return ""
	case unknown:
		return "is a " + ty.FriendlyName() + ", known only after apply"
	}
	return "is a " + ty.FriendlyName()
}

// brief describes a known value in a few words: scalars by their value, collections by their size.
func brief(v cty.Value) string {
	if v.IsNull() {
		return "null"
	}
	ty := v.Type()
	switch {
	case ty == cty.Bool:
		return strconv.FormatBool(v.True())
	case ty == cty.Number:
		return v.AsBigFloat().Text('g', 10)
	case ty == cty.String:
		return strconv.Quote(v.AsString())
	case ty.IsObjectType():
		names := members(v)
		switch len(names) {
		case 0:
			return "object with no attributes"
		case 1:
			return fmt.Sprintf("object with 1 attribute %q", names[0])
		}
		return fmt.Sprintf("object with %d attributes", len(names))
	case isSequence(ty) || ty.IsMapType():
		what := ty.FriendlyName()
		if ty.IsTupleType() {
			what = "tuple"
		}
		switch n := v.LengthInt(); n {
		case 0:
			return "empty " + what
		case 1:
			return what + " with 1 element"
		default:
			return fmt.Sprintf("%s with %d elements", what, n)
		}
	}
	return ty.FriendlyName()
}

func traversal(t hcl.Traversal) string {
	if root, ok := t[0].(hcl.TraverseRoot); ok {
		return root.Name + steps(t[1:])
	}
	return steps(t)
}

// functionCall describes a function that was in scope.
func functionCall(name string, ctx *hcl.EvalContext) *SnippetFunCall {
	short := name
	if i := strings.LastIndex(name, "::"); i >= 0 {
		short = name[i+2:]
	}
	out := &SnippetFunCall{CalledAs: name}
	for ; ctx != nil; ctx = ctx.Parent() {
		if f, ok := ctx.Functions[name]; ok {
			out.Signature = signature(short, f)
			break
		}
	}
	return out
}

func signature(name string, f function.Function) *FuncSignature {
	s := &FuncSignature{Name: name, Params: []FuncParam{}, ReturnType: typeJSON(cty.DynamicPseudoType)}
	var args []cty.Type
	for _, p := range f.Params() {
		s.Params = append(s.Params, FuncParam{Name: p.Name, Type: typeJSON(p.Type)})
		args = append(args, p.Type)
	}
	if p := f.VarParam(); p != nil {
		s.VariadicParam = &FuncParam{Name: p.Name, Type: typeJSON(p.Type)}
		args = append(args, p.Type)
	}
	if ty, err := f.ReturnType(args); err == nil {
		s.ReturnType = typeJSON(ty)
	}
	return s
}
