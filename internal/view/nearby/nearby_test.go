package nearby_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/view/nearby"
	"github.com/tombolo-iac/tombolo/plan"
)

// TestInstancesOfACallDoNotDependOnEachOther compares with a search of all changes.
func TestInstancesOfACallDoNotDependOnEachOther(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 5))
		module := func() (m addr.ModuleInstance) {
			for range r.IntN(4) {
				m = m.Child(string(rune('m'+r.IntN(2))), addr.StringKey(string(rune('a'+r.IntN(2)))))
			}
			return m
		}
		var changes []*plan.Change
		for i := range 30 {
			a, diags := addr.ParseInstance(fmt.Sprintf("thing.t%d[%d]", r.IntN(2), i))
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			a.Module = module()
			changes = append(changes, &plan.Change{Object: addr.Object{Instance: a}})
		}
		index := nearby.New(changes)
		for range 40 {
			of, from := changes[r.IntN(len(changes))].Object.Instance.Config(), module()
			var want []*plan.Change
			for _, c := range changes {
				if c.Object.Instance.Config() == of && mayDependOn(from, c.Object.Instance.Module) {
					want = append(want, c)
				}
			}
			if got := index.Of(of, from); !slices.Equal(got, want) {
				t.Errorf("seed %d: %s, from %q: %d changes, want %d", seed, of, from, len(got), len(want))
			}
		}
	}
}

// mayDependOn reports whether the keys of the first calls that two modules have in common are the same.
func mayDependOn(a, b addr.ModuleInstance) bool {
	from, to := a.Steps(), b.Steps()
	for i := range min(len(from), len(to)) {
		if from[i].Call != to[i].Call {
			return true
		}
		if from[i].Key != to[i].Key {
			return false
		}
	}
	return true
}
