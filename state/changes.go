package state

import (
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
)

// Change is the difference of an object between two states.
type Change struct {
	Addr   addr.Object
	Action Action // ActionCreate, ActionUpdate or ActionDelete
}

// Changes compares the managed objects of two states, either of which may be nil, and lists those that differ, sorted
// by address. Shared parts are not compared.
func Changes(old, now *State) (all []Change) {
	var none State
	if old == nil {
		old = &none
	}
	if now == nil {
		now = &none
	}
	for a, r := range now.resources {
		if before := old.resources[a]; r != before {
			all = r.changes(before, all)
		}
	}
	for a, r := range old.resources {
		if now.resources[a] == nil {
			all = (&Resource{Addr: r.Addr}).changes(r, all)
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Addr.String(), b.Addr.String()) })
	return all
}

func (r *Resource) changes(before *Resource, all []Change) []Change {
	if r.Addr.Resource.Mode != addr.Managed {
		return all
	}
	if before == nil {
		before = &Resource{Addr: r.Addr}
	}
	for key, i := range r.Instances {
		if was := before.Instances[key]; was != i {
			all = i.changes(was, addr.Object{Instance: r.Addr.Instance(key)}, all)
		}
	}
	for key, was := range before.Instances {
		if r.Instances[key] == nil {
			all = (&Instance{}).changes(was, addr.Object{Instance: r.Addr.Instance(key)}, all)
		}
	}
	return all
}

func (i *Instance) changes(was *Instance, at addr.Object, all []Change) []Change {
	if was == nil {
		was = &Instance{}
	}
	add := func(old, now *Object) {
		switch {
		case sameObject(old, now):
		case old == nil:
			all = append(all, Change{at, ActionCreate})
		case now == nil:
			all = append(all, Change{at, ActionDelete})
		default:
			all = append(all, Change{at, ActionUpdate})
		}
	}
	add(was.Current, i.Current)
	for key, o := range i.Deposed {
		at.Deposed = key
		add(was.Deposed[key], o)
	}
	for key, o := range was.Deposed {
		if at.Deposed = key; i.Deposed[key] == nil {
			add(o, nil)
		}
	}
	return all
}
