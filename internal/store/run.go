package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/tombolo-iac/tombolo/internal/store/journal"
	"github.com/tombolo-iac/tombolo/state"
)

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
	s.run = s.w.o.runOf(run)
	s.journal = journal.Begin(s, s.base, s.run, s.w.o.Now)
	return s.journal, nil
}

// StartRun implements journal.Keeper. It creates the journal file.
func (s *session) StartRun() (journal.Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := journal.Countable(s.base, s.w.p.out); err != nil {
		return nil, err
	}
	if err := s.ensureWAL(); err != nil {
		return nil, err
	}
	if s.elsewhere {
		base := s.base
		if base == nil {
			base = &state.State{Lineage: s.lineage}
		}
		if err := s.write(base, 0); err != nil {
			return nil, err
		}
		s.elsewhere = false
	}
	return s.wal, nil
}

// Stored implements journal.Keeper. A session that locked an empty placeholder has nothing stored.
func (s *session) Stored() bool { return s.stored() }

// WriteSnapshot implements journal.Keeper.
func (s *session) WriteSnapshot(st *state.State, covers uint64) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.base != nil && !s.outdated && st.SameContent(s.base) {
		return 0, nil
	}
	err := s.write(s.numbered(st), covers)
	return s.imageSize, err
}

// Finish implements journal.Keeper.
func (s *session) Finish(left []state.InFlight, failed error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open.InFlight = append(s.open.InFlight, left...)
	if failed != nil {
		return s.wal.saved(failed)
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
