// Package iteration keeps the elements of secret collections secret within for expressions.
//
// The hcl library removes the marks of a collection, evaluates the parts of the expression with unmarked elements, and
// marks the result. In between, functions and messages get an unmarked element: [for v in var.l : tonumber(v)] prints
// it. Guard changes the for expressions of a syntax tree, so that in between both the element and its key have a
// special mark, which is removed from the result. So results, including their marks, do not change.
//
// Directives of templates (%{ for }) are for expressions, too. Expressions in JSON are parsed when they are evaluated
// so Guard cannot change them; package diag removes secrets from their messages.
package iteration

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/ctymarks"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// Guard changes all for expressions in a syntax tree, which must not have been used yet. Only trees of the native
// syntax are changed.
func Guard(tree any) {
	node, ok := tree.(hclsyntax.Node)
	if !ok {
		return
	}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		if f, ok := n.(*hclsyntax.ForExpr); ok {
			guard(f)
		}
		return nil
	})
}

func guard(f *hclsyntax.ForExpr) {
	if _, done := f.CollExpr.(*collection); done {
		return
	}
	f.CollExpr = &collection{paren(f.CollExpr), f, sorted}
	f.ValExpr = &body{paren(f.ValExpr), f}
	if f.KeyExpr != nil {
		f.KeyExpr = &body{paren(f.KeyExpr), f}
	}
	if f.CondExpr != nil {
		f.CondExpr = &body{paren(f.CondExpr), f}
	}
}

// With returns a copy of an expression that Guard has inserted into a tree, with changed content and another function
// to read the elements of a list, tuple or set; at is the collection. ok is false for all other expressions.
func With(e hclsyntax.Expression, change func(hclsyntax.Expression) hclsyntax.Expression,
	elements func(v cty.Value, ctx *hcl.EvalContext, at hcl.Expression) []cty.Value) (_ hclsyntax.Expression, ok bool) {
	switch e := e.(type) {
	case *collection:
		return &collection{paren(change(e.Expression)), e.of, elements}, true
	case *body:
		return &body{paren(change(e.Expression)), e.of}, true
	}
	return nil, false
}

// paren wraps the expression as a child node, so that walks of the tree still visit it.
func paren(e hclsyntax.Expression) *hclsyntax.ParenthesesExpr {
	return &hclsyntax.ParenthesesExpr{Expression: e, SrcRange: e.Range()}
}

// mark marks an element and its key during one for expression. In sets the key is the element.
type mark struct {
	of    *hclsyntax.ForExpr
	inSet bool
}

// collection is the expression whose elements are iterated.
type collection struct {
	*hclsyntax.ParenthesesExpr
	of       *hclsyntax.ForExpr
	elements func(v cty.Value, ctx *hcl.EvalContext, at hcl.Expression) []cty.Value
}

func sorted(v cty.Value, _ *hcl.EvalContext, _ hcl.Expression) []cty.Value {
	return ctyfast.Elements(v)
}

// Value returns the collection. The elements of a secret one are marked; because set elements cannot be, they are
// converted to a tuple.
func (c *collection) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := c.Expression.Value(ctx)
	if !v.IsMarked() {
		return v, diags
	}
	bare, marks := v.Unmark()
	if bare.IsNull() || !bare.IsKnown() || !bare.CanIterateElements() {
		return v, diags
	}
	ty := bare.Type()
	m := mark{of: c.of, inSet: ty.IsSetType()}
	if ty.IsMapType() || ty.IsObjectType() {
		members := bare.AsValueMap()
		for key := range members {
			members[key] = members[key].Mark(m)
		}
		return cty.ObjectVal(members).WithMarks(marks), diags
	}
	elements := c.elements(bare, ctx, c)
	marked := make([]cty.Value, len(elements))
	for i := range elements {
		marked[i] = elements[i].Mark(m)
	}
	return cty.TupleVal(marked).WithMarks(marks), diags
}

// body is a part of the expression that is evaluated for each element.
type body struct {
	*hclsyntax.ParenthesesExpr
	of *hclsyntax.ForExpr
}

// Value evaluates the part with the key marked like the element, and removes the mark from the result.
func (b *body) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	m, marked := b.mark(ctx)
	if !marked {
		return b.Expression.Value(ctx)
	}
	if b.of.KeyVar != "" {
		v, key := ctx.Variables[b.of.ValVar], ctx.Variables[b.of.KeyVar].Mark(m)
		if m.inSet {
			key = v
		}
		ctx = ctx.NewChild()
		ctx.Variables = map[string]cty.Value{b.of.KeyVar: key, b.of.ValVar: v}
	}
	v, diags := b.Expression.Value(ctx)
	return without(v, m), diags
}

// mark returns the mark of the element in the context.
func (b *body) mark(ctx *hcl.EvalContext) (mark, bool) {
	if ctx == nil {
		return mark{}, false
	}
	v, ok := ctx.Variables[b.of.ValVar]
	if !ok || !v.IsMarked() {
		return mark{}, false
	}
	for _, inSet := range []bool{false, true} {
		if m := (mark{b.of, inSet}); v.HasMark(m) {
			return m, true
		}
	}
	return mark{}, false
}

// without removes one mark from a value and all its parts.
func without(v cty.Value, m mark) cty.Value {
	if v == cty.NilVal || !ctyfast.HasMarkDeep(v, m) {
		return v
	}
	bare, err := v.WrangleMarksDeep(func(found any, _ cty.Path) (ctymarks.WrangleAction, error) {
		if found == m {
			return ctymarks.WrangleDrop, nil
		}
		return ctymarks.WrangleKeep, nil
	})
	if err != nil {
		panic("iteration: dropping a mark cannot fail: " + err.Error())
	}
	return bare
}
