package stack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Phase is the present work of a unit, or its end.
type Phase string

// The phases. A unit that has nothing left to do is Unchanged or Applied.
const (
	Waiting   Phase = "waiting"
	Planning  Phase = "planning"
	Unchanged Phase = "unchanged"
	Planned   Phase = "planned"  // its plan has changes
	Deferred  Phase = "deferred" // it is planned in a later round
	Applying  Phase = "applying"
	Applied   Phase = "applied"
	Failed    Phase = "failed"
	Skipped   Phase = "skipped" // a unit that it depends on has failed, or the run was interrupted
)

// Watcher receives what happens during a run. Its methods are called concurrently, for different units.
type Watcher interface {
	// Phase reports that a unit is now in a phase.
	Phase(u *Unit, p Phase, reason string)
	// Sink returns the receiver of the events of a unit.
	Sink(u *Unit) event.Sink
}

// Options configures a run over units.
type Options struct {
	Stack *Stack
	Units []*Unit
	Base  *engine.Surroundings
	// Plan has the options of every plan; variables are set by the run.
	Plan engine.PlanOptions
	// Open are the options of the locks. With Keep, the locks of units with changes are kept until they are applied.
	Open engine.OpenOptions
	Keep bool
	// FileLocks makes the project file of a unit decide whether its plan takes the lock.
	FileLocks   bool
	Parallelism int
	Abort       context.Context
	Watcher     Watcher
}

// Run plans and applies units in rounds. Its methods must not be called concurrently.
type Run struct {
	o     Options
	units map[*Unit]*unitRun
	saved bool // the plans are from a file
	// above are all units that a unit depends on, directly or not.
	above map[*Unit]map[*Unit]bool
}

// unitRun is the run of one unit. Only the task of the unit changes it, before those of its dependents begin.
type unitRun struct {
	Result
	project *engine.Project
	run     *engine.Run
	rounds  engine.Rounds
	values  map[string]cty.Value // the values of ephemeral variables
	uses    []Use
	again   bool // it has to be planned in the next round
	// contended means that another run holds the lock, and insists that this unit waits for it.
	contended, insists bool
}

// Result is the result of a unit so far.
type Result struct {
	Unit   *Unit
	Phase  Phase
	Reason string
	// Notes say what the plan takes for granted.
	Notes []string
	// Plan is the last plan, with the schemas to show it; Secrets must not be shown with it.
	Plan    *plan.Plan
	Schemas tfjson.Schemas
	Secrets *value.Secrets
	// Problems are those of the last step. Names of files are relative to the root of the stack.
	Problems diag.List
	// Changed reports whether a plan of the unit was applied in this run.
	Changed bool
	// State is the state after the last step, or nil.
	State *state.State
	// Config is the root module that the plan was made from.
	Config *config.Module
	// Sensitive are the variables that have sensitive values of other units.
	Sensitive []string
}

// Use is an output of another unit that a plan was made with.
type Use struct {
	Unit   string `json:"unit"`
	Output string `json:"output"`

	value cty.Value
}

// NewRun returns a run in which nothing was done yet.
func NewRun(o Options) *Run {
	r := &Run{o: o, units: map[*Unit]*unitRun{}, above: map[*Unit]map[*Unit]bool{}}
	for _, u := range o.Stack.Units {
		r.above[u] = closure(needs(u), needs)
	}
	for _, u := range o.Units {
		r.units[u] = &unitRun{Result: Result{Unit: u, Phase: Waiting}}
	}
	return r
}

// Results returns the units in their order.
func (r *Run) Results() (list []*Result) {
	for _, u := range r.o.Units {
		list = append(list, &r.units[u].Result)
	}
	return list
}

// Close releases all locks that are still held.
func (r *Run) Close(ctx context.Context) (diags diag.List) {
	for _, u := range r.o.Units {
		diags = diags.Extend(InUnit(r.units[u].release(ctx), u))
	}
	return diags
}

// release closes what a unit holds.
func (ur *unitRun) release(ctx context.Context) (diags diag.List) {
	if ur.run != nil {
		diags = Seen(ur.run.Close(context.WithoutCancel(ctx)), ur.Unit)
		ur.run = nil
	}
	if ur.project != nil {
		if err := ur.project.Close(); err != nil {
			diags = diags.Warnf(nil, "A provider did not stop cleanly", "%s.", err)
		}
		ur.project = nil
	}
	return diags
}

func (r *Run) set(ur *unitRun, p Phase, reason string, args ...any) {
	ur.Phase, ur.Reason = p, fmt.Sprintf(reason, args...)
	if r.o.Watcher != nil {
		r.o.Watcher.Phase(ur.Unit, p, ur.Reason)
	}
}

func (r *Run) fail(ur *unitRun, diags diag.List) {
	ur.Problems = diags
	r.set(ur, Failed, "%s", firstProblem(diags))
}

func firstProblem(diags diag.List) string {
	for _, d := range diags {
		if d.Severity == diag.Error {
			return d.Summary
		}
	}
	return ""
}

// walk calls do for units, at most AtOnce at a time, after those for their dependencies, or for their dependents if
// reverse is set. Every unit is visited, unless the context ends.
func (r *Run) walk(ctx context.Context, units []*Unit, ordered, reverse bool, do func(*unitRun)) {
	runner := graph.New(r.o.Stack.AtOnce)
	ids := map[*Unit]graph.ID{}
	for _, u := range units {
		ur := r.units[u]
		ids[u] = runner.Add(func(*graph.Node) error { do(ur); return nil })
	}
	for _, u := range units {
		for dep := range r.above[u] { // those between two of the units may not be among them
			id, there := ids[dep]
			switch {
			case !there || !ordered:
			case reverse:
				runner.Depend(id, ids[u])
			default:
				runner.Depend(ids[u], id)
			}
		}
	}
	if err := runner.Run(ctx); err != nil {
		for _, u := range units {
			if ur := r.units[u]; ur.Phase == Waiting || ur.Phase == Deferred || ur.Phase == Planned {
				r.set(ur, Skipped, "the run was interrupted")
			}
		}
	}
}

// failed returns the first unit that failed or was skipped among those that a unit needs, or that need it. All of them
// have ended.
func (r *Run) failed(u *Unit, reverse bool) *Unit {
	for _, other := range r.o.Units {
		among := r.above[u][other]
		if reverse {
			among = r.above[other][u]
		}
		if among && (r.units[other].Phase == Failed || r.units[other].Phase == Skipped) {
			return other
		}
	}
	return nil
}

// outputsOf returns the outputs of a unit in a state, sensitive ones with their mark.
func outputsOf(s *state.State) map[string]cty.Value {
	out := map[string]cty.Value{}
	for _, name := range s.OutputNames() {
		o := s.Output(name)
		if out[name] = o.Value; o.Sensitive {
			out[name] = o.Value.Mark(value.Sensitive)
		}
	}
	return out
}

// plannedOutputs returns the outputs after a plan. They may be unknown.
func plannedOutputs(pl *plan.Plan) map[string]cty.Value {
	out := outputsOf(pl.Base)
	for _, o := range pl.Outputs {
		switch {
		case o.Action == plan.Delete, o.After.IsNull(): // states do not have outputs that are null
			delete(out, o.Name)
		case o.Sensitive:
			out[o.Name] = o.After.Mark(value.Sensitive)
		default:
			out[o.Name] = o.After
		}
	}
	return out
}

// changesOutput reports whether a plan changes an output.
func changesOutput(pl *plan.Plan, name string) bool {
	return slices.ContainsFunc(pl.Outputs, func(o *plan.OutputChange) bool {
		return o.Action != plan.NoOp && (name == "" || o.Name == name)
	})
}

// Stored reads the state of a unit without its lock.
func (s *Stack) Stored(ctx context.Context, base *engine.Surroundings, u *Unit) (*state.Snapshot, diag.List) {
	ws, diags := s.workspace(ctx, base, u)
	if diags.HasErrors() {
		return nil, diags
	}
	snapshot, err := ws.Read(ctx)
	if err != nil {
		return nil, diag.FromError("Failed to load state", err)
	}
	return snapshot, nil
}

// workspace returns where the state of a unit is.
func (s *Stack) workspace(ctx context.Context, base *engine.Surroundings, u *Unit) (state.Workspace, diag.List) {
	us := s.Surroundings(base, u)
	root, diags := us.RootModule(ctx)
	if diags.HasErrors() {
		return nil, Seen(diags, u)
	}
	st, diags := us.StoreOf(ctx, root.Root, engine.StateFiles{})
	if diags.HasErrors() {
		return nil, Seen(diags, u)
	}
	return us.Selected(st)
}

// settle stores what a killed run has left in the journal of a unit that has no objects: no plan of the unit does it.
func (r *Run) settle(ctx context.Context, ur *unitRun, snapshot *state.Snapshot) diag.List {
	if !r.o.Keep || r.o.Open.NoLock || snapshot.State == nil {
		return nil
	}
	ws, diags := r.o.Stack.workspace(ctx, r.o.Base, ur.Unit)
	if diags.HasErrors() {
		return diags
	}
	request := state.LockRequest{Info: state.LockInfo{Operation: r.o.Open.Operation}}
	session, err := state.Acquire(ctx, ws, request, r.lock(ur).Timeout, func(*state.LockedError) {})
	if err != nil {
		return diag.FromError("Error acquiring the state lock", err)
	}
	if err := session.Unlock(); err != nil {
		return diag.FromError("Error releasing the state lock", err)
	}
	return nil
}

// missing returns an error for an output that a unit does not have.
func (r *Run) missing(u, of *Unit, name string, have map[string]cty.Value) (diags diag.List) {
	at := u.block.Variables.Range
	names := slices.Sorted(maps.Keys(have))
	hint := "It has no outputs yet."
	if len(names) > 0 {
		hint = "It has " + strings.Join(names, ", ") + "." + diag.DidYouMean(name, names)
	}
	advice := "Add an output block to its root module, or correct the reference."
	if r.units[of] == nil {
		advice = "It is not part of this run: apply it first, or add it with -with-dependencies."
	}
	return diags.Errorf(&at, "Output of a unit is missing", "The variables of the unit %q refer to the output %q of "+
		"the unit %q, which does not exist or is null. %s %s The functions try and can do not help, as outputs are "+
		"read before; for a default, use lookup(unit[%[3]q].outputs, %[2]q, DEFAULT).", u.Name, name, of.Name, hint,
		advice)
}
