// Package standing determines whether a saved plan is still valid after the state has changed.
//
// A plan depends on all objects that it compares with the configuration, including new ones in the state: on all,
// unless -target or -exclude limit it. It depends on their direct and indirect dependencies, and on the outputs that it
// changes. If none of these has changed, the plan is applied to the newer state: the result is the same as if it had
// been applied first, and the other run after it. For that, the changes of the other run must not depend on changes of
// the plan, either: an object that it changed must not depend on one that the plan changes.
//
//	changed := standing.Compare(p.Base, now)
//	if conflicts := standing.Conflicts(prog, p, now, changed); len(conflicts) == 0 {
//		p, left := standing.Rebase(prog, p, changed)
//		...
//	}
package standing

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Changed lists the differences between two states, sorted.
type Changed struct {
	Objects []addr.Object
	Outputs []string
}

// None reports whether nothing differs.
func (c Changed) None() bool { return len(c.Objects)+len(c.Outputs) == 0 }

// place is an object with its provider configuration.
type place struct {
	provider addr.AbsProviderConfig
	object   *state.Object
}

// Compare returns the objects and outputs that only one of two states has, or that differ. The time of an object's last
// read is ignored, as are check results.
func Compare(base, now *state.State) (c Changed) {
	old, new := objects(base), objects(now)
	for o, at := range old {
		if is, ok := new[o]; !ok || !same(at, is) {
			c.Objects = append(c.Objects, o)
		}
	}
	for o := range new {
		if _, ok := old[o]; !ok {
			c.Objects = append(c.Objects, o)
		}
	}
	slices.SortFunc(c.Objects, func(a, b addr.Object) int { return strings.Compare(a.String(), b.String()) })
	names := map[string]bool{}
	for _, name := range slices.Concat(base.OutputNames(), now.OutputNames()) {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !sameOutput(base.Output(name), now.Output(name)) {
			c.Outputs = append(c.Outputs, name)
		}
	}
	return c
}

func objects(s *state.State) map[addr.Object]place {
	out := map[addr.Object]place{}
	for _, r := range s.Resources() {
		for key, inst := range r.Instances {
			at := r.Addr.Instance(key)
			if inst.Current != nil {
				out[addr.Object{Instance: at}] = place{r.Provider, inst.Current}
			}
			for deposed, o := range inst.Deposed {
				out[addr.Object{Instance: at, Deposed: deposed}] = place{r.Provider, o}
			}
		}
	}
	return out
}

func same(a, b place) bool {
	return a.provider == b.provider && (a.object == b.object || Same(a.object, b.object))
}

// Same reports whether two stored objects are equal, whatever the form of their JSON.
func Same(a, b *state.Object) bool {
	if a == nil || b == nil {
		return a == b
	}
	provider := func(o *state.Object) addr.AbsProviderConfig {
		if o.Provider == nil {
			return addr.AbsProviderConfig{}
		}
		return *o.Provider
	}
	return a.Status == b.Status && a.SchemaVersion == b.SchemaVersion && sameJSON(a.Attributes, b.Attributes) &&
		maps.Equal(a.Flat, b.Flat) && value.EqualPaths(a.Sensitive, b.Sensitive) && bytes.Equal(a.Private, b.Private) &&
		slices.Equal(a.Dependencies, b.Dependencies) && a.CreateBeforeDestroy == b.CreateBeforeDestroy &&
		a.IdentityVersion == b.IdentityVersion && sameJSON(a.Identity, b.Identity) && provider(a) == provider(b) &&
		a.SkipDestroy == b.SkipDestroy && a.Protected == b.Protected
}

func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

func sameOutput(a, b *state.Output) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Sensitive == b.Sensitive && ctyfast.RawEquals(a.Value, b.Value)
}

// effects are the changes of a plan, and their dependencies.
type effects struct {
	instances map[addr.AbsResourceInstance]bool // changed instances
	resources map[addr.ConfigResource]bool      // their resources
	needs     map[addr.ConfigResource]bool      // dependencies of these
	limits    *linking.Targets                  // targets of the plan; nil if it has no limits
}

func effectsOf(prog *linking.Program, p *plan.Plan) *effects {
	e := &effects{instances: map[addr.AbsResourceInstance]bool{}, resources: map[addr.ConfigResource]bool{},
		needs: map[addr.ConfigResource]bool{}, limits: prog.Targets(p.Targets, p.Base)}
	if e.limits == nil {
		e.limits = prog.Except(p.Except, p.Base)
	}
	for _, c := range p.Changes {
		moved := c.PrevAddr != nil
		if c.Action == plan.NoOp && !moved && c.Importing == nil {
			continue
		}
		e.add(prog, c.Object.Instance)
		if moved {
			e.add(prog, *c.PrevAddr)
		}
		e.need(c.Dependencies)
		e.need(prog.ProviderDeps(*c.Provider))
	}
	for _, edit := range p.Refreshed {
		switch {
		case edit.Put != nil && !Same(p.Base.Object(edit.Put.Addr), edit.Put.Object):
			e.add(prog, edit.Put.Addr.Instance)
		case edit.Drop != nil && p.Base.Object(edit.Drop.Addr) != nil:
			e.add(prog, edit.Drop.Addr.Instance)
		case edit.Depose != nil:
			e.add(prog, edit.Depose.Instance)
		case edit.Move != nil:
			e.add(prog, edit.Move.From)
			e.add(prog, edit.Move.To)
		}
	}
	for inst := range e.instances {
		for _, o := range objectsAt(p.Base, inst) {
			e.need(o.Dependencies)
		}
	}
	return e
}

func (e *effects) add(prog *linking.Program, inst addr.AbsResourceInstance) {
	e.instances[inst] = true
	if r := inst.Config(); !e.resources[r] {
		e.resources[r] = true
		if slot := prog.ResourceSlot(r); slot != nil {
			e.need(prog.ResourcesBehind(slot))
		}
	}
}

func (e *effects) need(list []addr.ConfigResource) {
	for _, r := range list {
		e.needs[r] = true
	}
}

// touches reports whether the plan changes one of the resources.
func (e *effects) touches(list []addr.ConfigResource) bool {
	return slices.ContainsFunc(list, func(r addr.ConfigResource) bool { return e.resources[r] })
}

// objectsAt returns the current and the deposed objects of an instance.
func objectsAt(s *state.State, inst addr.AbsResourceInstance) (list []*state.Object) {
	r := s.Resource(inst.AbsResource())
	if r == nil || r.Instances[inst.Key] == nil {
		return nil
	}
	if at := r.Instances[inst.Key]; at.Current != nil {
		list = append(list, at.Current)
	}
	for _, o := range r.Instances[inst.Key].Deposed {
		list = append(list, o)
	}
	return list
}

// all reports whether a plan depends on everything. A plan without limits does, because it would compare new objects
// with the configuration, and perhaps destroy them. With limits, this is assumed for a plan that destroys, leaves
// objects out because of an interrupted run, or invokes actions.
func all(p *plan.Plan) bool {
	return p.Mode == plan.Destroy || len(p.Invocations)+len(p.Unsettled)+len(p.LeftOut)+len(p.Deferred) > 0
}

// compares reports whether a plan with limits would compare an instance with the configuration.
func compares(prog *linking.Program, t *linking.Targets, a addr.AbsResourceInstance) bool {
	if slot := prog.ResourceSlot(a.Config()); slot != nil {
		return t.Only[slot]
	}
	return t.Excepts() || t.Contains(a)
}

// Conflicts returns the addresses of changed objects and outputs that a plan depends on, sorted; those of outputs begin
// with "output.".
func Conflicts(prog *linking.Program, p *plan.Plan, now *state.State, c Changed) (list []string) {
	if c.None() {
		return nil
	}
	e, seen := effectsOf(prog, p), map[addr.AbsResourceInstance]bool{}
	everything := all(p) || e.limits == nil
	for _, change := range p.Changes { // objects that a new plan would compare again, and perhaps change back
		seen[change.Object.Instance] = true
	}
	for _, o := range c.Objects {
		conflict := everything || seen[o.Instance] || compares(prog, e.limits, o.Instance) || e.instances[o.Instance] ||
			e.needs[o.Instance.Config()]
		if slot := prog.ResourceSlot(o.Instance.Config()); slot != nil {
			conflict = conflict || e.touches(prog.ResourcesBehind(slot))
		}
		for _, s := range []*state.State{p.Base, now} {
			if stored := s.Object(o); stored != nil {
				conflict = conflict || e.touches(stored.Dependencies)
			}
		}
		if conflict {
			list = append(list, o.String())
		}
	}
	for _, o := range e.outputs(prog, p, c) {
		if o.theirs && (o.ours || everything) {
			list = append(list, "output."+o.name)
		}
	}
	return list
}

// output is a root output: ours if the plan evaluates it or changes one of its dependencies, theirs if the other run
// changed it or one of its dependencies.
type output struct {
	name         string
	ours, theirs bool
}

func (e *effects) outputs(prog *linking.Program, p *plan.Plan, c Changed) (list []output) {
	changed := map[addr.ConfigResource]bool{}
	for _, o := range c.Objects {
		changed[o.Instance.Config()] = true
	}
	planned := map[string]bool{}
	for _, o := range p.Outputs {
		planned[o.Name] = o.Action != plan.NoOp
	}
	names := map[string]bool{}
	for name := range prog.Config.Root.Outputs {
		names[name] = true
	}
	for _, name := range slices.Concat(c.Outputs, slices.Collect(maps.Keys(planned))) {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		o := output{name: name, ours: planned[name], theirs: slices.Contains(c.Outputs, name)}
		slot := prog.OutputSlot(addr.RootModule, name)
		if slot == nil { // the plan removes it, if its state has it
			o.ours = o.ours || !p.Partial() && p.Base.Output(name) != nil
		} else {
			behind := prog.ResourcesBehind(slot)
			o.ours = o.ours || e.limits.Includes(slot) || e.touches(behind)
			o.theirs = o.theirs || slices.ContainsFunc(behind, func(r addr.ConfigResource) bool { return changed[r] })
		}
		list = append(list, o)
	}
	return list
}

// Rebase returns a plan without conflicts, adapted to the newer state, and the outputs that it does not change there.
// Values that the plan has read do not overwrite changes of the other run.
func Rebase(prog *linking.Program, p *plan.Plan, c Changed) (*plan.Plan, []string) {
	if c.None() {
		return p, nil
	}
	changed := map[addr.Object]bool{}
	for _, o := range c.Objects {
		changed[o] = true
	}
	out := *p
	out.Refreshed = slices.DeleteFunc(slices.Clone(p.Refreshed), func(e state.Edit) bool {
		return e.Put != nil && changed[e.Put.Addr] || e.Drop != nil && changed[e.Drop.Addr] ||
			e.Seen != nil && changed[e.Seen.Addr]
	})
	var left []string
	for _, o := range effectsOf(prog, p).outputs(prog, p, c) {
		if o.theirs {
			left = append(left, o.name)
		}
	}
	return &out, left
}
