package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/state"
)

// workspace is one state file with its related files. It keeps no file open.
type workspace struct {
	name   string
	o      *Options
	p      paths
	folder string // of a workspace in its own folder
	// nowhere is the reason why no file under these names can hold a state.
	nowhere error
}

// Name implements state.Workspace.
func (w *workspace) Name() string { return w.name }

// Answers returns the folder beside the journal for the stored results of programs, which outlive the process, and the
// cipher that encrypts them.
func (w *workspace) Answers() (string, *encryption.Cipher) { return w.answers(), w.o.Cipher }

func (w *workspace) answers() string { return w.p.out + ".answers" }

// Lock implements state.Workspace.
func (w *workspace) Lock(ctx context.Context, req state.LockRequest) (_ state.Session, err error) {
	if w.nowhere != nil {
		return nil, fmt.Errorf("lock the state: %w", w.nowhere)
	}
	if err := w.o.Cipher.Ready(ctx); err != nil {
		return nil, err
	}
	s := &session{w: w, lax: req.Unlocked, operation: req.Info.Operation}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	if err := w.makeDir(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", w.p.out, err)
	}
	if err := w.checkPaths(w.p.sides()...); err != nil {
		return nil, fmt.Errorf("lock %s: %w", w.p.out, err)
	}
	if !req.Unlocked {
		if s.f, s.created, err = w.lockState(); err != nil {
			return nil, w.lockError(err)
		}
		if err := s.writeLockInfo(req.Info); err != nil {
			return nil, fmt.Errorf("lock %s: %w", w.p.out, err)
		}
	}
	if err := s.load(ctx); err != nil {
		return nil, w.lockError(err)
	}
	if w.p.backupNamed || w.p.stamp != "" { // report an invalid name for it immediately
		if err := s.prepareBackup(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// makeDir durably creates the folder of the state. It does not create the target of a link.
func (w *workspace) makeDir() error {
	if w.p.linked {
		info, err := w.o.Files.Stat(w.p.dir + string(filepath.Separator) + ".")
		if err == nil && !info.Mode.IsDir() {
			err = fmt.Errorf("%s is not a folder", w.p.dir)
		}
		if err != nil {
			return fmt.Errorf("the state is a link to %s, and the folder of that file cannot be used: %w", w.p.out, err)
		}
		return nil
	}
	var missing []string
	for dir := w.p.dir; ; dir = filepath.Dir(dir) {
		if _, err := w.o.Files.Stat(dir); !isMissing(err) || dir == filepath.Dir(dir) {
			break
		}
		missing = append(missing, dir)
	}
	if len(missing) == 0 {
		return nil
	}
	if err := w.o.Files.MkdirAll(w.p.dir, 0o755); err != nil {
		return err
	}
	for _, dir := range missing {
		if err := w.o.Files.SyncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// lockState opens and locks the state file, and creates it if necessary.
func (w *workspace) lockState() (f File, created bool, err error) {
	for range 100 {
		f, err := openLocked(w.o.Files, w.p.out, os.O_RDWR, 0, false)
		if !isMissing(err) {
			return f, false, err
		}
		if f, err = w.createState(false); !errors.Is(err, fs.ErrExist) {
			return f, err == nil, err
		}
	}
	return nil, false, fmt.Errorf("%s is repeatedly created and removed by another program", w.p.out)
}

// placeholder is the content of a state file that is locked before there is a state. It is valid, because an empty file
// would look damaged after a crash.
var placeholder = func() []byte {
	var b bytes.Buffer
	new(state.State).Encode(&b)
	return b.Bytes()
}()

var placeholderHash, emptyHash = hashOf(placeholder), hashOf(nil)

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// createState creates a locked state file with the placeholder. The file gets its name when it is complete. It returns
// fs.ErrExist if another process was faster.
func (w *workspace) createState(lax bool) (_ File, err error) {
	f, err := fresh(w.o.Files, w.p.fresh, lax)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if _, err := f.WriteAt(placeholder, 0); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	if err := w.o.Files.RenameNew(w.p.fresh, w.p.out); err != nil {
		return nil, errors.Join(err, w.o.Files.Remove(w.p.fresh))
	}
	return f, w.o.Files.SyncDir(w.p.dir)
}

// lockError converts a refused lock to the error that callers expect.
func (w *workspace) lockError(err error) error {
	if errors.Is(err, ErrNoLocks) {
		return fmt.Errorf("lock %s: %w. If no other run uses this state, use -lock=false", w.p.out, err)
	}
	if !isLocked(err) {
		return fmt.Errorf("lock %s: %w", w.p.out, err)
	}
	b, _ := ReadFile(w.o.Files, w.p.lockInfo, regular.Note)
	var info state.LockInfo
	if json.Unmarshal(b, &info) == nil && info.ID != "" {
		return &state.LockedError{Info: &info, Err: err}
	}
	if j, running, jErr := w.readJournal(); jErr == nil && running {
		return &state.LockedError{
			Err: fmt.Errorf("a run without a lock (-lock=false) is writing the state: process %d on %s: %w",
				j.Header.PID, j.Header.Host, err)}
	}
	return &state.LockedError{
		Err: fmt.Errorf("the state %s is locked by another process, which left no information about itself", w.p.out)}
}

// Holder returns the holder of the lock, or nil if it is free. It takes no lock. Information of a process that has died
// does not count.
func (w *workspace) Holder(context.Context) (*state.LockInfo, error) {
	if w.nowhere != nil {
		return nil, fmt.Errorf("check who holds the lock: %w", w.nowhere)
	}
	b, err := ReadFile(w.o.Files, w.p.lockInfo, regular.Note)
	if err != nil || b == nil {
		return nil, err
	}
	f, err := w.o.Files.Open(w.p.out, os.O_RDONLY, 0)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	held, err := f.Locked()
	if err != nil && !errors.Is(err, ErrNoLocks) {
		return nil, err
	}
	if !held && err == nil {
		return nil, nil
	}
	info := &state.LockInfo{}
	_ = json.Unmarshal(b, info) // the holder may be writing it: then it is unknown
	return info, nil
}

func (s *session) writeLockInfo(info state.LockInfo) error {
	set := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	set(&info.ID, s.w.o.NewID())
	set(&info.Who, s.w.o.Who)
	set(&info.Version, s.w.o.Version)
	set(&info.Path, s.w.p.out)
	if info.Created.IsZero() {
		info.Created = s.w.o.Now().UTC()
	}
	b, err := json.Marshal(info)
	if err != nil {
		return err
	}
	_, err = s.w.o.Files.Stat(s.w.p.lockInfo)
	s.alone = isMissing(err)
	f, err := anewFile(s.w.o.Files, s.w.p.lockInfo)
	if err != nil {
		return err
	}
	s.informed = true
	_, err = f.WriteAt(b, 0)
	return errors.Join(err, s.share(f), f.Close())
}

// ForceUnlock implements state.Workspace. The lock of a live process cannot be released, because the system keeps it.
// ForceUnlock only removes the lock information that a dead process left.
func (w *workspace) ForceUnlock(_ context.Context, id string) error {
	if w.nowhere != nil {
		return fmt.Errorf("unlock the state: %w", w.nowhere)
	}
	b, err := ReadFile(w.o.Files, w.p.lockInfo, regular.Note)
	if err != nil {
		return fmt.Errorf("unlock %s: %w", w.p.out, err)
	}
	var info state.LockInfo
	if b == nil || json.Unmarshal(b, &info) != nil {
		return fmt.Errorf("unlock %s: the state is not locked", w.p.out)
	}
	if info.ID != id {
		return fmt.Errorf("unlock %s: lock id %q does not match the id of the existing lock, %q", w.p.out, id, info.ID)
	}
	f, err := openLocked(w.o.Files, w.p.out, os.O_RDWR, 0, true)
	switch {
	case isLocked(err):
		return fmt.Errorf("unlock %s: local state cannot be unlocked by another process: stop the process that holds "+
			"the lock (%s), or wait for it", w.p.out, info.Who)
	case err == nil:
		defer f.Close()
	case !isMissing(err):
		return fmt.Errorf("unlock %s: %w", w.p.out, err)
	}
	return w.o.Files.Remove(w.p.lockInfo)
}
