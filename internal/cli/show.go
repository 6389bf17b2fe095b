package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

func cmdShow() *command {
	return &command{
		name: "show", short: "Show the state or a saved plan", args: "[FILE]",
		long: `Show the current state, or the plan or state in a file.

With -json the document holds sensitive values in clear.`,
		setup: func(c *call) func(context.Context) outcome {
			var asJSON bool
			c.flags.BoolVar(&asJSON, "json", false, "Print a JSON document for programs.")
			return func(ctx context.Context) outcome {
				switch len(c.args) {
				case 0:
					return c.showState(ctx, asJSON)
				case 1:
					return c.showFile(ctx, c.args[0], asJSON)
				}
				return c.misuse("Too many command line arguments", "Expected at most one positional argument: the file with a plan or state.")
			}
		},
	}
}

func (c *call) showState(ctx context.Context, asJSON bool) outcome {
	snapshot, diags := c.snapshot(ctx, stateFiles{})
	switch {
	case diags.HasErrors():
		return c.end(diags)
	case snapshot.State == nil && asJSON:
		return c.finish("Failed to show the state", tfjson.State(c.out, nil, nil))
	case snapshot.State == nil:
		fmt.Fprintln(c.out, "No state.")
		return done
	}
	return c.showIn(ctx, snapshot.State, asJSON)
}

// showIn shows a state with the schemas of the configuration at hand.
func (c *call) showIn(ctx context.Context, s *state.State, asJSON bool) outcome {
	project, diags := c.project(ctx, projectOptions{})
	if diags = errorsOnly(diags); len(diags) > 0 {
		return c.end(diags)
	}
	defer project.Close()
	return c.printState(project, s, asJSON)
}

func (c *call) printState(project *tombolo.Project, s *state.State, asJSON bool) outcome {
	var err error
	if asJSON {
		err = tfjson.State(c.out, s, schemas(project, s))
	} else {
		err = view.State(c.viewOptions(), s, schemas(project, s))
	}
	return c.finish("Failed to show the state", err)
}

// showFile tells plans and states apart by their first bytes.
func (c *call) showFile(ctx context.Context, name string, asJSON bool) outcome {
	const summary = "Failed to read the given file as a state or plan file"
	f, _, err := openFile(name)
	if err != nil {
		return c.finish(summary, err)
	}
	defer f.Close()
	head := make([]byte, 4)
	if _, err := f.ReadAt(head, 0); err == nil && bytes.Equal(head, []byte("PK\x03\x04")) {
		return c.showPlan(ctx, name, asJSON)
	}
	s, err := state.Read(f)
	if err != nil {
		return c.finish(summary, fmt.Errorf("%s: %w", name, err))
	}
	return c.showIn(ctx, s, asJSON)
}

func (c *call) showPlan(ctx context.Context, name string, asJSON bool) outcome {
	pl, diags := readPlan(name)
	if len(diags) > 0 {
		return c.end(diags)
	}
	project, diags := c.project(ctx, projectOptions{saved: pl})
	if diags = errorsOnly(diags); len(diags) > 0 {
		return c.end(diags)
	}
	defer project.Close()
	prior := pl.Prior()
	all := schemas(project, prior, pl.Changes...)
	if asJSON {
		return c.finish("Failed to show the plan", tfjson.Plan(c.out, pl, prior, project.Config(), all))
	}
	c.view().Plan(pl, all)
	return done
}

func cmdOutput() *command {
	return &command{
		name: "output", short: "Show the output values of the root module", args: "[NAME]",
		long: `Show the output values that the state holds, or the one of the given name. Sensitive
values are shown only when asked for by name, and in JSON documents.`,
		setup: func(c *call) func(context.Context) outcome {
			o := &outputs{}
			o.files.read(c)
			c.flags.BoolVar(&o.json, "json", false, "Print a JSON document for programs.")
			c.flags.BoolVar(&o.raw, "raw", false, "Print one value as it is, without quotes and line end.")
			return func(ctx context.Context) outcome { return c.runOutput(ctx, o) }
		},
	}
}

type outputs struct {
	files     stateFiles
	json, raw bool
}

func (c *call) runOutput(ctx context.Context, o *outputs) outcome {
	switch {
	case len(c.args) > 1:
		return c.misuse("Unexpected argument", "The output command takes the name of one output value, or none to show all.")
	case o.raw && o.json:
		return c.misuse("Invalid output format", "The options -raw and -json ask for different things: leave one of them out.")
	case o.raw && len(c.args) == 0:
		return c.misuse("Output name required", "The option -raw prints one value: give the name of it.")
	}
	snapshot, diags := c.snapshot(ctx, o.files)
	if diags.HasErrors() {
		return c.end(diags)
	}
	s := snapshot.State
	if len(c.args) == 0 {
		return c.allOutputs(s, o)
	}
	if len(s.OutputNames()) == 0 && !o.json {
		return c.noOutputs()
	}
	name := c.args[0]
	value := s.Output(name)
	var err error
	switch {
	case value == nil:
		return c.end(diags.Errorf(nil, "Output \""+name+"\" not found", "The state has no output value of that name.%s A new output block shows here once the configuration was applied.", diag.DidYouMean(name, s.OutputNames())))
	case o.json:
		err = tfjson.OutputValue(c.out, value)
	case o.raw:
		err = view.RawOutput(c.out, name, value)
	default:
		err = view.OutputValue(c.out, value)
	}
	var problem *diag.Diagnostic
	if errors.As(err, &problem) {
		return c.end(diag.List{problem})
	}
	return c.finish("Unsupported value for raw output", err)
}

func (c *call) allOutputs(s *state.State, o *outputs) outcome {
	switch {
	case o.json:
		return c.finish("Failed to show outputs", tfjson.Outputs(c.out, s))
	case len(s.OutputNames()) == 0:
		return c.noOutputs()
	}
	return c.finish("Failed to show outputs", view.Outputs(c.out, s))
}

func (c *call) noOutputs() outcome {
	return c.end(diag.List{}.Warnf(nil, "No outputs found", "The state holds no output values. They come from output blocks of the root module, and stand in the state after the next apply."))
}
