package eval

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// Guard evaluates a guard of the block for one instance: true, false or unknown. Call it after Expand.
func (b *Block) Guard(g *config.Guard, key addr.Key) (cty.Value, diag.List) {
	if d := b.Slot.Faulty(g); d != nil {
		return cty.UnknownVal(cty.Bool), d
	}
	return guard(g, b.Addr().Instance(key), func() *hcl.EvalContext { return b.context(key) })
}

// CheckGuards returns the problems of the guards of an instance. Call it after Expand.
func (b *Block) CheckGuards(key addr.Key) (diags diag.List) {
	r := b.Config()
	for _, g := range append([]*config.Guard{r.PreventDestroy, r.Destroy}, r.Ignored.Conditions()...) {
		if g != nil && g.Expr != nil {
			_, d := b.Guard(g, key)
			diags = diags.Extend(d)
		}
	}
	return diags
}

// Guard evaluates a guard for an instance that the block no longer has. The value of its key is unknown, and if its
// module instance no longer exists either, so is everything else.
func (w *Walk) Guard(s *linking.Slot, g *config.Guard, a addr.AbsResourceInstance) (cty.Value, diag.List) {
	i := w.Instance(a.Module)
	if g.Expr != nil && i == nil {
		return cty.UnknownVal(cty.Bool), nil
	}
	if d := s.Faulty(g); d != nil {
		return cty.UnknownVal(cty.Bool), d
	}
	return guard(g, a, func() *hcl.EvalContext {
		return Repetition{Key: a.Key, Each: cty.DynamicVal}.Context(i.Scope(s.GuardRefs))
	})
}

func guard(g *config.Guard, a addr.AbsResourceInstance, ctx func() *hcl.EvalContext) (cty.Value, diag.List) {
	if g.Expr == nil {
		return cty.BoolVal(g.Value), nil
	}
	unknown := cty.UnknownVal(cty.Bool)
	wrong := func(format string, args ...any) (cty.Value, diag.List) {
		return unknown, diag.List{{Severity: diag.Error, Summary: "Invalid value for " + g.Name,
			Subject: g.Range.Ptr(), Address: a.String(), Detail: fmt.Sprintf(format, args...)}}
	}
	v, hclDiags := g.Expr.Value(ctx())
	if diags := diag.List(nil).AppendHCL(hclDiags); diags.HasErrors() {
		return unknown, diags.InAddress(a.String())
	}
	v, marks := value.UnmarkDeep(v)
	switch {
	case len(marks.Sensitive) > 0:
		return wrong(
			"The value is sensitive, but its effect on the object is visible. If the value is not secret, use " +
				"nonsensitive(...).")
	case len(marks.Ephemeral) > 0:
		return wrong("The value is ephemeral, so it could be different in the next run. Use a value that does not " +
			"change.")
	}
	b, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil:
		return wrong("Found a value of type %s, expected true or false.", v.Type().FriendlyName())
	case b.IsNull() && g.Name == "ignore_changes":
		return wrong("The condition is null, expected true or false.")
	case b.IsNull():
		return cty.BoolVal(g.Name == "destroy"), nil // as if it did not exist
	}
	return b, nil
}
