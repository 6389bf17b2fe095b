package run

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

// Recover is the command recover.
func Recover() *command.Command {
	return &command.Command{
		Name: "recover", Short: "Resolve an interrupted operation", Args: "ADDRESS",
		Long: `If a run is killed while it creates an object, the object may or may not exist. Every command lists
such operations, and apply does not touch their addresses. Check whether the object exists, then choose one of the
options below. Options may follow the address.`,
		Example: `~ recover aws_instance.web -adopt=i-0123456789abcdef0
~ recover aws_instance.web -retry`,
		Setup: func(c *command.Call) command.Run {
			p := &planning{}
			p.Variables.VariableFlags(c)
			p.Locking.LockFlags(c)
			c.StateWriteFlags(&p.StateFiles)
			c.Flags.BoolVar(&p.input, "input", true, "Do not ask for input. If a value is missing, the command fails.")
			var how engine.Recovery
			c.Flags.StringVar(&how.Adopt, "adopt", "", "The object exists and its ID is `ID`: import it into the "+
				"state.")
			c.Flags.BoolVar(&how.Retry, "retry", false, "The object does not exist: the next apply creates it.")
			c.Flags.BoolVar(&how.Forget, "forget", false, "Remove the operation from the state, and leave the "+
				"object, if it exists, unmanaged.")
			return func(ctx context.Context) command.Outcome { return runRecover(ctx, c, p, &how) }
		},
	}
}

func runRecover(ctx context.Context, c *command.Call, p *planning, how *engine.Recovery) command.Outcome {
	if len(c.Args) == 0 {
		return listInterrupted(ctx, c, p)
	}
	text := c.Args[0]
	// Commands in hints have the address before the flags.
	if err := c.Flags.Parse(c.Args[1:]); err != nil {
		return c.Misuse("Failed to parse command-line flags", "%s", err)
	}
	if c.Flags.NArg() > 0 {
		return c.Misuse("Too many command line arguments", "One address can be recovered at a time.")
	}
	chosen := 0
	for _, is := range []bool{how.Adopt != "", how.Retry, how.Forget} {
		if is {
			chosen++
		}
	}
	if chosen != 1 {
		return c.Misuse("How to recover?", "Choose one of -adopt=ID, -retry and -forget.")
	}
	a, diags := addr.ParseInstance(text)
	if diags.HasErrors() {
		return c.End(diags)
	}
	s := &session{call: c, flags: p}
	s.ctx, s.running = c.Interruptible(ctx)
	defer s.end()
	if diags := s.prepare(kind{operation: state.OperationRecover}); !c.Report(diags) {
		return command.Failed
	}
	ended := s.run.Ended(a) && !how.Forget
	if !c.Report(s.run.Recover(s.ctx, a, *how, s.options.Variables)) || !s.release() {
		return command.Failed
	}
	if ended {
		message := fmt.Sprintf("%s no longer needs recovery: its operation has ended, and its result is in the state.",
			a)
		fmt.Fprintln(c.Out, view.Clean(message))
		return command.Done
	}
	fmt.Fprintln(c.Out, view.Clean(recovered(a, how)))
	return command.Done
}

func recovered(a addr.AbsResourceInstance, how *engine.Recovery) string {
	switch {
	case how.Adopt != "":
		return fmt.Sprintf(
			"%s is now in the state, with the id %s. The next plan shows how it differs from the configuration.", a,
			how.Adopt)
	case how.Retry:
		return fmt.Sprintf("%s is unchanged: the next apply repeats the interrupted operation.", a)
	}
	return fmt.Sprintf("%s is no longer in the state.", a)
}

// listInterrupted prints the operations that can be recovered.
func listInterrupted(ctx context.Context, c *command.Call, p *planning) command.Outcome {
	snapshot, diags := c.Snapshot(ctx, p.StateFiles)
	switch {
	case diags.HasErrors():
		return c.End(diags)
	case len(snapshot.InFlight)+len(snapshot.Unfolded) == 0:
		fmt.Fprintln(c.Out, "No operation was interrupted: there is nothing to recover.")
		return command.Done
	}
	return c.End(diag.List{}.Errorf(nil, "Which address?",
		"Choose one of the interrupted operations, and how to resolve it."))
}
