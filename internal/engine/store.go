package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// StateFiles are files that replace the usual ones: the state to read, the state to write, and the backup.
type StateFiles struct {
	In, Out, Backup string
	// Stamped writes the former state to a file with the time in its name, unless Backup is set, so that every edit can
	// be undone.
	Stamped bool
}

// Apply sets the files in the options for a store.
func (f StateFiles) Apply(o *store.Options) {
	o.ReadFrom, o.WriteTo, o.BackupTo, o.StampBackup = f.In, f.Out, f.Backup, f.Stamped
}

// RootModule loads only the root module, which may set the backend.
func (s *Surroundings) RootModule(ctx context.Context) (*config.Config, diag.List) {
	if _, diags := s.SettingsEnvironment().ChosenFlavor(); diags.HasErrors() {
		return nil, diags
	}
	o := s.ConfigOptions()
	o.RootOnly = true
	cfg, diags := config.Load(ctx, o)
	if cfg != nil {
		s.root = cfg.Root
	}
	if !diags.HasErrors() {
		s.folder = cfg.Root
	}
	return cfg, diags
}

// StoreOf returns the store of a root module's backend.
func (s *Surroundings) StoreOf(ctx context.Context, root *config.Module, files StateFiles) (state.Store, diag.List) {
	s.root = root
	b, diags := s.Backend(root)
	if diags.HasErrors() {
		return nil, diags
	}
	o := s.storeOptions(b)
	files.Apply(&o)
	return s.Store(ctx, b, o)
}

// runStore is StoreOf for runs. States in files of a folder that will be removed are refused.
func (s *Surroundings) runStore(ctx context.Context, root *config.Module, files StateFiles) (state.Store, diag.List) {
	st, diags := s.StoreOf(ctx, root, files)
	if diags.HasErrors() {
		return st, diags
	}
	b, diags := s.Backend(root)
	if diags.HasErrors() || b.InService() || b.InMemory() {
		return st, diags
	}
	o := s.storeOptions(b)
	files.Apply(&o)
	return st, diags.Extend(s.lasting(o))
}

// storeOptions returns the options of the store of a backend, with names relative to the process's working directory.
func (s *Surroundings) storeOptions(b *backend.Backend) store.Options {
	o := b.Options().Store()
	if s.In("") == "" {
		return o
	}
	o.Rescue = store.RescueFolders(s.In("."))
	o.Path, o.WorkspaceDir = s.In(cmp.Or(o.Path, "terraform.tfstate")),
		s.In(cmp.Or(o.WorkspaceDir, "terraform.tfstate.d"))
	return o
}

// RecordedBackend returns init's record of the backend, or nil.
func (s *Surroundings) RecordedBackend() (*backend.Backend, error) {
	return backend.Recorded(s.In(s.DataDir()))
}

// RecordBackend records the backend; nil means the local store.
func (s *Surroundings) RecordBackend(b *backend.Backend) error {
	return backend.Record(s.DataBase(), s.In(s.DataDir()), b)
}

// Store returns the store of a backend. o has the files for the local store. States are encrypted with the settings of
// the root module that was loaded last.
func (s *Surroundings) Store(ctx context.Context, b *backend.Backend, o store.Options) (state.Store, diag.List) {
	e, diags := s.Encryption(s.root)
	if diags.HasErrors() {
		return nil, diags
	}
	o.Cipher = e.State()
	switch {
	case b.InService():
		return s.sharedStore(ctx, b, o.Cipher)
	case !b.InMemory():
		o.Version = s.StateVersion()
		var err error
		if o.History, err = history.Keep(s.Getenv, 0); err != nil {
			return nil, diag.FromError("Invalid value of an environment variable", err)
		}
		if o.History > 0 {
			o.Commit = commitOf(s.In("."))
		}
		return store.New(o), nil
	}
	if s.memory == nil {
		s.memory = mem.New()
		if b != nil && !b.Config.GetAttr("lock_id").IsNull() { // an empty string is an id, too
			s.memory = mem.Held(state.LockInfo{ID: b.Text("lock_id"), Operation: state.OperationTest,
				Info: "test config"})
		}
	}
	return s.memory, nil
}

// DisposableVariable names a folder that will be removed after the command, such as the checkout of a worker.
const DisposableVariable = "TOMBOLO_DISPOSABLE_FOLDER"

// lasting returns an error if states in files would be in a folder that will be removed.
func (s *Surroundings) lasting(o store.Options) diag.List {
	folder := s.Getenv(DisposableVariable)
	if folder == "" {
		return nil
	}
	for _, name := range []string{cmp.Or(o.Path, "terraform.tfstate"), cmp.Or(o.WorkspaceDir, "terraform.tfstate.d")} {
		if isInside(name, folder) {
			return diag.List{}.Errorf(nil, "State would be lost", "States are in files, as %s, and %s says that their "+
				"folder will be removed after this command, as the checkout of a worker. Configure a backend that "+
				"keeps them in a service, such as \"pg\".", name, DisposableVariable)
		}
	}
	return nil
}

// isInside reports whether a name leads into a folder, also through links. A name that cannot be resolved counts as
// inside.
func isInside(name, folder string) bool {
	full, err := filepath.Abs(name)
	if err != nil {
		return true
	}
	for at := full; ; at = filepath.Dir(at) { // the file, and folders above it, may not exist yet
		if real, err := filepath.EvalSymlinks(at); err == nil {
			at = real
			if folder, err = filepath.EvalSymlinks(folder); err != nil {
				return true
			}
			rel, err := filepath.Rel(folder, at)
			return err != nil || filepath.IsLocal(rel)
		}
		if at == filepath.Dir(at) {
			return true
		}
	}
}

// sharedStore returns the store of a backend in a service. The driver's requests are logged.
func (s *Surroundings) sharedStore(ctx context.Context, b *backend.Backend, c *encryption.Cipher) (state.Store,
	diag.List) {
	return s.openShared(ctx, b, c, logOrDiscard(s.CoreLog))
}

// otherStore returns the store that a data source reads. Its arguments may be secret, so nothing is logged.
func (s *Surroundings) otherStore(ctx context.Context, b *backend.Backend, c *encryption.Cipher) (state.Store,
	diag.List) {
	return s.openShared(ctx, b, c, logOrDiscard(nil))
}

func (s *Surroundings) openShared(ctx context.Context, b *backend.Backend, c *encryption.Cipher, log *slog.Logger) (
	state.Store, diag.List) {
	opening.Lock() // data sources that read other states run concurrently
	defer opening.Unlock()
	for _, known := range s.shared {
		if known.cipher == c && known.backend.SamePlace(b) {
			return known.store, nil
		}
	}
	dir := s.In(".")
	driver, diags := b.Driver(ctx, remote.Surroundings{Getenv: s.Getenv, Dir: dir, Version: s.StateVersion(),
		Hosts: hosts{s.Web()}, Flavor: s.Flavor(), Log: func(format string, args ...any) {
			if log.Enabled(ctx, slog.LevelDebug) {
				log.Debug(fmt.Sprintf(format, args...))
			}
		}})
	if diags.HasErrors() {
		return nil, diags
	}
	st := remote.New(remote.Options{Driver: driver, Rescue: store.RescueFolders(dir), Journals: dir, Answers: dir,
		Version: s.StateVersion(), Commit: commitOf(dir), Cipher: c})
	s.shared = append(s.shared, sharedStore{b, c, st})
	return st, diags
}

// opening guards Surroundings.shared.
var opening sync.Mutex

// sharedStore is a store of a service that was opened.
type sharedStore struct {
	backend *backend.Backend
	cipher  *encryption.Cipher
	store   *remote.Store
}

// StoreOfRecord returns the store that init recorded, regardless of the current configuration, or nil if its type is
// unknown.
func (s *Surroundings) StoreOfRecord(ctx context.Context) (state.Store, diag.List) {
	recorded, err := s.RecordedBackend()
	switch {
	case err != nil:
		return nil, diag.FromError("Failed to read the record of the backend", err)
	case !recorded.Readable():
		return nil, nil
	}
	return s.Store(ctx, recorded, s.storeOptions(recorded))
}

// StoreOfPlan returns the store of a saved plan: that of the state when the plan was made. The current settings of the
// working directory determine the encryption.
func (s *Surroundings) StoreOfPlan(ctx context.Context, root *config.Module, files StateFiles) (state.Store,
	diag.List) {
	s.root = s.encryptionModule(ctx, root)
	b, diags := backend.Of(root)
	if diags.HasErrors() {
		return nil, diags
	}
	if recorded, err := s.RecordedBackend(); err == nil && recorded.IsRecordOf(b) {
		b = recorded // it includes init's settings from outside of the block
	}
	o := s.storeOptions(b)
	files.Apply(&o)
	return s.Store(ctx, b, o)
}

// Selected returns the selected workspace of a store.
func (s *Surroundings) Selected(st state.Store) (state.Workspace, diag.List) {
	name, overridden, err := s.Workspace()
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

// Backend returns the backend of a root module, which must match init's record.
func (s *Surroundings) Backend(root *config.Module) (*backend.Backend, diag.List) {
	configured, diags := backend.Of(root)
	if diags.HasErrors() {
		return nil, diags
	}
	recorded, err := s.RecordedBackend()
	if err != nil {
		return nil, diag.FromError("Failed to read the record of the backend", err)
	}
	words := s.words()
	initialize := words.Command(diag.Run("init"))
	initially, again := "Backend initialization required, please run \"%s\"",
		"Backend initialization required: please run \"%s\""
	if configured.IsCloud() {
		initially = "HCP Terraform or Terraform Enterprise initialization required: please run \"%s\""
		again = initially
	}
	switch {
	case configured == nil && recorded == nil:
		return nil, nil
	case configured == nil:
		return nil, diags.Errorf(nil, fmt.Sprintf(initially, initialize), "The backend block of the type %q, where "+
			"the state is stored, was removed. Restore the block, or choose what happens to the state: \"%s\" copies "+
			"it to the default location, \"%s\" starts without it. Nothing was changed.", recorded.Type,
			words.Command(diag.Run("init", "-migrate-state")), words.Command(diag.Run("init", "-reconfigure")))
	case recorded == nil:
		return nil, diags.Errorf(nil, fmt.Sprintf(initially, initialize),
			"The configuration has %s, which was not set up yet. Nothing was changed.", configured.Block())
	case !recorded.IsRecordOf(configured):
		return nil, diags.Errorf(nil, fmt.Sprintf(again, initialize), "The backend block has changed since init. "+
			"Restore the block, or choose what happens to the state: \"%s\" copies it to the new location, \"%s\" "+
			"uses the state that is there. Nothing was changed.", words.Command(diag.Run("init", "-migrate-state")),
			words.Command(diag.Run("init", "-reconfigure")))
	}
	return recorded.Located(configured), nil // it includes init's settings from outside of the block
}
