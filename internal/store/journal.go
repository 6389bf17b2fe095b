package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/tombolo-iac/tombolo/state"
)

// checkpointSize is how much journal comes together at least before a snapshot is written in the middle of a run.
const checkpointSize = 8 << 20

// journal is an open state.Journal: the run's records in the session's wal, and the state as they make it.
type journal struct {
	s       *session
	run     state.RunInfo
	builder *state.Builder

	// mu makes appending a record and folding it one step, so that a snapshot covers a clean prefix of the records.
	mu      sync.Mutex
	wal     *wal // the session's, from the first record on
	started bool
	open    map[string]*flight
	next    int // order of flights
	closed  bool
	failed  error // why the journal could not be made

	snapshots sync.Mutex // one at a time
	since     int64      // size of the wal at the last one
	cost      int64      // size of the last one
}

type flight struct {
	order int
	state.InFlight
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
	s.journal = &journal{s: s, run: s.w.o.runOf(run), builder: s.base.Builder(), open: map[string]*flight{},
		cost: checkpointSize}
	return s.journal, nil
}

// start makes the journal file when the first record comes. Called with mu held.
func (j *journal) start() error {
	if j.closed {
		return errors.New("the journal is closed")
	}
	if j.started || j.failed != nil {
		return j.failed
	}
	j.s.mu.Lock()
	defer j.s.mu.Unlock()
	if j.failed = j.s.countable(); j.failed == nil {
		j.failed = j.s.ensureWAL()
	}
	if j.failed != nil {
		return j.failed
	}
	run, err := json.Marshal(j.run)
	if err != nil {
		return err
	}
	if j.s.elsewhere {
		base := j.s.base
		if base == nil {
			base = &state.State{Lineage: j.s.lineage}
		}
		if j.failed = j.s.write(base, 0); j.failed != nil {
			return j.failed
		}
		j.s.elsewhere = false
	}
	j.wal = j.s.wal
	j.wal.append(kindRun, run)
	j.since = j.wal.size()
	j.started = true
	return nil
}

// Intent implements state.Journal.
func (j *journal) Intent(i state.Intent) error {
	if err := j.Err(); err != nil {
		return err
	}
	if i.Started.IsZero() {
		i.Started = j.s.w.o.Now()
	}
	intent, err := state.EncodeIntent(i)
	if err != nil {
		return fmt.Errorf("record the intent for %s: %w", i.Object, err)
	}
	payload, err := json.Marshal(intentRecord{Op: i.ID, Intent: intent})
	if err != nil {
		return err
	}
	seq, err := j.begin(i, payload)
	if err != nil {
		return err
	}
	err = j.wal.wait(seq)
	if err == nil {
		err = j.wal.broken()
	}
	if err == nil {
		return nil
	}
	// It must not begin; say so, if there still is a place to say it.
	return errors.Join(fmt.Errorf("record the intent for %s: %w", i.Object, err), j.Result(i.ID))
}

func (j *journal) begin(i state.Intent, payload []byte) (uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.start(); err != nil {
		return 0, err
	}
	if j.open[i.ID] != nil {
		return 0, fmt.Errorf("operation %s began twice", i.ID)
	}
	seq := j.wal.append(kindIntent, payload)
	j.wal.slot(1)
	j.next++
	j.open[i.ID] = &flight{j.next, state.InFlight{Intent: i, Run: j.run}}
	return seq, nil
}

// Partial implements state.Journal.
func (j *journal) Partial(op string, o *state.Object) error {
	object, err := state.EncodeObject(o)
	if err != nil {
		return fmt.Errorf("record what is known of operation %s: %w", op, err)
	}
	payload, err := json.Marshal(resultRecord{Op: op, Object: object})
	if err != nil {
		return err
	}
	j.mu.Lock()
	f := j.open[op]
	if f == nil || j.closed {
		j.mu.Unlock()
		return fmt.Errorf("operation %s is not under way", op)
	}
	seq := j.wal.append(kindPartial, payload)
	f.Partial = o
	j.mu.Unlock()
	return j.wal.wait(seq)
}

// Result implements state.Journal.
func (j *journal) Result(op string, edits ...state.Edit) error {
	raw, err := state.EncodeEdits(edits)
	if err != nil {
		return fmt.Errorf("record the result of operation %s: %w", op, err)
	}
	j.mu.Lock()
	if j.open[op] == nil || j.closed {
		j.mu.Unlock()
		return fmt.Errorf("operation %s is not under way", op)
	}
	seq, err := j.fold(kindResult, resultRecord{Op: op, Edits: raw}, edits)
	if err == nil {
		delete(j.open, op)
		j.wal.slot(-1)
	}
	j.mu.Unlock()
	if err != nil {
		return err
	}
	if err := j.wal.wait(seq); err != nil {
		return fmt.Errorf("record the result of operation %s: %w", op, err)
	}
	j.maybeCheckpoint()
	return nil
}

// Record implements state.Journal.
func (j *journal) Record(edits ...state.Edit) error {
	if len(edits) == 0 {
		return nil
	}
	raw, err := state.EncodeEdits(edits)
	if err != nil {
		return fmt.Errorf("record edits: %w", err)
	}
	j.mu.Lock()
	if err = j.start(); err == nil {
		_, err = j.fold(kindEdits, resultRecord{Edits: raw}, edits)
	}
	j.mu.Unlock()
	if err != nil {
		return err
	}
	j.wal.nudge()
	j.maybeCheckpoint()
	return j.Err()
}

// fold appends a record with edits and lays them over the working state. Called with mu held.
func (j *journal) fold(k kind, r resultRecord, edits []state.Edit) (uint64, error) {
	r.Was = wasThere(j.builder, edits)
	payload, err := json.Marshal(r)
	if err != nil {
		return 0, &state.EncodingError{Err: err}
	}
	seq := j.wal.append(k, payload)
	j.builder.Fold(edits...)
	return seq, nil
}

// Working implements state.Journal.
func (j *journal) Working() *state.Builder { return j.builder }

// Err implements state.Journal.
func (j *journal) Err() error {
	j.mu.Lock()
	wal, failed := j.wal, j.failed
	j.mu.Unlock()
	if failed != nil || wal == nil {
		return failed
	}
	return wal.broken()
}

// maybeCheckpoint writes a snapshot when the journal has grown by more than the last one cost, so that the cost of all
// of them is a multiple of what was recorded.
func (j *journal) maybeCheckpoint() {
	if !j.snapshots.TryLock() {
		return
	}
	defer j.snapshots.Unlock()
	if j.wal.size()-j.since > max(checkpointSize, j.cost) {
		j.snapshot()
	}
}

// Checkpoint implements state.Journal.
func (j *journal) Checkpoint(context.Context) error {
	j.snapshots.Lock()
	defer j.snapshots.Unlock()
	j.mu.Lock()
	idle := !j.started || j.closed
	j.mu.Unlock()
	if idle {
		return j.Err()
	}
	return j.snapshot()
}

// snapshot writes the working state to the state file, if it differs. Called with snapshots held. An error breaks the
// journal.
func (j *journal) snapshot() error {
	j.mu.Lock()
	st, covers := j.builder.State(), j.wal.last()
	j.mu.Unlock()
	j.s.mu.Lock()
	defer j.s.mu.Unlock()
	if j.s.base != nil && st.SameContent(j.s.base) {
		return nil
	}
	err := j.s.write(j.s.numbered(st), covers)
	j.since, j.cost = j.wal.size(), j.s.imageSize
	return err
}

// Close implements state.Journal.
func (j *journal) Close(context.Context) error {
	j.snapshots.Lock()
	defer j.snapshots.Unlock()
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	var err error
	if j.failed == nil && (j.builder.Dirty() || !j.s.stored()) {
		err = j.start()
	}
	err = errors.Join(err, j.failed)
	started := j.started
	j.closed = true
	j.mu.Unlock()
	if started && err == nil {
		err = j.finish()
	}
	j.s.mu.Lock()
	defer j.s.mu.Unlock()
	j.s.journal = nil
	return err
}

// finish brings the state file up to date and leaves a journal only of what is still open.
func (j *journal) finish() error {
	s := j.s
	err := j.wal.settled()
	if err != nil {
		return fmt.Errorf("the results of this run could not be stored anywhere: %w", err)
	}
	if err = j.wal.broken(); err == nil {
		err = j.snapshot()
	}
	left := j.left()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight = append(s.inFlight, left...)
	if err != nil {
		return j.wal.saved(err)
	}
	if err := s.settle(); err != nil {
		return fmt.Errorf("the state is up to date, but its journal could not be cleared away: %w", err)
	}
	return nil
}

// left returns the operations without a result, in the order in which they began.
func (j *journal) left() (all []state.InFlight) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range slices.SortedFunc(maps.Values(j.open), func(a, b *flight) int { return a.order - b.order }) {
		all = append(all, f.InFlight)
	}
	return all
}

// resolve ends operations of earlier runs while the journal is open.
func (j *journal) resolve(r resolveRecord, edits []state.Edit) error {
	payload, err := json.Marshal(r)
	if err != nil {
		return err
	}
	j.mu.Lock()
	if err := j.start(); err != nil {
		j.mu.Unlock()
		return err
	}
	seq := j.wal.append(kindResolve, payload)
	j.builder.Fold(edits...)
	j.mu.Unlock()
	return j.wal.wait(seq)
}
