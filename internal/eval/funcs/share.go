package funcs

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// A part of an expression that only refers to the common values of a scope has the same result for all evaluations in
// that scope: for every instance of a block, in every round of a loop. Metered wraps each such part in a share, and a
// scope prepared by Share caches the part's first result. Nothing is evaluated earlier than otherwise, or
// unnecessarily, and a part with errors or warnings is evaluated each time, for its messages.
//
// Whether a part can be shared is decided when it is evaluated: none of its names may be redefined between the scope
// and the place of the evaluation, such as each, the variable of a loop, or the iterator of a dynamic block.

// sharedName and lateName are variables of scopes that no expression can refer to.
const (
	sharedName = "\x00\x00\x00\x00\x00\x00 parts of the scope"
	lateName   = "\x00\x00\x00\x00\x00\x00 files may change"
)

var sharedType = cty.Capsule("shared", reflect.TypeFor[shared]())

// shared holds the results of parts of expressions for a scope.
type shared struct{ cells sync.Map } // *share -> *cell

// Share prepares a scope: evaluations in it and its children share the results of common parts.
func Share(ctx *hcl.EvalContext) *hcl.EvalContext {
	if ctx.Variables == nil {
		ctx.Variables = map[string]cty.Value{}
	}
	ctx.Variables[sharedName] = cty.CapsuleVal(sharedType, &shared{})
	return ctx
}

// AfterApply marks the child of a scope for expressions that are evaluated after an operation, which may have changed
// files.
func AfterApply(ctx *hcl.EvalContext) { ctx.Variables[lateName] = cty.True }

// cell holds the result of one part.
type cell struct {
	mu     sync.Mutex // held during the evaluation
	spoilt atomic.Int32
	result atomic.Pointer[sharedResult]
}

// maxDifferences is the number of times that a part may turn out to differ before other evaluations no longer wait for
// its result.
const maxDifferences = 3

// sharedResult is a shared value with facts about it, which are computed once.
type sharedResult struct {
	value cty.Value

	sound  atomic.Bool // its size is within the limits
	once   sync.Once
	places map[string]int // first index of each text in a collection, or nil
}

// share is a part of an expression whose result may be shared.
type share struct {
	hclsyntax.Expression
	// mentions are the references in it, roots the first names of these.
	mentions []hcl.Traversal
	roots    []string
	// lesser means that the part is within one that the scope caches, and is only cached for other scopes.
	lesser bool
}

func (e *share) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags, _ := e.evaluate(ctx)
	return v, diags
}

// evaluate returns, with the value, the facts about it if it is shared.
func (e *share) evaluate(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics, *sharedResult) {
	in, late := e.scope(ctx)
	switch {
	case in == nil:
		v, diags := e.Expression.Value(ctx)
		return v, diags, nil
	case e.lesser:
		return e.reevaluate(ctx, late)
	}
	known, ok := in.cells.Load(e)
	if !ok {
		known, _ = in.cells.LoadOrStore(e, &cell{})
	}
	c := known.(*cell)
	if r := c.result.Load(); r != nil {
		return r.value, nil, r
	}
	if c.spoilt.Load() >= maxDifferences {
		v, diags := e.Expression.Value(ctx)
		return v, diags, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.result.Load(); r != nil {
		return r.value, nil, r
	}
	v, diags, r := e.reevaluate(ctx, late)
	switch {
	case r != nil:
		c.result.Store(r)
	case len(diags) > 0:
		c.spoilt.Store(maxDifferences)
	default:
		c.spoilt.Add(1)
	}
	return v, diags, r
}

// reevaluate evaluates the part, or returns its cached result from another scope. The facts are nil if the result may
// differ the next time.
func (e *share) reevaluate(ctx *hcl.EvalContext, late bool) (cty.Value, hcl.Diagnostics, *sharedResult) {
	work := workOf(ctx)
	r, remember := work.recall(e, ctx, late)
	if r != nil {
		return r.value, nil, r
	}
	before := work.changing(late)
	v, diags := e.Expression.Value(ctx)
	if len(diags) > 0 || v == cty.NilVal || work.changing(late) != before {
		return v, diags, nil
	}
	r = &sharedResult{value: v}
	remember(r)
	return v, nil, r
}

// bounded is like evaluate, for a whole expression, whose size is measured once.
func (e *share) bounded(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags, r := e.evaluate(ctx)
	if r != nil && r.sound.Load() {
		return v, diags
	}
	v, diags = withinBounds(v, diags, e.Expression)
	if r != nil && len(diags) == 0 {
		r.sound.Store(true)
	}
	return v, diags
}

// scope returns the scope in which the part can be shared, if it has all of its names.
func (e *share) scope(ctx *hcl.EvalContext) (in *shared, late bool) {
	for ; ctx != nil; ctx = ctx.Parent() {
		if v, ok := ctx.Variables[sharedName]; ok {
			return v.EncapsulatedValue().(*shared), late
		}
		for _, name := range e.roots {
			if _, own := ctx.Variables[name]; own {
				return nil, false
			}
		}
		if _, ok := ctx.Variables[lateName]; ok {
			late = true
		}
	}
	return nil, false
}

// texts returns the index of each text in a collection of known texts without marks.
func (r *sharedResult) texts() map[string]int {
	r.once.Do(func() {
		v := r.value
		if v.IsMarked() || !v.IsKnown() || v.IsNull() {
			return
		}
		if ty := v.Type(); !ty.IsListType() && !ty.IsSetType() && !ty.IsTupleType() {
			return
		}
		places := make(map[string]int, v.LengthInt())
		n := 0
		for _, ev := range ctyfast.Each(v) {
			if ev.IsMarked() || ev.Type() != cty.String || !ev.IsKnown() || ev.IsNull() {
				return
			}
			if text := ev.AsString(); !has(places, text) {
				places[text] = n
			}
			n++
		}
		r.places = places
	})
	return r.places
}

// surroundings describes the position of a part for Metered.
type surroundings struct {
	// own are the names whose values differ between evaluations: count, each, self, caller, and the variables of
	// enclosing loops.
	own []string
	// within is the enclosing shared part, or nil if there is none.
	within *share
	// fixed parts must not be replaced: a function reads the expression itself.
	fixed bool
}

var outside = surroundings{own: []string{"count", "each", "self", "caller"}}

// loopOf adds the variables of a loop.
func (s surroundings) loopOf(f *hclsyntax.ForExpr) surroundings {
	s.own = append(slices.Clip(s.own), f.ValVar)
	if f.KeyVar != "" {
		s.own = append(s.own, f.KeyVar)
	}
	return s
}

// shareable returns a share for a part, or nil if sharing it is not worthwhile. A part within a shared one is shared if
// the outer one has more references, which may be redefined or differ in another scope.
func (s surroundings) shareable(e hclsyntax.Expression) *share {
	if s.fixed || cheap(e) {
		return nil
	}
	part := &share{}
	for _, t := range e.Variables() {
		name := t.RootName()
		if slices.Contains(s.own, name) {
			return nil
		}
		if !slices.ContainsFunc(part.mentions, func(other hcl.Traversal) bool { return sameReference(t, other) }) {
			part.mentions = append(part.mentions, t)
		}
		if !slices.Contains(part.roots, name) {
			part.roots = append(part.roots, name)
		}
	}
	if s.within != nil {
		own := len(part.roots) < len(s.within.roots) && slices.ContainsFunc(s.within.roots, ambiguous)
		part.lesser = !own
		if !own && (len(part.mentions) == 0 || len(part.mentions) == len(s.within.mentions)) {
			return nil
		}
	}
	if callsImpure(e) {
		return nil
	}
	return part
}

// sameReference reports whether two references have the same text.
func sameReference(a, b hcl.Traversal) bool {
	return slices.EqualFunc(a, b, func(x, y hcl.Traverser) bool {
		switch x := x.(type) {
		case hcl.TraverseRoot:
			y, ok := y.(hcl.TraverseRoot)
			return ok && x.Name == y.Name
		case hcl.TraverseAttr:
			y, ok := y.(hcl.TraverseAttr)
			return ok && x.Name == y.Name
		case hcl.TraverseIndex:
			y, ok := y.(hcl.TraverseIndex)
			return ok && x.Key.RawEquals(y.Key)
		}
		return false
	})
}

// ambiguous reports whether a name can be that of an iterator: all except the language's own names can.
func ambiguous(name string) bool {
	switch name {
	case "var", "local", "module", "data", "path", "terraform", "tofu":
		return false
	}
	return true
}

// cheap reports whether evaluating an expression takes no longer than finding its cached result.
func cheap(e hclsyntax.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.TemplateExpr:
		return len(e.Parts) == 0 || len(e.Parts) == 1 && cheap(e.Parts[0])
	case *hclsyntax.TemplateWrapExpr:
		return cheap(e.Wrapped)
	case *hclsyntax.ParenthesesExpr:
		return cheap(e.Expression)
	case *hclsyntax.UnaryOpExpr:
		return cheap(e.Val)
	case *hclsyntax.TupleConsExpr:
		return len(e.Exprs) == 0
	case *hclsyntax.ObjectConsExpr:
		return len(e.Items) == 0
	case *hclsyntax.FunctionCallExpr, *hclsyntax.ForExpr, *hclsyntax.SplatExpr, *hclsyntax.BinaryOpExpr,
		*hclsyntax.ConditionalExpr, *hclsyntax.IndexExpr, *hclsyntax.RelativeTraversalExpr,
		*hclsyntax.TemplateJoinExpr:
		return false
	}
	return true
}

// callsImpure reports whether an expression calls functions whose results change. Calls in templates are found when
// they are made: see Work.changing.
func callsImpure(e hclsyntax.Expression) bool {
	found := false
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			switch strings.TrimPrefix(call.Name, "core::") {
			case "bcrypt", "timestamp", "uuid":
				found = true
			}
		}
		return nil
	})
	return found
}

// reads reports whether a function needs an argument as an unchanged expression.
func reads(function string) bool {
	switch strings.TrimPrefix(function, "core::") {
	case "convert", "templatestring", "type":
		return true
	}
	return false
}

// changing returns the number of calls of functions whose results change and, with late, of functions that read files.
func (w *Work) changing(late bool) int64 {
	switch {
	case w == nil:
		return 0
	case late:
		return w.fickle.Load() + w.read.Load()
	}
	return w.fickle.Load()
}

// ImpureCalls returns the number of calls, through a scope, of functions such as uuid whose results differ from call to
// call.
func ImpureCalls(ctx *hcl.EvalContext) int64 { return workOf(ctx).changing(false) }

// impureCall records a call of a function whose results change.
func (w *Work) impureCall() {
	if w != nil {
		w.fickle.Add(1)
	}
}

// fileRead records a call of a function that reads files.
func (w *Work) fileRead() {
	if w != nil {
		w.read.Add(1)
	}
}

// Each instance of a module has its own scope, but they often share a large value that the call passes to all of them.
// The result of a part of an expression that only depends on that value is the same for them, too. So a part that
// refers to a large value records for which values it was last evaluated, and from the second time on its result.

// manyElements is the minimum number of elements for caching a collection.
const manyElements = 16

// cachedResult is the cached result of a part.
type cachedResult struct {
	mu     sync.Mutex
	of     []any         // identities of collections; strings, numbers and bools themselves
	result *sharedResult // nil if it was evaluated only once for these
}

// recall returns the cached result of a part for the values in a scope, or a function that caches it.
func (w *Work) recall(e *share, ctx *hcl.EvalContext, late bool) (*sharedResult, func(*sharedResult)) {
	forget := func(*sharedResult) {}
	if w == nil || late {
		return nil, forget
	}
	of, ok := e.mentioned(ctx)
	if !ok {
		return nil, forget
	}
	known, ok := w.recalls.Load(e)
	if !ok {
		known, _ = w.recalls.LoadOrStore(e, &cachedResult{})
	}
	r := known.(*cachedResult)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.of, of) {
		r.of, r.result = of, nil
		return nil, forget
	}
	return r.result, func(result *sharedResult) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if slices.Equal(r.of, of) {
			r.result = result
		}
	}
}

// mentioned returns the identities of the values that a part refers to; ok is false if none of them is large, or one
// has no identity.
func (e *share) mentioned(ctx *hcl.EvalContext) (of []any, ok bool) {
	for _, t := range e.mentions {
		v, diags := t.TraverseAbs(ctx)
		if len(diags) > 0 || v.IsMarked() || !v.IsKnown() || v.IsNull() {
			return nil, false
		}
		switch ty := v.Type(); {
		case ty == cty.String:
			of = append(of, v.AsString())
		case ty == cty.Bool:
			of = append(of, v.True())
		case ty == cty.Number:
			f := v.AsBigFloat()
			of = append(of, f.Text('p', 0), f.Prec())
		default:
			id, _, found := ctyfast.IdentityOf(v)
			if !found {
				return nil, false
			}
			of, ok = append(of, id), ok || v.LengthInt() >= manyElements || ty.IsObjectType()
		}
	}
	return of, ok
}
