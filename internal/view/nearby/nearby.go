// Package nearby finds the changes of a plan that an object may depend on, or that replace_triggered_by names.
// Dependencies name resources without keys, and a module call cannot depend on itself: an object in module.m["a"]
// depends on nothing in module.m["b"].
//
//	index := nearby.New(changes)
//	list := index.Of(dependency, object.Instance.Module)
package nearby

import (
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/plan"
)

// Index holds changes by their resources. It must not be used concurrently.
type Index struct {
	all map[addr.ConfigResource][]*plan.Change
	// at holds the same changes by the keys of the first calls of their modules.
	at     map[within][]*plan.Change
	filled map[depth]bool
}

type within struct {
	resource addr.ConfigResource
	module   addr.ModuleInstance // the first calls, with their keys
}

type depth struct {
	resource addr.ConfigResource
	calls    int
}

// New returns an index of changes.
func New(changes []*plan.Change) *Index {
	n := &Index{all: map[addr.ConfigResource][]*plan.Change{}, at: map[within][]*plan.Change{},
		filled: map[depth]bool{}}
	for _, c := range changes {
		r := c.Object.Instance.Config()
		n.all[r] = append(n.all[r], c)
	}
	return n
}

// Of returns the changes of a resource that an object in a module may depend on, in the order of the plan. A nil index
// has none.
func (n *Index) Of(r addr.ConfigResource, m addr.ModuleInstance) []*plan.Change {
	if n == nil {
		return nil
	}
	if len(n.all[r]) == 0 || m.IsRoot() {
		return n.all[r]
	}
	steps, calls := m.Steps(), r.Module.Calls()
	same := 0
	for same < min(len(steps), len(calls)) && steps[same].Call == calls[same] {
		same++
	}
	if level := (depth{r, same}); !n.filled[level] {
		n.filled[level] = true
		for _, c := range n.all[r] {
			k := within{r, addr.ModuleInstanceOf(c.Object.Instance.Module.Steps()[:same]...)}
			n.at[k] = append(n.at[k], c)
		}
	}
	return n.at[within{r, addr.ModuleInstanceOf(steps[:same]...)}]
}

// Sources holds the changes that replace_triggered_by may name. It finds them by such references.
type Sources struct {
	objects   map[addr.AbsResourceInstance]*plan.Change
	resources map[addr.AbsResource][]*plan.Change
}

// NewSources returns the updates and replacements among changes.
func NewSources(changes []*plan.Change) *Sources {
	t := &Sources{map[addr.AbsResourceInstance]*plan.Change{}, map[addr.AbsResource][]*plan.Change{}}
	if !slices.ContainsFunc(changes, func(c *plan.Change) bool { return len(c.Triggers) > 0 }) {
		return t
	}
	for _, c := range changes {
		if !(plan.ReplaceTrigger{}).Fires(c) {
			continue
		}
		a := c.Object.Instance
		t.objects[a] = c
		t.resources[a.AbsResource()] = append(t.resources[a.AbsResource()], c)
	}
	return t
}

// Of returns the changes behind a trigger of a planned replacement, in the order of the plan. Nil sources have none.
func (t *Sources) Of(by plan.ReplaceTrigger) []*plan.Change {
	switch {
	case t == nil:
		return nil
	case by.All:
		return t.resources[by.Instance.AbsResource()]
	case t.objects[by.Instance] == nil:
		return nil
	}
	return []*plan.Change{t.objects[by.Instance]}
}
