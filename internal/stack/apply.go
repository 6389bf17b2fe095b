package stack

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
)

// Apply applies the plans of the round, in order. A unit whose plan was made with an output that has become something
// else waits for the next round, with all units that depend on it.
func (r *Run) Apply(ctx context.Context) []*Result {
	var units []*Unit
	for _, u := range r.o.Units {
		if p := r.units[u].Phase; p == Planned || p == Unchanged {
			units = append(units, u)
		}
	}
	reverse := r.o.Plan.Mode == plan.Destroy
	r.walk(ctx, units, true, reverse, func(ur *unitRun) { r.applyUnit(ctx, ur, reverse) })
	var list []*Result
	for _, u := range units {
		list = append(list, &r.units[u].Result)
	}
	return list
}

// Pending reports whether another round is necessary.
func (r *Run) Pending() bool {
	return slices.ContainsFunc(r.o.Units, func(u *Unit) bool {
		p := r.units[u].Phase
		return p == Waiting || p == Deferred
	})
}

// Applyable reports whether a plan of the round has changes.
func (r *Run) Applyable() bool {
	return slices.ContainsFunc(r.o.Units, func(u *Unit) bool { return r.units[u].Phase == Planned })
}

func (r *Run) applyUnit(ctx context.Context, ur *unitRun, reverse bool) {
	u := ur.Unit
	if failed := r.failed(u, reverse); failed != nil {
		why := "needs"
		if reverse {
			why = "is needed by"
		}
		r.skip(ctx, ur, why+" the unit "+failed.Name+", which has not succeeded")
		return
	}
	if why := r.outdated(ur); why != "" && !reverse {
		if diags := ur.release(ctx); diags.HasErrors() || r.saved {
			r.fail(ur, diags.Errorf(nil, "Saved plan is stale", "The plan of the unit %q cannot be applied: %s. Make "+
				"a new plan.", u.Name, why))
			return
		}
		ur.Plan, ur.again = nil, true
		r.set(ur, Waiting, "%s", why)
		return
	}
	if ur.Phase != Planned {
		return
	}
	if diags := r.ephemerals(ctx, ur); diags.HasErrors() {
		r.fail(ur, diags.Extend(ur.release(ctx)))
		return
	}
	r.set(ur, Applying, "")
	n, diags := ur.run.ApplyWith(ctx, ur.Plan, engine.ApplyOptions{Ephemeral: ur.values,
		Rest: fmt.Sprintf("Run \"%s stack apply\" again for the remaining "+
			"changes.", cmp.Or(r.o.Base.Program, diag.Program))})
	ur.State = ur.run.State()
	diags = Seen(diags, u).Extend(ur.release(ctx))
	ur.Problems, ur.Changed = diags, true
	switch {
	case diags.HasErrors():
		r.fail(ur, diags)
	case engine.Continues(ur.Plan) && !r.saved:
		ur.rounds.Count(ur.Plan)
		ur.again = true
		r.set(ur, Waiting, "a part of it is planned in the next round")
	default:
		r.set(ur, Applied, "%d added, %d changed, %d destroyed", n.Added, n.Changed, n.Destroyed)
	}
}

// ephemerals adds the values of ephemeral variables to a saved plan, which does not store them.
func (r *Run) ephemerals(ctx context.Context, ur *unitRun) diag.List {
	missing := false
	for name, v := range ur.Plan.Variables {
		missing = missing || v.Ephemeral && ur.values[name] == cty.NilVal
	}
	if !r.saved || !missing || ur.Unit.block.Variables == nil {
		return nil
	}
	given, why, diags := r.given(ctx, ur)
	if why != "" {
		diags = diags.Errorf(nil, "Saved plan is stale", "The plan of the unit %q cannot be applied: it %s. Make a "+
			"new plan.", ur.Unit.Name, why)
	}
	if diags.HasErrors() {
		return diags
	}
	us := r.o.Stack.Surroundings(r.o.Base, ur.Unit)
	us.Values, us.ValuesIn = map[string]cty.Value{}, ur.Unit.variablesIn()
	for name, v := range given {
		us.Values[name], _ = v.UnmarkDeep()
	}
	values, diags := us.Variables(ur.Config, engine.VariableOptions{Given: us.Given})
	if diags.HasErrors() {
		return Seen(diags, ur.Unit)
	}
	ur.values = ephemeral(ur.Plan, ur.Config.RawValues(values))
	return nil
}

func (r *Run) skip(ctx context.Context, ur *unitRun, reason string) {
	ur.Problems = ur.release(ctx)
	r.set(ur, Skipped, "%s", reason)
}

// outdated returns why the plan of a unit no longer fits the outputs of others, or "".
func (r *Run) outdated(ur *unitRun) string {
	for _, e := range ur.Unit.Edges {
		if dep := r.units[e.To]; dep != nil && dep.again {
			return "the unit " + e.To.Name + " is planned again"
		}
	}
	for _, use := range ur.uses {
		dep := r.units[r.o.Stack.Unit(use.Unit)]
		if dep == nil || dep.Phase != Applied {
			continue
		}
		o := dep.State.Output(use.Output)
		if o == nil || !same(o.Value, use.value) {
			return "the output " + use.Output + " of the unit " + use.Unit + " differs from its planned value"
		}
	}
	return ""
}

// StillNeeded returns an error for a destroy of units that others depend on, if these are not part of the run and still
// have objects.
func (r *Run) StillNeeded(ctx context.Context) (diags diag.List) {
	for _, u := range r.o.Stack.Units {
		if r.units[u] != nil {
			continue
		}
		for dep := range r.above[u] {
			if r.units[dep] == nil {
				continue
			}
			snapshot, more := r.o.Stack.Stored(ctx, r.o.Base, u)
			if diags = diags.Extend(InUnit(more, u)); !more.HasErrors() && len(snapshot.State.Resources()) > 0 {
				diags = diags.Errorf(nil, "Unit is still needed", "The unit %q depends on %q and has objects in its "+
					"state, but is not part of this run. Destroy it, too, with -with-dependents.", u.Name, dep.Name)
			}
			break
		}
	}
	return diags
}
