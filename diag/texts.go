package diag

import (
	"maps"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	search "github.com/tombolo-iac/tombolo/internal/texts"
)

// texts are the secret strings in one value. Problems of many instances each have their own scope, and these scopes
// share most values: the secrets of a large value are collected once and shared.
type texts struct {
	any bool // some value is marked, perhaps one without a text

	collecting map[string]bool
	once       sync.Once
	sorted     *search.Sorted // all texts
}

// manyElements is the minimum number of elements of a collection that is cached.
const manyElements = 8

// gathering collects the secret texts in values.
type gathering struct {
	own    *texts // of values that are not cached
	shared []*texts
}

// within means that v is part of a secret.
func (g *gathering) gather(v cty.Value, within bool) {
	if v == cty.NilVal {
		return
	}
	v, marks := v.Unmark()
	within = within || len(marks) > 0
	if v.IsKnown() && !v.IsNull() && v.CanIterateElements() && v.LengthInt() >= manyElements && g.remember(v, within) {
		return
	}
	g.own.any = g.own.any || within
	switch ty := v.Type(); {
	case !v.IsKnown() || v.IsNull():
	case ty == cty.String && within:
		g.own.add(v.AsString())
	case ty == cty.Number && within:
		g.own.add(numeral(v.AsBigFloat()))
	case v.CanIterateElements():
		g.elements(v, within)
	}
}

func (g *gathering) elements(v cty.Value, within bool) {
	isMap := v.Type().IsMapType()
	for key, element := range ctyfast.Each(v) {
		if within && isMap {
			g.own.add(key.AsString())
		}
		g.gather(element, within)
	}
}

// remembered holds the secret strings of large values, by the key that gathering.remember computes.
var remembered sync.Map

type remembering struct {
	id     ctyfast.Identity
	within bool
}

type memory struct {
	ty     cty.Type
	shared []*texts
}

// remember collects the secrets of a large value unless they are cached. It reports whether the value can be cached.
func (g *gathering) remember(v cty.Value, within bool) bool {
	id, at, ok := ctyfast.IdentityOf(v)
	if !ok {
		return false
	}
	key := remembering{id, within}
	if m, ok := remembered.Load(key); ok && m.(*memory).ty.Equals(v.Type()) {
		g.shared = append(g.shared, m.(*memory).shared...)
		return true
	}
	m := &memory{ty: v.Type()}
	if within || ctyfast.ContainsMarked(v) {
		found := newGathering()
		found.elements(v, within)
		m.shared = found.all()
	}
	if _, had := remembered.Swap(key, m); !had {
		runtime.AddCleanup(at, func(key remembering) { remembered.Delete(key) }, key)
	}
	g.shared = append(g.shared, m.shared...)
	return true
}

func newGathering() *gathering { return &gathering{own: &texts{collecting: map[string]bool{}}} }

// all returns everything that was collected, without repetition.
func (g *gathering) all() []*texts {
	list := g.shared
	if g.own.any {
		list = append(list, g.own)
	}
	var out []*texts
	seen := map[*texts]bool{}
	for _, t := range list {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

// numeral formats a number as in messages; it returns "" for one that is too long.
func numeral(f *big.Float) string {
	const maxBits = 4096
	if exp := f.MantExp(nil); exp > maxBits || exp < -maxBits {
		return ""
	}
	return f.Text('f', -1)
}

func (t *texts) add(text string) {
	for _, part := range append(strings.Split(text, "\n"), text) {
		if part = strings.TrimSpace(part); part != "" && part != "true" && part != "false" && part != "null" {
			t.collecting[part] = true
		}
	}
}

// order returns the sorted texts. It sorts them on the first call.
func (t *texts) order() *search.Sorted {
	t.once.Do(func() {
		t.sorted = search.Sort(slices.Collect(maps.Keys(t.collecting)))
		t.collecting = nil
	})
	return t.sorted
}

// has reports whether a text is one of the secret texts.
func (t *texts) has(text string) bool { return t.order().Has(text) }

// beginning returns the length of the longest secret text that is a prefix of text, or 0.
func (t *texts) beginning(text string) int { return t.order().PrefixLength(text) }
