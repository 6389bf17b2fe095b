package cli

import (
	"context"
	"errors"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/plan"
)

func cmdPlan() *command {
	return &command{
		name: "plan", short: "Show what apply would change", main: true,
		long: `Compare the configuration with the state and the real objects, and show what
"~ apply" would create, change and destroy. Nothing is changed.

With -out the plan is saved; "~ apply FILE" then performs exactly that plan.`,
		setup: func(c *call) func(context.Context) outcome {
			p := &planning{}
			p.flags(c)
			p.stateFiles.read(c)
			var out string
			var detailed bool
			c.flags.StringVar(&out, "out", "", "Save the plan to `FILE`.")
			c.flags.BoolVar(&detailed, "detailed-exitcode", false, "Exit with 2 when there are changes, 0 when there are none, 1 after errors.")
			return func(ctx context.Context) outcome {
				if len(c.args) > 0 {
					return c.tooMany()
				}
				return c.runPlan(ctx, p, out, detailed)
			}
		},
	}
}

func (c *call) tooMany() outcome {
	return c.misuse("Too many command line arguments", "To work in another directory, use the global option: %s -chdir=DIR %s", c.program, c.path)
}

func (c *call) runPlan(ctx context.Context, p *planning, out string, detailed bool) outcome {
	s, ok := c.begin(ctx, p, "OperationTypePlan")
	if !ok {
		return failed
	}
	defer s.end()
	pl, diags := s.plan()
	if pl != nil && out != "" {
		if err := replaceFile(out, 0o600, pl.Write); err != nil {
			diags = diags.AppendError("Failed to write plan file", err)
			out = ""
		}
	}
	if pl != nil {
		c.view().Plan(pl, s.schemas(pl))
	}
	ok = c.report(diags)
	if pl != nil && !pl.Errored && ok {
		c.view().NextStep(view.NextStep{Plan: pl, PlanFile: out})
	}
	switch ok = s.release() && ok; {
	case !ok || pl == nil:
		return failed
	case detailed && pl.Applyable():
		return changes
	}
	return done
}

// session is a run of plan or apply from its first signal handler to giving the lock back.
type session struct {
	call    *call
	flags   *planning
	options tombolo.PlanOptions
	ctx     context.Context
	running *running
	project *tombolo.Project
	run     *tombolo.Run
}

// begin loads the project, collects its variables and takes the lock. Problems are reported; a session must be ended.
func (c *call) begin(ctx context.Context, p *planning, operation string) (*session, bool) {
	options, ok := p.options(c)
	if !ok {
		return nil, false
	}
	c.report(p.stateFiles.deprecated())
	s := &session{call: c, flags: p, options: options}
	s.ctx, s.running = c.interruptible(ctx)
	if diags := s.prepare(operation); !c.report(diags) {
		s.end()
		return nil, false
	}
	return s, true
}

func (s *session) prepare(operation string) (diags diag.List) {
	c, p := s.call, s.flags
	if p.generate != "" {
		return diags.Errorf(nil, "Unsupported option", "This version cannot write configuration for imported objects (-generate-config-out).")
	}
	s.project, diags = c.project(s.ctx, projectOptions{files: p.stateFiles, parallelism: p.parallelism, events: s.running, abort: s.running.abort})
	if diags.HasErrors() {
		return diags
	}
	if s.project.Config().IsEmpty() && s.options.Mode != plan.Destroy {
		return diags.Errorf(nil, "No configuration files", "This directory has no configuration (no .tf files). Applying nothing would destroy everything, which is hardly meant: to do that, use %s destroy. Otherwise create a .tf file, or change to the directory that has them (-chdir).", c.program)
	}
	values, more := c.values(s.ctx, s.project.Config().Root, p.variables.options, p.input)
	if diags = diags.Extend(more); diags.HasErrors() {
		return diags
	}
	s.options.Variables = values
	return diags.Extend(s.open(operation))
}

// open takes the lock.
func (s *session) open(operation string) (diags diag.List) {
	s.run, diags = s.project.Open(s.ctx, s.flags.locking.open(operation))
	return diags
}

func (s *session) plan() (*plan.Plan, diag.List) { return s.run.Plan(s.ctx, s.options) }

func (s *session) schemas(pl *plan.Plan) tfjson.Schemas {
	return schemas(s.project, pl.Base, pl.Changes...)
}

// release gives the lock back, and reports when that fails.
func (s *session) release() bool {
	if s.run == nil {
		return true
	}
	diags := s.run.Close(context.WithoutCancel(s.ctx))
	s.run = nil
	return s.call.report(diags)
}

// end gives back what is left.
func (s *session) end() {
	s.release()
	if s.project != nil {
		s.project.Close()
	}
	s.running.end()
}

// ephemeral picks the values of variables that a plan does not keep.
func ephemeral(pl *plan.Plan, values map[string]cty.Value) map[string]cty.Value {
	out := map[string]cty.Value{}
	for name, v := range pl.Variables {
		if value, ok := values[name]; ok && v.Ephemeral {
			out[name] = value
		}
	}
	return out
}

// readPlan reads a plan file.
func readPlan(name string) (*plan.Plan, diag.List) {
	f, size, err := openFile(name)
	if err != nil {
		return nil, diag.List{}.Errorf(nil, "Failed to load \""+name+"\" as a plan file", "Error: %s", err)
	}
	defer f.Close()
	pl, err := plan.Decode(f, size)
	var fileErr *plan.FileError
	switch {
	case err == nil:
		return pl, nil
	case errors.As(err, &fileErr):
		return nil, diag.List{}.Errorf(nil, fileErr.Summary, "%s: %s", name, fileErr.Detail)
	}
	return nil, diag.List{}.Errorf(nil, "Failed to load \""+name+"\" as a plan file", "Error: %s", err)
}
