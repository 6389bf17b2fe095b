package ownstore

import (
	"cmp"
	"context"
	"sync"

	"github.com/tombolo-iac/tombolo/state"
)

// session is a guarded session. Its methods without an error return the last valid result, and make subsequent calls
// fail.
type session struct {
	calls
	inner state.Session
	ctx   context.Context
	fail  context.CancelCauseFunc // cancels ctx as if the lock were lost, to prevent further writes

	mu     sync.Mutex // guards the fields below
	last   *state.Snapshot
	broken error
}

// begin reads the initial values from a new session.
func (s *session) begin() error {
	ctx, err := get(s.calls, "Session.Context", s.inner.Context)
	if err == nil && ctx == nil {
		err = noResult("Session.Context")
	}
	if err != nil {
		return err
	}
	s.ctx, s.fail = context.WithCancelCause(ctx)
	if s.Snapshot(); s.broken != nil {
		return s.broken
	}
	return nil
}

// Context implements state.Session.
func (s *session) Context() context.Context { return s.ctx }

// Snapshot implements state.Session.
func (s *session) Snapshot() *state.Snapshot {
	snap, err := get(s.calls, "Session.Snapshot", s.inner.Snapshot)
	if err == nil && snap == nil {
		err = noResult("Session.Snapshot")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.last = snap
	} else if s.broken == nil {
		s.broken = err
		s.fail(err)
	}
	return s.last
}

// ready returns the reason why nothing more may be written, or nil.
func (s *session) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// write calls a method that writes.
func (s *session) write(ctx context.Context, method string, f func() error) error {
	if err := s.ready(); err != nil {
		return err
	}
	return s.do(ctx, method, f)
}

// Begin implements state.Session.
func (s *session) Begin(ctx context.Context, run state.RunInfo) (state.Journal, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	inner, err := call(s.calls, ctx, "Session.Begin", func() (state.Journal, error) { return s.inner.Begin(ctx, run) },
		nil)
	if err == nil && inner == nil {
		err = noResult("Session.Begin")
	}
	if err != nil {
		return nil, err
	}
	j := &journal{calls: s.calls, inner: inner}
	if j.Working(); j.broken != nil {
		_ = j.Close(ctx) // the journal is empty; the other error is reported
		return nil, j.broken
	}
	return j, nil
}

// Write implements state.Session.
func (s *session) Write(ctx context.Context, st *state.State) error {
	return s.write(ctx, "Session.Write", func() error { return s.inner.Write(ctx, st) })
}

// Replace implements state.Session.
func (s *session) Replace(ctx context.Context, st *state.State) error {
	return s.write(ctx, "Session.Replace", func() error { return s.inner.Replace(ctx, st) })
}

// Resolve implements state.Session.
func (s *session) Resolve(ctx context.Context, tokens []string, edits ...state.Edit) error {
	return s.write(ctx, "Session.Resolve", func() error { return s.inner.Resolve(ctx, tokens, edits...) })
}

// Unlock implements state.Session. It is called after every other fault and reports it, too, because there may have
// been no call after it that could.
func (s *session) Unlock() error {
	err := s.do(context.Background(), "Session.Unlock", s.inner.Unlock)
	if s.fail != nil {
		s.fail(nil)
	}
	return cmp.Or(err, s.ready())
}

// journal is a guarded journal.
type journal struct {
	calls
	inner state.Journal

	mu     sync.Mutex // guards the fields below
	last   *state.Builder
	broken error // the first invalid result
}

// write calls a method that writes a record.
func (j *journal) write(method string, f func() error) error {
	return j.do(context.Background(), method, f)
}

// Intent implements state.Journal. After an error, no operation begins.
func (j *journal) Intent(i state.Intent) error {
	j.mu.Lock()
	broken := j.broken
	j.mu.Unlock()
	if broken != nil {
		return broken
	}
	return j.write("Journal.Intent", func() error { return j.inner.Intent(i) })
}

// Partial implements state.Journal.
func (j *journal) Partial(op string, o *state.Object) error {
	within := calls{j.abort, partialGrace}
	return within.do(context.Background(), "Journal.Partial", func() error { return j.inner.Partial(op, o) })
}

// Result implements state.Journal.
func (j *journal) Result(op string, edits ...state.Edit) error {
	return j.write("Journal.Result", func() error { return j.inner.Result(op, edits...) })
}

// Record implements state.Journal.
func (j *journal) Record(edits ...state.Edit) error {
	return j.write("Journal.Record", func() error { return j.inner.Record(edits...) })
}

// Working implements state.Journal.
func (j *journal) Working() *state.Builder {
	b, err := get(j.calls, "Journal.Working", j.inner.Working)
	if err == nil && b == nil {
		err = noResult("Journal.Working")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		j.last = b
	} else if j.broken == nil {
		j.broken = err
	}
	return j.last
}

// Checkpoint implements state.Journal.
func (j *journal) Checkpoint(ctx context.Context) error {
	return j.do(ctx, "Journal.Checkpoint", func() error { return j.inner.Checkpoint(ctx) })
}

// Err implements state.Journal.
func (j *journal) Err() error {
	if err := j.do(context.Background(), "Journal.Err", j.inner.Err); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.broken
}

// Close implements state.Journal.
func (j *journal) Close(ctx context.Context) error {
	err := j.do(ctx, "Journal.Close", func() error { return j.inner.Close(ctx) })
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		err = j.broken
	}
	return err
}
