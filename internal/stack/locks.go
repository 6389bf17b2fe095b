package stack

import (
	"context"
	"errors"
	"slices"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/state"
)

// How the locks of many states are taken, so that of several runs over the same units one always finishes.
//
// A run keeps the locks of the units that it has planned until they are applied. If two runs waited for locks of each
// other, both would wait until the time of -lock-timeout has passed. Therefore a run waits for a lock only while all
// locks that it holds are of units that come earlier in the order of the stack: Stack.Units, which is the same for all
// runs. While units are planned side by side, nothing waits: a unit whose lock another run holds is contended, and
// those that depend on it are deferred. When everything else is planned, the run releases the locks of the units after
// the first contended one, waits for that one, and then plans the released ones again.

// patient reports whether a run keeps locks and may wait for others.
func (r *Run) patient() bool { return r.o.Keep && r.o.Open.Timeout > 0 }

// lock returns the options of the lock of a unit. A run that keeps locks does not wait for it while others are planned.
func (r *Run) lock(ur *unitRun) engine.OpenOptions {
	o := r.o.Open
	if r.patient() && !ur.insists {
		o.Timeout = 0
	}
	return o
}

// isLocked reports whether one of the problems is that another run holds a lock.
func isLocked(diags diag.List) bool {
	return slices.ContainsFunc(diags, func(d *diag.Diagnostic) bool {
		var locked *state.LockedError
		return errors.As(d.Err, &locked)
	})
}

// contend notes that another run holds the lock of a unit, unless this run has already waited for it. The unit is
// planned later.
func (r *Run) contend(ctx context.Context, ur *unitRun, diags diag.List) bool {
	if !r.patient() || ur.insists || !isLocked(diags) {
		return false
	}
	ur.release(ctx)
	ur.contended, ur.Plan = true, nil
	r.set(ur, Waiting, "another run holds the lock of its state")
	return true
}

// wait waits for the lock of the first contended unit among those of the round, plans that unit, and returns the units
// that have to be planned after it.
func (r *Run) wait(ctx context.Context, round []*Unit) (again []*Unit) {
	first := slices.IndexFunc(round, func(u *Unit) bool { return r.units[u].contended })
	if first < 0 || ctx.Err() != nil {
		return nil
	}
	u := round[first]
	reset := map[*Unit]bool{}
	for _, later := range round[first+1:] {
		ur := r.units[later]
		switch ur.Phase {
		case Planned, Deferred, Waiting:
		case Unchanged:
			if !r.reaches(later, reset) && !r.above[later][u] {
				continue
			}
		default:
			continue // it failed, or was skipped
		}
		if diags := ur.release(ctx); diags.HasErrors() {
			r.fail(ur, diags)
			continue
		}
		ur.contended, ur.Plan, ur.Problems, ur.Notes = false, nil, nil, nil
		reset[later] = true
		if again = append(again, later); ur.Phase == Planned {
			r.set(ur, Waiting, "its lock was released, so that the unit %s can wait for its own", u.Name)
		}
	}
	ur := r.units[u]
	ur.contended, ur.insists = false, true
	r.walk(ctx, []*Unit{u}, true, false, func(ur *unitRun) { r.planUnit(ctx, ur) })
	ur.insists = false
	return again
}

// reaches reports whether a unit depends on one of a set.
func (r *Run) reaches(u *Unit, set map[*Unit]bool) bool {
	for dep := range r.above[u] {
		if set[dep] {
			return true
		}
	}
	return false
}
