package state

import (
	"maps"
	"sync"

	"github.com/tombolo-iac/tombolo/addr"
)

// Edit is one change to a state: states only change through edits. Exactly one of the pointers is set. Edits are data:
// the journal stores them, and a plan holds those of its refresh.
type Edit struct {
	Put    *PutObject
	Drop   *DropObject
	Depose *DeposeObject
	Move   *MoveObject
	Output *SetOutput
	Checks *SetChecks
	Seen   *SeenObject
}

// PutObject stores an object, replacing an existing one.
type PutObject struct {
	Addr     addr.Object
	Provider addr.AbsProviderConfig
	Object   *Object
}

// DropObject removes an object. A missing object is not an error.
type DropObject struct{ Addr addr.Object }

// DeposeObject makes the current object of an instance a deposed one. Reverse undoes that, unless there is a new
// current object.
type DeposeObject struct {
	Instance addr.AbsResourceInstance
	Key      addr.DeposedKey
	Reverse  bool
}

// MoveObject moves an instance, with its deposed objects, to another address.
type MoveObject struct{ From, To addr.AbsResourceInstance }

// SetOutput stores a root output value, or removes it if Value is nil.
type SetOutput struct {
	Name  string
	Value *Output
}

// SetChecks replaces all check results.
type SetChecks struct{ Results []CheckResult }

// SeenObject records that the real object was read and equals the stored one; it does nothing if the object is not
// stored. At is in seconds since 1970.
type SeenObject struct {
	Addr addr.Object
	At   int64
}

// Builder folds edits into a state. It is safe for concurrent use. State may be called at any time; the next change
// after it costs a copy of the map of resources. The zero value starts from an empty state; State.Builder starts from a
// given state.
type Builder struct {
	mu    sync.Mutex
	state *State
	// shared means that state was returned (or passed in): its maps must be copied before the next change. fresh lists
	// the resources that were copied since.
	shared bool
	fresh  map[addr.AbsResource]bool
	dirty  bool
}

// Builder starts editing a copy of the state; nil is an empty state.
func (s *State) Builder() *Builder {
	if s == nil {
		s = &State{}
	}
	return &Builder{state: s, shared: true}
}

// unshare copies the maps of the state for the builder.
func (b *Builder) unshare() {
	if b.state != nil && !b.shared {
		return
	}
	var c State
	if b.state != nil {
		c = *b.state
	}
	c.outputs, c.resources = maps.Clone(c.outputs), maps.Clone(c.resources)
	if c.outputs == nil {
		c.outputs = map[string]*Output{}
	}
	if c.resources == nil {
		c.resources = map[addr.AbsResource]*Resource{}
	}
	b.state, b.shared, b.fresh = &c, false, map[addr.AbsResource]bool{}
}

// Fold applies edits in order.
func (b *Builder) Fold(edits ...Edit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range edits {
		b.unshare()
		b.fold(e)
	}
}

func (b *Builder) fold(e Edit) {
	b.dirty = true
	switch {
	case e.Put != nil:
		r := b.own(e.Put.Addr.Instance.AbsResource(), true)
		r.Provider = e.Put.Provider.Block()
		b.put(r, e.Put.Addr, ownedBy(e.Put.Object, e.Put.Provider))
	case e.Drop != nil:
		b.drop(e.Drop.Addr)
	case e.Depose != nil:
		b.depose(*e.Depose)
	case e.Move != nil:
		b.move(*e.Move)
	case e.Output != nil:
		if e.Output.Value == nil {
			delete(b.state.outputs, e.Output.Name)
		} else {
			b.state.outputs[e.Output.Name] = e.Output.Value
		}
	case e.Checks != nil:
		b.state.checks = e.Checks.Results
	case e.Seen != nil:
		b.seen(*e.Seen)
	}
}

// seen records when a real object was read.
func (b *Builder) seen(s SeenObject) {
	stored := b.state.Object(s.Addr)
	if stored == nil {
		return
	}
	o := *stored
	o.ReadAt = s.At
	b.put(b.own(s.Addr.Instance.AbsResource(), false), s.Addr, &o)
}

// own returns a resource that may be modified; with create, it creates a missing one.
func (b *Builder) own(a addr.AbsResource, create bool) *Resource {
	r := b.state.resources[a]
	switch {
	case r == nil && !create:
		return nil
	case r == nil:
		r = &Resource{Addr: a, Instances: map[addr.Key]*Instance{}}
	case !b.fresh[a]:
		c := *r
		c.Instances = maps.Clone(r.Instances)
		r = &c
	default:
		return r
	}
	b.fresh[a] = true
	b.state.resources[a] = r
	return r
}

// instanceCopy replaces an instance within an owned resource by a copy, and returns it. Instances are small: they are
// copied at each change.
func instanceCopy(r *Resource, key addr.Key) *Instance {
	i := &Instance{}
	if old := r.Instances[key]; old != nil {
		i.Current, i.Deposed = old.Current, maps.Clone(old.Deposed)
	}
	r.Instances[key] = i
	return i
}

// ownedBy returns the object with its own provider configuration set, if p is one of several instances of a provider
// block.
func ownedBy(o *Object, p addr.AbsProviderConfig) *Object {
	keyed := o != nil && o.Provider != nil && !o.Provider.Key.IsNone()
	if o == nil || p.Key.IsNone() && !keyed || keyed && *o.Provider == p {
		return o
	}
	c := *o
	if c.Provider = nil; !p.Key.IsNone() {
		c.Provider = &p
	}
	return &c
}

func (b *Builder) put(r *Resource, a addr.Object, o *Object) {
	i := instanceCopy(r, a.Instance.Key)
	if a.Deposed == "" {
		i.Current = o
		return
	}
	if i.Deposed == nil {
		i.Deposed = map[addr.DeposedKey]*Object{}
	}
	i.Deposed[a.Deposed] = o
}

func (b *Builder) drop(a addr.Object) {
	r := b.own(a.Instance.AbsResource(), false)
	if r == nil || r.Instances[a.Instance.Key] == nil {
		return
	}
	i := instanceCopy(r, a.Instance.Key)
	if a.Deposed == "" {
		i.Current = nil
	} else {
		delete(i.Deposed, a.Deposed)
	}
	b.prune(r, a.Instance.Key)
}

// prune removes the instance and the resource if they are empty.
func (b *Builder) prune(r *Resource, key addr.Key) {
	if i := r.Instances[key]; i != nil && i.Current == nil && len(i.Deposed) == 0 {
		delete(r.Instances, key)
	}
	if len(r.Instances) == 0 {
		delete(b.state.resources, r.Addr)
		delete(b.fresh, r.Addr)
	}
}

func (b *Builder) depose(d DeposeObject) {
	r := b.own(d.Instance.AbsResource(), false)
	if r == nil || r.Instances[d.Instance.Key] == nil {
		return
	}
	i := instanceCopy(r, d.Instance.Key)
	if d.Reverse {
		if o := i.Deposed[d.Key]; o != nil && i.Current == nil {
			i.Current = o
			delete(i.Deposed, d.Key)
		}
		return
	}
	if i.Current == nil {
		return
	}
	if i.Deposed == nil {
		i.Deposed = map[addr.DeposedKey]*Object{}
	}
	i.Deposed[d.Key], i.Current = i.Current, nil
}

func (b *Builder) move(m MoveObject) {
	from := b.own(m.From.AbsResource(), false)
	if from == nil || from.Instances[m.From.Key] == nil {
		return
	}
	i := from.Instances[m.From.Key]
	delete(from.Instances, m.From.Key)
	provider := from.Provider
	b.prune(from, m.From.Key)
	to := b.own(m.To.AbsResource(), true)
	if to.Provider == (addr.AbsProviderConfig{}) {
		to.Provider = provider
	}
	to.Instances[m.To.Key] = i
}

// Dirty reports whether anything was folded since the builder was created.
func (b *Builder) Dirty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dirty
}

// Object returns an object with all edits so far, or nil if there is none.
func (b *Builder) Object(a addr.Object) *Object {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.Object(a)
}

// State returns an immutable state with all edits so far. Lineage and serial are those of the initial state.
func (b *Builder) State() *State {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == nil {
		b.unshare()
	}
	b.shared = true
	return b.state
}

// Output returns the current root output value, or nil if there is none.
func (b *Builder) Output(name string) *Output {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.Output(name)
}
