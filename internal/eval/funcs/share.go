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

// A part of an expression that mentions nothing but what a scope has for all who evaluate in it comes to the same for
// all of them: for every instance of a block, in every round of a loop. Metered puts a share around each such part, and
// a scope that Share has prepared keeps what the part came to when it was first wanted. Nothing is evaluated earlier
// than it would be, nor when it would not be, and what fails or warns is evaluated each time, for its messages.
//
// Whether a part is the same for all is decided when it is evaluated: none of the names in it may have a meaning of its
// own between the scope and the place of the evaluation, such as each, the variable of a loop, or the iterator of a
// dynamic block.

// sharedName and lateName are variables of scopes that no expression can mention.
const (
	sharedName = "\x00\x00\x00\x00\x00\x00 parts of the scope"
	lateName   = "\x00\x00\x00\x00\x00\x00 files may change"
)

var sharedType = cty.Capsule("shared", reflect.TypeFor[shared]())

// shared has, for a scope, what parts of expressions came to.
type shared struct{ cells sync.Map } // *share -> *cell

// Share prepares a scope: what is evaluated in it or in a child of it shares what is the same for all.
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

// cell is what one part came to.
type cell struct {
	mu     sync.Mutex // held by who evaluates
	spoilt atomic.Int32
	result atomic.Pointer[sharedResult]
}

// patientCell is how often a part may turn out to differ between uses before it is no longer waited for.
const patientCell = 3

// sharedResult is a value that is the same for all, with what there is to know of it, which is found out once.
type sharedResult struct {
	value cty.Value

	sound  atomic.Bool // it is no larger than values may be
	once   sync.Once
	places map[string]int // of a collection of texts: where each is first; nil if it is none that can be searched so
}

// share is a part of an expression that may come to the same each time.
type share struct {
	hclsyntax.Expression
	// mentions are the references in it, roots the names that they begin with.
	mentions []hcl.Traversal
	roots    []string
	// lesser parts are inside of one that the scope keeps, and only remembered for other scopes.
	lesser bool
}

func (e *share) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags, _ := e.evaluate(ctx)
	return v, diags
}

// evaluate returns, with the value, what is known of it if it is shared.
func (e *share) evaluate(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics, *sharedResult) {
	in, late := e.scope(ctx)
	switch {
	case in == nil:
		v, diags := e.Expression.Value(ctx)
		return v, diags, nil
	case e.lesser:
		return e.anew(ctx, late)
	}
	known, ok := in.cells.Load(e)
	if !ok {
		known, _ = in.cells.LoadOrStore(e, &cell{})
	}
	c := known.(*cell)
	if r := c.result.Load(); r != nil {
		return r.value, nil, r
	}
	if c.spoilt.Load() >= patientCell {
		v, diags := e.Expression.Value(ctx)
		return v, diags, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.result.Load(); r != nil {
		return r.value, nil, r
	}
	v, diags, r := e.anew(ctx, late)
	switch {
	case r != nil:
		c.result.Store(r)
	case len(diags) > 0:
		c.spoilt.Store(patientCell)
	default:
		c.spoilt.Add(1)
	}
	return v, diags, r
}

// anew evaluates the part, or recalls what it came to in another scope. What is known of it is nil if it may be
// something else the next time.
func (e *share) anew(ctx *hcl.EvalContext, late bool) (cty.Value, hcl.Diagnostics, *sharedResult) {
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

// bounded is evaluate for a whole expression, whose size is measured once.
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

// scope finds the scope that has all names of the part, if it shares.
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

// texts returns where each text of a collection is, if that is all there is in it, known and open to all.
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

// surroundings are what Metered knows of where a part stands.
type surroundings struct {
	// own are the names that differ between those who evaluate: count, each, self, caller, and the variables of loops
	// around.
	own []string
	// within is the shared part that this one is in, or nil if there is none.
	within *share
	// fixed parts have to stay what they are: a function reads the expression itself.
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

// shareable returns a share for a part, or nil if it is not worth sharing. A part inside of one that is shared is if
// that one mentions more: something that might have its own meaning, or another value in another scope.
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
	if fickle(e) {
		return nil
	}
	return part
}

// sameReference reports whether two references are written alike.
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

// ambiguous reports whether a name can be an iterator: all but the words of the language may be.
func ambiguous(name string) bool {
	switch name {
	case "var", "local", "module", "data", "path", "terraform", "tofu":
		return false
	}
	return true
}

// cheap reports whether evaluating an expression takes no more than looking up what it came to.
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

// fickle reports whether an expression calls what gives something else each time. Calls in templates show when they
// are made: see Work.changing.
func fickle(e hclsyntax.Expression) bool {
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

// reads reports whether a function reads an argument as an expression that has to be there as it was written.
func reads(function string) bool {
	switch strings.TrimPrefix(function, "core::") {
	case "convert", "templatestring", "type":
		return true
	}
	return false
}

// changing counts the calls of functions that give something else each time, and late those of functions that read
// files as well.
func (w *Work) changing(late bool) int64 {
	switch {
	case w == nil:
		return 0
	case late:
		return w.fickle.Load() + w.read.Load()
	}
	return w.fickle.Load()
}

// ImpureCalls returns how often functions whose results differ from call to call, such as uuid, were called through a
// scope.
func ImpureCalls(ctx *hcl.EvalContext) int64 { return workOf(ctx).changing(false) }

// called notes the call of a function that gives something else each time.
func (w *Work) called() {
	if w != nil {
		w.fickle.Add(1)
	}
}

// looked notes the call of a function that reads files.
func (w *Work) looked() {
	if w != nil {
		w.read.Add(1)
	}
}

// The instances of a module have a scope each, and often a large value in common that the call passes to all of them.
// What a part of an expression makes of that alone is the same for them, too. So a part that mentions something large
// remembers for which values it was evaluated last, and from the second time on what it came to.

// manyElements is from how many elements on a collection is worth it.
const manyElements = 16

// recollection is what is remembered of a part.
type recollection struct {
	mu     sync.Mutex
	of     []any         // identities of collections, and texts, numbers and truth values as they are
	result *sharedResult // nil if it was evaluated for these once only
}

// recall returns what a part came to for the values that it mentions in a scope, or else how to remember it.
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
		known, _ = w.recalls.LoadOrStore(e, &recollection{})
	}
	r := known.(*recollection)
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

// mentioned returns what tells the values that a part mentions from others; ok is false where there is nothing large
// among them, or something that cannot be told so.
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
