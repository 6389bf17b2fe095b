package eval

import (
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/diag"
)

// Settle makes a walk that has ended fit for Expression even where nodes have failed: what they did not compute is unknown.
func (w *Walk) Settle() {
	for _, i := range w.instances {
		for n, v := range i.values {
			if v == cty.NilVal {
				i.values[n] = cty.DynamicVal
			}
		}
	}
}

// Expression evaluates, after a walk, an expression that is not part of the configuration but uses the names of the module. src is its
// text, which tells whose functions it calls; table are the core functions, which may be others than those of the configuration.
func (i *Instance) Expression(e hcl.Expression, src []byte, table map[string]function.Function) (cty.Value, diag.List) {
	s := &Slot{unit: i.Unit}
	l := &linker{p: i.walk.Program, u: i.Unit, s: s, deps: map[int]bool{}}
	l.expr(e)
	diags := s.faulty(e)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	ctx := i.Scope(s.refs)
	ctx.Functions = maps.Clone(table)
	i.walk.addProviderFunctions(ctx.Functions, i.Unit.Module, calledProviders(src, e.Range().Filename))
	v, hclDiags := e.Value(ctx)
	diags = diags.AppendHCL(hclDiags)
	for _, d := range diags {
		nameProviderFunction(d)
	}
	return v, diags
}
