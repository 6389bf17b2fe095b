package inspect

import (
	"context"
	"errors"
	"io/fs"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

// Output is the command output.
func Output() *command.Command {
	return &command.Command{
		Name: "output", Short: "Show output values of the root module", Args: "[OUTPUT]",
		Long: `Show all output values in the state, or the one with the given name. Sensitive values are shown only
if you request one by name, and in JSON documents.`,
		Example: `~ output
~ output -raw address
~ output -json`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			o := &outputs{}
			c.StateReadFlags(&o.files)
			c.DocumentFlags()
			c.SecretsFlag()
			c.Flags.BoolVar(&o.raw, "raw", false, "Print one value without quotes and without a newline.")
			return func(ctx context.Context) command.Outcome { return runOutput(ctx, c, o) }
		},
	}
}

type outputs struct {
	files command.StateFiles
	raw   bool
}

func runOutput(ctx context.Context, c *command.Call, o *outputs) command.Outcome {
	switch {
	case len(c.Args) > 1:
		return c.Misuse("Unexpected argument",
			"The output command takes the name of one output value, or none to show all.")
	case o.raw && c.Document:
		return c.Misuse("Invalid output format",
			"The options -raw and -json conflict: remove one of them.")
	case o.raw && len(c.Args) == 0:
		return c.Misuse("Output name required", "The option -raw prints one value: add its name.")
	}
	snapshot, diags := c.Snapshot(ctx, o.files)
	if diags.HasErrors() {
		return c.End(diags)
	}
	s := snapshot.State
	if len(c.Args) == 0 {
		return allOutputs(c, s)
	}
	if len(s.OutputNames()) == 0 && c.Documents() == nil {
		return noOutputs(c)
	}
	name := c.Args[0]
	value := s.Output(name)
	if value == nil {
		return c.End(diags.Errorf(nil, "Output \""+name+"\" not found", "The state has no output value of that "+
			"name.%s New output blocks appear here after the next apply.",
			diag.DidYouMean(name, s.OutputNames())))
	}
	return oneOutput(c, name, value, o)
}

// oneOutput shows an output value.
func oneOutput(c *command.Call, name string, value *state.Output, o *outputs) command.Outcome {
	var err error
	switch {
	case c.Document:
	case o.raw:
		err = view.RawOutput(c.Out, name, value)
	default:
		err = view.OutputValue(c.Out, value)
	}
	if to := c.Documents(); to != nil && err == nil {
		err = tfjson.OutputValue(to, value)
	}
	var problem *diag.Diagnostic
	var full *fs.PathError // standard output could not be written: the value is valid
	switch {
	case errors.As(err, &problem):
		return c.End(diag.List{problem})
	case errors.As(err, &full):
		return c.Finish("Failed to show outputs", err)
	}
	return c.Finish("Unsupported value for raw output", err)
}

func allOutputs(c *command.Call, s *state.State) command.Outcome {
	if to := c.Documents(); to != nil {
		if err := tfjson.Outputs(to, s); err != nil || c.Document {
			return c.Finish("Failed to show outputs", err)
		}
	}
	if len(s.OutputNames()) == 0 {
		return noOutputs(c)
	}
	o := c.ViewOptions()
	view.LearnState(o, s)
	return c.Finish("Failed to show outputs", view.Outputs(o, s))
}

func noOutputs(c *command.Call) command.Outcome {
	return c.End(diag.List{}.Warnf(nil, "No outputs found", "The state holds no output values. Output blocks of the "+
		"root module appear in the state after the next apply."))
}
