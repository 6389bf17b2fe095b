package states

import (
	"context"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/state"
)

// editing configures how a command edits the state.
type editing struct {
	command.Locking
	command.StateFiles
	operation state.Operation
	// existing means that a missing state is an error.
	existing bool
	// inPlace omits the flag that writes the state to another file.
	inPlace bool
	// damaged allows edits of a remote state that cannot be read.
	damaged bool
	// apart are other states that the command writes, which no backup may overwrite.
	apart []string
}

// edited is the result of an edit: a state to write, or nil, and the message to print afterwards.
type edited struct {
	state *state.State
	done  string
}

func (e *editing) flags(c *command.Call) {
	c.LineFlags()
	e.Locking.LockFlags(c)
	c.ConstantFlags()
	if e.inPlace {
		c.StateEditFlags(&e.StateFiles)
	} else {
		c.StateWriteFlags(&e.StateFiles)
	}
	var ignored bool
	c.Flags.BoolVar(&ignored, "ignore-remote-version", false,
		"Accepted for compatibility; has no effect.")
}

// edit changes the state while its lock is held.
func edit(ctx context.Context, c *command.Call, e editing, change func(state.Session) (edited,
	diag.List)) command.Outcome {
	session, diags := lock(ctx, c, e)
	if diags.HasErrors() {
		return c.End(diags)
	}
	if e.existing && session.Snapshot().State == nil {
		if diags = diags.AppendError("Error releasing the state lock", session.Unlock()); diags.HasErrors() {
			return c.End(diags)
		}
		return noState(c)
	}
	result, diags := change(session)
	if result.state != nil && !diags.HasErrors() {
		diags = diags.AppendError("Error saving the state", session.Write(ctx, result.state))
	}
	if !diags.HasErrors() {
		c.Tell("%s", result.done)
	}
	return c.End(diags.AppendError("Error releasing the state lock", session.Unlock()))
}

// lock takes the lock of the selected workspace.
func lock(ctx context.Context, c *command.Call, e editing) (state.Session, diag.List) {
	root, diags := c.RootModule(ctx)
	if diags.HasErrors() {
		return nil, diags
	}
	b, diags := c.Backend(root)
	if diags.HasErrors() {
		return nil, diags
	}
	o := b.Options().Store()
	e.StateFiles.Apply(&o)
	o.Apart = e.apart
	st, diags := c.Store(ctx, b, o)
	if diags.HasErrors() {
		return nil, diags
	}
	ws, diags := c.Selected(st)
	if diags.HasErrors() {
		return nil, diags
	}
	return lockWorkspace(ctx, c, ws, e)
}

// from returns the name of the file from which the state is read.
func (e *editing) from(c *command.Call) string {
	root, diags := c.RootModule(context.Background())
	if diags.HasErrors() {
		return e.In
	}
	b, diags := c.Backend(root)
	if diags.HasErrors() {
		return e.In
	}
	o := b.Options().Store()
	o.ReadFrom = e.In
	file, _ := stateFile(c, o)
	return file
}

func lockWorkspace(ctx context.Context, c *command.Call, ws state.Workspace, e editing) (state.Session, diag.List) {
	req := state.LockRequest{Unlocked: !e.Locking.Lock, Damaged: e.damaged, Info: state.LockInfo{
		Operation: e.operation}}
	session, err := state.Acquire(ctx, ws, req, e.Timeout, func(l *state.LockedError) {
		c.View().Send(event.LockWaiting{Info: l.Info})
	})
	if err != nil {
		return nil, engine.LockProblem(err)
	}
	c.Interrupted(session.Snapshot())
	return session, nil
}

// stateFile returns the name of the state file.
func stateFile(c *command.Call, o store.Options) (string, diag.List) {
	name, _, err := c.Workspace()
	if err != nil {
		return "", diag.FromError("Cannot tell which workspace is selected", err)
	}
	file := first(o.WriteTo, o.ReadFrom)
	if file == "" && name == state.DefaultWorkspace {
		file = first(o.Path, "terraform.tfstate")
	} else if file == "" {
		file = filepath.Join(first(o.WorkspaceDir, "terraform.tfstate.d"), name, "terraform.tfstate")
	}
	return file, nil
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
