package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/applying"
	"github.com/tombolo-iac/tombolo/internal/claims"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/hook"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/standing"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/tracing"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Counts holds how many objects an apply has added, changed and destroyed.
type Counts = applying.Counts

// Apply performs exactly the actions of a plan. Results are recorded even if it ends with errors.
//
// Values of ephemeral variables are not part of a plan: those that it was made with must be set again, and no others.
func (r *Run) Apply(ctx context.Context, pl *plan.Plan, ephemeral map[string]cty.Value) (Counts, diag.List) {
	return r.ApplyWith(ctx, pl, ApplyOptions{Ephemeral: ephemeral})
}

// intact returns an error for a plan that was changed after planning, so that it cannot be performed.
func intact(prog *linking.Program, pl *plan.Plan) (diags diag.List) {
	err := pl.Check()
	for _, s := range pl.Steps {
		if err == nil && s.Kind == plan.Write && prog.ResourceSlot(s.Resource.Config()) == nil {
			err = fmt.Errorf("it writes %q, which is not in the configuration", s.Resource)
		}
	}
	if err != nil {
		diags = diags.Errorf(nil, "Plan was changed", "The parts of the plan do not fit together: %s. A plan must not "+
			"be changed after it was made. Make a new plan.", err)
	}
	return diags
}

// variablesOf returns the values of variables for an apply, including those that are not part of the plan.
func variablesOf(pl *plan.Plan, ephemeral map[string]cty.Value) map[string]cty.Value {
	variables := map[string]cty.Value{}
	for name, v := range pl.Variables {
		if v.Value != cty.NilVal {
			variables[name] = v.Value
		}
	}
	for name, v := range ephemeral {
		if pv, ok := pl.Variables[name]; ok && pv.Ephemeral {
			variables[name] = v
		}
	}
	return variables
}

// show makes a service that displays states display those of the session in the form of "show -json".
func (p *Project) show(s state.Session) {
	shows, ok := s.(interface {
		Render(render func(*state.State) ([]byte, error))
	})
	if !ok {
		return
	}
	shows.Render(func(st *state.State) ([]byte, error) {
		var b bytes.Buffer
		err := tfjson.State(&b, st, p.Schemas(st))
		return b.Bytes(), err
	})
}

// ApplyOptions configures an apply.
type ApplyOptions struct {
	// Ephemeral holds values of the variables that are not part of the plan.
	Ephemeral map[string]cty.Value
	// StandIns are the mocks that the plan was made with.
	StandIns StandIns
	// Scope, if set, receives the scope to evaluate assertions with the new state.
	Scope *Scope
	// KeepOutputs keeps outputs whose values a refresh-only plan cannot know, instead of storing null for references to
	// objects that do not exist yet. The command "refresh" uses this, and "apply -refresh-only" does not.
	KeepOutputs bool
	// Rest is a sentence about the remaining changes after an interrupt; "" means advice to run apply again.
	Rest string
}

// ApplyWith is like Apply, with more options.
func (r *Run) ApplyWith(ctx context.Context, pl *plan.Plan, o ApplyOptions) (_ Counts, diags diag.List) {
	p := r.project
	ctx, span := tracing.Start(ctx, "apply")
	defer func() { span.End(!diags.HasErrors()) }()
	if diags := r.accepts(pl).Extend(pl.CheckEphemeral(o.Ephemeral, nil)); diags.HasErrors() {
		return Counts{}, diags
	}
	prog, diags := p.prepare()
	if diags = diags.Extend(intact(prog, pl)); diags.HasErrors() {
		return Counts{}, diags
	}
	based, more := r.rebase(prog, pl)
	if diags = diags.Extend(more); diags.HasErrors() {
		return Counts{}, diags
	}
	if diags = diags.Extend(r.checkOldPolicies(ctx, pl)); diags.HasErrors() {
		return Counts{}, diags
	}
	run := state.RunInfo{ID: runID(), Command: "apply", Started: time.Now().UTC()}
	hooks := r.applyHooks(run.ID, pl)
	diags = diags.Extend(hooks.Fire(ctx, hook.BeforeApply, hook.Document{}.WithPlan(pl)))
	if diags.HasErrors() {
		return Counts{}, diags
	}
	if diags = diags.Extend(r.hooksAgain(ctx, hooks, pl)); diags.HasErrors() {
		return Counts{}, diags
	}
	counts, more := r.perform(ctx, prog, based, o, run, hooks)
	diags = diags.Extend(more)
	return counts, diags.Extend(r.conclude(ctx, hooks, hook.AfterApply, hook.Document{Outcome: outcomeOf(ctx, diags),
		Counts: (*hook.Counts)(&counts)}))
}

// perform applies a plan that was accepted.
func (r *Run) perform(ctx context.Context, prog *linking.Program, b based, o ApplyOptions, run state.RunInfo,
	hooks *hook.Set) (_ Counts, diags diag.List) {
	p, pl := r.project, b.plan
	if ops := r.settled(pl); len(ops) > 0 {
		if err := r.session.Resolve(ctx, ops); err != nil {
			return Counts{}, diags.AppendError("Cannot resolve interrupted operations", err)
		}
		p.forgetAnswers(ops)
	}
	journal, err := r.session.Begin(ctx, run)
	if err != nil {
		return Counts{}, diags.AppendError("Cannot begin the journal", err)
	}
	pool := p.pool(o.StandIns)
	until, done := r.until(ctx, pool.Pool)
	concluded := false
	defer func() {
		if !concluded { // a panic in code of the calling program: open operations stay in the journal
			done()
			_ = journal.Close(context.WithoutCancel(ctx))
			_ = pool.Close()
		}
	}()
	p.LearnSecrets(pl)
	variables := variablesOf(pl, o.Ephemeral)
	p.learnVariables(variables)
	settings := p.settings(variables, p.functions(p.opts.Abort, funcs.Options{
		PlanTime: pl.Created, Files: funcs.NewFileRecord(pl.FunctionResults), Work: funcs.NewWorkWithGrace(until,
			p.opts.Abort),
	}))
	settings.StandIns, settings.Walked = o.StandIns, o.Scope.walked(settings.Functions.Table)
	counts, more := applying.Run(until, tracing.Carry(p.opts.Abort, ctx), prog, pl, pool, journal, applying.Options{
		Settings: settings, KeepOutputs: o.KeepOutputs, Dir: p.baseDir(), ReadAt: p.readAt(run.Started),
		Waves: p.waves(), Hooks: hooks, RunID: run.ID, Rest: o.Rest, Lost: r.lost, LeaveOutputs: b.left,
		Recorded: func(op string) { p.forgetAnswer(state.Token(run, op)) },
	})
	concluded = true
	done()
	diags = diags.Extend(more)
	p.show(r.session)
	// The results are saved even if the contexts have ended.
	if err := journal.Close(context.WithoutCancel(ctx)); err != nil {
		diags = diags.AppendError("Failed to save the state", err)
		r.reported = true
	}
	for _, f := range r.Snapshot().InFlight {
		if f.Run.ID == run.ID {
			diags = diags.Extend(interruptedWarning(f))
		}
	}
	closing(pool.Pool, &diags)
	return counts, diags.Extend(leftUndone(pl))
}

// readAt returns the read time of the objects that a run writes, in seconds since 1970, or 0 if it is not stored.
func (p *Project) readAt(started time.Time) int64 {
	if p.opts.Refresh.MaxAge <= 0 {
		return 0
	}
	return started.Unix()
}

// openCreations returns the interrupted creations with unknown results: a plan does not touch these instances.
func (r *Run) openCreations() (list []state.Intent) {
	have := r.State()
	for _, f := range r.Snapshot().InFlight {
		if openCreation(f, have) {
			list = append(list, f.Intent)
		}
	}
	return list
}

// openCreation reports whether an interrupted operation may have created an object that is not in the state.
func openCreation(f state.InFlight, have *state.State) bool {
	return f.Object.Deposed == "" && f.Action != state.ActionProvision && f.Action != state.ActionInvoke &&
		f.Action != state.ActionMove && !isHook(f) &&
		have.Object(f.Object) == nil
}

// leftUndone returns warnings about the changes that a plan left out, after an apply.
func leftUndone(pl *plan.Plan) (diags diag.List) {
	if pl.Mode == plan.RefreshOnly {
		return nil
	}
	for _, l := range pl.LeftOut {
		if l.Reason == plan.LeftOutUnsettled {
			known := ""
			if as := l.Because.String(); as != l.Address {
				known = fmt.Sprintf(" It was started as %s, which is its address until then.", as)
			}
			diags = append(diags, &diag.Diagnostic{
				Severity: diag.Error, Summary: "Interrupted creation is not resolved", Address: l.Address,
				Detail: fmt.Sprintf("All changes that do not involve %s have been applied. It is not known whether "+
					"its creation succeeded, so it was not changed, and neither was anything that depends on it.%s",
					l.Address, known),
				Advice: recoveryAdvice("Check whether it exists, run one of these, then apply again:", l.Because)})
		}
	}
	return diags
}

// accepts returns an error for plans that do not match the current state.
func (r *Run) accepts(pl *plan.Plan) diag.List {
	var diags diag.List
	if pl.Errored {
		return diags.Errorf(nil, "Cannot apply incomplete plan",
			"The plan ended with errors, so it cannot be applied. Fix the errors and make a new plan.")
	}
	if pl.Workspace != r.project.opts.Workspace {
		return diags.Errorf(nil, fmt.Sprintf("The plan file describes changes to the %q workspace, but the %q "+
			"workspace is currently in use.", pl.Workspace, r.project.opts.Workspace),
			"The plan must be applied in its workspace.").
			Advise("Select it with \"%s\".", diag.Run("workspace", "select", pl.Workspace))
	}
	have := r.State()
	switch {
	case pl.Base == nil && have.IsEmpty():
		// There is nothing to compare, but a first run may have been killed before its first result.
	case pl.Base == nil && have != nil:
		return diags.Errorf(nil, "Saved plan is stale",
			"There was no state when this plan was made, but now there is one. Make a new plan.")
	case have == nil, pl.Base.Lineage != have.Lineage && have.Lineage != "" && pl.Base.Lineage != "":
		return diags.Errorf(nil, "Saved plan does not match the given state", "The plan was made for another state: "+
			"its lineage differs from that of the current one. Apply it where it was made, or make a new plan.")
	}
	if resolved(pl, r.Snapshot()) {
		return diags.Errorf(nil, "Saved plan is stale", "After the plan was made, an interrupted operation that it "+
			"leaves out was resolved. Make a new plan.")
	}
	for _, f := range r.Snapshot().InFlight {
		// The address is not sufficient: the plan may have another address for the object, or destroy its dependencies.
		if !slices.Contains(pl.Interrupted, f.Token()) {
			diags = diags.Extend(unforeseen(f, have))
		}
	}
	return diags
}

// Accepts returns the errors with which Apply would refuse a plan because of the current state, without applying it.
func (r *Run) Accepts(pl *plan.Plan) diag.List {
	if diags := r.accepts(pl); diags.HasErrors() {
		return diags
	}
	prog, diags := r.project.prepare()
	if diags = diags.Extend(intact(prog, pl)); diags.HasErrors() {
		return diags
	}
	_, more := r.rebase(prog, pl)
	return diags.Extend(more)
}

// Claims returns what an apply of the plan reads and writes in the state.
func (r *Run) Claims(pl *plan.Plan) (claims.Set, diag.List) {
	prog, diags := r.project.prepare()
	if diags = diags.Extend(intact(prog, pl)); diags.HasErrors() {
		return claims.Set{}, diags
	}
	return standing.Claims(prog, pl), diags
}

// based is a plan together with the state that it is applied to, which may have changed since planning.
type based struct {
	plan *plan.Plan
	left []string // outputs that are not changed
}

// rebase compares the state with the one that a plan was made from, object by object, and refuses the plan if an object
// that it depends on has changed.
func (r *Run) rebase(prog *linking.Program, pl *plan.Plan) (b based, diags diag.List) {
	now := r.prior()
	changed := standing.Compare(pl.Base, now)
	conflicts := standing.Conflicts(prog, pl, now, changed)
	if len(conflicts) > 0 {
		const most = 10
		if rest := len(conflicts) - most; rest > 0 {
			conflicts = append(conflicts[:most:most], fmt.Sprintf("and %d more", rest))
		}
		return b, diags.Errorf(nil, "Saved plan is stale", "After this plan was made, another operation changed "+
			"objects that the plan changes or uses: %s. Make a new plan.", strings.Join(conflicts, ", "))
	}
	if !changed.None() {
		diags = diags.Warnf(nil, "State has changed since the plan was made", "Another operation changed %d "+
			"object(s) and %d output(s) after this plan was made. The plan neither changes nor uses any of them, so "+
			"it is applied to the newer state.", len(changed.Objects), len(changed.Outputs))
	}
	b.plan, b.left = standing.Rebase(prog, pl, changed)
	return b, diags
}

// resolved reports whether an operation that was open when a plan was made is no longer open.
func resolved(pl *plan.Plan, now *state.Snapshot) bool {
	open := map[string]bool{}
	for _, f := range now.InFlight {
		open[f.Token()] = true
	}
	return slices.ContainsFunc(pl.Interrupted, func(op string) bool { return !open[op] })
}

// settled returns the interrupted operations that the plan resolves: refreshing has read the object.
func (r *Run) settled(pl *plan.Plan) []string {
	var ops []string
	have := r.State()
	acted := map[addr.Object]bool{}
	for _, c := range pl.Changes {
		acted[c.Object] = c.Action != plan.NoOp
	}
	for _, f := range r.Snapshot().InFlight {
		// A plan without refresh resolves only operations on objects that it changes. The effect of provisioners cannot
		// be read: it is sufficient that the object is tainted and in the plan. The effect of an action cannot be read:
		// it is sufficient to have reported it.
		if f.Action == state.ActionProvision || f.Action == state.ActionInvoke {
			ops = append(ops, f.Token())
		} else if f.Action != state.ActionMove && !isHook(f) && have.Object(f.Object) != nil && (acted[f.Object] ||
			!pl.Unrefreshed && !slices.Contains(pl.Unread, f.Object.Instance)) {
			ops = append(ops, f.Token())
		}
	}
	return ops
}

// inFlight returns warnings about the operations that were running when a run was killed.
func (r *Run) inFlight() diag.List { return InterruptedWarnings(r.Snapshot()) }

// BlankWarning warns that a state file of zero bytes was read as an empty state.
func BlankWarning(s *state.Snapshot) diag.List {
	if s == nil || s.Blank == "" {
		return nil
	}
	return diag.List{}.Warnf(nil, "The state file is empty",
		"%s has zero bytes, and there is no backup, journal or lock beside it. It is treated as an empty state of a "+
			"new project. If the content was lost, restore it before you apply.", s.Blank)
}

// InterruptedWarnings returns warnings about open operations of an interrupted run; every command shows them.
func InterruptedWarnings(s *state.Snapshot) diag.List {
	var diags diag.List
	if s == nil {
		return nil
	}
	for _, f := range s.InFlight {
		diags = diags.Extend(interruptedWarning(f))
	}
	for _, u := range s.Unfolded {
		diags = append(diags, &diag.Diagnostic{
			Severity: diag.Warning, Summary: "Result of an interrupted run does not fit the state",
			Detail: fmt.Sprintf("Operation %s of run %s has a result that conflicts with the state: %s. It is kept "+
				"in the journal until you resolve it.", u.Op, u.Run.ID, u.Why),
			Advice: diag.Advise("To resolve it, use \"%s\".", diag.Run("recover"))})
	}
	return diags
}

func interruptedWarning(f state.InFlight) diag.List {
	return diag.List{describeInFlight(diag.Warning, "Operation was interrupted", f)}
}

// describeInFlight returns the problem of an operation in flight.
func describeInFlight(severity diag.Severity, summary string, f state.InFlight) *diag.Diagnostic {
	d := &diag.Diagnostic{Severity: severity, Summary: summary, Address: f.Object.String()}
	if h, ok := f.Handover(); ok {
		describeMove(d, f, h)
		return d
	}
	if f.Action == state.ActionProvision {
		d.Detail = fmt.Sprintf("A run (%s) ended while the provisioners of %s ran, so they may not have finished. If "+
			"they ran during its creation, the object is tainted and the next apply replaces it. If it was to be "+
			"destroyed, the next apply destroys it.", f.Run.Started.Format(time.RFC3339), f.Object)
		return d
	}
	if isHook(f) {
		d.Detail = fmt.Sprintf("A run (%s) ended before the hooks after its operation on %s had run. The next apply "+
			"runs them again, if the project file still has them.",
			f.Run.Started.Format(time.RFC3339), f.Object)
		return d
	}
	if f.Action == state.ActionInvoke {
		d.Detail = fmt.Sprintf(
			"A run (%s) ended while %s was being invoked, so it may not have finished. Check its effect, and invoke "+
				"it again with -invoke=%[2]s if necessary. The next apply invokes it only if its plan says so.",
			f.Run.Started.Format(time.RFC3339), f.Object.Instance)
		return d
	}
	d.Detail = fmt.Sprintf(
		"A run (%s) was interrupted during the %s of %s. It is not known whether the operation succeeded.",
		f.Run.Started.Format(time.RFC3339), f.Action, f.Object)
	if f.Action != state.ActionCreate {
		d.Detail += " The next plan with refresh resolves this."
		return d
	}
	d.Detail += " The object may exist."
	d.Advice = recoveryAdvice("Check whether it exists, then run one of:", f.Object.Instance)
	return d
}

// recoveryAdvice returns advice with the commands that resolve an interrupted creation.
func recoveryAdvice(intro string, a addr.AbsResourceInstance) *diag.Advice {
	return diag.Advise(intro+"\n"+
		"  %s    (it exists: import it)\n  %s       (it does not exist: create it again)\n"+
		"  %s      (leave it unmanaged)", diag.Recover(a, "--adopt", "ID"), diag.Recover(a, "--retry"),
		diag.Recover(a, "--forget"))
}

// unforeseen returns an error for a plan that was made before an operation was interrupted.
func unforeseen(f state.InFlight, have *state.State) diag.List {
	summary := "Saved plan is stale"
	if openCreation(f, have) {
		summary = "Interrupted creation is not resolved"
	}
	d := describeInFlight(diag.Error, summary, f)
	d.Detail += " The saved plan was made before that interruption. Make a new plan."
	return diag.List{d}
}

// lockFailed returns the error that the lock could not be acquired or, without a lock, that the state could not be
// read.
func lockFailed(err error, o OpenOptions) diag.List {
	var damaged *state.DecodeError
	if errors.As(err, &damaged) || errors.Is(err, regular.ErrSize) { // the lock itself was available
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
		return diag.FromError("Failed to load state", err)
	}
	var locked *state.LockedError
	detail := fmt.Sprintf("Error message: %s.", strings.TrimSuffix(err.Error(), "."))
	var advice *diag.Advice
	if errors.As(err, &locked) && locked.Info != nil && locked.Info.ID != "" {
		detail, advice = heldLock(err, locked.Info)
	}
	if left := (*state.RecoverError)(nil); errors.As(err, &left) {
		return diag.List{}.Errorf(nil, "Cannot recover an interrupted run", "Error message: %s. Nothing is lost: the "+
			"results of that run stay in its journal, and commands that only read the state show them.",
			strings.TrimSuffix(err.Error(), ".")).Because(err).
			Advise("Fix the cause (free space, check the disk or the connection), then try again.")
	}
	if unread := (*state.ReadError)(nil); locked == nil && (o.NoLock || errors.As(err, &unread)) {
		return diag.FromError("Failed to load state", err)
	}
	if errors.Is(err, fs.ErrPermission) {
		detail += " The lock, the journal and the state are in that folder, so this user must be able to write " +
			"there, and to read and write the state."
		advice = diag.Advise("To make a plan with read access only, use %s.", diag.Means("-lock=false"))
	}
	return diag.List{}.Append(&diag.Diagnostic{Severity: diag.Error, Summary: "Error acquiring the state lock",
		Detail: detail, Advice: advice, Err: err})
}

// heldLock returns the text for a held lock: its holder, since when, on which machine and for what, and the advice.
// Details for scripts follow.
func heldLock(err error, i *state.LockInfo) (string, *diag.Advice) {
	who, machine, found := strings.Cut(i.Who, "@")
	if who == "" {
		who = "Someone without a name"
	}
	created, since := "unknown", " for an unknown time"
	if !i.Created.IsZero() {
		created = i.Created.String()
		since = " since " + i.Created.UTC().Format(time.DateTime+" UTC")
	}
	if found && machine != "" {
		since += ", on the machine " + machine
	}
	purpose := strings.ToLower(strings.TrimPrefix(string(i.Operation), "OperationType"))
	if purpose != "" {
		since += fmt.Sprintf(", for the operation %q", purpose)
	}
	return fmt.Sprintf("%s has held the lock%s. No two runs can write the state at the same time.", who, since),
		diag.Advise("Wait for the other run, for example with %s. If you are sure that it is dead, use %s with the "+
			"ID below.\n\nError message: %s\nLock Info:\n  ID:        %s\n  Path:      %s\n  Operation: %s\n  Who:    "+
			"   %s\n  Version:   %s\n  Created:   %s\n  Info:      %s", diag.Means("-lock-timeout=60s"),
			diag.Means("force-unlock"), err, i.ID, i.Path, i.Operation, i.Who, i.Version, created, i.Info)
}
