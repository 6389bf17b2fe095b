package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// In files that only Tombolo reads (*.tombolo), moved blocks may have for_each and keys that are expressions, and
// removed blocks may have instance keys. They are evaluated early, like sources of modules, and become equivalent
// static blocks, so that later stages do not distinguish them.

const onlyOwn = " This is possible in files whose names end in \".tombolo\", which other tools do not read."

// refactoring is a moved or removed block whose addresses have to be evaluated.
type refactoring struct {
	kind    string         // "moved" or "removed"
	forEach hcl.Expression // nil if not set
	ends    []hcl.Expression
	rng     hcl.Range
	// done receives the addresses of one instance of the block.
	done func(m *Module, ends []Endpoint) diag.List
}

// isDynamic reports whether an address has keys that are not literals. An expression that is not an address is reported
// when it is decoded as a static one.
func isDynamic(e hcl.Expression) bool {
	if isJSON(e) {
		unquoted, diags := unquote(e, "references")
		if diags.HasErrors() {
			return false
		}
		e = unquoted
	}
	_, dynamic, ok := addressSteps(e)
	return dynamic && ok
}

// refusedArgument returns the error for an argument that other tools do not support, in a file that they read.
func refusedArgument(attr *hcl.Attribute) diag.List {
	return diag.List{}.Errorf(&attr.NameRange, "Unsupported argument",
		"An argument named %q is not expected here.%s", attr.Name, onlyOwn)
}

// refusedKeys returns the problems of an address: a single one if it has keys that are not literals.
func refusedKeys(e hcl.Expression, kind string, wrong diag.List) diag.List {
	if !isDynamic(e) {
		return wrong
	}
	return diag.List{}.Errorf(e.Range().Ptr(), wrong[0].Summary, "The keys in the address of a %s block must be "+
		"literals, such as [0] or [\"a\"]; other expressions need a file of their own.%s", kind, onlyOwn)
}

// refactor evaluates the moved and removed blocks of a module that need it.
func (m *Module) refactor() (diags diag.List) {
	for _, r := range m.refactorings {
		diags = diags.Extend(m.constants.refactor(r))
	}
	return diags
}

func (k *constants) refactor(r *refactoring) diag.List {
	if r.forEach == nil {
		return k.refactorOnce(r)
	}
	what := fmt.Sprintf("argument \"for_each\" of a %s block", r.kind)
	v, diags := k.known(r.forEach, r.kind+" for_each", what)
	if diags.HasErrors() || !v.IsKnown() {
		return diags
	}
	switch t := v.Type(); {
	case v.IsNull(), !t.IsMapType() && !t.IsObjectType() && !(t.IsSetType() && t.ElementType() == cty.String):
		return diags.Errorf(r.forEach.Range().Ptr(), "Invalid for_each argument", "The %s must be a map, an object "+
			"or a set of strings, but this is %s.", what, shownType(v))
	}
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if v.Type().IsSetType() {
			key = value
		}
		if key.IsNull() {
			return diags.Errorf(r.forEach.Range().Ptr(), "Invalid for_each argument", "The %s must not have null as "+
				"an element.", what)
		}
		one := *k
		one.more = map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
		diags = diags.Extend(one.refactorOnce(r))
	}
	return diags
}

func shownType(v cty.Value) string {
	if v.IsNull() {
		return "null"
	}
	return v.Type().FriendlyName()
}

func (k *constants) refactorOnce(r *refactoring) (diags diag.List) {
	ends := make([]Endpoint, len(r.ends))
	for i, e := range r.ends {
		shown := e.Range()
		if isJSON(e) {
			var more diag.List
			if e, more = unquote(e, "references"); more.HasErrors() {
				return diags.Extend(more)
			}
		}
		steps, ok, more := k.address(e, r.kind)
		if diags = diags.Extend(more); more.HasErrors() || !ok {
			return diags
		}
		target, more := decodeAddress(steps)
		if diags = diags.Extend(more); more.HasErrors() {
			return diags
		}
		ends[i] = Endpoint{Target: target, Range: shown}
	}
	return diags.Extend(r.done(k.m, ends))
}

// address evaluates the keys of an address; ok is false if a key is unknown because of a problem that is reported
// elsewhere.
func (k *constants) address(e hcl.Expression, kind string) (steps hcl.Traversal, ok bool, diags diag.List) {
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return append(hcl.Traversal(nil), e.Traversal...), true, nil
	case *hclsyntax.ParenthesesExpr:
		return k.address(e.Expression, kind)
	case *hclsyntax.RelativeTraversalExpr:
		steps, ok, diags = k.address(e.Source, kind)
		return append(steps, e.Traversal...), ok, diags
	case *hclsyntax.IndexExpr:
		if steps, ok, diags = k.address(e.Collection, kind); diags.HasErrors() || !ok {
			return nil, ok, diags
		}
		key, more := k.known(e.Key, kind+" address", fmt.Sprintf("key in the address of a %s block", kind))
		if diags = diags.Extend(more); more.HasErrors() || !key.IsKnown() {
			return nil, false, diags
		}
		key, err := keyValue(key)
		if err != nil {
			return nil, false, diags.Errorf(e.Key.Range().Ptr(), "Invalid address",
				"This cannot be the key of an instance: %s.", err)
		}
		return append(steps, hcl.TraverseIndex{Key: key, SrcRange: e.Key.Range()}), true, diags
	}
	return nil, false, diags.Errorf(e.Range().Ptr(), "Invalid expression", "The address of a %s block must be that of "+
		"a resource or module, such as terraform_data.a[each.key].", kind)
}

// keyValue converts a value to that of a key: a string or a whole number.
func keyValue(v cty.Value) (cty.Value, error) {
	if v.Type() == cty.Bool {
		v, _ = ctyfast.Convert(v, cty.String)
	}
	_, err := addr.KeyFromValue(v)
	return v, err
}

// hasKeys reports whether an address has instance keys.
func hasKeys(e hcl.Expression) bool {
	if isJSON(e) {
		unquoted, diags := unquote(e, "references")
		if diags.HasErrors() {
			return false
		}
		e = unquoted
	}
	steps, dynamic, ok := addressSteps(e)
	return ok && (dynamic || slices.ContainsFunc(steps, func(s hcl.Traverser) bool {
		_, index := s.(hcl.TraverseIndex)
		return index
	}))
}

// instances returns the evaluation of a removed block with instance keys.
func (r *removedDecl) instances(from hcl.Expression, forEach *hcl.Attribute) *refactoring {
	out := &refactoring{kind: "removed", ends: []hcl.Expression{from}, rng: r.Range}
	if forEach != nil {
		out.forEach = forEach.Expr
	}
	out.done = func(m *Module, ends []Endpoint) diag.List {
		one := *r
		target := ends[0].Target
		one.FromRange, one.Resource, one.calls = ends[0].Range, target.Resource, target.Module.Config().Calls()
		one.Steps, one.Key, one.HasKey = target.Module.Steps(), target.Key, target.HasKey
		one.Keyed = target.HasKey || slices.ContainsFunc(one.Steps, func(s addr.Step) bool { return !s.Key.IsNone() })
		m.Removed = append(m.Removed, one.in(m.Path))
		return one.checkMode()
	}
	return out
}

// noProvisioners returns an error for provisioners in a block that removes some instances: those of a resource that is
// still declared use the provisioners of its block.
func noProvisioners(content *hcl.BodyContent) (diags diag.List) {
	for _, b := range content.Blocks {
		if b.Type == "provisioner" || b.Type == "connection" {
			diags = diags.Errorf(b.DefRange.Ptr(), "Invalid "+b.Type+" block", "A removed block that names instances "+
				"cannot have %s blocks. Write them in the resource block, which still exists.",
				b.Type)
		}
	}
	return diags
}

// Names reports whether the block with instance keys contains the instance.
func (r *Removed) Names(a addr.AbsResourceInstance) bool {
	if r.Resource != (addr.Resource{}) && (a.Resource != r.Resource || r.HasKey && a.Key != r.Key ||
		a.Module.Config() != r.Module) {
		return false
	}
	return r.NamesModule(a.Module)
}

// NamesModule reports whether the block with instance keys contains the module instance.
func (r *Removed) NamesModule(m addr.ModuleInstance) bool {
	want, have := len(r.Module.Calls()), m.Steps()
	if len(have) < want || addr.ModuleInstanceOf(have[:want]...).Config() != r.Module {
		return false
	}
	for i, step := range r.Steps {
		if at := have[want-len(r.Steps)+i]; !step.Key.IsNone() && at.Key != step.Key {
			return false
		}
	}
	return true
}
