package run

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// readExpected reads a saved plan. If a hash is expected and the file has another one, it returns an error.
func readExpected(ctx context.Context, c *command.Call, name, expected string) (*plan.Plan, diag.List) {
	if expected == "" {
		return c.ReadPlan(ctx, name)
	}
	pl, hash, diags := c.ReadHashedPlan(ctx, name)
	if !diags.HasErrors() && hash != "sha256:"+strings.TrimPrefix(expected, "sha256:") {
		diags = diags.Errorf(nil, "Plan is not the expected one", "The file %q has the hash\n    %s\nand -expect-plan "+
			"requires\n    %s\nEither another plan was made after that one was approved, or the file was changed. "+
			"Review it (show %[1]q) and have it approved again.", name, hash, expected)
	}
	return pl, diags
}

// applySaved applies a saved plan with the configuration from which it was made.
func applySaved(ctx context.Context, c *command.Call, p *planning, name, expected string) command.Outcome {
	pl, diags := readExpected(ctx, c, name, expected)
	if !c.Report(diags) {
		return command.Failed
	}
	if p.destroy {
		return c.End(diags.Errorf(nil, "Destroy can't be set with a plan file",
			"A saved plan already defines what is destroyed. Make a plan with -destroy and apply it."))
	}
	if !c.Report(p.checkReport()) {
		return command.Failed
	}
	s := &session{call: c, flags: p, saved: true}
	s.ctx, s.running = c.Interruptible(ctx)
	defer s.end()
	s.project, diags = c.Project(s.ctx, command.ProjectOptions{Files: p.StateFiles, Parallelism: p.parallelism,
		Events: s.events(), Abort: s.running.Abort, Saved: pl})
	if !c.Report(diags.OnlyErrors()) { // its warnings were shown while planning
		return command.Failed
	}
	values, diags := ephemeralValues(s.ctx, c, s, pl)
	if !c.Report(diags) || !c.Report(s.open(kind{operation: state.OperationApply})) {
		return command.Failed
	}
	c.Interrupted(s.run.Snapshot())
	c.View().Saved(pl)
	outcome := s.perform(pl, values, nil)
	if outcome == command.Done && engine.Continues(pl) {
		c.Tell("\nA part of the configuration was deferred. Make another plan for it.\n")
	}
	return outcome
}

// ephemeralValues collects the variables that are not stored in a plan, and checks that no others have changed.
func ephemeralValues(ctx context.Context, c *command.Call, s *session, pl *plan.Plan) (map[string]cty.Value,
	diag.List) {
	root := s.project.Config().Root
	raw, sources, diags := config.CollectValues(config.ValueSources{Files: config.OSFiles("."), Environ: c.Environ,
		Options: s.flags.Variables.Options})
	c.AddSources(sources)
	if diags.HasErrors() {
		return nil, diags
	}
	diags = diags.Extend(root.Undeclared(raw))
	given := config.Values{}
	for name, v := range raw {
		decl := root.Variables[name]
		if decl != nil && (v.Origin == config.FromOption || v.Origin == config.FromNamedFile || decl.Ephemeral) {
			given[name] = v
		}
	}
	out := map[string]cty.Value{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		v := given[name]
		decl := root.Variables[name]
		one := &config.Module{Variables: map[string]*config.Variable{name: decl}}
		values, more := one.VariableValues(config.Values{name: v})
		diags = diags.Extend(more)
		switch {
		case more.HasErrors():
		case decl.Ephemeral:
			out[name] = values[name]
		case !sameValue(values[name], planned(pl, decl)):
			diags = diags.Errorf(nil, "Can't change variable when applying a saved plan", "The variable %q has "+
				"another value in the saved plan. A plan is applied with the values it was made with: remove the "+
				"option, or make a new plan.", name)
		}
	}
	if !diags.HasErrors() {
		diags = diags.Extend(pl.CheckEphemeral(out, given.Ranges()))
	}
	return out, diags
}

// planned returns the value of a variable in a plan.
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
	return a != cty.NilVal && b != cty.NilVal && ctyfast.RawEquals(a, b)
}
