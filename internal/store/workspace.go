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

	"github.com/tombolo-iac/tombolo/state"
)

// workspace is one state file with what stands around it. It holds nothing open.
type workspace struct {
	name string
	o    *Options
	p    paths
}

// Name implements state.Workspace.
func (w *workspace) Name() string { return w.name }

// Answers is the folder beside the journal in which programs leave their answers, so that these survive whoever asked.
func (w *workspace) Answers() string { return w.p.out + ".answers" }

// Lock implements state.Workspace.
func (w *workspace) Lock(ctx context.Context, req state.LockRequest) (_ state.Session, err error) {
	s := &session{w: w}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	if err := w.makeDir(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", w.p.out, err)
	}
	if !req.Unlocked {
		if s.f, err = w.lockState(); err != nil {
			return nil, w.lockError(err)
		}
		if err := s.writeLockInfo(req.Info); err != nil {
			return nil, fmt.Errorf("lock %s: %w", w.p.out, err)
		}
	}
	if err := s.load(ctx); err != nil {
		return nil, w.lockError(err)
	}
	return s, nil
}

// makeDir makes the folder of the state, durably: what is in it is worth nothing without its name.
func (w *workspace) makeDir() error {
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

// lockState opens and locks the state file, which is made when there is none.
func (w *workspace) lockState() (File, error) {
	for range 100 {
		f, err := openLocked(w.o.Files, w.p.out, os.O_RDWR, 0)
		if !isMissing(err) {
			return f, err
		}
		if f, err = w.createState(); !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("%s is made and removed again and again by another program", w.p.out)
}

// place is where the state file is, or will be: the name may be a link to a file that does not exist yet, as with Terraform.
func (w *workspace) place() string {
	name := w.p.out
	for range 40 { // a longer chain the system does not follow either
		to, err := os.Readlink(name)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	return name
}

// placeholder is what stands where a state is locked and there is none yet. It is valid, so that nobody who finds it after a
// crash has to wonder about an empty file.
var placeholder = func() []byte {
	var b bytes.Buffer
	new(state.State).Encode(&b)
	return b.Bytes()
}()

var placeholderHash = func() string {
	sum := sha256.Sum256(placeholder)
	return hex.EncodeToString(sum[:])
}()

// createState makes a state file that says nothing, locked. It gets its name when it is whole. fs.ErrExist: another was faster.
func (w *workspace) createState() (_ File, err error) {
	f, err := openLocked(w.o.Files, w.p.fresh, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := f.Truncate(0); err != nil {
		return nil, err
	}
	if _, err := f.WriteAt(placeholder, 0); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	place := w.place()
	if err := w.o.Files.RenameNew(w.p.fresh, place); err != nil {
		return nil, errors.Join(err, w.o.Files.Remove(w.p.fresh))
	}
	return f, w.o.Files.SyncDir(filepath.Dir(place))
}

// lockError turns a refused lock into what callers look for.
func (w *workspace) lockError(err error) error {
	if !isLocked(err) {
		return fmt.Errorf("lock %s: %w", w.p.out, err)
	}
	b, _ := readFile(w.o.Files, w.p.lockInfo)
	var info state.LockInfo
	if json.Unmarshal(b, &info) == nil && info.ID != "" {
		return &state.LockedError{Info: &info, Err: err}
	}
	if j, running, jErr := w.readJournal(); jErr == nil && running {
		return &state.LockedError{Err: fmt.Errorf("a run without a lock (-lock=false) is writing the state: process %d on %s: %w", j.header.PID, j.header.Host, err)}
	}
	return &state.LockedError{Err: fmt.Errorf("the state %s is locked by another process, which left no word about itself", w.p.out)}
}

func (s *session) writeLockInfo(info state.LockInfo) error {
	set := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	set(&info.ID, s.w.o.NewID())
	set(&info.Who, s.w.o.Who)
	set(&info.Version, state.LanguageVersion)
	set(&info.Path, s.w.p.out)
	if info.Created.IsZero() {
		info.Created = s.w.o.Now().UTC()
	}
	b, err := json.Marshal(info)
	if err != nil {
		return err
	}
	f, err := s.w.o.Files.Open(s.w.p.lockInfo, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	s.informed = true
	_, err = f.WriteAt(b, 0)
	return errors.Join(err, f.Close())
}

// ForceUnlock implements state.Workspace. A lock that a live process holds cannot be broken: the system keeps it. What can be
// removed is the note that a dead one left.
func (w *workspace) ForceUnlock(_ context.Context, id string) error {
	b, err := readFile(w.o.Files, w.p.lockInfo)
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
	f, err := openLocked(w.o.Files, w.p.out, os.O_RDWR, 0)
	switch {
	case isLocked(err):
		return fmt.Errorf("unlock %s: local state cannot be unlocked by another process: stop the one that holds the lock (%s), or wait for it", w.p.out, info.Who)
	case err == nil:
		defer f.Close()
	case !isMissing(err):
		return fmt.Errorf("unlock %s: %w", w.p.out, err)
	}
	return w.o.Files.Remove(w.p.lockInfo)
}
