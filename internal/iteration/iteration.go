// Package iteration keeps elements of secret collections secret inside of for expressions.
//
// The hcl library removes the marks of a collection, evaluates the parts of the expression with unmarked elements, and
// marks the result. In between, functions and messages see an element as public: [for v in var.l : tonumber(v)] prints
// it. Guard changes the for expressions of a syntax tree, so that in between both the element and its key carry a mark
// of their own, which is gone again in the result. So results are what they are without it, marks included.
//
// Directives of templates (%{ for }) are for expressions, too. Expressions in JSON are parsed when they are evaluated
// and cannot be reached; package diag removes secrets from messages about them.
package iteration

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/ctymarks"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// Guard changes all for expressions in a syntax tree, which must not have been used yet. Anything but a tree of the
// native syntax stays as it is.
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

// With returns a copy of an expression that Guard has inserted into a tree, with other content, and with another way to
// read the elements of a list, tuple or set; at is the collection. ok is false for all others.
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

// paren wraps the expression as a child of another, so that walks of the tree still find it.
func paren(e hclsyntax.Expression) *hclsyntax.ParenthesesExpr {
	return &hclsyntax.ParenthesesExpr{Expression: e, SrcRange: e.Range()}
}

// mark is on an element and its key while one for expression looks at them. In sets the key is the element.
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

// Value returns the collection. The elements of a secret one get the mark; because elements of sets have none, they
// become a tuple.
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

// Value evaluates the part with the key marked as the element is, and without the mark in the result.
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

// mark returns the mark of the element that the context holds.
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
