// Package store keeps states in local files. No result is lost, whenever the process is killed.
//
// A run appends each operation and its result to a journal beside the state, and every record is durable before
// anything depends on it. The state file itself is written at the end (and sometimes during long runs), in place, from
// an image that is durable before. It is not replaced, because Terraform locks the inode of the state file and keeps
// the file open while it waits for the lock: it would then write to an orphan.
//
//	terraform.tfstate                  the state, version 4, always what Terraform reads
//	terraform.tfstate.backup           the content before the last run that changed it
//	terraform.tfstate.journal          while a run is under way, and afterwards while something is left open
//	terraform.tfstate.journal.image    the next content of the state, while it is being written
//	.terraform.tfstate.lock.info       who holds the lock
//	terraform.tfstate.history          a folder with former states, where that is asked for
//
// While the state file is rewritten its first bytes are a note that says so, which no reader takes for a state: after a
// crash, a mixture of old and new content is never mistaken for either. Sequence of a snapshot, each step durable
// before the next: image, checkpoint record, note, content behind its first byte, first byte.
//
// A reader takes no lock and writes nothing: it applies the journal to the state in memory (read.go). The next holder
// of the lock folds the journal into the state (session.go). Package journal has the records, and the journal of a run.
// Operations in flight stay listed until they are resolved.
//
// The package owns no goroutines. All file access goes through Files. Sub-package mem keeps the files in memory, faults
// makes calls fail.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/state"
)

// Options configure where states are stored. The zero value is Terraform's layout in the working directory.
type Options struct {
	// Path is the state of the default workspace; terraform.tfstate when empty.
	Path string
	// WorkspaceDir holds the other workspaces; terraform.tfstate.d when empty.
	WorkspaceDir string

	// ReadFrom, WriteTo and BackupTo are the flags -state, -state-out and -backup. They hold for every workspace.
	// WriteTo defaults to where is read from, BackupTo to WriteTo with ".backup" behind; "-" means no backup.
	ReadFrom, WriteTo, BackupTo string
	// StampBackup names each backup by the time: WriteTo with ".SECONDS.backup" behind. No file that is there is ever
	// replaced. Only for an empty BackupTo.
	StampBackup bool

	// Apart lists other states that the caller writes: no backup overwrites them, or the files beside them.
	Apart []string

	// Rescue lists folders for the journal of a run whose own disk is full or broken; the working directory and the one
	// for temporary files when nil.
	Rescue []string

	Files Files            // OS when nil
	Now   func() time.Time // the clock when nil
	NewID func() string    // random UUIDs when nil
	Who   string           // user@host when empty
	// History is how many former states of each workspace are kept beside it; Commit is that of the working directory,
	// for their descriptions.
	History int
	Commit  string
	// Cipher seals states, journals and former states; nil leaves them plain.
	Cipher *encryption.Cipher
	// Version of the program that holds locks, as others who find them see it; that of the language when empty.
	Version string
}

// Local is a state.Store in files.
type Local struct{ o Options }

// New returns a store. It does not access files.
func New(o Options) *Local {
	set := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	set(&o.Path, "terraform.tfstate")
	set(&o.WorkspaceDir, "terraform.tfstate.d")
	if o.Rescue == nil {
		o.Rescue = RescueFolders(".")
	}
	if o.Files == nil {
		o.Files = OS{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	if o.Who == "" {
		o.Who = WhoAmI()
	}
	set(&o.Version, state.LanguageVersion)
	return &Local{o}
}

// RescueFolders are the folders where results go when their own place cannot take them: the working directory, whose
// name is relative to that of the process, and the one for temporary files.
func RescueFolders(working string) (all []string) {
	for _, dir := range []string{working, os.TempDir()} {
		if abs, err := filepath.Abs(dir); err == nil {
			all = append(all, abs)
		}
	}
	return all
}

// WhoAmI returns the user and the machine, in the form used in locks.
func WhoAmI() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	return name + "@" + host
}

// Workspaces implements state.Store.
func (l *Local) Workspaces(context.Context) ([]string, error) {
	names := []string{state.DefaultWorkspace}
	infos, err := l.o.Files.List(l.o.WorkspaceDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	for _, i := range infos {
		if i.Mode.IsDir() && i.Name != state.DefaultWorkspace {
			names = append(names, i.Name)
		}
	}
	slices.Sort(names[1:])
	return names, nil
}

// Workspace implements state.Store.
func (l *Local) Workspace(name string) (state.Workspace, error) {
	if err := state.CheckWorkspaceName(name); err != nil {
		return nil, err
	}
	w := &workspace{name: name, o: &l.o}
	w.p, w.nowhere = l.paths(name)
	if name != state.DefaultWorkspace {
		w.folder = filepath.Join(l.o.WorkspaceDir, name)
	}
	return w, nil
}

// DeleteWorkspace implements state.Store.
func (l *Local) DeleteWorkspace(ctx context.Context, name string) error {
	if name == state.DefaultWorkspace {
		return fmt.Errorf("the default workspace cannot be deleted")
	}
	ws, err := l.Workspace(name)
	if err != nil {
		return err
	}
	dir := filepath.Join(l.o.WorkspaceDir, name)
	if _, err := l.o.Files.Stat(dir); err != nil {
		return fmt.Errorf("delete workspace %s: %w", name, err)
	}
	locked, err := ws.Lock(ctx, state.LockRequest{Info: state.LockInfo{Operation: state.OperationDeleteWorkspace}})
	if err != nil {
		return err
	}
	return locked.(state.Deleter).Delete()
}

// runOf completes a run's description.
func (o *Options) runOf(r state.RunInfo) state.RunInfo {
	if r.ID == "" {
		r.ID = o.NewID()
	}
	if r.Started.IsZero() {
		r.Started = o.Now()
	}
	return r
}

func hostName() string {
	host, _ := os.Hostname()
	return host
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// isGone reports that no file has a name any more: it is missing, or a folder on the way has become something else.
func isGone(err error) bool {
	return isMissing(err) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

func isLocked(err error) bool { return errors.Is(err, ErrLocked) }

// ReadFile reads a whole file of up to limit bytes; nil and no error if there is none.
func ReadFile(files Files, name string, limit int64) ([]byte, error) {
	f, err := files.Open(name, os.O_RDONLY, 0)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, name, limit)
}

// RemoveBlank removes a file to which nothing could be written.
func RemoveBlank(files Files, f File, name string) error {
	info, err := f.Stat()
	if err != nil || info.Size > 0 {
		return err
	}
	return removeAny(files, name)
}

// bounded describes an open file, and refuses one that is too large before anything of it is read: a file without
// content may claim any size, and come with a project.
func bounded(f File, name string, limit int64) (Info, error) {
	info, err := f.Stat()
	if err != nil {
		return info, err
	}
	if err := regular.Fits(name, info.Size, limit); err != nil {
		return info, fmt.Errorf("%w. A run does not write that much: restore the file from a copy, or move it "+
			"elsewhere if it is not a state", err)
	}
	return info, nil
}

// readAll reads an open file from its start, whatever happens to its size meanwhile, up to the limit.
func readAll(f File, name string, limit int64) ([]byte, error) {
	info, err := bounded(f, name, limit)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, info.Size+512)
	for {
		if len(b) == cap(b) {
			b = slices.Grow(b, len(b))
		}
		n, err := f.ReadAt(b[len(b):cap(b)], int64(len(b)))
		b = b[:len(b)+n]
		if large := regular.Fits(name, int64(len(b)), limit); large != nil {
			return nil, large
		}
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
