package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/state"
)

// checkpointSize is the minimum size of the journal before a snapshot is written during a run.
const checkpointSize = 8 << 20

// Log stores the records of an open journal. Append keeps a record in memory, and Wait makes it durable; of several
// concurrent callers of Wait, one writes for all.
type Log interface {
	// Append queues a record and returns its number.
	Append(k Kind, payload []byte) uint64
	// Wait returns when the record is durable.
	Wait(seq uint64) error
	// WritePending announces records that no caller waits for.
	WritePending()
	// Slot tells the log how many operations are in flight.
	Slot(n int)
	// Last returns the number of the last record.
	Last() uint64
	// Size returns how many bytes were appended.
	Size() int64
	// Broken returns the first reason why no new operation may begin.
	Broken() error
	// Settled makes all records durable. An error means that they cannot be stored anywhere.
	Settled() error
}

// Keeper is the session in which a journal is open.
type Keeper interface {
	// StartRun returns the log of the run before its first record. It is called once.
	StartRun() (Log, error)
	// Stored reports whether a state was ever stored.
	Stored() bool
	// WriteSnapshot stores this state, if it differs from the stored one, and returns the number of bytes written. The
	// state contains all records up to covers. An error breaks the log.
	WriteSnapshot(st *state.State, covers uint64) (int64, error)
	// Finish reduces the journal to the open operations, if everything is stored. Otherwise the error of the last
	// snapshot names the location of the results.
	Finish(left []state.InFlight, failed error) error
	// RunEnded is called when the journal is closed, whatever the result.
	RunEnded()
}

// Open is an open state.Journal: the records of a run in a log, and the resulting state.
type Open struct {
	keeper  Keeper
	run     state.RunInfo
	now     func() time.Time
	builder *state.Builder

	// mu makes appending and applying a record one step, so that a snapshot covers a gapless prefix of the records.
	mu     sync.Mutex
	log    Log // nil before the first record
	open   map[string]*flight
	next   int // number of the next operation, for their order
	closed bool
	failed error // why the log could not be created

	snapshots sync.Mutex // held while a snapshot is written
	since     int64      // size of the log at the last snapshot
	cost      int64      // size of the last snapshot
}

// Begin opens a journal on a state, which may be nil.
func Begin(keeper Keeper, base *state.State, run state.RunInfo, now func() time.Time) *Open {
	return &Open{keeper: keeper, run: run, now: now, builder: base.Builder(), open: map[string]*flight{},
		cost: checkpointSize}
}

type flight struct {
	order int
	state.InFlight
}

// start opens the log for the first record. It is called with mu held.
func (j *Open) start() error {
	if j.closed {
		return errors.New("the journal is closed")
	}
	if j.log != nil || j.failed != nil {
		return j.failed
	}
	run, err := json.Marshal(j.run)
	if err != nil {
		return err
	}
	log, err := j.keeper.StartRun()
	if j.failed = err; err != nil {
		return err
	}
	log.Append(KindRun, run)
	j.log, j.since = log, log.Size()
	return nil
}

// MaxSize is the maximum size of a journal that is read, in bytes; tests lower it.
var MaxSize int64 = regular.State

// ErrLong means that a journal is too long for new operations.
var ErrLong = errors.New("the journal has reached its maximum length. No further operation was started: run apply " +
	"again for the rest")

// Intent implements state.Journal.
func (j *Open) Intent(i state.Intent) error {
	if err := j.Err(); err != nil {
		return err
	}
	if i.Started.IsZero() {
		i.Started = j.now()
	}
	intent, err := state.EncodeIntent(i)
	if err != nil {
		return fmt.Errorf("record the intent for %s: %w", i.Object, err)
	}
	payload, err := json.Marshal(IntentRecord{Op: i.ID, Intent: intent})
	if err != nil {
		return err
	}
	seq, err := j.begin(i, payload)
	if err != nil {
		return err
	}
	err = j.log.Wait(seq)
	if err == nil {
		err = j.log.Broken()
	}
	if err == nil && j.log.Size() > MaxSize-MaxSize/4 { // keep the rest for the results of operations in flight
		err = ErrLong
	}
	if err == nil {
		return nil
	}
	// The operation must not begin. Record that, if possible.
	return errors.Join(fmt.Errorf("record the intent for %s: %w", i.Object, err), j.Result(i.ID))
}

func (j *Open) begin(i state.Intent, payload []byte) (uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.start(); err != nil {
		return 0, err
	}
	if j.open[i.ID] != nil {
		return 0, fmt.Errorf("operation %s was started twice", i.ID)
	}
	seq := j.log.Append(KindIntent, payload)
	j.log.Slot(1)
	j.next++
	j.open[i.ID] = &flight{j.next, state.InFlight{Intent: i, Run: j.run}}
	return seq, nil
}

// Partial implements state.Journal.
func (j *Open) Partial(op string, o *state.Object) error {
	object, err := state.EncodeObject(o)
	if err != nil {
		return fmt.Errorf("record the known attributes of operation %s: %w", op, err)
	}
	payload, err := json.Marshal(ResultRecord{Op: op, Object: object})
	if err != nil {
		return err
	}
	j.mu.Lock()
	f := j.open[op]
	if f == nil || j.closed {
		j.mu.Unlock()
		return fmt.Errorf("operation %s is not in progress", op)
	}
	seq := j.log.Append(KindPartial, payload)
	f.Partial = o
	j.mu.Unlock()
	return j.log.Wait(seq)
}

// Result implements state.Journal.
func (j *Open) Result(op string, edits ...state.Edit) error {
	raw, err := state.EncodeEdits(edits)
	if err != nil {
		return fmt.Errorf("record the result of operation %s: %w", op, err)
	}
	j.mu.Lock()
	if j.open[op] == nil || j.closed {
		j.mu.Unlock()
		return fmt.Errorf("operation %s is not in progress", op)
	}
	seq, err := j.fold(KindResult, ResultRecord{Op: op, Edits: raw}, edits)
	if err == nil {
		delete(j.open, op)
		j.log.Slot(-1)
	}
	j.mu.Unlock()
	if err != nil {
		return err
	}
	if err := j.log.Wait(seq); err != nil {
		return fmt.Errorf("record the result of operation %s: %w", op, err)
	}
	j.maybeCheckpoint()
	return nil
}

// Record implements state.Journal.
func (j *Open) Record(edits ...state.Edit) error {
	if len(edits) == 0 {
		return nil
	}
	raw, err := state.EncodeEdits(edits)
	if err != nil {
		return fmt.Errorf("record edits: %w", err)
	}
	j.mu.Lock()
	if err = j.start(); err == nil {
		_, err = j.fold(KindEdits, ResultRecord{Edits: raw}, edits)
	}
	j.mu.Unlock()
	if err != nil {
		return err
	}
	j.log.WritePending()
	j.maybeCheckpoint()
	return j.Err()
}

// fold appends a record with edits and applies them to the working state. It is called with mu held.
func (j *Open) fold(k Kind, r ResultRecord, edits []state.Edit) (uint64, error) {
	r.Was = FormerIdentities(j.builder, edits)
	payload, err := json.Marshal(r)
	if err != nil {
		return 0, &state.EncodingError{Err: err}
	}
	seq := j.log.Append(k, payload)
	j.builder.Fold(edits...)
	return seq, nil
}

// Working implements state.Journal.
func (j *Open) Working() *state.Builder { return j.builder }

// Err implements state.Journal.
func (j *Open) Err() error {
	j.mu.Lock()
	log, failed := j.log, j.failed
	j.mu.Unlock()
	if failed != nil || log == nil {
		return failed
	}
	return log.Broken()
}

// maybeCheckpoint writes a snapshot when the journal has grown by more than the size of the last one, so that the total
// size of snapshots is proportional to the size of the records.
func (j *Open) maybeCheckpoint() {
	if !j.snapshots.TryLock() {
		return
	}
	defer j.snapshots.Unlock()
	if j.log.Size()-j.since > max(checkpointSize, j.cost) {
		j.snapshot()
	}
}

// Checkpoint implements state.Journal.
func (j *Open) Checkpoint(context.Context) error {
	j.snapshots.Lock()
	defer j.snapshots.Unlock()
	j.mu.Lock()
	idle := j.log == nil || j.closed
	j.mu.Unlock()
	if idle {
		return j.Err()
	}
	return j.snapshot()
}

// snapshot stores the working state, if it differs. It is called with snapshots held.
func (j *Open) snapshot() error {
	j.mu.Lock()
	st, covers := j.builder.State(), j.log.Last()
	j.mu.Unlock()
	cost, err := j.keeper.WriteSnapshot(st, covers)
	if cost > 0 {
		j.since, j.cost = j.log.Size(), cost
	}
	return err
}

// Close implements state.Journal.
func (j *Open) Close(context.Context) error {
	j.snapshots.Lock()
	defer j.snapshots.Unlock()
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	var err error
	if j.failed == nil && (j.builder.Dirty() || !j.keeper.Stored()) {
		err = j.start()
	}
	err = errors.Join(err, j.failed)
	started := j.log != nil
	j.closed = true
	j.mu.Unlock()
	if started && err == nil {
		err = j.finish()
	}
	j.keeper.RunEnded()
	return err
}

// finish updates the stored state.
func (j *Open) finish() error {
	err := j.log.Settled()
	if err != nil {
		return fmt.Errorf("the results of this run could not be stored anywhere: %w", err)
	}
	if err = j.log.Broken(); err == nil {
		err = j.snapshot()
	}
	return j.keeper.Finish(j.left(), err)
}

// left returns the operations without a result, in the order in which they began.
func (j *Open) left() (all []state.InFlight) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range slices.SortedFunc(maps.Values(j.open), func(a, b *flight) int { return a.order - b.order }) {
		all = append(all, f.InFlight)
	}
	return all
}

// Resolve ends operations of earlier runs while the journal is open.
func (j *Open) Resolve(r ResolveRecord, edits []state.Edit) error {
	payload, err := json.Marshal(r)
	if err != nil {
		return err
	}
	j.mu.Lock()
	if err := j.start(); err != nil {
		j.mu.Unlock()
		return err
	}
	seq := j.log.Append(KindResolve, payload)
	j.builder.Fold(edits...)
	j.mu.Unlock()
	return j.log.Wait(seq)
}
