package stacks

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
)

func initCommand() *command.Command {
	return &command.Command{
		Name: "init", Short: "Install modules and providers of all units", Args: patternArgs, Mixed: true,
		Long: `Prepare the units whose names match a PATTERN, or all units, one after the other: install modules and
providers, write their lock files and record their backends. It asks no questions: if a backend needs more arguments, or
a state has to be moved, run "~ init" in the directory of the unit.`,
		Example: `~ stack init
~ stack init -upgrade 'live/eu/*'`,
		Setup: func(c *command.Call) command.Run {
			o := &choice{}
			o.flags(c)
			var how engine.InstallOptions
			c.Flags.BoolVar(&how.Upgrade, "upgrade", false,
				"Install modules again, and choose the newest allowed version of each provider.")
			c.Flags.BoolVar(&how.Reconfigure, "reconfigure", false,
				"Use changed backend settings without copying states to the new location.")
			return c.Stoppable(func(ctx context.Context) command.Outcome { return initialize(ctx, c, o, how) })
		},
	}
}

func initialize(ctx context.Context, c *command.Call, o *choice, how engine.InstallOptions) command.Outcome {
	s, units, ok := o.load(ctx, c)
	if !ok {
		return command.Failed
	}
	outcome, done := command.Done, map[string]bool{}
	for _, u := range units {
		if done[u.Dir] {
			continue
		}
		done[u.Dir] = true
		name := u.Name
		how.Progress = func(line string) { c.Tell("[%s] %s\n", name, line) }
		diags := s.Surroundings(&c.Surroundings, u).Install(ctx, how)
		if !c.Report(shown(c, u, seen(diags, u))) {
			outcome = command.Failed
			continue
		}
		fmt.Fprintf(c.Out, "[%s] initialized\n", u.Name)
	}
	return outcome
}
