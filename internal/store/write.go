package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tombolo-iac/tombolo/internal/store/journal"
	"github.com/tombolo-iac/tombolo/state"
)

// stored reports whether a state was ever stored.
func (s *session) stored() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base != nil && !s.elsewhere && !s.outdated
}

// Write implements state.Session.
func (s *session) Write(_ context.Context, st *state.State) error {
	return s.replace(st, false)
}

// Replace implements state.Session.
func (s *session) Replace(_ context.Context, st *state.State) error {
	return s.replace(st, true)
}

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
	if same && c.Lineage == s.base.Lineage && c.Serial == s.base.Serial && !s.elsewhere && !s.outdated {
		return nil
	}
	if c.Lineage != "" {
		s.lineage = c.Lineage
	}
	if err := s.ensureWAL(); err != nil {
		return err
	}
	c.Lineage = s.lineage
	if !same { // a state that only changes lineage or serial keeps its own serial
		c.Serial++
	}
	if err := s.write(&c, s.wal.Last()); err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	s.elsewhere = false
	return s.settle()
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
	if err := errors.Join(journal.Countable(s.base, s.w.p.out), s.ensureWAL()); err != nil {
		return err
	}
	seq := s.wal.Append(journal.KindResolve, payload)
	if err := s.wal.Wait(seq); err != nil {
		return err
	}
	s.open.Forget(record.Tokens)
	if st, changed := journal.Folded(s.base, edits); changed {
		if err := s.write(s.numbered(st), seq); err != nil {
			return s.wal.saved(err)
		}
	}
	return s.settle()
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

// withdraw removes the files that were created only for the lock. It is called with mu held.
func (s *session) withdraw() error {
	files := s.w.o.Files
	var errs []error
	if s.f != nil && (s.wal == nil && s.hash == placeholderHash || s.created && s.hash == "") {
		mine, err := s.f.Stat()
		if there, statErr := files.Stat(s.w.p.out); err == nil && statErr == nil && SameFile(mine, there) {
			errs = append(errs, removeAny(files, s.w.p.out))
		}
	}
	if s.informed {
		err := removeAny(files, s.w.p.lockInfo)
		s.informed = err != nil
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// release releases everything the session holds, and removes the files that were created only for the lock.
func (s *session) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.cancel()
	errs := []error{s.withdraw()}
	if s.wal != nil {
		if s.wal.cond.L != nil {
			s.wal.push()
		}
		errs = append(errs, s.wal.close())
	}
	if s.f != nil {
		errs = append(errs, s.f.Close())
	}
	if s.backups.through != nil {
		errs = append(errs, s.backups.through.Close())
	}
	return errors.Join(errs...)
}
