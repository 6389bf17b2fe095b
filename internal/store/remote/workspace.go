package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/store/journal"
	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
	"github.com/tombolo-iac/tombolo/state"
)

// workspace is one state. It holds no resources.
type workspace struct {
	name  string
	o     *Options
	place Place
}

// Name implements state.Workspace.
func (w *workspace) Name() string { return w.name }

// Answers returns the folder of the stored results of programs, which outlive the process, and the cipher that encrypts
// them.
func (w *workspace) Answers() (string, *encryption.Cipher) {
	if w.o.Answers == "" {
		return "", nil
	}
	return filepath.Join(w.o.Answers, w.file()+".answers"), w.o.Cipher
}

// file returns the prefix of the names of this machine's files that belong to this state.
func (w *workspace) file() string {
	of := w.place.String()
	if d, ok := w.place.(Distinct); ok {
		of = d.Distinct()
	}
	return "terraform.tfstate." + hashOf([]byte(of))[:16]
}

// stored is a state and its journal as last read.
type stored struct {
	content Content
	hash    string       // of the content, or "" if there is none
	state   *state.State // nil if there is none
	damaged bool         // the state cannot be read, and the caller handles that
	// outdated means that the state must be encrypted with a new key, or decrypted.
	outdated bool

	raw    Journal
	local  bool            // the journal is on this machine
	parsed *journal.Parsed // nil if there is no journal
	late   []state.Unfolded
	rescue []string // files of this machine with records of the journal

	journal.Overlay
	foreign bool // the journal does not contain the state's hash
	mark    journal.Mark
}

func hashOf(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// read reads the state.
func (w *workspace) read(ctx context.Context, v *stored) (err error) {
	if v.content, err = w.place.Read(ctx); err != nil {
		return &state.ReadError{Err: fmt.Errorf("read the state %s: %w", w.place, err)}
	}
	v.hash = hashOf(v.content.Data)
	if v.hash == "" {
		return nil
	}
	var plain []byte
	if plain, v.outdated, err = w.o.Cipher.Open(ctx, v.content.Data); err == nil {
		v.state, err = state.Decode(plain)
	}
	if err != nil {
		return fmt.Errorf("the state %s cannot be used: %w", w.place, err)
	}
	if v.state.Lineage == "" && v.state.Serial == 0 && v.state.IsEmpty() && len(v.state.Checks()) == 0 {
		v.state = nil
	}
	return nil
}

// readJournal reads the journal, from the service or from this machine.
func (w *workspace) readJournal(ctx context.Context, v *stored) (err error) {
	if v.raw, err = w.place.ReadJournal(ctx); errors.Is(err, ErrNoJournal) {
		v.local = true
		v.raw, err = w.local().read()
	}
	if err != nil {
		return fmt.Errorf("read the journal of %s: %w", w.place, err)
	}
	return nil
}

// parse decodes the journal and applies it to the state.
func (w *workspace) parse(v *stored) error {
	orphans, files, err := w.orphans()
	if err != nil {
		return err
	}
	v.rescue, v.Overlay = files, journal.Overlay{State: v.state, Unfolded: orphans}
	if len(v.raw.Chunks) == 0 {
		return nil
	}
	p, err := journal.Parse(bytes.Join(v.raw.Chunks, nil), w.o.Cipher, nil)
	if err != nil {
		return fmt.Errorf("the journal of %s cannot be read: %w. It was damaged after it was written", w.place, err)
	}
	v.parsed = p
	var own []string
	if v.late, own, err = w.rescued(p); err != nil {
		return err
	}
	v.late, v.rescue = append(v.late, orphans...), append(own, files...)
	switch {
	case v.hash == "" && p.Header.Base == "":
		v.mark = p.Marks[0]
	case p.MarkOf(v.hash) != nil:
		v.mark = *p.MarkOf(v.hash)
	case v.hash == "":
		return fmt.Errorf("the state %s no longer exists, but its journal, which was started when it existed, does. "+
			"Restore the state: the journal is based on serial %d of lineage %q", w.place, p.Header.Serial,
			p.Header.Lineage)
	default:
		v.foreign, v.mark = true, p.LastDone()
	}
	lay := func() (*journal.Overlay, error) {
		if v.damaged {
			return p.Keep(v.mark)
		}
		return p.Lay(v.state, v.mark, v.foreign)
	}
	o, err := lay()
	if err != nil {
		return fmt.Errorf("the journal of %s: %w", w.place, err)
	}
	if len(o.InFlight) > 0 {
		names, err := w.readReplaced(p, o.InFlight)
		if err != nil {
			return err
		}
		if v.rescue = append(v.rescue, names...); len(names) > 0 {
			if o, err = lay(); err != nil {
				return fmt.Errorf("the journal of %s: %w", w.place, err)
			}
		}
	}
	v.Overlay = *o
	v.Unfolded = append(v.Unfolded, v.late...)
	return nil
}

// both reads state and journal concurrently. With damaged set, it accepts a state that cannot be read.
func (w *workspace) both(ctx context.Context, damaged bool) (*stored, error) {
	v := &stored{}
	ctx, cancel := progress.Within(ctx, w.o.Timeout)
	defer cancel()
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { errs[0] = w.read(ctx, v) })
	wg.Go(func() { errs[1] = w.readJournal(ctx, v) })
	wg.Wait()
	if what := (*state.DecodeError)(nil); damaged && errors.As(errs[0], &what) && what.Damage != state.NewerState &&
		what.Damage != state.Encrypted {
		v.damaged, errs[0] = true, nil
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return v, w.parse(v)
}

// readTries limits how often a reader reads again while a run writes.
const readTries = 60

// Read implements state.Workspace. It reads the journal before the state: then the state either contains the journal's
// results, or they can be applied to it, or the state is newer, which is detected.
func (w *workspace) Read(ctx context.Context) (*state.Snapshot, error) {
	pause := w.o.Pause / 100
	for try := 0; ; try++ {
		v, settled, err := w.readOnce(ctx)
		if err == nil && (settled || try == readTries) {
			return w.snapshot(ctx, v)
		}
		if err != nil && (ctx.Err() != nil || try >= 3 || settled) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, w.o.Pause)
	}
}

// readOnce reads once. The result is settled if journal and state match, or if no run is writing.
func (w *workspace) readOnce(ctx context.Context) (v *stored, settled bool, err error) {
	ctx, cancel := progress.Within(ctx, w.o.Timeout)
	defer cancel()
	v = &stored{}
	if err := w.readJournal(ctx, v); err != nil {
		return nil, false, err
	}
	if err := w.read(ctx, v); err != nil {
		return nil, true, err
	}
	err = w.parse(v)
	if err == nil && !v.foreign {
		return v, true, nil
	}
	if len(v.raw.Chunks) == 0 {
		return v, true, err
	}
	again := &stored{}
	if readErr := w.readJournal(ctx, again); readErr != nil {
		return nil, false, readErr
	}
	same := again.raw.Version == v.raw.Version && len(again.raw.Chunks) == len(v.raw.Chunks)
	return v, same, err
}

func (w *workspace) snapshot(ctx context.Context, v *stored) (*state.Snapshot, error) {
	s := &state.Snapshot{State: v.State, InFlight: v.InFlight, Unfolded: v.Unfolded}
	if v.parsed == nil || v.Run.ID == "" {
		return s, nil
	}
	holder, err := w.holder(ctx)
	if err != nil {
		return nil, err
	}
	if holder != nil && holder.ID != "" && holder.ID == lastLock(v.parsed) {
		s.Running = &v.Run
	}
	return s, nil
}

// Holder returns the holder of the lock, or nil if it is free. It takes no lock: if the service can only be asked in
// that way, it returns ErrHolderUnknown.
func (w *workspace) Holder(ctx context.Context) (*state.LockInfo, error) {
	if _, probes := w.place.(Probing); probes {
		return nil, ErrHolderUnknown
	}
	return w.holder(ctx)
}

func (w *workspace) holder(ctx context.Context) (*state.LockInfo, error) {
	ctx, cancel := progress.Within(ctx, w.o.Timeout)
	defer cancel()
	holder, err := w.place.Holder(ctx)
	if err != nil {
		return nil, fmt.Errorf("check who holds the lock of %s: %w", w.place, err)
	}
	return holder, nil
}

// ForceUnlock implements state.Workspace.
func (w *workspace) ForceUnlock(ctx context.Context, id string) error {
	ctx, cancel := progress.Within(ctx, w.o.Timeout)
	defer cancel()
	if err := w.place.ForceUnlock(ctx, id); err != nil {
		return fmt.Errorf("unlock %s: %w", w.place, err)
	}
	return nil
}

// Lock implements state.Workspace.
func (w *workspace) Lock(ctx context.Context, req state.LockRequest) (state.Session, error) {
	if err := w.o.Cipher.Ready(ctx); err != nil {
		return nil, err
	}
	info := req.Info
	info.ID = cmpOr(info.ID, w.o.NewID())
	info.Who, info.Version = cmpOr(info.Who, w.o.Who), cmpOr(info.Version, w.o.Version)
	info.Path = cmpOr(info.Path, w.place.String())
	if info.Created.IsZero() {
		info.Created = w.o.Now().UTC()
	}
	s := &session{w: w, info: info, damaged: req.Damaged, calls: context.WithoutCancel(ctx)}
	s.ctx, s.cancel = context.WithCancelCause(s.calls)
	var err error
	limited, cancel := progress.Within(ctx, w.o.Timeout)
	defer cancel()
	if req.Unlocked {
		s.info = state.LockInfo{}
		s.hold, err = w.place.Unlocked(limited)
	} else {
		s.hold, err = w.lock(limited, info)
		if named, ok := s.hold.(Named); ok && named.ID() != "" {
			s.info.ID = named.ID()
		}
	}
	var locked *state.LockedError
	switch {
	case errors.As(err, &locked):
		return nil, err
	case err != nil:
		return nil, aboutLock(w.place, err)
	}
	if err := s.load(ctx); err != nil {
		return nil, errors.Join(err, s.release())
	}
	s.watch()
	return s, nil
}

// lock acquires the lock. If the response was lost, it checks whether the lock was acquired.
func (w *workspace) lock(ctx context.Context, info state.LockInfo) (Hold, error) {
	hold, err := w.place.Lock(ctx, info)
	var locked *state.LockedError
	if errors.As(err, &locked) && locked.Info != nil && locked.Info.ID == info.ID {
		if err := w.place.ForceUnlock(ctx, info.ID); err != nil {
			return nil, err
		}
		return w.place.Lock(ctx, info)
	}
	return hold, err
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// aboutLock adds the name of the lock to an error that does not contain it.
func aboutLock(place fmt.Stringer, err error) error {
	if strings.HasPrefix(err.Error(), "lock ") {
		return err
	}
	return fmt.Errorf("lock %s: %w", place, err)
}
