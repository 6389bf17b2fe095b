package cli

import (
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

func cmdApply() *command {
	return &command{
		name: "apply", short: "Create, change and destroy objects as the configuration says", args: "[PLANFILE]", main: true,
		long: `Make a plan, show it, ask for approval, and perform it. Given a file that
"~ plan -out" saved, perform that plan and no other, without asking.`,
		setup: func(c *call) func(context.Context) outcome { return setupApply(c, false) },
	}
}

func cmdDestroy() *command {
	return &command{
		name: "destroy", short: "Destroy all objects that the state knows", main: true,
		long:  `Plan to destroy everything, show the plan, ask for approval, and perform it: the same as "~ apply -destroy".`,
		setup: func(c *call) func(context.Context) outcome { return setupApply(c, true) },
	}
}

func setupApply(c *call, destroy bool) func(context.Context) outcome {
	p := &planning{}
	p.flags(c)
	p.stateFiles.write(c)
	var approved bool
	c.flags.BoolVar(&approved, "auto-approve", false, "Do not ask for approval.")
	return func(ctx context.Context) outcome {
		p.destroy = p.destroy || destroy
		switch {
		case len(c.args) > 1, len(c.args) > 0 && destroy:
			return c.tooMany()
		case len(c.args) == 1:
			return c.applySaved(ctx, p, c.args[0])
		case c.shown.json && !approved:
			return c.end(diag.List{}.Errorf(nil, "Plan file or auto-approve required", "With -json nothing is asked, so approval has to come with the command: give a saved plan, or -auto-approve."))
		}
		return c.runApply(ctx, p, approved)
	}
}

// runApply plans, asks and applies.
func (c *call) runApply(ctx context.Context, p *planning, approved bool) outcome {
	s, ok := c.begin(ctx, p, "OperationTypeApply")
	if !ok {
		return failed
	}
	defer s.end()
	pl, diags := s.plan()
	if pl != nil {
		c.view().Plan(pl, s.schemas(pl))
	}
	if pl == nil || pl.Errored || diags.HasErrors() {
		c.report(diags)
		return failed
	}
	if !approved && pl.Applyable() {
		c.report(diags) // what the person who decides should know
		diags = nil
		if ok, problems := c.approve(s.ctx, pl); !ok {
			c.report(problems)
			return failed
		}
	}
	return s.perform(pl, s.options.Variables, diags)
}

// applySaved performs a saved plan, with the configuration that it was made from.
func (c *call) applySaved(ctx context.Context, p *planning, name string) outcome {
	pl, diags := readPlan(name)
	if !c.report(diags) {
		return failed
	}
	if p.destroy {
		return c.end(diags.Errorf(nil, "Destroy can't be set with a plan file", "A saved plan says itself what is destroyed. Make a plan with -destroy and apply that."))
	}
	s := &session{call: c, flags: p}
	s.ctx, s.running = c.interruptible(ctx)
	defer s.end()
	s.project, diags = c.project(s.ctx, projectOptions{files: p.stateFiles, parallelism: p.parallelism, events: s.running, abort: s.running.abort, saved: pl})
	if !c.report(errorsOnly(diags)) { // its warnings were shown when it was planned
		return failed
	}
	values, diags := c.ephemeralValues(s.ctx, s, pl)
	if !c.report(diags) || !c.report(s.open("OperationTypeApply")) {
		return failed
	}
	c.interrupted(s.run.Snapshot())
	return s.perform(pl, values, nil)
}

// ephemeralValues collects the variables that a plan does not keep, and checks that no others have changed.
func (c *call) ephemeralValues(ctx context.Context, s *session, pl *plan.Plan) (map[string]cty.Value, diag.List) {
	root := s.project.Config().Root
	raw, sources, diags := config.CollectValues(config.ValueSources{Files: config.OSFiles("."), Environ: c.environ, Options: s.flags.variables.options})
	c.addSources(sources)
	if diags.HasErrors() {
		return nil, diags
	}
	given := config.Values{}
	for name, v := range raw {
		decl := root.Variables[name]
		if v.Origin == config.FromOption || v.Origin == config.FromNamedFile || decl != nil && decl.Ephemeral {
			given[name] = v
		}
	}
	out := map[string]cty.Value{}
	for name, v := range given {
		decl := root.Variables[name]
		if decl == nil {
			diags = diags.Errorf(nil, "Value for undeclared variable", "The variable %q is set, but the root module of the saved plan does not declare it.", name)
			continue
		}
		one := &config.Module{Variables: map[string]*config.Variable{name: decl}}
		values, more := one.VariableValues(config.Values{name: v})
		diags = diags.Extend(more)
		switch {
		case more.HasErrors():
		case decl.Ephemeral:
			out[name] = values[name]
		case !sameValue(values[name], planned(pl, decl)):
			diags = diags.Errorf(nil, "Can't change variable when applying a saved plan", "The variable %q has another value in the saved plan. A plan is applied with the values that it was made with: leave the option out, or make a new plan.", name)
		}
	}
	return out, diags
}

// planned is the value that a plan was made with.
func planned(pl *plan.Plan, v *config.Variable) cty.Value {
	if known := pl.Variables[v.Name]; known.Value != cty.NilVal {
		if value, err := v.ConvertValue(known.Value); err == nil {
			return value
		}
		return known.Value
	}
	return v.Default
}

func sameValue(a, b cty.Value) bool {
	return a != cty.NilVal && b != cty.NilVal && a.RawEquals(b)
}

// perform applies a plan and shows what came of it. The diagnostics are what is still to be shown of the planning.
func (s *session) perform(pl *plan.Plan, values map[string]cty.Value, diags diag.List) outcome {
	c := s.call
	_, more := s.run.Apply(s.ctx, pl, ephemeral(pl, values))
	diags = diags.Extend(more)
	after := s.run.State()
	if !s.release() {
		c.report(diags)
		return failed
	}
	if diags.HasErrors() {
		c.report(diags)
		return failed
	}
	c.report(diags)
	if c.path == "refresh" && !c.shown.json {
		return c.finish("Failed to show outputs", c.refreshed(after))
	}
	c.view().Applied(pl, after)
	return done
}

// refreshed shows what is left to say after a refresh.
func (c *call) refreshed(s *state.State) error {
	if len(s.OutputNames()) == 0 {
		return nil
	}
	fmt.Fprintf(c.out, "\n%s\n\n", c.green("Outputs:"))
	return view.Outputs(c.out, s)
}

// approve asks whether to perform a plan.
func (c *call) approve(ctx context.Context, pl *plan.Plan) (bool, diag.List) {
	where := "?"
	if pl.Workspace != state.DefaultWorkspace {
		where = fmt.Sprintf(" in workspace %q?", pl.Workspace)
	}
	title, text := "Do you want to perform these actions"+where, c.title+" will perform the actions described above.\nOnly 'yes' will be accepted to approve."
	switch pl.Mode {
	case plan.Destroy:
		title, text = "Do you really want to destroy all resources"+where, c.title+" will destroy all your managed infrastructure, as shown above.\nThere is no undo. Only 'yes' will be accepted to confirm."
	case plan.RefreshOnly:
		title, text = "Would you like to update the state to reflect these detected changes?", c.title+" will write these changes to the state without modifying any real object.\nThere is no undo. Only 'yes' will be accepted to confirm."
	}
	fmt.Fprintln(c.out)
	answer, err := c.ask(ctx, title, text, false)
	switch {
	case err != nil:
		fmt.Fprintln(c.out)
		return false, diag.List{}.Errorf(nil, "error asking for approval: "+err.Error(), "Nothing was changed. Without someone who answers, use -auto-approve, or save a plan and apply that.")
	case answer != "yes":
		word := "Apply"
		if pl.Mode == plan.Destroy {
			word = "Destroy"
		}
		fmt.Fprintf(c.out, "%s cancelled.\n", word)
		return false, nil
	}
	return true, nil
}

func cmdRefresh() *command {
	return &command{
		name: "refresh", short: "Record in the state how the real objects are",
		long: `Look at the real objects and record what has changed: the same as
"~ apply -refresh-only -auto-approve".`,
		setup: func(c *call) func(context.Context) outcome {
			p := &planning{refresh: true, refreshOnly: true}
			p.variables.flags(c)
			p.locking.flags(c)
			p.stateFiles.write(c)
			c.stringsFlag(&p.targets, "target", "Refresh only the module, resource or instance at `ADDRESS` and what it depends on. May be given more than once.")
			p.limits(c)
			return func(ctx context.Context) outcome {
				if len(c.args) > 0 {
					return c.tooMany()
				}
				return c.runRefresh(ctx, p)
			}
		},
	}
}

// runRefresh records what has changed without showing it as a plan.
func (c *call) runRefresh(ctx context.Context, p *planning) outcome {
	s, ok := c.begin(ctx, p, "OperationTypeRefresh")
	if !ok {
		return failed
	}
	defer s.end()
	if len(s.run.State().Resources()) == 0 {
		c.report(diag.List{}.Warnf(nil, "Empty or non-existent state", "The state holds no objects, so there is nothing to refresh."))
	}
	pl, diags := s.plan()
	if pl == nil || pl.Errored || diags.HasErrors() {
		c.report(diags)
		return failed
	}
	return s.perform(pl, s.options.Variables, diags)
}
