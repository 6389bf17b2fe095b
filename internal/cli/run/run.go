// Package run has the commands that run the engine, plan, apply and their relatives. They share their flags (flags.go)
// and the session (this file), from the first signal handler to the release of the lock.
package run

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view/report"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// session is a run of plan or apply, from its first signal handler to the release of the lock.
type session struct {
	call    *command.Call
	flags   *planning
	options engine.PlanOptions
	ctx     context.Context
	running *command.Running
	project *engine.Project
	run     *engine.Run
	saved   bool         // the plan is from a file
	applied []*plan.Plan // in earlier rounds
	// recorder records the events for a report, or is nil.
	recorder *report.Recorder
	// warnings are those of the preparation. They are shown with those of the plan, below it, where users see them.
	warnings diag.List
}

// kind is how a command accesses the state.
type kind struct {
	operation            state.Operation // the lock shows it to others
	reading              bool            // it writes nothing: without the lock it may read while another run writes
	withoutConfiguration bool            // it also works in a directory without configuration
}

// begin loads the project, collects its variables and takes the lock. It reports problems. The caller must end the
// session.
func begin(ctx context.Context, c *command.Call, p *planning, k kind) (*session, bool) {
	options, ok := p.options(c)
	if !ok {
		return nil, false
	}
	if !p.editing {
		c.Report(command.DeprecatedStateFlags(p.StateFiles))
	}
	s := &session{call: c, flags: p, options: options}
	s.ctx, s.running = c.Interruptible(ctx)
	diags := s.prepare(k)
	if diags.HasErrors() {
		c.Report(diags.Extend(p.problems.Write(diags)))
		s.end()
		return nil, false
	}
	s.warnings = diags
	return s, true
}

func (s *session) prepare(k kind) (diags diag.List) {
	c, p := s.call, s.flags
	if diags = p.checkGenerate().Extend(p.checkReport()); diags.HasErrors() {
		return diags
	}
	s.options.GenerateConfig = p.generate != ""
	s.project, diags = c.Project(s.ctx, command.ProjectOptions{Dir: p.dir, Files: p.StateFiles,
		Parallelism: p.parallelism, Events: s.events(), Abort: s.running.Abort, Query: p.query})
	if diags.HasErrors() {
		return diags
	}
	if s.project.Config().IsEmpty() && s.options.Mode != plan.Destroy && !k.withoutConfiguration {
		return diags.Errorf(nil, "No configuration files", "This directory has no configuration (no .tf files). "+
			"Applying no configuration would destroy every resource. If you meant that, run \"%s destroy\". "+
			"Otherwise create a .tf file, or change to the directory that has them (-chdir).", c.Program)
	}
	given, more := c.Given(s.ctx, s.project.Config().Root, p.Variables.Options, p.input)
	if diags = diags.Extend(more); diags.HasErrors() {
		return diags
	}
	s.options.Variables, s.options.VariableRanges = s.project.Config().Root.RawValues(given), given.Ranges()
	return diags.Extend(s.open(k))
}

// open takes the lock. Plugins start meanwhile.
func (s *session) open(k kind) (diags diag.List) {
	s.project.Begin()
	options := s.flags.Locking.OpenOptions(k.operation)
	options.Reading = k.reading
	if k.operation == state.OperationPlan && k.reading && !s.flags.Locking.Given(s.call) {
		file, _ := s.call.ProjectFile() // it was read before without an error
		options.NoLock = options.NoLock || file.PlansUnlocked()
	}
	s.run, diags = s.project.Open(s.ctx, options)
	return diags
}

func (s *session) plan() (*plan.Plan, diag.List) {
	pl, diags := s.run.Plan(s.ctx, s.options)
	diags = s.warnings.Extend(diags)
	if pl != nil && s.flags.generate != "" {
		diags = diags.Extend(writeGenerated(s.call.Surroundings.In("."), s.flags.generate, s.call.Title, pl))
	}
	return pl, diags
}

func (s *session) schemas(pl *plan.Plan) tfjson.Schemas {
	return s.project.Schemas(pl.Base, pl.Changes...)
}

// release unlocks the state, and reports errors.
func (s *session) release() bool {
	if s.run == nil {
		return true
	}
	diags := s.run.Close(context.WithoutCancel(s.ctx))
	s.run = nil
	return s.call.Report(diags)
}

// end releases the remaining resources.
func (s *session) end() {
	s.release()
	if s.project != nil {
		s.project.Close()
	}
	s.running.End()
}

// ephemeral returns the values of variables that are not stored in a plan.
func ephemeral(pl *plan.Plan, values map[string]cty.Value) map[string]cty.Value {
	out := map[string]cty.Value{}
	for name, v := range pl.Variables {
		if value, ok := values[name]; ok && v.Ephemeral {
			out[name] = value
		}
	}
	return out
}
