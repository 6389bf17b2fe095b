// Package store keeps states in local files. No acknowledged result is lost, whenever the process is killed.
//
// A run appends each operation and its result to a journal beside the state, and every record is durable before
// anything depends on it. The state file itself is written at the end (and sometimes during long runs), in place, from
// an image that is durable before. It is not replaced with a new file, because Terraform locks the inode of the state
// file and keeps the file open while it waits for the lock: it would then write to an unlinked file.
//
//	terraform.tfstate                  the state, version 4, always readable by Terraform
//	terraform.tfstate.backup           the content before the last run that changed it
//	terraform.tfstate.journal          during a run, and afterwards while operations are open
//	terraform.tfstate.journal.image    the next content of the state while it is being written
//	.terraform.tfstate.lock.info       the lock holder
//	terraform.tfstate.history          a folder with former states, if configured
//
// While the state file is being rewritten, it begins with a note that makes it invalid as a state: after a crash, a
// mixture of old and new content is never mistaken for either. The steps of a snapshot, each durable before the next,
// are: image, checkpoint record, note, content after its first byte, first byte.
//
// A reader takes no lock and writes nothing: it applies the journal to the state in memory (read.go). The next lock
// holder applies the journal to the state file (session.go). Package journal implements the records and the journal of
// a run. Operations in flight stay listed until they are resolved.
//
// The package owns no goroutines. All file access goes through Files. Package mem keeps the files in memory, and
// package faults makes calls fail.
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

// Options configures where states are stored. The zero value is Terraform's layout in the working directory.
type Options struct {
	// Path is the state of the default workspace; "" means terraform.tfstate.
	Path string
	// WorkspaceDir is the folder of the other workspaces; "" means terraform.tfstate.d.
	WorkspaceDir string

	// ReadFrom, WriteTo and BackupTo are the flags -state, -state-out and -backup. They apply to every workspace.
	// WriteTo defaults to the file that is read, and BackupTo to WriteTo with the suffix ".backup"; "-" means no
	// backup.
	ReadFrom, WriteTo, BackupTo string
	// StampBackup names each backup by the time: WriteTo with the suffix ".SECONDS.backup". No existing file is
	// replaced. It only applies if BackupTo is "".
	StampBackup bool

	// Apart lists other states that the caller writes: no backup overwrites them or the files beside them.
	Apart []string

	// Rescue lists folders for the journal of a run whose own disk is full or broken. Nil means the working directory
	// and the folder for temporary files.
	Rescue []string

	Files Files            // nil means OS
	Now   func() time.Time // nil means time.Now
	NewID func() string    // nil means random UUIDs
	Who   string           // user@host; "" means the current ones
	// History is how many former states of each workspace are kept beside it. Commit is the commit of the working
	// directory, for their descriptions.
	History int
	Commit  string
	// Cipher encrypts states, journals and former states; nil leaves them unencrypted.
	Cipher *encryption.Cipher
	// Version is the version in lock information; "" means the version of the language.
	Version string
}

// Local is a state.Store that uses files.
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
		o.Who = UserAndHost()
	}
	set(&o.Version, state.LanguageVersion)
	return &Local{o}
}

// RescueFolders returns the folders for results that cannot be stored in their own place: the working directory, whose
// name is relative to that of the process, and the folder for temporary files.
func RescueFolders(working string) (all []string) {
	for _, dir := range []string{working, os.TempDir()} {
		if abs, err := filepath.Abs(dir); err == nil {
			all = append(all, abs)
		}
	}
	return all
}

// UserAndHost returns the user and the machine in the form that locks contain.
func UserAndHost() string {
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

// isGone reports whether an error means that a file has no name any longer: it is missing, or a folder in its path was
// replaced.
func isGone(err error) bool {
	return isMissing(err) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

func isLocked(err error) bool { return errors.Is(err, ErrLocked) }

// ReadFile reads a file of up to limit bytes. It returns nil and no error if the file does not exist.
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

// RemoveBlank removes a file that could not be written.
func RemoveBlank(files Files, f File, name string) error {
	info, err := f.Stat()
	if err != nil || info.Size > 0 {
		return err
	}
	return removeAny(files, name)
}

// bounded describes an open file, and refuses one that is too large before any of it is read: a sparse file in a
// project may claim any size.
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

// readAll reads an open file from its start, up to the limit, even if its size changes meanwhile.
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
