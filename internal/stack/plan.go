package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/projectfile"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
)

// Plan plans all units that have to be planned: a round. Afterwards each of them is Planned, Unchanged, Deferred,
// Failed or Skipped.
func (r *Run) Plan(ctx context.Context) []*Result {
	var pending []*Unit
	for _, u := range r.o.Units {
		if ur := r.units[u]; ur.Phase == Waiting || ur.Phase == Deferred {
			pending = append(pending, u)
			ur.Problems, ur.Notes, ur.again = nil, nil, false
		}
	}
	for todo := pending; len(todo) > 0; todo = r.wait(ctx, pending) {
		r.walk(ctx, todo, r.o.Plan.Mode == plan.Normal, false, func(ur *unitRun) { r.planUnit(ctx, ur) })
	}
	var list []*Result
	for _, u := range pending {
		list = append(list, &r.units[u].Result)
	}
	return list
}

func (r *Run) planUnit(ctx context.Context, ur *unitRun) {
	u := ur.Unit
	if diags := r.o.Stack.Broken(u); diags.HasErrors() {
		r.fail(ur, diags)
		return
	}
	if r.o.Plan.Mode == plan.Normal {
		if failed := r.failed(u, false); failed != nil {
			r.set(ur, Skipped, "the unit %s, which it needs, has not succeeded", failed.Name)
			return
		}
		if why := r.waits(u); why != "" {
			r.set(ur, Deferred, "%s", why)
			return
		}
	} else {
		snapshot, diags := r.o.Stack.Stored(ctx, r.o.Base, u)
		if diags.HasErrors() {
			r.fail(ur, diags)
			return
		}
		if len(snapshot.State.Resources()) == 0 && len(snapshot.InFlight) == 0 &&
			len(snapshot.State.OutputNames()) == 0 {
			if diags := r.settle(ctx, ur, snapshot); diags.HasErrors() {
				if !r.contend(ctx, ur, diags) {
					r.fail(ur, diags)
				}
				return
			}
			r.set(ur, Unchanged, "there are no objects in its state")
			return
		}
	}
	given, why, diags := r.given(ctx, ur)
	switch {
	case diags.HasErrors():
		r.fail(ur, diags)
		return
	case why != "":
		r.set(ur, Deferred, "%s", why)
		return
	}
	if diags := r.o.Stack.varFiles(u); diags.HasErrors() {
		r.fail(ur, diags)
		return
	}
	r.set(ur, Planning, "")
	if diags = r.make(ctx, ur, given); !r.contend(ctx, ur, diags) {
		r.planned(ctx, ur, diags)
	}
}

// planned sets the phase of a unit for its new plan.
func (r *Run) planned(ctx context.Context, ur *unitRun, diags diag.List) {
	pl := ur.Plan
	if pl != nil && !pl.Errored && r.o.Keep {
		diags = diags.Extend(ur.rounds.Stuck(pl))
	}
	changes := pl != nil && !pl.Errored && !diags.HasErrors() && pl.Applyable()
	if !changes || !r.o.Keep {
		if ur.run != nil {
			ur.State = ur.run.State()
		}
		diags = diags.Extend(ur.release(ctx))
	}
	ur.Problems = diags
	switch {
	case pl == nil, pl.Errored, diags.HasErrors():
		r.fail(ur, diags)
	case changes:
		s := pl.Summary()
		r.set(ur, Planned, "%d to add, %d to change, %d to destroy", s.Add, s.Change, s.Destroy)
	default:
		r.set(ur, Unchanged, "")
	}
}

// waits returns why a unit cannot be planned in this round because of its dependencies, or "".
func (r *Run) waits(u *Unit) string {
	for _, e := range u.Edges {
		dep := r.units[e.To]
		if dep == nil {
			continue
		}
		switch {
		case dep.contended:
			return fmt.Sprintf("waits for the unit %s, the lock of whose state another run holds", e.To.Name)
		case dep.Phase == Deferred:
			return fmt.Sprintf("waits for the unit %s, which is deferred", e.To.Name)
		case dep.Phase != Planned && dep.Phase != Unchanged:
		case len(dep.Plan.Deferred) > 0:
			return fmt.Sprintf("waits for the unit %s, whose plan defers a part", e.To.Name)
		case e.Order && dep.Phase == Planned:
			return fmt.Sprintf("waits for the changes of the unit %s (depends_on)", e.To.Name)
		case e.State && changesOutput(dep.Plan, ""):
			return fmt.Sprintf("reads the state of the unit %s, whose outputs change", e.To.Name)
		}
	}
	return ""
}

// given returns the values of the variables of a unit, or why they are not known in this round.
func (r *Run) given(ctx context.Context, ur *unitRun) (map[string]cty.Value, string, diag.List) {
	u := ur.Unit
	units := map[string]map[string]cty.Value{}
	ur.uses = nil
	for _, e := range u.Edges {
		if !e.All && len(e.Outputs) == 0 {
			continue
		}
		have, planned, diags := r.have(ctx, e.To)
		if diags.HasErrors() {
			return nil, "", InUnit(diags, e.To)
		}
		names := e.Outputs
		if e.All {
			names = slices.Sorted(maps.Keys(have))
		}
		for _, name := range names {
			v, ok := have[name]
			switch {
			case !ok && r.o.Plan.Mode == plan.Destroy: // the other unit may already be destroyed
				have[name] = cty.NullVal(cty.DynamicPseudoType)
				ur.Notes = append(ur.Notes, fmt.Sprintf("uses null for the output %s of the unit %s, which does not "+
					"exist", name, e.To.Name))
				continue
			case !ok:
				return nil, "", r.missing(u, e.To, name, have)
			case !wholly(v):
				return nil, fmt.Sprintf("waits for the output %s of the unit %s", name, e.To.Name), nil
			}
			if planned != nil && changesOutput(planned, name) {
				ur.Notes = append(ur.Notes, fmt.Sprintf("uses the planned value of the output %s of the unit %s", name,
					e.To.Name))
			}
			bare, _ := v.UnmarkDeep()
			ur.uses = append(ur.uses, Use{Unit: e.To.Name, Output: name, value: bare})
		}
		units[e.To.Name] = have
	}
	values, diags := r.o.Stack.values(u, units)
	return values, "", diags
}

func wholly(v cty.Value) bool {
	v, _ = v.UnmarkDeep()
	return v.IsWhollyKnown()
}

// have returns the outputs of a unit for the plans of others: those of its plan in this round, or else of its state.
func (r *Run) have(ctx context.Context, u *Unit) (map[string]cty.Value, *plan.Plan, diag.List) {
	ur := r.units[u]
	switch {
	case ur == nil || r.o.Plan.Mode != plan.Normal: // plans of other modes have no order, and use only stored values
	case ur.Plan != nil && ur.Phase != Applied:
		return plannedOutputs(ur.Plan), ur.Plan, nil
	case ur.Phase == Applied:
		return outputsOf(ur.State), nil, nil
	}
	snapshot, diags := r.o.Stack.Stored(ctx, r.o.Base, u)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	return outputsOf(snapshot.State), nil, nil
}

// make loads a unit, takes its lock and makes its plan.
func (r *Run) make(ctx context.Context, ur *unitRun, given map[string]cty.Value) diag.List {
	u := ur.Unit
	us := r.o.Stack.Surroundings(r.o.Base, u)
	us.Values, us.ValuesIn = map[string]cty.Value{}, u.variablesIn()
	ur.Sensitive = nil
	for _, name := range slices.Sorted(maps.Keys(given)) {
		bare, _ := given[name].UnmarkDeep()
		if us.Values[name] = bare; value.HasDeepSensitive(given[name]) {
			ur.Sensitive = append(ur.Sensitive, name)
		}
	}
	project, diags := us.Project(ctx, engine.LoadOptions{Parallelism: r.o.Parallelism, Events: r.sink(u),
		Abort: r.o.Abort})
	if diags.HasErrors() {
		return Seen(diags, u)
	}
	ur.project, ur.Secrets, ur.Config = project, project.Secrets(), project.Config().Root
	root := project.Config().Root
	for _, name := range ur.Sensitive {
		if v := root.Variables[name]; v != nil {
			v.Sensitive = true
		}
	}
	values, more := us.Variables(root, engine.VariableOptions{Given: us.Given})
	if diags = diags.Extend(more); more.HasErrors() {
		return Seen(diags, u)
	}
	open := r.lock(ur)
	if r.o.FileLocks {
		file, _ := us.ProjectFile() // it was read before without an error
		open.NoLock = open.NoLock || file.PlansUnlocked()
	}
	run, more := project.Open(ctx, open)
	if diags = diags.Extend(more); more.HasErrors() {
		return Seen(diags, u)
	}
	ur.run = run
	o := r.o.Plan
	o.Variables, o.VariableRanges = root.RawValues(values), values.Ranges()
	pl, more := run.Plan(ctx, o)
	if ur.Plan = pl; pl != nil {
		ur.Schemas, ur.values = project.Schemas(pl.Base, pl.Changes...), ephemeral(pl, o.Variables)
	}
	return Seen(diags.Extend(more), u)
}

// varFiles returns an error for each file with values of a unit that does not exist.
func (s *Stack) varFiles(u *Unit) (diags diag.List) {
	for _, name := range u.VarFiles {
		full := filepath.FromSlash(name)
		if !filepath.IsAbs(full) {
			full = filepath.Join(s.Root, filepath.FromSlash(u.Dir), full)
		}
		if _, err := os.Stat(full); errors.Is(err, fs.ErrNotExist) {
			diags = diags.Errorf(&u.block.VarFilesRange, "Failed to read variables file", "The unit %q has the file "+
				"%q in var_files, and there is no such file in %s. Names are relative to the source of the unit: "+
				"correct the name, or remove it.", u.Name, name, path.Dir(path.Join(u.Dir, filepath.ToSlash(name))))
		}
	}
	return diags
}

// variablesIn returns the place of the values of a unit for errors.
func (u *Unit) variablesIn() string {
	if u.block.Variables == nil {
		return ""
	}
	return fmt.Sprintf("the variables of the unit %q (%s line %d)", u.Name, projectfile.Name,
		u.block.Variables.Range.Start.Line)
}

func (r *Run) sink(u *Unit) event.Sink {
	if r.o.Watcher == nil {
		return nil
	}
	return r.o.Watcher.Sink(u)
}

// ephemeral returns the values of variables that are not stored in a plan.
func ephemeral(pl *plan.Plan, values map[string]cty.Value) map[string]cty.Value {
	out := map[string]cty.Value{}
	for name, v := range pl.Variables {
		if given, ok := values[name]; ok && v.Ephemeral {
			out[name] = given
		}
	}
	return out
}

func same(a, b cty.Value) bool { return ctyfast.RawEquals(a, b) }
