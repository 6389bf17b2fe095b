package state

import (
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
)

// Renaming holds the blocks under which the objects of a block are found now: several, when they went different ways or
// some stayed. Dependencies name blocks, so they have to follow what moves.
type Renaming map[addr.ConfigResource][]addr.ConfigResource

// Moves returns the renaming that results from moving instances of a state.
func (s *State) Moves(moves []MoveObject) Renaming {
	r := Renaming{}
	gone := make(map[addr.AbsResourceInstance]bool, len(moves))
	for _, m := range moves {
		gone[m.From] = true
		r.Note(m.From.Config(), m.To.Config())
	}
	if s == nil {
		return r
	}
	for _, res := range s.resources {
		was := res.Addr.Config()
		if r[was] == nil {
			continue
		}
		for key := range res.Instances {
			if !gone[res.Addr.Instance(key)] {
				r.Note(was, was)
				break
			}
		}
	}
	return r
}

// Note adds that objects of one block belong to another one now.
func (r Renaming) Note(was, is addr.ConfigResource) {
	if list := r[was]; len(list) == 0 || list[len(list)-1] != is { // Follow drops repetitions
		r[was] = append(list, is)
	}
}

// Follow returns dependencies under their present names, sorted; the same list when nothing in it has another name.
func (r Renaming) Follow(deps []addr.ConfigResource) []addr.ConfigResource {
	if !slices.ContainsFunc(deps, func(d addr.ConfigResource) bool { return r[d] != nil }) {
		return deps
	}
	var out []addr.ConfigResource
	for _, d := range deps {
		if now := r[d]; now != nil {
			out = append(out, now...)
		} else {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b addr.ConfigResource) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}

// Rename lets the dependencies of all objects follow a renaming.
func (b *Builder) Rename(r Renaming) {
	for _, res := range b.State().Resources() {
		for key, instance := range res.Instances {
			b.rename(r, res.Manager(instance.Current), addr.Object{Instance: res.Addr.Instance(key)}, instance.Current)
			for deposed, o := range instance.Deposed {
				b.rename(r, res.Manager(o), addr.Object{Instance: res.Addr.Instance(key), Deposed: deposed}, o)
			}
		}
	}
}

func (b *Builder) rename(r Renaming, p addr.AbsProviderConfig, at addr.Object, o *Object) {
	if now := r.Object(o); now != o {
		b.Fold(Edit{Put: &PutObject{Addr: at, Provider: p, Object: now}})
	}
}

// Object returns an object with its dependencies under their present names; the same object, which may be nil, when
// that changes nothing.
func (r Renaming) Object(o *Object) *Object {
	if o == nil {
		return nil
	}
	deps := r.Follow(o.Dependencies)
	if slices.Equal(deps, o.Dependencies) {
		return o
	}
	next := *o
	next.Dependencies = deps
	return &next
}
