package engine

import (
	"context"
	"errors"

	"github.com/tombolo-iac/tombolo/state"
)

// beside is the session of a run without a lock that only looks, while another run is writing: it has the state as that run has
// left it so far, and refuses to write.
type beside struct {
	ctx      context.Context
	snapshot state.Snapshot
}

var errBeside = errors.New("another run is writing the state, and this one was only begun to read it")

// lookBeside reads what another run is writing. What that run is doing now is not left open by anyone.
func lookBeside(ctx context.Context, ws state.Workspace) (state.Session, error) {
	snapshot, err := ws.Read(ctx)
	if err != nil {
		return nil, err
	}
	s := &beside{ctx: context.WithoutCancel(ctx), snapshot: *snapshot}
	if s.snapshot.Running != nil {
		s.snapshot.InFlight = nil
	}
	return s, nil
}

func (s *beside) Context() context.Context { return s.ctx }

func (s *beside) Snapshot() *state.Snapshot {
	snapshot := s.snapshot
	return &snapshot
}

func (s *beside) Begin(context.Context, state.RunInfo) (state.Journal, error) { return nil, errBeside }

func (s *beside) Write(context.Context, *state.State) error { return errBeside }

func (s *beside) Replace(context.Context, *state.State) error { return errBeside }

func (s *beside) Resolve(context.Context, []string, ...state.Edit) error { return errBeside }

func (s *beside) Unlock() error { return nil }
