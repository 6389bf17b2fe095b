package engine

import (
	"context"
	"errors"

	"github.com/tombolo-iac/tombolo/state"
)

// readOnly is the session of a run without a lock that only reads while another run writes: its state includes the
// other run's results so far, and it refuses to write.
type readOnly struct {
	ctx      context.Context
	snapshot state.Snapshot
}

var errReadOnly = errors.New("another run is writing the state, and this run was started only to read it")

// readBesideWriter reads the state while another run writes it. That run's operations in flight are not reported as
// open.
func readBesideWriter(ctx context.Context, ws state.Workspace) (state.Session, error) {
	snapshot, err := ws.Read(ctx)
	if err != nil {
		return nil, err
	}
	s := &readOnly{ctx: context.WithoutCancel(ctx), snapshot: *snapshot}
	if s.snapshot.Running != nil {
		s.snapshot.InFlight = nil
	}
	return s, nil
}

func (s *readOnly) Context() context.Context { return s.ctx }

func (s *readOnly) Snapshot() *state.Snapshot {
	snapshot := s.snapshot
	return &snapshot
}

func (s *readOnly) Begin(context.Context, state.RunInfo) (state.Journal, error) {
	return nil, errReadOnly
}

func (s *readOnly) Write(context.Context, *state.State) error { return errReadOnly }

func (s *readOnly) Replace(context.Context, *state.State) error { return errReadOnly }

func (s *readOnly) Resolve(context.Context, []string, ...state.Edit) error { return errReadOnly }

func (s *readOnly) Unlock() error { return nil }
