package states

import (
	"context"
	"errors"
	"io"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/state"
)

func cmdStatePush() *command.Command {
	return &command.Command{
		Name: "push", Short: "Replace the state by that of a file", Args: "FILE",
		Long: `Replace the state by that of a file, or of the standard input if the file is "-". A state of
another lineage or with a lower serial is refused, unless forced.`,
		Example: `~ state push copy.tfstate`,
		Setup: func(c *command.Call) command.Run {
			var force bool
			l := &command.Locking{}
			l.LockFlags(c)
			c.Flags.BoolVar(&force, "force", false, "Write the state even if lineage or serial speak against it.")
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.WrongNumber("Exactly one argument expected.")
				}
				return statePush(ctx, c, l, c.Args[0], force)
			}
		},
	}
}

func statePush(ctx context.Context, c *command.Call, l *command.Locking, name string, force bool) command.Outcome {
	var in io.Reader = c.In.Reader
	if name != "-" {
		f, _, err := command.OpenFile(name)
		if err != nil {
			return c.Say("%s", err)
		}
		defer f.Close()
		in = f
	}
	s, err := state.Read(in)
	var damaged *state.DecodeError
	switch {
	case errors.As(err, &damaged) && damaged.Damage == state.Empty:
		return c.Say("Error reading source state %q: it is empty (zero bytes), and was not pushed.", name)
	case err != nil:
		return c.Say("Error reading source state %q: %s. Nothing was pushed.", name, command.StateProblem(err))
	}
	var problem error
	outcome := edit(ctx, c, editing{Locking: *l, operation: "state-push"}, func(session state.Session) (edited, diag.List) {
		write := session.Write
		if force {
			write = session.Replace
		}
		problem = write(ctx, s)
		return edited{}, nil
	})
	if problem != nil {
		return c.Say("Failed to write state: %s", problem)
	}
	return outcome
}
