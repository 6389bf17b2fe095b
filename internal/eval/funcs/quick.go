package funcs

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
)

// A call of a function takes as long as its arguments are large, whatever it does with them: the library looks for
// marks in every part of them. That is a product where each instance asks for a small part of something large that all
// share. So what only looks something up does without the library where no argument is out of the ordinary, and gives
// what the function would. Everything else, mistakes above all, goes the usual way.

// quickly finds what a call comes to; ok is false where that is left to the function. first is what is known of the
// first argument if it is shared, or nil.
type quickly func(first *sharedResult, args []cty.Value) (v cty.Value, ok bool)

var quickTable = map[string]quickly{
	"contains": quickContains,
	"element":  quickElement,
	"index":    quickIndex,
	"length":   quickLength,
	"lookup":   quickLookup,
}

// quickCall is a call of one of these functions.
type quickCall struct {
	hclsyntax.Expression
	of *hclsyntax.FunctionCallExpr
	do quickly
}

// quick returns a call that is made without the library where that gives the same.
func quick(c *hclsyntax.FunctionCallExpr, s surroundings) hclsyntax.Expression {
	do := quickTable[strings.TrimPrefix(c.Name, "core::")]
	if do == nil || c.ExpandFinal || len(c.Args) == 0 {
		return c
	}
	t, ok := c.Args[0].(*hclsyntax.ScopeTraversalExpr)
	if name := ""; ok && !s.fixed {
		if name = t.Traversal.RootName(); !slices.Contains(s.own, name) { // shared for what there is to know of it
			c.Args[0] = &share{Expression: visible(t), mentions: t.Variables(), roots: []string{name}}
		}
	}
	return &quickCall{c, c, do}
}

func (e *quickCall) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if workOf(ctx) == nil {
		return e.of.Value(ctx) // the functions may be others
	}
	results, values := make([]found, len(e.of.Args)), make([]cty.Value, len(e.of.Args))
	var first *sharedResult
	whole := true
	for i, arg := range e.of.Args {
		var v cty.Value
		var diags hcl.Diagnostics
		if part, ok := arg.(*share); ok && i == 0 {
			v, diags, first = part.evaluate(ctx)
		} else {
			v, diags = arg.Value(ctx)
		}
		results[i], values[i] = found{visible(arg), v, diags}, v
		whole = whole && len(diags) == 0 && v != cty.NilVal
	}
	if whole {
		if v, ok := e.do(first, values); ok {
			return v, nil
		}
	}
	of := *e.of
	of.Args = make([]hclsyntax.Expression, len(results))
	for i := range results {
		of.Args[i] = &results[i]
	}
	return of.Value(ctx)
}

// openText returns a text that is known and open to all.
func openText(v cty.Value) (string, bool) {
	if v.IsMarked() || v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
		return "", false
	}
	return v.AsString(), true
}

func quickContains(first *sharedResult, args []cty.Value) (cty.Value, bool) {
	if first == nil || len(args) != 2 {
		return cty.NilVal, false
	}
	text, ok := openText(args[1])
	if !ok {
		return cty.NilVal, false
	}
	places := first.texts()
	return cty.BoolVal(has(places, text)), places != nil
}

func quickIndex(first *sharedResult, args []cty.Value) (cty.Value, bool) {
	if first == nil || len(args) != 2 || first.value.Type().IsSetType() {
		return cty.NilVal, false
	}
	text, ok := openText(args[1])
	if !ok {
		return cty.NilVal, false
	}
	place, ok := first.texts()[text]
	return cty.NumberIntVal(int64(place)), ok
}

func quickElement(_ *sharedResult, args []cty.Value) (cty.Value, bool) {
	if len(args) != 2 {
		return cty.NilVal, false
	}
	list, marks := args[0].Unmark()
	at := args[1]
	if ty := list.Type(); !ty.IsListType() && !ty.IsTupleType() || !list.IsKnown() || list.IsNull() ||
		at.IsMarked() || at.Type() != cty.Number || !at.IsKnown() || at.IsNull() {
		return cty.NilVal, false
	}
	var place int
	length := list.LengthInt()
	if err := gocty.FromCtyValue(at, &place); err != nil || place < 0 || length == 0 {
		return cty.NilVal, false
	}
	return list.Index(cty.NumberIntVal(int64(place % length))).WithMarks(marks), true
}

func quickLength(_ *sharedResult, args []cty.Value) (cty.Value, bool) {
	if len(args) != 1 {
		return cty.NilVal, false
	}
	v, marks := args[0].Unmark()
	ty := v.Type()
	if !v.IsKnown() || v.IsNull() || !ty.IsCollectionType() && !ty.IsTupleType() && !ty.IsObjectType() {
		return cty.NilVal, false
	}
	length, err := lengthOf(v)
	return length.WithMarks(marks), err == nil && length.IsKnown()
}

func quickLookup(_ *sharedResult, args []cty.Value) (cty.Value, bool) {
	if len(args) != 2 && len(args) != 3 {
		return cty.NilVal, false
	}
	from, _ := args[0].Unmark()
	if ty := from.Type(); !from.IsKnown() || from.IsNull() || !ty.IsMapType() && !ty.IsObjectType() {
		return cty.NilVal, false
	}
	if _, ok := openText(args[1]); !ok {
		return cty.NilVal, false
	}
	ty, err := lookupType(args)
	if err != nil {
		return cty.NilVal, false
	}
	v, err := lookup(args, ty)
	return v, err == nil
}
