package tombolo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// OpenOptions configures how the lock of a state is taken.
type OpenOptions struct {
	// Operation is shown to other runs that find the lock; empty means state.OperationApply.
	Operation state.Operation
	// NoLock skips the lock; Timeout is how long to wait for another holder to release it.
	NoLock  bool
	Timeout time.Duration
	// Reading means that nothing is written: Apply, Import and Recover are refused. With NoLock the state can then be
	// read even while another run writes it.
	Reading bool
	// CreateWorkspace creates a workspace that does not exist yet, as soon as something is stored. Without it, Open
	// refuses a name in Options.Workspace that no workspace has.
	CreateWorkspace bool
}

// Run holds the lock on the state of a project. Its methods must not be called concurrently: a call during another one
// is refused, except for State, Outputs and Interrupted.
type Run struct {
	project *Project
	engine  *engine.Run
	reading bool

	using  sync.Mutex // held by a call; guards the fields below
	closed bool
	last   *plan.Plan // the last applied plan
	whole  bool       // the whole configuration was applied without errors
}

// Open takes the lock of the state, recovers an interrupted run, and reads the state. The caller must close the run.
//
// While another run holds the lock, errors.As finds the *state.LockedError in the error that diag.List.Err returns.
func (p *Project) Open(ctx context.Context, o OpenOptions) (_ *Run, diags diag.List) {
	defer conclude(ctx, &diags)
	defer p.raisePanic()
	if diags := p.opens(ctx, o); diags.HasErrors() {
		return nil, diags
	}
	r, diags := p.engine.Open(ctx, engine.OpenOptions{Operation: o.Operation, NoLock: o.NoLock, Timeout: o.Timeout,
		Reading: o.Reading})
	if diags.HasErrors() {
		return nil, diags
	}
	return &Run{project: p, engine: r, reading: o.Reading}, diags
}

// Close releases the lock. Afterwards State and Output return the final state, and all other calls are refused. A
// second Close does nothing, nor does Close of a nil Run. Close is refused during another call: end the context of that
// call, and close the run when it has returned.
func (r *Run) Close(ctx context.Context) (diags diag.List) {
	if r == nil {
		return nil
	}
	defer conclude(context.WithoutCancel(ctx), &diags)
	defer r.project.raisePanic()
	leave, diags := r.enter()
	defer leave()
	if diags.HasErrors() || r.closed {
		return diags
	}
	r.closed = true
	return r.engine.Close(ctx)
}

// enter begins a call; leave ends it. It returns an error during another call.
func (r *Run) enter() (leave func(), diags diag.List) {
	if !r.using.TryLock() {
		return func() {}, diags.Errorf(nil, "Run is in use", "Another call of this run has not returned yet. A run is "+
			"for one goroutine at a time: wait for that call, or open another run with Project.Open.")
	}
	return r.using.Unlock, nil
}

// PlanOptions configures a plan. The zero value plans all changes that the configuration needs.
type PlanOptions struct {
	// Mode is plan.Normal, plan.Destroy or plan.RefreshOnly.
	Mode plan.Mode
	// SkipRefresh plans with the stored objects, without reading the real ones.
	SkipRefresh bool
	// MinimalRefresh reads only the real objects that change or depend on a change; Plan.Unread lists the others. It
	// requires plan.Normal, and excludes SkipRefresh.
	MinimalRefresh bool
	// AllowDeferral leaves out what cannot be planned yet, such as a resource whose count is known only after apply:
	// Plan.Deferred. Apply the plan and make another one, until nothing is deferred. ForbidDeferral makes that an
	// error, even if the project file allows deferrals.
	AllowDeferral, ForbidDeferral bool
	// FullRefresh reads all real objects, even if the project file configures a minimal refresh.
	FullRefresh bool
	// Targets are addresses of what to plan, such as "module.a" or `type.name["key"]`, or patterns such as "**.type.*".
	// Their dependencies are included. None means everything.
	Targets []string
	// Exclude holds addresses or patterns to leave out, with all dependents. It excludes Targets.
	Exclude []string
	// Replace are addresses of instances to replace even if they have no changes.
	Replace []string
	// Invoke is the address of an action to invoke. Nothing else is planned then.
	Invoke string
	// GenerateConfig generates configuration for imported objects that have none: Change.GeneratedConfig.
	GenerateConfig bool
}

// Plan compares the configuration with the state and the real objects. A plan is never nil: after errors it holds what
// was planned so far, and is marked as Errored.
func (r *Run) Plan(ctx context.Context, o PlanOptions) (pl *plan.Plan, diags diag.List) {
	defer conclude(ctx, &diags)
	defer r.project.raisePanic()
	leave, diags := r.enter()
	defer leave()
	if !diags.HasErrors() {
		pl, diags = r.plan(ctx, o)
	}
	if pl == nil {
		pl = &plan.Plan{Mode: o.Mode, Created: time.Now(), Errored: true, Workspace: r.project.engine.Workspace()}
	}
	return pl, diags
}

func (r *Run) plan(ctx context.Context, o PlanOptions) (*plan.Plan, diag.List) {
	diags := r.plans()
	options, more := o.engine(r.options())
	if diags = diags.Extend(more); diags.HasErrors() {
		return nil, diags
	}
	return r.engine.Plan(ctx, options)
}

// QueryOptions configures a query.
type QueryOptions struct {
	// GenerateConfig generates blocks that import the found objects: Listed.GeneratedConfig and GeneratedImport.
	GenerateConfig bool
}

// Query finds the objects that the list blocks of the project describe, sorted by block and by instance; the project
// must have been loaded with Options.Query. It changes nothing. After errors it returns the objects found so far.
func (r *Run) Query(ctx context.Context, o QueryOptions) (_ []*plan.List, diags diag.List) {
	defer conclude(ctx, &diags)
	defer r.project.raisePanic()
	leave, diags := r.enter()
	defer leave()
	if diags.HasErrors() {
		return nil, diags
	}
	if diags := r.plans(); diags.HasErrors() {
		return nil, diags
	}
	values := r.options()
	return r.engine.Query(ctx, engine.QueryOptions{GenerateConfig: o.GenerateConfig, Variables: values.Variables,
		VariableRanges: values.VariableRanges})
}

// options returns plan options with the values of the variables.
func (r *Run) options() engine.PlanOptions {
	values := r.project.values
	return engine.PlanOptions{Variables: r.project.engine.Config().Root.RawValues(values),
		VariableRanges: values.Ranges()}
}

// Counts holds how many objects an apply added, changed, destroyed, imported and removed from the state, and how many
// actions it invoked.
type Counts struct{ Added, Changed, Destroyed, Imported, Forgotten, Invoked int }

// ApplyOptions configures an apply.
type ApplyOptions struct {
	// Ephemeral holds the values of ephemeral variables, which a plan that was read from a file does not have; see
	// Options.Variables. A plan that this project made needs none. Any other name is refused.
	Ephemeral map[string]any
}

// Apply performs exactly the actions of a plan. Completed operations are recorded even if it returns errors. The plan
// must have been made from this configuration and from the current state.
//
// If ctx ended before all actions were done, errors.Is finds context.Canceled or context.DeadlineExceeded in the error
// that diag.List.Err returns. After a panic in code of the calling program, Interrupted returns the operations that
// were under way, and the run can still be used and closed.
func (r *Run) Apply(ctx context.Context, pl *plan.Plan, o ApplyOptions) (_ Counts, diags diag.List) {
	defer conclude(ctx, &diags)
	defer r.project.raisePanic()
	leave, diags := r.enter()
	defer leave()
	if diags.HasErrors() {
		return Counts{}, diags
	}
	if diags := r.accepts(ctx, pl); diags.HasErrors() {
		return Counts{}, diags
	}
	r.whole = false
	counts, diags := r.apply(ctx, pl, o)
	if !diags.HasErrors() {
		r.last, r.whole = pl, pl.Mode == plan.Normal && !pl.Partial() && len(pl.Deferred) == 0
	}
	return counts, diags
}

func (r *Run) apply(ctx context.Context, pl *plan.Plan, o ApplyOptions) (Counts, diag.List) {
	ephemeral, diags := ctyValues("var.", o.Ephemeral)
	for _, name := range slices.Sorted(maps.Keys(ephemeral)) {
		if v, declared := pl.Variables[name]; !declared || !v.Ephemeral {
			diags = diags.Errorf(nil, "Value for a variable that is not ephemeral", "ApplyOptions.Ephemeral has a "+
				"value for var.%s, which is not an ephemeral variable of the plan. The values of other variables are "+
				"part of the plan: remove this one.", name)
		}
	}
	if diags.HasErrors() {
		return Counts{}, diags
	}
	loaded := r.options().Variables
	for name, v := range pl.Variables {
		value, known := loaded[name]
		if _, given := ephemeral[name]; v.Ephemeral && known && !given {
			ephemeral[name] = value
		}
	}
	c, diags := r.engine.ApplyWith(ctx, pl, engine.ApplyOptions{Ephemeral: ephemeral})
	return Counts(c), diags
}

// Import adds an existing object to the state: id identifies the object, and address the declared instance.
func (r *Run) Import(ctx context.Context, address, id string) (diags diag.List) {
	defer conclude(ctx, &diags)
	defer r.project.raisePanic()
	leave, diags := r.enter()
	defer leave()
	if diags.HasErrors() {
		return diags
	}
	target, diags := addr.ParseInstance(address)
	if diags = diags.Extend(r.plans()).Extend(r.writes()); diags.HasErrors() {
		return diags
	}
	options := r.options()
	options.Mode, options.SkipRefresh, options.Import = plan.RefreshOnly, true, &engine.Import{Target: target, ID: id}
	pl, diags := r.engine.Plan(ctx, options)
	if diags.HasErrors() {
		return diags
	}
	_, more := r.apply(ctx, pl, ApplyOptions{})
	return diags.Extend(more)
}

// Evaluate evaluates an expression of the language with the current state, such as "length(module.net.subnets)", and
// stores its value in the variable that into points to, as Output does.
func (r *Run) Evaluate(ctx context.Context, expression string, into any) (diags diag.List) {
	defer conclude(ctx, &diags)
	defer r.project.raisePanic()
	leave, diags := r.enter()
	defer leave()
	if diags.HasErrors() {
		return diags
	}
	if diags := r.usable(); diags.HasErrors() {
		return diags
	}
	r.project.expression.Store(&expression)
	expr, diags := engine.ParseExpression([]byte(expression), expressionName)
	if diags.HasErrors() {
		return diags
	}
	console, diags := r.engine.Console(ctx, engine.ConsoleOptions{Variables: r.options().Variables})
	if console == nil {
		return diags
	}
	value, more := console.Evaluate(expr, []byte(expression))
	if diags = diags.Extend(more).Extend(console.Close()); more.HasErrors() {
		return diags
	}
	switch err := fromCty(value, into); {
	case errors.Is(err, errUnknown):
		diags = diags.Errorf(nil, "Value is not known", "The value of the expression is known only after apply: it "+
			"refers to something that does not exist yet. A *cty.Value can hold it.")
	case err != nil:
		diags = diags.AppendError("Value does not fit", err)
	}
	return diags
}

// Output stores the value of a root output in the variable that into points to: a cty.Value, an any (string,
// json.Number, bool, []any, map[string]any or nil), or any type that encoding/json can decode the value into. As in
// encoding/json, null does not change strings, numbers, bools and structs. A sensitive value is returned in clear text,
// since the caller requested it by name. Only a plan.Value holds which parts are sensitive, and does not print them.
//
// A state holds no null outputs. After an apply of the whole configuration in this run, an output that is declared but
// not in the state is null; before that, it is an error.
func (r *Run) Output(name string, into any) error {
	value, ok := r.Outputs()[name]
	declared := r.project.engine.Config().Root.Outputs[name] != nil
	switch {
	case ok:
	case !declared:
		return fmt.Errorf("neither the configuration nor the state has an output %q", name)
	case !r.whole:
		return fmt.Errorf("the state has no value of the output %q: it is null, or was not applied yet", name)
	default:
		value = plan.Value{Value: cty.NullVal(cty.DynamicPseudoType)}
	}
	if to, is := into.(*plan.Value); is && to != nil {
		*to = value
		return nil
	}
	if err := fromCty(value.Value, into); err != nil {
		return fmt.Errorf("output %q: %w", name, err)
	}
	return nil
}

// Outputs returns the root outputs of the state by name. Printing them shows no sensitive values.
func (r *Run) Outputs() map[string]plan.Value {
	out := map[string]plan.Value{}
	s := r.State()
	if s == nil {
		return out
	}
	for _, name := range s.OutputNames() {
		o := s.Output(name)
		value := plan.Value{Value: o.Value}
		if o.Sensitive {
			value.Sensitive = []cty.Path{nil}
		}
		out[name] = value
	}
	return out
}

// State returns the current state, or nil if there is none.
func (r *Run) State() *state.State { return r.engine.State() }

// Session returns the held lock, for programs that edit the state: Session().Write replaces it.
func (r *Run) Session() state.Session { return r.engine.Session() }

// Recovery resolves an operation that an interrupted run left open. Exactly one field must be set.
type Recovery struct {
	// Adopt imports the existing object with this ID.
	Adopt string
	// Retry means that the operation did not happen: the next apply repeats it.
	Retry bool
	// Forget removes the object from the state, whether it exists or not.
	Forget bool
}

// Interrupted returns the operations of interrupted runs whose results are unknown.
func (r *Run) Interrupted() []state.InFlight { return r.engine.Snapshot().InFlight }

// Recover resolves the open operations of interrupted runs at an address.
func (r *Run) Recover(ctx context.Context, address string, how Recovery) (diags diag.List) {
	defer conclude(ctx, &diags)
	defer r.project.raisePanic()
	leave, diags := r.enter()
	defer leave()
	if diags.HasErrors() {
		return diags
	}
	instance, diags := addr.ParseInstance(address)
	if diags = diags.Extend(r.usable()).Extend(r.writes()).Extend(how.check()); diags.HasErrors() {
		return diags
	}
	return r.engine.Recover(ctx, instance, engine.Recovery(how), r.options().Variables)
}
