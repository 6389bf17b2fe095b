package states

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/state"
)

func cmdStatePush() *command.Command {
	return &command.Command{
		Name: "push", Short: "Replace the state with the content of a file", Args: "FILE",
		Long: `Replace the state with the state in a file, or from standard input if FILE is "-". The command refuses
a state with another lineage, with a lower serial, or with the same serial but different content. Use -force to write
it anyway. With -force, the state of a remote backend is replaced even if it cannot be read.`,
		Example: `~ state push copy.tfstate`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			c.LineFlags()
			var force bool
			l := &command.Locking{}
			l.LockFlags(c)
			c.Flags.BoolVar(&force, "force", false, "Write the state even if its lineage or serial does not match.")
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
			return c.Say("Error reading source state %q: %s. Nothing was pushed. Name a state file, or - for the "+
				"standard input.", name, err)
		}
		defer f.Close()
		in = f
	}
	s, err := c.ReadState(ctx, in)
	var damaged *state.DecodeError
	switch {
	case errors.As(err, &damaged) && damaged.Damage == state.Empty:
		return c.Say("Error reading source state %q: it is empty (zero bytes), and was not pushed.", name)
	case err != nil:
		return c.Say("Error reading source state %q: %s. Nothing was pushed.", name, command.StateProblem(err))
	}
	var problem error
	outcome := edit(ctx, c, editing{Locking: *l, operation: state.OperationPush, damaged: force},
		func(session state.Session) (edited,
			diag.List) {
			write := session.Write
			if force {
				write = session.Replace
			} else if problem = sameSerial(session.Snapshot().State, s); problem != nil {
				return edited{}, nil
			} else if diags := settling(session.Snapshot(), s); diags.HasErrors() {
				return edited{}, diags
			}
			problem = write(ctx, s)
			return edited{}, nil
		})
	if conflict := (*state.ConflictError)(nil); errors.As(problem, &conflict) && !force {
		return c.Say("Failed to write state: %s. To write it anyway, run \"%s\": objects that only the stored state "+
			"has are lost.", problem, diag.Named(c.Program).Command(diag.Run("state", "push", "-force")))
	}
	if problem != nil {
		return c.Say("Failed to write state: %s", problem)
	}
	return outcome
}

// sameSerial refuses a state with the same serial as the stored one and other content, because neither is a successor
// of the other.
func sameSerial(old, s *state.State) error {
	if old == nil || old.Serial != s.Serial || old.Lineage != s.Lineage || old.SameContent(s) {
		return nil
	}
	return &state.ConflictError{Found: fmt.Sprintf("different content with serial %d", old.Serial),
		Expected: fmt.Sprintf("the same content with serial %d, or a smaller serial", s.Serial),
		Advice:   "Both states have changed since they were last the same"}
}

// settling refuses a state that has an object where an interrupted operation has none, or the reverse: the operation
// would be considered resolved.
func settling(old *state.Snapshot, s *state.State) diag.List {
	return stillOpen(old, "push a conflicting state (except with -force)", func(f state.InFlight) bool {
		return (old.State.Object(f.Object) == nil) != (s.Object(f.Object) == nil)
	})
}
