package command

import (
	"context"
	"errors"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/state"
)

// RootModule reads only the root module, which may configure the backend.
func (c *Call) RootModule(ctx context.Context) (*config.Module, diag.List) {
	root, diags := c.Surroundings.RootModule(ctx)
	if diags.HasErrors() {
		return nil, diags.OnlyErrors()
	}
	c.AddSources(root.Files)
	return root.Root, nil
}

// Open opens the store of the working directory.
func (c *Call) Open(ctx context.Context, files engine.StateFiles) (state.Store, diag.List) {
	root, diags := c.RootModule(ctx)
	if diags.HasErrors() {
		return nil, diags
	}
	return c.StoreOf(ctx, root, files)
}

// Snapshot reads the state of the selected workspace without its lock, and warns about open operations.
func (c *Call) Snapshot(ctx context.Context, files engine.StateFiles) (*state.Snapshot, diag.List) {
	st, diags := c.Open(ctx, files)
	if diags.HasErrors() {
		return nil, diags
	}
	return c.SnapshotOf(ctx, st)
}

// SnapshotOf is Snapshot for a store that is open.
func (c *Call) SnapshotOf(ctx context.Context, st state.Store) (*state.Snapshot, diag.List) {
	ws, diags := c.Selected(st)
	if diags.HasErrors() {
		return nil, diags
	}
	s, err := ws.Read(ctx)
	if err != nil {
		return nil, diag.FromError("Failed to load state", err)
	}
	c.Interrupted(s)
	return s, nil
}

// StateProblem returns the error of reading a state file, without advice about the project's own state.
func StateProblem(err error) error {
	var damaged *state.DecodeError
	if errors.As(err, &damaged) {
		plain := *damaged
		plain.Advice = ""
		return &plain
	}
	return err
}
