package planning

import (
	"iter"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/plan"
)

// plannedChanges holds the changes of current objects by block and key. A map by whole address would take twice the
// memory, since an address is large.
type plannedChanges map[addr.AbsResource]map[addr.Key]*plan.Change

// of returns the change of an instance, or nil.
func (c plannedChanges) of(a addr.AbsResourceInstance) *plan.Change { return c[a.AbsResource()][a.Key] }

func (c plannedChanges) add(change *plan.Change) {
	a := change.Object.Instance.AbsResource()
	if c[a] == nil {
		c[a] = map[addr.Key]*plan.Change{}
	}
	c[a][change.Object.Instance.Key] = change
}

func (c plannedChanges) remove(a addr.AbsResourceInstance) { delete(c[a.AbsResource()], a.Key) }

// all yields the instances in no order.
func (c plannedChanges) all() iter.Seq[addr.AbsResourceInstance] {
	return func(yield func(addr.AbsResourceInstance) bool) {
		for a, keys := range c {
			for key := range keys {
				if !yield(a.Instance(key)) {
					return
				}
			}
		}
	}
}
