package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/hiding"
	"github.com/tombolo-iac/tombolo/internal/hook"
	"github.com/tombolo-iac/tombolo/internal/policy"
	"github.com/tombolo-iac/tombolo/internal/projectfile"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/tracing"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Policy is a program of the project that checks plans.
type Policy struct {
	Name    string
	Command []string
	Environ []string      // nil means the environment of the process
	Timeout time.Duration // 0 means the default of package policy
	Range   hcl.Range     // where it is declared
}

// policiesOf returns the policies of a project file, which run with this environment.
func policiesOf(f projectfile.File, environ []string) (list []Policy) {
	for _, p := range f.Policies {
		list = append(list, Policy{Name: p.Name, Command: p.Command, Environ: environ, Timeout: p.Limit(),
			Range: p.NameRange})
	}
	return list
}

// checkNewPolicies runs the policies on a plan that the run has made with these problems, unless it is exempt.
func (r *Run) checkNewPolicies(ctx context.Context, pl *plan.Plan, made diag.List, exempt bool) (diags diag.List) {
	if pl == nil || pl.Errored || made.HasErrors() {
		return nil
	}
	if !exempt {
		diags = r.project.evaluatePolicies(ctx, pl)
	}
	if !diags.HasErrors() {
		r.judged = pl
	}
	return diags
}

// checkOldPolicies runs the policies on a plan of another run, which may be older than they are.
func (r *Run) checkOldPolicies(ctx context.Context, pl *plan.Plan) diag.List {
	if pl == r.judged {
		return nil
	}
	return r.project.evaluatePolicies(ctx, pl)
}

// evaluatePolicies runs the policies of the project on a plan that changes real objects. Denials are errors.
func (p *Project) evaluatePolicies(ctx context.Context, pl *plan.Plan) (diags diag.List) {
	if len(p.opts.Policies) == 0 || pl.Mode == plan.RefreshOnly {
		return nil
	}
	p.LearnSecrets(pl)
	var document bytes.Buffer
	if err := tfjson.Plan(&document, pl, pl.Prior(), p.config, p.Schemas(pl.Base, pl.Changes...)); err != nil {
		return diag.FromError("The policies cannot be evaluated", err)
	}
	for _, one := range p.opts.Policies {
		diags = diags.Extend(p.verdict(ctx, one, document.Bytes()))
	}
	return diags
}

// LearnSecrets adds the secrets of a plan that this process has not made, or that the plan has not used: a plan to
// destroy evaluates neither variables nor outputs, but its document has them.
func (p *Project) LearnSecrets(pl *plan.Plan) {
	if p.learned.Swap(pl) == pl {
		return
	}
	given := map[string]cty.Value{}
	for name, v := range pl.Variables {
		given[name] = v.Value
	}
	p.learnVariables(given)
	schemas := p.Schemas(nil, pl.Changes...)
	hiding.Plan(p.secrets, pl, func(a addr.Provider, r addr.Resource) *provider.Block {
		if rt := schemas.ResourceType(a, r); rt != nil {
			return rt.Block
		}
		return nil
	})
	for _, o := range pl.Outputs {
		if o.Sensitive || o.BeforeSensitive {
			p.secrets.LearnOutput(sensitive(o.Before))
			p.secrets.LearnOutput(sensitive(o.After))
		}
	}
}

// learnVariables adds the secret variables of the root module, with the given values or their defaults. A walk adds
// those that it evaluates, but objects may have a copy of the others, or be read first.
func (p *Project) learnVariables(given map[string]cty.Value) {
	for name, v := range p.config.Root.Variables {
		if !v.Sensitive && !v.Ephemeral {
			continue
		}
		if v, diags := v.Convert(given[name]); !diags.HasErrors() { // the default if it is not set
			p.secrets.Learn(sensitive(v))
		}
	}
}

func sensitive(v cty.Value) cty.Value {
	if v == cty.NilVal {
		return v
	}
	return v.Mark(value.Sensitive)
}

func (p *Project) verdict(ctx context.Context, one Policy, document []byte) (diags diag.List) {
	var v policy.Verdict
	var err error
	if p.opts.MayRead != nil {
		err = p.opts.MayRead(addr.Provider{}, one.Command)
	}
	if err == nil {
		v, err = policy.Policy{Name: one.Name, Command: one.Command, Dir: p.baseDir(), Env: one.Environ,
			Timeout: one.Timeout}.Evaluate(ctx, document)
	}
	if err != nil {
		return diags.Errorf(&one.Range, "Policy failed", "The policy %q did not return a result, so the plan cannot "+
			"be applied: %s", one.Name, p.secrets.Redact(err.Error()))
	}
	for _, e := range v.Deny {
		d := diag.List{}.Errorf(&one.Range, fmt.Sprintf("Denied by the policy %q", one.Name), "%s",
			p.secrets.Redact(e.Message))
		diags = diags.Extend(p.placed(d, e.Address))
	}
	for _, e := range v.Warn {
		d := diag.List{}.Warnf(&one.Range, fmt.Sprintf("Warning of the policy %q", one.Name), "%s",
			p.secrets.Redact(e.Message))
		diags = diags.Extend(p.placed(d, e.Address))
	}
	return diags
}

// placed adds the object that an entry of a policy is about, and the range of its block, to problems.
func (p *Project) placed(d diag.List, address string) diag.List {
	if address == "" {
		return d
	}
	d[0].Address = p.secrets.Redact(address)
	a, problems := addr.ParseInstance(address)
	if problems.HasErrors() {
		return d
	}
	if r := p.config.Resource(a.Config()); r != nil {
		d[0].Subject = r.DeclRange.Ptr()
	}
	return d
}

// hooksOf returns the hooks of a project file.
func hooksOf(f projectfile.File) (list []hook.Hook) {
	for _, h := range f.Hooks {
		one := hook.Hook{Name: h.Name, Command: h.Command, Objects: linking.Select(h.Targets()), Actions: h.Actions,
			Continue: h.OnFailure == "continue", Environment: h.Environment, Timeout: h.Limit(), Range: h.NameRange}
		for _, e := range h.Events {
			one.Events = append(one.Events, hook.Event(e))
		}
		list = append(list, one)
	}
	return list
}

// hooks returns the hooks for a run of this project.
func (p *Project) hooks(id string, mode plan.Mode, mayRun func(words []string) error) *hook.Set {
	return hook.New(p.opts.Hooks, hook.Options{Dir: p.baseDir(), Environ: p.opts.HookEnviron, Events: p.opts.Events,
		Secrets: p.secrets, MayRun: mayRun, AtOnce: p.opts.Parallelism,
		Run: hook.Run{ID: id, Mode: modeNames[mode], Workspace: p.opts.Workspace}})
}

// modeNames are the names of plan modes in hooks.
var modeNames = map[plan.Mode]string{plan.Normal: "normal", plan.Destroy: "destroy", plan.RefreshOnly: "refresh-only"}

// Plan compares the configuration with the state and the real objects. After errors it returns an incomplete plan,
// marked as errored.
func (r *Run) Plan(ctx context.Context, o PlanOptions) (*plan.Plan, diag.List) {
	p := r.project
	if o.Unjudged || o.Import != nil {
		pl, diags := r.plan(ctx, o, nil)
		r.unhooked = pl
		return pl, diags
	}
	hooks := p.hooks("", o.Mode, p.mayRead)
	diags := hooks.Fire(ctx, hook.BeforePlan, hook.Document{})
	if diags.HasErrors() {
		return nil, diags
	}
	pl, more := r.plan(ctx, o, hooks)
	diags = diags.Extend(more)
	after := hook.Document{Outcome: outcomeOf(ctx, diags)}.WithPlan(pl)
	return pl, diags.Extend(r.conclude(ctx, hooks, hook.AfterPlan, after))
}

// outcomeOf returns the outcome of an operation.
func outcomeOf(ctx context.Context, diags diag.List) hook.Outcome {
	switch {
	case ctx.Err() != nil:
		return hook.Interrupted
	case diags.HasErrors():
		return hook.Failed
	}
	return hook.OK
}

// conclude runs the hooks after an event. They run even after a first interrupt, but not after a second one.
func (r *Run) conclude(ctx context.Context, hooks *hook.Set, e hook.Event, d hook.Document) diag.List {
	ctx = tracing.Carry(r.project.opts.Abort, ctx)
	if ctx.Err() != nil {
		return nil
	}
	return hooks.Fire(ctx, e, d)
}

// applyHooks returns the hooks for the apply of a plan; tests and imports have none.
func (r *Run) applyHooks(id string, pl *plan.Plan) *hook.Set {
	if pl == r.unhooked {
		return nil
	}
	return r.project.hooks(id, pl.Mode, nil)
}

// hooksAgain runs the hooks after operations of interrupted runs whose hooks did not run.
func (r *Run) hooksAgain(ctx context.Context, hooks *hook.Set, pl *plan.Plan) (diags diag.List) {
	if pl == r.unhooked {
		return nil
	}
	ctx = tracing.Carry(r.project.opts.Abort, ctx)
	var ops []string
	for _, f := range r.Snapshot().InFlight {
		if f.Action != state.ActionHook {
			continue
		}
		diags = diags.Extend(hooks.Again(ctx, f.Object, f.Planned))
		if ctx.Err() != nil {
			break
		}
		ops = append(ops, f.Token())
	}
	if len(ops) > 0 {
		if err := r.session.Resolve(context.WithoutCancel(ctx), ops); err != nil {
			diags = diags.AppendError("Cannot record that hooks have run again", err)
		}
	}
	return diags
}

// isHook reports whether an operation in flight is only about hooks: the object does not depend on its result.
func isHook(f state.InFlight) bool { return f.Action == state.ActionHook }

// openAt returns the operations in flight on an instance, except those of hooks.
func (r *Run) openAt(a addr.AbsResourceInstance) (list []state.InFlight) {
	for _, f := range r.Snapshot().InFlight {
		if f.Object.Instance == a && !isHook(f) {
			list = append(list, f)
		}
	}
	return list
}

// InitHooks are the init hooks of a working directory.
type InitHooks struct{ set *hook.Set }

// HooksOfInit returns the init hooks of the working directory. The directory may be an untrusted clone: a hook only
// runs if plan_programs of the CLI configuration allows its command, or if agree returns true, which is called once
// with the command lines of all others. A warning lists the omitted hooks. tell receives the output of hooks.
func (s *Surroundings) HooksOfInit(agree func(lines []string) bool, tell func(name, line string)) (InitHooks,
	diag.List) {
	file, diags := s.ProjectFile()
	if diags.HasErrors() {
		return InitHooks{}, diags
	}
	hooks := slices.DeleteFunc(hooksOf(file), func(h hook.Hook) bool {
		return !slices.Contains(h.Events, hook.BeforeInit) && !slices.Contains(h.Events, hook.AfterInit)
	})
	if len(hooks) == 0 {
		return InitHooks{}, diags
	}
	set, diags := s.Settings()
	if diags.HasErrors() {
		return InitHooks{}, diags
	}
	var asked []hook.Hook
	var lines []string
	for _, h := range hooks {
		if set.PlanPrograms.Allows(h.Command) {
			continue
		}
		asked = append(asked, h)
		if line := strings.Join(h.Command, " "); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(asked) > 0 && !agree(lines) {
		hooks = slices.DeleteFunc(hooks, func(h hook.Hook) bool {
			return slices.ContainsFunc(asked, func(a hook.Hook) bool { return a.Name == h.Name })
		})
		diags = diags.Warnf(&asked[0].Range, "Hook was not run", "The project file of this directory names programs "+
			"that run on init:\n  %s\n\nThey were not run.", strings.Join(lines, "\n  ")).
			Advise("If you trust this directory, run \"%s\" again and approve them when it asks, or name the commands "+
				"in the block plan_programs of the CLI configuration.", diag.Run("init"))
	}
	events := event.Func(func(e event.Event) {
		if e, ok := e.(event.ProgramOutput); ok {
			tell(e.Hook, e.Line)
		}
	})
	return InitHooks{hook.New(hooks, hook.Options{Dir: s.In(""), Environ: s.PluginEnviron, Events: events,
		Run: hook.Run{Workspace: s.workspaceName()}})}, diags
}

// Before runs the hooks before init.
func (h InitHooks) Before(ctx context.Context) diag.List {
	return h.set.Fire(ctx, hook.BeforeInit, hook.Document{})
}

// After runs the hooks after init.
func (h InitHooks) After(ctx context.Context, ok bool) diag.List {
	outcome := hook.OK
	if !ok {
		outcome = hook.Failed
	}
	return h.set.Fire(ctx, hook.AfterInit, hook.Document{Outcome: outcome})
}
