package stacks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/stack"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

func outputCommand() *command.Command {
	return &command.Command{
		Name: "output", Short: "Show the output values of all units", Args: "[PATTERN...]", Mixed: true,
		Long: `Show the output values in the states of the units whose names match a PATTERN, or of all units. Sensitive
values are shown only in JSON documents, and with -raw, which prints one value: "~ stack output -raw UNIT OUTPUT".`,
		Example: `~ stack output
~ stack output -json
~ stack output -raw network vpc_id`,
		Setup: func(c *command.Call) command.Run {
			o := &choice{}
			o.flags(c)
			c.DocumentFlags()
			c.SecretsFlag()
			raw := c.Flags.Bool("raw", false, "Print one value without quotes and without a newline.")
			return func(ctx context.Context) command.Outcome {
				switch {
				case *raw && c.Document:
					return c.Misuse("Invalid output format",
						"The options -raw and -json conflict: remove one of them.")
				case *raw && len(c.Args) != 2:
					return c.Misuse("Output name required", "The option -raw prints one value: add the name of a unit "+
						"and that of its output.")
				case *raw:
					return rawOutput(ctx, c, c.Args[0], c.Args[1])
				}
				return outputs(ctx, c, o)
			}
		},
	}
}

func rawOutput(ctx context.Context, c *command.Call, unit, name string) command.Outcome {
	s, ok := loadStack(ctx, c)
	if !ok {
		return command.Failed
	}
	units, diags := s.Choose(stack.Choice{Patterns: []string{unit}})
	if diags.HasErrors() {
		return c.End(diags)
	}
	if len(units) != 1 {
		return c.End(diags.Errorf(nil, "Unit is not unique", "%q matches %d units. Name one of "+
			"them.", unit, len(units)))
	}
	snapshot, diags := s.Stored(ctx, &c.Surroundings, units[0])
	if diags.HasErrors() {
		return c.End(shown(c, units[0], diags))
	}
	value := snapshot.State.Output(name)
	if value == nil {
		return c.End(diag.List{}.Errorf(nil, "Output \""+name+"\" not found", "The state of the unit %q has no output "+
			"value of that name.%s", unit, diag.DidYouMean(name, snapshot.State.OutputNames())))
	}
	return c.Finish("Unsupported value for raw output", view.RawOutput(c.Out, name, value))
}

func outputs(ctx context.Context, c *command.Call, o *choice) command.Outcome {
	s, units, ok := o.load(ctx, c)
	if !ok {
		return command.Failed
	}
	states := map[*stack.Unit]*state.State{}
	all := map[string]json.RawMessage{}
	outcome := command.Done
	for _, u := range units {
		snapshot, diags := s.Stored(ctx, &c.Surroundings, u)
		if diags.HasErrors() {
			c.Report(shown(c, u, diags))
			outcome = command.Failed
			continue
		}
		var b bytes.Buffer
		if err := tfjson.Outputs(&b, snapshot.State); err != nil {
			return c.Finish("Failed to show outputs", err)
		}
		states[u], all[u.Name] = snapshot.State, b.Bytes()
	}
	if to := c.Documents(); to != nil {
		if err := document(to, all); err != nil {
			return c.Finish("Failed to show outputs", err)
		}
		if c.Document {
			return outcome
		}
	}
	separator := ""
	for _, u := range units {
		if states[u] == nil {
			continue // it failed
		}
		fmt.Fprint(c.Out, separator)
		separator = "\n"
		fmt.Fprintln(c.Out, c.Bold(u.Name))
		if len(states[u].OutputNames()) == 0 {
			fmt.Fprintln(c.Out, "(no outputs)")
			continue
		}
		how := c.ViewOptions()
		view.LearnState(how, states[u])
		if err := view.Outputs(how, states[u]); err != nil {
			return c.Finish("Failed to show outputs", err)
		}
	}
	return outcome
}
