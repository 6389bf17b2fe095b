package command

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state"
)

// Workspace gives the selected workspace, and whether the environment decides.
func (a *App) Workspace() (name string, overridden bool, err error) {
	if name := a.Getenv("TF_WORKSPACE"); name != "" {
		return name, true, nil
	}
	content, err := regular.Read(filepath.Join(a.DataDir(), "environment"), regular.Note)
	if errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(string(content)) == "" {
		return state.DefaultWorkspace, false, nil
	}
	return strings.TrimSpace(string(content)), false, err
}

// RootModule reads the root module alone: it may say where the state is.
func (c *Call) RootModule(ctx context.Context) (*config.Module, diag.List) {
	root, diags := config.Load(ctx, config.Options{Dir: ".", DataDir: c.DataDir(), LanguageVersion: state.LanguageVersion, RootOnly: true})
	if diags.HasErrors() {
		return nil, ErrorsOnly(diags)
	}
	c.AddSources(root.Files)
	return root.Root, nil
}

// Open opens the store of the working directory.
func (c *Call) Open(ctx context.Context, files StateFiles) (state.Store, diag.List) {
	root, diags := c.RootModule(ctx)
	if diags.HasErrors() {
		return nil, diags
	}
	return c.StoreOf(root, files)
}

// StoreOf makes the store that a root module asks for.
func (c *Call) StoreOf(root *config.Module, files StateFiles) (state.Store, diag.List) {
	b, diags := c.Backend(root)
	if diags.HasErrors() {
		return nil, diags
	}
	o := b.Options().Store()
	files.Apply(&o)
	return c.Store(b, o), nil
}

// Store makes the store of a backend. Options say where files are, if it has any.
func (c *Call) Store(b *Backend, o store.Options) state.Store {
	if !b.InMemory() {
		o.Version = c.Version()
		return store.New(o)
	}
	if c.memory == nil {
		c.memory = mem.New()
		if id := b.Config["lock_id"]; id != nil {
			c.memory = mem.Held(state.LockInfo{ID: *id, Operation: "test", Info: "test config"})
		}
	}
	return c.memory
}

// storeOfPlan makes the store of a saved plan: what counts is where the state was when the plan was made.
func (c *Call) storeOfPlan(root *config.Module, files StateFiles) (state.Store, diag.List) {
	b, diags := BackendOf(root)
	if diags.HasErrors() {
		return nil, diags
	}
	if recorded, err := c.RecordedBackend(); err == nil && recorded != nil && b != nil && recorded.Hash == b.Hash {
		b = recorded // it has the settings that init was given beside the block
	}
	o := b.Options().Store()
	files.Apply(&o)
	return c.Store(b, o), nil
}

// Snapshot reads the state of the selected workspace without its lock, and warns of what is open in it.
func (c *Call) Snapshot(ctx context.Context, files StateFiles) (*state.Snapshot, diag.List) {
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
		return nil, diag.FromError("Error loading the state", err)
	}
	c.Interrupted(s)
	return s, nil
}

// StateProblem is an error of reading a state from a file that someone named: the advice on the state of the project is none for it.
func StateProblem(err error) error {
	var damaged *state.DecodeError
	if errors.As(err, &damaged) {
		plain := *damaged
		plain.Advice = ""
		return &plain
	}
	return err
}

// Selected gives the selected workspace of a store.
func (c *Call) Selected(st state.Store) (state.Workspace, diag.List) {
	name, overridden, err := c.Workspace()
	if err != nil {
		return nil, diag.FromError("Cannot tell which workspace is selected", err)
	}
	ws, err := st.Workspace(name)
	switch {
	case err != nil && overridden:
		return nil, diag.FromError("Invalid workspace name set using TF_WORKSPACE", err)
	case err != nil:
		return nil, diag.FromError("Invalid workspace name", err)
	}
	return ws, nil
}
