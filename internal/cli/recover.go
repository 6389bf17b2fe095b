package cli

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
)

func cmdRecover() *command {
	return &command{
		name: "recover", short: "Say what became of an operation that was interrupted", args: "ADDRESS",
		long: `When a run is killed while it creates an object, nobody can know whether the object exists.
Every command names such operations, and apply leaves their addresses alone until you have looked
and say what became of them. Options may stand behind the address.`,
		setup: func(c *call) func(context.Context) outcome {
			p := &planning{}
			p.variables.flags(c)
			p.locking.flags(c)
			p.stateFiles.write(c)
			c.flags.BoolVar(&p.input, "input", true, "Ask nothing: what is missing is an error.")
			var how tombolo.Recovery
			c.flags.StringVar(&how.Adopt, "adopt", "", "The object exists: take over the one whose id is `ID`.")
			c.flags.BoolVar(&how.Retry, "retry", false, "Nothing has happened: the next apply does it again.")
			c.flags.BoolVar(&how.Forget, "forget", false, "Whatever there is, leave it alone: drop it from the state.")
			return func(ctx context.Context) outcome { return c.runRecover(ctx, p, &how) }
		},
	}
}

func (c *call) runRecover(ctx context.Context, p *planning, how *tombolo.Recovery) outcome {
	if len(c.args) == 0 {
		return c.listInterrupted(ctx, p)
	}
	text := c.args[0]
	// The messages of other commands show the address first, as people think of it.
	if err := c.flags.Parse(c.args[1:]); err != nil {
		return c.misuse("Failed to parse command-line flags", "%s", err)
	}
	if c.flags.NArg() > 0 {
		return c.misuse("Too many command line arguments", "One address can be recovered at a time.")
	}
	chosen := 0
	for _, is := range []bool{how.Adopt != "", how.Retry, how.Forget} {
		if is {
			chosen++
		}
	}
	if chosen != 1 {
		return c.misuse("How to recover?", "Say what became of the object with one of -adopt=ID, -retry and -forget.")
	}
	a, diags := addr.ParseInstance(text)
	if diags.HasErrors() {
		return c.end(diags)
	}
	s := &session{call: c, flags: p}
	s.ctx, s.running = c.interruptible(ctx)
	defer s.end()
	if diags := s.prepare("OperationTypeRecover"); !c.report(diags) {
		return failed
	}
	if !c.report(s.run.Recover(s.ctx, a, *how, s.options.Variables)) || !s.release() {
		return failed
	}
	fmt.Fprintln(c.out, recovered(a, how))
	return done
}

func recovered(a addr.AbsResourceInstance, how *tombolo.Recovery) string {
	switch {
	case how.Adopt != "":
		return fmt.Sprintf("%s is now in the state, with the id %s. The next plan shows how it differs from the configuration.", a, how.Adopt)
	case how.Retry:
		return fmt.Sprintf("%s is as it was before: the next apply does what was interrupted.", a)
	}
	return fmt.Sprintf("%s is no longer in the state.", a)
}

// listInterrupted names what can be recovered.
func (c *call) listInterrupted(ctx context.Context, p *planning) outcome {
	snapshot, diags := c.snapshot(ctx, p.stateFiles)
	switch {
	case diags.HasErrors():
		return c.end(diags)
	case len(snapshot.InFlight)+len(snapshot.Unfolded) == 0:
		fmt.Fprintln(c.out, "No operation was interrupted: there is nothing to recover.")
		return done
	}
	return c.end(diag.List{}.Errorf(nil, "Which address?", "Say which of the interrupted operations is meant, and what became of it."))
}
