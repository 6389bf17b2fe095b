package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/journal"
	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
	"github.com/tombolo-iac/tombolo/state"
)

// session is a held lock.
type session struct {
	w       *workspace
	info    state.LockInfo // without an ID there is no lock
	damaged bool           // accept a stored state that cannot be read
	hold    Hold
	calls   context.Context // for calls to the driver; not cancelled by an interrupt
	ctx     context.Context // ends when the lock is lost or released
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when the lock is no longer watched; nil before the watch begins
	alone   *alone        // for a journal on this machine

	looked   atomic.Pointer[time.Time] // when the lock was last confirmed
	deleting atomic.Bool               // the workspace is being deleted, which may also delete its lock

	mu      sync.Mutex
	base    *state.State // the stored state; nil if there is none
	content Content      // its version, without the data
	hash    string
	lineage string // of the next state to be written
	open    journal.Unresolved
	version string // version of the stored journal
	log     *chunks
	rescue  []string // files of this machine whose records are in the log
	written bool     // the log contains more than the records carried over
	// outdated means that the state must be encrypted with a new key, or decrypted.
	outdated bool
	size     int64 // of the last snapshot, in bytes
	run      state.RunInfo
	journal  *journal.Open
	over     bool
	render   func(*state.State) ([]byte, error) // for services that display states; nil if schemas are unknown
}

// call returns the context of a call to the driver, which ends when the call makes no progress.
func (s *session) call() (context.Context, context.CancelFunc) {
	return progress.Within(s.calls, s.w.o.Timeout)
}

// watch checks the lock regularly until the session ends.
func (s *session) watch() {
	s.done = make(chan struct{})
	s.seen()
	go func() {
		defer close(s.done)
		for {
			select {
			case <-s.ctx.Done():
				return
			case <-time.After(s.w.o.Beat):
			}
			ctx, cancel := context.WithTimeout(s.ctx, s.w.o.Timeout)
			err := s.hold.Check(ctx)
			cancel()
			switch {
			case errors.Is(err, ErrLost) && s.deleting.Load():
				return // Delete has checked the lock
			case errors.Is(err, ErrLost):
				s.lost(err)
				return
			case err == nil:
				s.seen()
			}
		}
	}()
}

// seen records that the lock was confirmed.
func (s *session) seen() {
	now := s.w.o.Now()
	s.looked.Store(&now)
}

// awake checks the lock if it was not checked for a long time, because the process was stopped or the machine slept:
// meanwhile another run may have got the lock and ended. A remote journal refuses writes of a run that has lost its
// lock, but a journal on this machine does not.
func (s *session) awake() error {
	last := s.looked.Load()
	if _, local := s.hold.(*localJournal); !local || last == nil {
		return nil
	}
	now := s.w.o.Now() // while a machine sleeps, its monotonic clock may stop, and its wall clock may be set
	if max(now.Sub(*last), now.Round(0).Sub(last.Round(0))) < 2*s.w.o.Beat {
		return nil
	}
	ctx, cancel := s.call()
	defer cancel()
	err := s.hold.Check(ctx)
	if err == nil {
		s.seen()
	}
	if !errors.Is(err, ErrLost) {
		return nil // the result is unknown; the watch continues
	}
	return err
}

// lost ends the session's context, so that no new operation begins.
func (s *session) lost(err error) {
	err = fmt.Errorf("the lock of the state %s was lost during the run: %w", s.w.place, err)
	s.cancel(err)
	s.mu.Lock()
	log := s.log
	s.mu.Unlock()
	if log != nil {
		log.stop(err)
	}
}

// load reads the stored state and recovers an interrupted run. It starts again if another run is still writing without
// having noticed that it lost its lock.
func (s *session) load(ctx context.Context) error {
	const tries = 20
	for try := 0; ; try++ {
		v, err := s.w.both(ctx, s.damaged)
		if err != nil {
			return err
		}
		if _, ok := s.hold.(*localJournal); v.local && !ok {
			s.hold = &localJournal{Hold: s.hold, path: s.w.local()}
		}
		if v.local && v.raw.Version != "" && s.alone == nil {
			if s.alone, err = s.w.alone(); err != nil {
				return err
			}
			continue // the journal may have been continued, or have ended
		}
		s.mu.Lock()
		err = s.take(v)
		s.mu.Unlock()
		if err == nil {
			return nil
		}
		var conflict *state.ConflictError
		if !(errors.Is(err, ErrChanged) || errors.As(err, &conflict)) || try == tries {
			return &state.RecoverError{Err: err}
		}
		time.Sleep(s.w.o.Pause / 10)
	}
}

// take continues the journal that was read. It is called with mu held.
func (s *session) take(v *stored) error {
	s.base, s.hash, s.version, s.outdated = v.state, v.hash, v.raw.Version, v.outdated
	s.content = Content{Version: v.content.Version}
	s.open = journal.Unresolved{InFlight: v.InFlight, Unfolded: v.Unfolded}
	s.log, s.size = nil, int64(len(v.content.Data))
	if s.rescue = v.rescue; v.parsed == nil {
		return nil
	}
	p := v.parsed
	s.log = s.continued(v)
	if l, ok := s.hold.(*localJournal); ok {
		l.end = p.End
	}
	if s.lineage = lineageOf(s.base); s.lineage == "" {
		s.lineage = p.Header.Lineage
	}
	minimal := p.Minimal(v.hash) && len(v.rescue) == 0
	if minimal && sealed(p) {
		return nil
	}
	// From here on, only runs that have read this record can append to the journal, so the records read are complete.
	if err := s.log.seal(s.info); err != nil {
		return err
	}
	if v.Changed {
		if err := s.write(s.numbered(v.State), s.log.Last()); err != nil {
			return err
		}
	}
	s.written = !minimal || v.Changed
	return s.settle()
}

func lineageOf(st *state.State) string {
	if st == nil {
		return ""
	}
	return st.Lineage
}

// numbered returns the state with the session's lineage and the serial that follows the stored one.
func (s *session) numbered(st *state.State) *state.State {
	c := *st
	c.Lineage, c.Serial = s.lineage, 1
	if s.base != nil {
		c.Serial = s.base.Serial + 1
	}
	return &c
}

// LockID implements state.Identified.
func (s *session) LockID() string { return s.info.ID }

// Context implements state.Session.
func (s *session) Context() context.Context { return s.ctx }

// Snapshot implements state.Session.
func (s *session) Snapshot() *state.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open.Snapshot(s.base)
}

// usable returns the reason why no operation may begin in this session, if there is one. It is called with mu held.
func (s *session) usable() error {
	switch {
	case s.over:
		return errors.New("the session has ended: its lock was released")
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	case s.log == nil:
		return nil
	}
	if err := s.log.Broken(); err != nil {
		return fmt.Errorf("the journal is broken; unlock, and lock again: %w", err)
	}
	return nil
}

// Begin implements state.Session.
func (s *session) Begin(_ context.Context, run state.RunInfo) (state.Journal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	if s.journal != nil {
		return nil, errors.New("a journal is open already")
	}
	run.ID = cmpOr(run.ID, s.w.o.NewID())
	if run.Started.IsZero() {
		run.Started = s.w.o.Now()
	}
	s.run = run
	s.journal = journal.Begin(s, s.base, run, s.w.o.Now)
	return s.journal, nil
}

// StartRun implements journal.Keeper.
func (s *session) StartRun() (journal.Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.usable(), journal.Countable(s.base, s.w.place.String())); err != nil {
		return nil, err
	}
	if err := s.ensureLog(); err != nil {
		return nil, err
	}
	return s.log, nil
}

// Stored implements journal.Keeper.
func (s *session) Stored() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base != nil && !s.outdated
}

// WriteSnapshot implements journal.Keeper.
func (s *session) WriteSnapshot(st *state.State, covers uint64) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.base != nil && !s.outdated && st.SameContent(s.base) {
		return 0, nil
	}
	err := s.write(s.numbered(st), covers)
	return s.size, err
}

// Finish implements journal.Keeper.
func (s *session) Finish(left []state.InFlight, failed error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open.InFlight = append(s.open.InFlight, left...)
	if failed != nil {
		return s.log.saved(failed)
	}
	if err := s.settle(); err != nil {
		return fmt.Errorf("the state is up to date, but its journal could not be removed: %w", err)
	}
	return nil
}

// RunEnded implements journal.Keeper.
func (s *session) RunEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal = nil
}

// Write implements state.Session.
func (s *session) Write(_ context.Context, st *state.State) error { return s.replace(st, false) }

// Replace implements state.Session.
func (s *session) Replace(_ context.Context, st *state.State) error { return s.replace(st, true) }

func (s *session) replace(st *state.State, force bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	if s.journal != nil {
		return errors.New("write the state: a journal is open, so the state can only change through it")
	}
	c, same, err := journal.Replacing(s.base, st, force)
	if err != nil {
		return err
	}
	if same && c.Lineage == s.base.Lineage && c.Serial == s.base.Serial {
		return nil
	}
	if c.Lineage != "" {
		s.lineage = c.Lineage
	}
	if err := s.ensureLog(); err != nil {
		return err
	}
	c.Lineage = s.lineage
	if !same { // a state that only changes lineage or serial keeps its own serial
		c.Serial++
	}
	if err := s.write(&c, s.log.Last()); err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	return s.settle()
}

// Create implements state.Creator.
func (s *session) Create() error {
	if s.Stored() {
		return nil
	}
	return s.replace(&state.State{}, true)
}

// Resolve implements state.Session.
func (s *session) Resolve(_ context.Context, tokens []string, edits ...state.Edit) error {
	running := func() *journal.Open { return s.journal }
	return s.open.Resolve(&s.mu, running, s.usable, tokens, edits, s.resolve)
}

// resolve makes the edits durable before it removes any open operation.
func (s *session) resolve(record journal.ResolveRecord, edits []state.Edit) error {
	payload, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := errors.Join(journal.Countable(s.base, s.w.place.String()), s.ensureLog()); err != nil {
		return err
	}
	seq := s.log.Append(journal.KindResolve, payload)
	if err := errors.Join(s.log.Wait(seq), s.log.Broken()); err != nil {
		return err
	}
	s.open.Forget(record.Tokens)
	if st, changed := journal.Folded(s.base, edits); changed {
		if err := s.write(s.numbered(st), seq); err != nil {
			return s.log.saved(err)
		}
	}
	return s.settle()
}

// Delete implements state.Deleter.
func (s *session) Delete() error {
	err := s.delete()
	if unlocked := s.Unlock(); err == nil {
		err = unlocked
	}
	if err != nil {
		return fmt.Errorf("delete workspace %s: %w", s.w.name, err)
	}
	return nil
}

func (s *session) delete() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	if s.w.name == state.DefaultWorkspace {
		return errors.New("the default workspace cannot be deleted")
	}
	if n := s.open.Len(); n > 0 {
		return journal.ErrOpen(n, "")
	}
	ctx, cancel := s.call()
	defer cancel()
	s.deleting.Store(true)
	return s.hold.Delete(ctx)
}

// Unlock implements state.Session.
func (s *session) Unlock() error {
	s.mu.Lock()
	if s.over {
		defer s.mu.Unlock()
		return s.usable()
	}
	var open error
	if s.journal != nil {
		open = errors.New("unlock: the journal of a run is still open; the next run that locks the state recovers it")
	}
	s.mu.Unlock()
	return errors.Join(open, s.release())
}

// release releases the lock. If the response is lost, it checks whether the lock is free.
func (s *session) release() error {
	s.mu.Lock()
	s.over = true
	log := s.log
	s.mu.Unlock()
	if log != nil {
		log.push()
	}
	lost := context.Cause(s.ctx)
	s.cancel(errors.New("the lock was released"))
	if s.done != nil {
		<-s.done
	}
	s.alone.release()
	var err error
	for try := range s.w.o.tries() {
		ctx, cancel := s.call()
		err = s.hold.Unlock(ctx)
		if err != nil && !errors.Is(err, ErrLost) {
			holder, lookErr := s.w.place.Holder(ctx)
			if lookErr == nil && (holder == nil || holder.ID != s.info.ID) {
				err = nil
			}
		}
		cancel()
		switch {
		case err == nil, errors.Is(err, ErrLost) && try > 0: // the first try released it, and its response was lost
			return lost
		case errors.Is(err, ErrLost):
			return fmt.Errorf("unlock %s: %w", s.w.place, err)
		}
	}
	if err == nil {
		return lost
	}
	return diag.Advised(fmt.Errorf("unlock %s: %w. The lock may still be held", s.w.place, err),
		"Release it with \"%s\".", diag.Run("force-unlock", s.info.ID))
}
