package funcs

import (
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

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
