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

// tearDown destroys the objects of the file's runs, starting with the state that was changed last. States of
// independent runs are destroyed concurrently. Only a second interrupt stops it.
func (r *fileRun) tearDown(q queue) {
	var list []*keyed
	for _, k := range r.states {
		if len(k.applied) > 0 && !k.empty() {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b *keyed) int { return b.order - a.order })
	after := make([][]int, len(list))
	for i, k := range list {
		for j, before := range list[:i] {
			if q.related(k, before) {
				after[i] = append(after[i], j)
			}
		}
	}
	clean := make([]bool, len(list))
	r.turns = newTurns(len(list))
	r.concurrently(len(list), after, func(i int) {
		clean[i] = r.destroy(i, list[i])
		r.turns.end(i)
	})
	if slices.Contains(clean, false) {
		r.result.Status = Error
		return
	}
	if r.o.Emptied != nil {
		r.o.Emptied(r.file)
	}
}

// related reports whether a run that changed one state waited for one that changed the other.
func (q queue) related(a, b *keyed) bool {
	for _, x := range a.applied {
		for _, y := range b.applied {
			first, last := min(x.number, y.number), max(x.number, y.number)
			if slices.Contains(q.all(last), first) {
				return true
			}
		}
	}
	return false
}

// destroy destroys the objects in one state, and reports whether it succeeded.
func (r *fileRun) destroy(i int, k *keyed) bool {
	run := k.applied[len(k.applied)-1].run
	r.turns.tell(i, func() { r.o.Report.Destroying(r.file, run) })
	watch := r.watch(i, run, true)
	diags := r.destroyWithAll(k)
	watch()
	if len(diags) > 0 || !k.empty() {
		left := Leftover{File: r.file, Run: run, State: k.current, Open: k.open, Path: k.place.Path, Diags: diags}
		r.turns.tell(i, func() { r.o.Report.Destroyed(left) })
	}
	return !diags.HasErrors() && k.empty()
}

// destroyWithAll destroys the objects in a state with the run that changed it last. If that run mocks a provider that
// has real objects, earlier runs destroy these.
func (r *fileRun) destroyWithAll(k *keyed) (diags diag.List) {
	mine := func(d *diag.Diagnostic) bool { _, not := d.Extra.(notMade); return !not }
	for i, a := range slices.Backward(k.applied) {
		all := r.destroyWith(k, a)
		kept := slices.DeleteFunc(slices.Clone(all), func(d *diag.Diagnostic) bool { return !mine(d) })
		if len(kept) == len(all) || i == 0 { // nothing is left for an earlier run
			return diags.Extend(all)
		}
		if diags = diags.Extend(kept); kept.HasErrors() {
			return diags
		}
	}
	return diags
}

// destroyWith destroys the objects in a state with the configuration of a run.
func (r *fileRun) destroyWith(k *keyed, a *attempt) diag.List {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.ctx))
	defer context.AfterFunc(r.o.Abort, cancel)()
	defer cancel()
	m, diags := r.projects.get(ctx, a)
	if diags.HasErrors() {
		return diags
	}
	defer r.projects.put(m)
	held, diags := m.WithStore(k.place.Store).Open(ctx, engine.OpenOptions{Operation: state.OperationDestroy})
	if diags.HasErrors() {
		return diags
	}
	a.standIns.before = k.origins.now()
	standIns := ending{a.standIns}
	pl, more := held.Plan(ctx, engine.PlanOptions{Mode: plan.Destroy, Unprotected: true, Unjudged: true,
		Variables: a.options.Variables, VariableRanges: a.options.VariableRanges, StandIns: standIns})
	diags = diags.Extend(more)
	if pl != nil && !diags.HasErrors() {
		_, more = held.ApplyWith(ctx, pl, engine.ApplyOptions{Ephemeral: a.options.Variables, StandIns: standIns,
			Rest: "The report lists the remaining objects."})
		diags = diags.Extend(more)
	}
	k.current, k.open = held.State(), held.Snapshot().InFlight
	return diags.Extend(held.Close(ctx))
}

// empty reports whether a state has no objects that exist, or may exist.
func (k *keyed) empty() bool { return !holds(k.current) && len(k.open) == 0 }

// holds reports whether a state has objects that exist.
func holds(s *state.State) bool {
	for _, r := range s.Resources() {
		if r.Addr.Resource.Mode == addr.Managed {
			return true
		}
	}
	return false
}

// Objects returns the remaining objects of a state, and those that may exist.
func (l Leftover) Objects() (out []addr.Object) {
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
	for _, f := range l.Open {
		if !slices.Contains(out, f.Object) {
			out = append(out, f.Object)
		}
	}
	return out
}
