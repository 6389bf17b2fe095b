package state

import (
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
)

// Renaming maps a block to the blocks that its objects belong to after moves: several, if they moved to different
// blocks or some did not move. Dependencies name blocks, so they have to be renamed.
type Renaming map[addr.ConfigResource][]addr.ConfigResource

// Moves returns the renaming for moves of instances of a state.
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

// Note records that objects of one block now belong to another one.
func (r Renaming) Note(was, is addr.ConfigResource) {
	if list := r[was]; len(list) == 0 || list[len(list)-1] != is { // Follow drops repetitions
		r[was] = append(list, is)
	}
}

// Follow returns dependencies under their new names, sorted, or the same list if nothing changes.
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

// Rename applies a renaming to the dependencies of all objects.
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

// Object returns an object with its dependencies under their new names, or the same object, which may be nil, if
// nothing changes.
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
