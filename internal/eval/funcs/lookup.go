package funcs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// lookupFunc differs from the library's function in its optional default. Marks of elements that are not read do not
// reach the result.
var lookupFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "inputMap", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowMarked: true, AllowDynamicType: true},
		{Name: "key", Type: cty.String, AllowUnknown: true, AllowMarked: true},
	},
	VarParam: &function.Parameter{
		Name: "default", Type: cty.DynamicPseudoType,
		AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true,
	},
	Type: lookupType,
	Impl: lookup,
})

func lookupType(args []cty.Value) (cty.Type, error) {
	if len(args) > 3 {
		return cty.NilType, fmt.Errorf("lookup() takes two or three arguments, got %d", len(args))
	}
	switch ty := args[0].Type(); {
	case ty == cty.DynamicPseudoType:
		return ty, nil
	case ty.IsObjectType():
		key, _ := args[1].Unmark()
		switch {
		case !key.IsKnown():
			return cty.DynamicPseudoType, nil
		case ty.HasAttribute(key.AsString()):
			return ty.AttributeType(key.AsString()), nil
		case len(args) == 3:
			return args[2].Type(), nil
		default:
			return cty.NilType, function.NewArgErrorf(0, "the given object has no attribute %s", quoted(args[1]))
		}
	case ty.IsMapType():
		if len(args) == 3 {
			if _, err := ctyfast.Convert(args[2], ty.ElementType()); err != nil {
				return cty.NilType,
					function.NewArgErrorf(2, "the default value must have the same type as the map elements")
			}
		}
		return ty.ElementType(), nil
	default:
		return cty.NilType, function.NewArgErrorf(0, "lookup() requires a map as the first argument")
	}
}

func lookup(args []cty.Value, ty cty.Type) (cty.Value, error) {
	from, fromMarks := args[0].Unmark()
	key, keyMarks := args[1].Unmark()
	marks := cty.NewValueMarks(fromMarks, keyMarks)

	if !from.IsKnown() || !key.IsKnown() {
		return cty.UnknownVal(ty).WithMarks(marks), nil
	}
	if from.Type().IsObjectType() {
		if from.Type().HasAttribute(key.AsString()) {
			return from.GetAttr(key.AsString()).WithMarks(marks), nil
		}
	} else if from.HasIndex(key).True() {
		return from.Index(key).WithMarks(marks), nil
	}
	if len(args) < 3 {
		return cty.NilVal, fmt.Errorf("lookup failed to find key %s", quoted(args[1]))
	}
	fallback, err := ctyfast.Convert(args[2], ty)
	if err != nil {
		return cty.NilVal, function.NewArgErrorf(2, "the default value must have the same type as the map elements")
	}
	return fallback.WithMarks(marks), nil
}

// matchKeysFunc returns the values whose keys are in the search set.
var matchKeysFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		param("values", cty.List(cty.DynamicPseudoType)),
		param("keys", cty.List(cty.DynamicPseudoType)),
		param("searchset", cty.List(cty.DynamicPseudoType)),
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		if common := ctyfast.Unify([]cty.Type{args[1].Type(), args[2].Type()}); common == cty.NilType {
			return cty.NilType, errors.New("keys and searchset must be of the same type")
		}
		return args[0].Type(), nil
	},
	RefineResult: notNull,
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		if !args[0].IsKnown() || !args[1].IsKnown() {
			return cty.UnknownVal(ty), nil
		}
		if args[0].LengthInt() != args[1].LengthInt() {
			return cty.NilVal, errors.New("length of keys and values should be equal")
		}
		common := ctyfast.Unify([]cty.Type{args[1].Type(), args[2].Type()})
		keys, err := ctyfast.Convert(args[1], common)
		if err != nil {
			return cty.NilVal, err
		}
		wanted, err := ctyfast.Convert(args[2], cty.Set(common.ElementType()))
		if err != nil {
			return cty.NilVal, err
		}
		if wanted.LengthInt() == 0 {
			return cty.ListValEmpty(ty.ElementType()), nil
		}
		if !ctyfast.WhollyKnown(args[0]) {
			return cty.UnknownVal(ty), nil // as in Terraform, even if no unknown value would be selected
		}
		values := args[0].AsValueSlice()
		var matched []cty.Value
		var known valueSet // if all of wanted is known
		if ctyfast.WhollyKnown(wanted) {
			known = newValueSet(ctyfast.Elements(wanted))
		}
		for i, key := range keys.AsValueSlice() {
			if known != nil && ctyfast.WhollyKnown(key) {
				if known.has(key) {
					matched = append(matched, values[i])
				}
				continue
			}
			switch found := wanted.HasElement(key); {
			case !found.IsKnown():
				return cty.UnknownVal(ty), nil
			case found.True():
				matched = append(matched, values[i])
			}
		}
		if len(matched) == 0 {
			return cty.ListValEmpty(ty.ElementType()), nil
		}
		return cty.ListVal(matched), nil
	},
})

// A function call takes time proportional to its arguments, whatever it does with them: the library searches every part
// of them for marks. If each instance needs a small part of a large shared value, the total is quadratic. So functions
// that only look something up do not use the library for ordinary arguments, and return what the library's function
// would. All other calls, above all those with errors, use the library.

// fastPath computes the result of a call; ok is false if the library's function has to be called. first holds facts
// about a shared first argument, or is nil.
type fastPath func(first *sharedResult, args []cty.Value) (v cty.Value, ok bool)

var quickTable = map[string]fastPath{
	"contains": quickContains,
	"element":  quickElement,
	"index":    quickIndex,
	"length":   quickLength,
	"lookup":   quickLookup,
}

// fastCall is a call of a function that only computes with its arguments.
type fastCall struct {
	hclsyntax.Expression
	of *hclsyntax.FunctionCallExpr
	do fastPath // nil if there is no faster way
}

// quick returns a call that does not use the library if the result is the same, and that ends with the work.
func quick(c *hclsyntax.FunctionCallExpr, s surroundings) hclsyntax.Expression {
	do := quickTable[strings.TrimPrefix(c.Name, "core::")]
	if c.ExpandFinal {
		do = nil
	}
	if len(c.Args) == 0 || do == nil && !abandonable(c.Name) {
		return c
	}
	if do == nil {
		return &fastCall{c, c, nil}
	}
	t, ok := c.Args[0].(*hclsyntax.ScopeTraversalExpr)
	if name := ""; ok && !s.fixed {
		if name = t.Traversal.RootName(); !slices.Contains(s.own, name) { // shared, to keep facts about it
			c.Args[0] = &share{Expression: visible(t), mentions: t.Variables(), roots: []string{name}}
		}
	}
	return &fastCall{c, c, do}
}

func (e *fastCall) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	work := workOf(ctx)
	if work == nil {
		return e.of.Value(ctx) // the scope may have other functions
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
	if whole && e.do != nil {
		if v, ok := e.do(first, values); ok {
			return v, nil
		}
	}
	of := *e.of
	of.Args = make([]hclsyntax.Expression, len(results))
	for i := range results {
		of.Args[i] = &results[i]
	}
	if whole && mayTakeLong(of.Name, values) && abandonable(of.Name) {
		return callApart(work, &of, results, ctx)
	}
	return of.Value(ctx)
}

// openText returns a known text without marks.
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
