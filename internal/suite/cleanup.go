package suite

import (
	"context"
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// tearDown destroys what the runs of the file have made: the state that was changed last comes first. An interrupt does
// not keep it from that; the second one does.
func (r *fileRun) tearDown() {
	var list []*keyed
	for _, k := range r.states {
		if k.last != nil {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b *keyed) int { return b.order - a.order })
	clean := true
	for _, k := range list {
		clean = r.destroy(k) && clean
	}
	if clean && r.o.Emptied != nil {
		r.o.Emptied(r.file)
	}
}

// destroy empties one state, and tells whether that is done.
func (r *fileRun) destroy(k *keyed) bool {
	if !holds(k.current) {
		return true
	}
	run := k.last.run
	r.o.Report.Destroying(r.file, run)
	watch := r.watch(run, true)
	left, diags := r.destroyWith(k)
	watch()
	if len(diags) > 0 || holds(left) {
		r.o.Report.Destroyed(Left{File: r.file, Run: run, State: left, Path: k.place.Path, Diags: diags})
	}
	if diags.HasErrors() || holds(left) {
		r.result.Status = Error
		return false
	}
	return true
}

func (r *fileRun) destroyWith(k *keyed) (*state.State, diag.List) {
	a := k.last
	r.variables, r.broken = a.outer, a.broken
	ctx := context.WithoutCancel(r.ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(r.o.Abort, cancel)()
	defer cancel()
	held, diags := a.project.WithStore(k.place.Store).Open(ctx, engine.OpenOptions{Operation: state.OperationDestroy})
	if diags.HasErrors() {
		return k.current, diags
	}
	pl, more := held.Plan(ctx, engine.PlanOptions{Mode: plan.Destroy, Variables: a.options.Variables,
		VariableRanges: a.options.VariableRanges, StandIns: a.options.StandIns})
	diags = diags.Extend(more)
	if pl != nil && !diags.HasErrors() {
		_, more = held.ApplyWith(ctx, pl, engine.ApplyOptions{Ephemeral: a.options.Variables,
			StandIns: a.options.StandIns})
		diags = diags.Extend(more)
	}
	left := held.State()
	return left, diags.Extend(held.Close(ctx))
}

// holds reports whether a state has objects that are somewhere in the world.
func holds(s *state.State) bool {
	for _, r := range s.Resources() {
		if r.Addr.Resource.Mode == addr.Managed {
			return true
		}
	}
	return false
}

// Objects lists what is left in a state.
func (l Left) Objects() (out []addr.Object) {
	for _, r := range l.State.Resources() {
		if r.Addr.Resource.Mode != addr.Managed {
			continue
		}
		for _, key := range r.Keys() {
			inst := r.Instances[key]
			if inst.Current != nil {
				out = append(out, addr.Object{Instance: r.Addr.Instance(key)})
			}
			for _, d := range inst.DeposedKeys() {
				out = append(out, addr.Object{Instance: r.Addr.Instance(key), Deposed: d})
			}
		}
	}
	return out
}
