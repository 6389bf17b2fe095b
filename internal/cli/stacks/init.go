package stacks

import (
	"context"
	"fmt"
	"sync"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/graph"
)

func initCommand() *command.Command {
	return &command.Command{
		Name: "init", Short: "Install modules and providers of all units", Args: patternArgs, Mixed: true,
		Long: `Prepare the units whose names match a PATTERN, or all units, side by side: install modules and
providers, write their lock files and record their backends. It asks no questions: if a backend needs more arguments, or
a state has to be moved, run "~ init" in the directory of the unit.`,
		Example: `~ stack init
~ stack init -upgrade 'live/eu/*'`,
		Setup: func(c *command.Call) command.Run {
			o := &choice{}
			o.flags(c)
			c.Flags.IntVar(&o.atOnce, "units-at-once", 0,
				"Prepare at most `N` units at the same time, instead of the number in the project file.")
			var how engine.InstallOptions
			c.Flags.BoolVar(&how.Upgrade, "upgrade", false,
				"Install modules again, and choose the newest allowed version of each provider.")
			c.Flags.BoolVar(&how.Reconfigure, "reconfigure", false,
				"Use changed backend settings without copying states to the new location.")
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				if o.atOnce < 0 || o.atOnce == 0 && c.FlagGiven("units-at-once") {
					return c.Misuse("Invalid limit", "-units-at-once is %d. Expected 1 or more.", o.atOnce)
				}
				return initialize(ctx, c, o, how)
			})
		},
	}
}

func initialize(ctx context.Context, c *command.Call, o *choice, how engine.InstallOptions) command.Outcome {
	s, units, ok := o.load(ctx, c)
	if !ok {
		return command.Failed
	}
	if o.atOnce > 0 {
		s.AtOnce = o.atOnce
	}
	var mu sync.Mutex // guards outcome and all output
	outcome, done := command.Done, map[string]bool{}
	runner := graph.New(s.AtOnce)
	for _, u := range units {
		if done[u.Dir] {
			continue
		}
		done[u.Dir] = true
		runner.Add(func(*graph.Node) error {
			mine := how
			mine.Progress = func(line string) {
				mu.Lock()
				defer mu.Unlock()
				c.Tell("[%s] %s\n", u.Name, line)
			}
			diags := s.Surroundings(&c.Surroundings, u).Install(ctx, mine)
			mu.Lock()
			defer mu.Unlock()
			if !c.Report(shown(c, u, seen(diags, u))) {
				outcome = command.Failed
				return nil
			}
			fmt.Fprintf(c.Out, "[%s] initialized\n", u.Name)
			return nil
		})
	}
	if err := runner.Run(ctx); err != nil {
		return c.End(diag.List{}.Errorf(nil, "Interrupted", "Not all units were prepared: %s. Run the command again.",
			err))
	}
	return outcome
}
