package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/store/journal"
	"github.com/tombolo-iac/tombolo/state"
)

// session is a held lock. Its wal, if there is one, is the locked journal file.
type session struct {
	w        *workspace
	ctx      context.Context
	cancel   context.CancelFunc
	f        File // the locked state file; nil in a session without the shared lock
	created  bool // it was created for the lock
	informed bool // the lock info file is ours
	alone    bool // and there was none before
	lax      bool // the file system has no locks, and the session works without one

	mu        sync.Mutex
	base      *state.State // the content of the state file; nil if there is none
	hash      string       // of the state file, or "" if there is none
	lineage   string       // of the next state to be written
	open      journal.Unresolved
	wal       *wal
	written   bool // the wal contains more than the records carried over
	backedUp  bool
	backups   backups
	blank     string        // name of a state file with zero bytes and no content, or ""
	imageSize int64         // of the last snapshot, in bytes
	journal   *journal.Open // the open journal
	over      bool
	// elsewhere means that base comes from another file. It must be written before the journal's records, which are
	// based on it.
	elsewhere bool
	outdated  bool         // the state must be encrypted with a new key, or decrypted
	kept      *state.State // content of the newest former state, as read or as stored since
	run       state.RunInfo
	operation state.Operation // of the lock
}

// load reads the state, and recovers an interrupted run.
func (s *session) load(ctx context.Context) error {
	w := s.w
	jf, err := openLocked(w.o.Files, w.p.journal, os.O_RDWR, 0, s.lax)
	if err != nil && !isMissing(err) {
		return err
	}
	var j *journal.Parsed
	if jf != nil {
		s.wal = &wal{f: jf} // so that release closes the file
		if j, err = w.parse(jf); err != nil {
			return err
		}
		if _, err := jf.Locked(); s.lax && errors.Is(err, ErrNoLocks) && atWork(&j.Header) {
			return ErrLocked
		}
	}
	var c *content
	if s.f != nil {
		c, err = w.readContent(s.f, w.p.out)
	} else {
		c, err = w.readContentAt(w.p.out)
	}
	if err != nil {
		return err
	}
	if s.informed && s.alone { // ignore the files beside the state that we have just created
		c.ours = append(c.ours, w.p.lockInfo)
	}
	v, err := w.view(c, j)
	if err != nil {
		return err
	}
	if jf == nil && s.f != nil {
		// After a power loss, the journal may have been removed but not its image. The state can be read without the
		// image.
		if err := removeAny(w.o.Files, w.p.image); err != nil {
			return err
		}
	}
	s.base, s.hash, s.blank, s.outdated = v.base, c.hash, w.blankName(v.blank), c.outdated
	s.kept = v.base
	s.open = journal.Unresolved{InFlight: v.InFlight, Unfolded: v.Unfolded}
	if j != nil {
		w.sweep()
		if s.wal, err = continueWAL(s, jf, j); err != nil {
			s.wal = &wal{f: jf}
			return &state.RecoverError{Err: err}
		}
		if err := s.recover(v, j); err != nil {
			return &state.RecoverError{Err: err}
		}
	}
	if w.p.in == w.p.out {
		return nil
	}
	return s.readElsewhere(ctx)
}

// recover brings the state file up to date with the journal, and leaves a journal only for operations that are still
// open. It is idempotent.
func (s *session) recover(v *view, j *journal.Parsed) error {
	again, err := s.w.unfinished(v, j)
	if err != nil {
		return err
	}
	if v.repair || again {
		if err := s.repair(j.LastMark().Checkpoint); err != nil {
			return err
		}
	} else if err := s.certain(); err != nil {
		return err
	}
	if s.lineage = lineageOf(s.base); s.lineage == "" {
		s.lineage = j.Header.Lineage
	}
	if v.Changed {
		if err := s.write(s.numbered(v.State), j.Next-1); err != nil {
			return err
		}
		s.backedUp = false // the following run creates its own backup
	}
	s.written = v.repair || again || v.Changed || !j.Minimal(s.hash)
	return s.settle()
}

// unfinished reports whether the state file equals the last snapshot, but its last sync is not known to have succeeded.
// After a failed sync, the system may show data that never reached the disk, and does not try again: the file must be
// rewritten.
func (w *workspace) unfinished(v *view, j *journal.Parsed) (bool, error) {
	last := j.LastMark()
	if last.Done || v.content.hash != last.Hash {
		return false, nil
	}
	image, err := w.readContentAt(w.p.image)
	return err == nil && image.hash == last.Hash, err
}

// certain makes the content of the state file durable. That may be the end of a snapshot whose last sync did not
// happen, and the files that could repair it are about to be removed.
func (s *session) certain() (err error) {
	if s.hash == "" {
		return nil
	}
	f, err := s.stateFile()
	if err != nil {
		return err
	}
	if f == nil {
		return nil // the file was just removed
	}
	if f != s.f {
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	return f.Sync()
}

// readElsewhere reads the state from another file than the one to be written (-state-out).
func (s *session) readElsewhere(ctx context.Context) error {
	if n := s.open.Len(); n > 0 {
		return journal.ErrOpen(n, s.w.p.out)
	}
	snapshot, err := s.w.Read(ctx)
	if err != nil {
		return err
	}
	if n := len(snapshot.InFlight) + len(snapshot.Unfolded); n > 0 {
		return journal.ErrOpen(n, s.w.p.in)
	}
	s.base, s.elsewhere, s.blank = snapshot.State, true, snapshot.Blank
	return nil
}

// Context implements state.Session.
func (s *session) Context() context.Context { return s.ctx }

// Snapshot implements state.Session.
func (s *session) Snapshot() *state.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshot := s.open.Snapshot(s.base)
	snapshot.Blank = s.blank
	return snapshot
}

// usable returns the reason why no operation may begin in this session, if there is one. It is called with mu held.
func (s *session) usable() error {
	switch {
	case s.over:
		return errors.New("the session has ended: its lock was released")
	case s.wal == nil:
		return nil
	}
	if err := s.wal.Broken(); err != nil {
		return fmt.Errorf("the journal is broken; unlock, and lock again: %w", err)
	}
	return nil
}

// settle completes a change of the journal file: if no operation is open, the file is removed; otherwise a new one
// contains those that are.
func (s *session) settle() error {
	if s.wal == nil {
		return nil
	}
	if err := s.wal.Broken(); err != nil {
		return err // the journal contains results that the state file lacks
	}
	files, old := s.w.o.Files, s.wal
	if err := removeAny(files, s.w.p.image); err != nil {
		return err
	}
	if !s.written && s.open.Len() > 0 {
		return nil
	}
	if s.open.Len() > 0 {
		records, err := s.open.Carry()
		if err != nil {
			return err
		}
		if s.wal, err = createWAL(s, records, true); err != nil {
			s.wal = old
			return err
		}
		s.written = false
	} else {
		if err := removeAny(files, s.w.p.journal); err != nil {
			return err
		}
		s.wal, s.written = nil, false
		if err := files.SyncDir(s.w.p.dir); err != nil {
			return errors.Join(err, old.close())
		}
	}
	err := old.close()
	if s.wal != nil {
		err = errors.Join(err, s.wal.Broken())
	}
	return errors.Join(err, s.keep())
}

func removeAny(files Files, name string) error {
	if err := files.Remove(name); err != nil && !isMissing(err) {
		return err
	}
	return nil
}

func (s *session) header(key *journal.Key) journal.Header {
	h := journal.NewHeader(key)
	h.Lineage, h.Base, h.Created, h.Rescue = s.lineage, s.hash, s.w.o.Now(), s.w.o.Rescue
	h.Host, h.PID, h.Began = hostName(), os.Getpid(), processStart(os.Getpid())
	if s.base != nil {
		h.Serial = s.base.Serial
	}
	return h
}

// ensureWAL creates the journal file if there is none.
func (s *session) ensureWAL() error {
	if s.lineage == "" && s.base != nil {
		s.lineage = s.base.Lineage
	}
	if s.lineage == "" {
		s.lineage = s.w.o.NewID()
	}
	if err := s.prepareBackup(); err != nil {
		return err
	}
	s.written = true
	if s.wal != nil {
		return nil
	}
	wal, err := createWAL(s, nil, false)
	if isLocked(err) {
		return s.w.lockError(err)
	}
	if err != nil {
		return fmt.Errorf("make the journal %s: %w", s.w.p.journal, err)
	}
	s.wal = wal
	return wal.Broken()
}
