package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/journal"
	"github.com/tombolo-iac/tombolo/state"
)

// write stores a state: a checkpoint in the journal, then the conditional write. The state contains all records of the
// journal up to covers. After an error the old or the new content is stored, and no operation may begin in this
// session. It is called with mu held.
func (s *session) write(st *state.State, covers uint64) (err error) {
	defer func() {
		if err != nil {
			s.log.stop(err)
		}
	}()
	var b bytes.Buffer
	if err := st.Encode(&b); err != nil {
		return err
	}
	data, err := s.w.o.Cipher.Seal(s.calls, b.Bytes(), &st.Lineage, st.Serial)
	if err != nil {
		return err
	}
	mark := journal.Checkpoint{Serial: st.Serial, Hash: hashOf(data), Size: int64(len(data)), Covers: covers}
	payload, err := json.Marshal(mark)
	if err != nil {
		return err
	}
	if err := s.log.Wait(s.log.Append(journal.KindCheckpoint, payload)); err != nil {
		return err
	}
	if err := s.log.Broken(); err != nil {
		return err // the journal continues elsewhere, where readers do not look for it
	}
	version, err := s.put(Write{Data: data, Was: s.content.Version, Lineage: st.Lineage, Serial: st.Serial,
		Revision: s.revision(st), Document: s.document(st)})
	if err != nil {
		return err
	}
	s.base, s.hash, s.content.Version, s.size, s.outdated = st, mark.Hash, version, mark.Size, false
	s.log.Append(journal.KindDone, payload)
	return nil
}

// Render sets how a state is displayed, for services that do so. It is not used if states are encrypted.
func (s *session) Render(render func(*state.State) ([]byte, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.render = render
}

// document returns the Document of a write.
func (s *session) document(st *state.State) func() []byte {
	if s.render == nil || s.w.o.Cipher.Seals() {
		return nil
	}
	return func() []byte {
		text, err := s.render(st)
		if err != nil {
			return nil // the state is stored without it
		}
		return text
	}
}

// patience is how long a call with an unknown result is retried. Drivers also retry each call themselves.
const patience = 20 * time.Second

// tries yields the numbers of the tries that the options allow, with a doubling pause before each retry, until the time
// is over.
func (o *Options) tries() iter.Seq[int] {
	return func(yield func(int) bool) {
		began := time.Now()
		for try := range o.Tries {
			if try > 0 {
				if time.Since(began) > patience {
					return
				}
				time.Sleep(o.Pause << (try - 1))
			}
			if !yield(try) {
				return
			}
		}
	}
}

// put sends a conditional write, and retries it while its result is unknown.
func (s *session) put(w Write) (version string, err error) {
	for range s.w.o.tries() {
		if version, err = s.putOnce(w); err == nil || errors.Is(err, ErrChanged) || errors.Is(err, ErrLost) {
			break
		}
	}
	switch {
	case err == nil:
		return version, nil
	case errors.Is(err, ErrLost):
		s.cancel(err)
		return "", fmt.Errorf("write the state %s: %w", s.w.place, err)
	case errors.Is(err, ErrChanged):
		return "", s.conflict()
	}
	return "", fmt.Errorf("write the state %s: %w", s.w.place, err)
}

func (s *session) putOnce(w Write) (string, error) {
	ctx, cancel := s.call()
	defer cancel()
	version, err := s.hold.Write(ctx, w)
	if err == nil {
		return version, nil
	}
	// The response may have been lost, and a retry of the driver may have met the effect of its first try.
	there, readErr := s.w.place.Read(ctx)
	var unfinished *UnfinishedError
	switch {
	case readErr != nil:
		return "", unknown(err, readErr)
	case errors.As(err, &unfinished) && (there.Version == w.Was || bytes.Equal(there.Data, w.Data)):
		return "", err
	case there.Version != w.Was && bytes.Equal(there.Data, w.Data):
		return there.Version, nil
	case there.Version != w.Was && !errors.Is(err, ErrLost):
		return "", ErrChanged
	}
	return "", err
}

// unknown returns the error of a write with an unknown result. A refusal proves nothing by itself: it may be the
// response to a retry after a successful first try.
func unknown(err, readErr error) error {
	if errors.Is(err, ErrChanged) {
		return readErr
	}
	return err
}

// conflict returns the error that describes the content which another run has stored.
func (s *session) conflict() error {
	c := &state.ConflictError{Found: "other content", Expected: "the content from when the lock was acquired",
		Advice: "Another program wrote the state during this run, despite the lock. Check what it changed, then run " +
			"again: the results of this run are kept, and will be merged into the new state"}
	ctx, cancel := s.call()
	defer cancel()
	v := &stored{}
	if err := s.w.read(ctx, v); err == nil && v.state != nil {
		c.Found = fmt.Sprintf("serial %d of lineage %q", v.state.Serial, v.state.Lineage)
	} else if err == nil {
		c.Found = "no state"
	}
	if s.base != nil {
		c.Expected = fmt.Sprintf("serial %d of lineage %q as it was read", s.base.Serial, s.base.Lineage)
	}
	return c
}

// revision describes the changes of a state compared with the stored one.
func (s *session) revision(st *state.State) history.Revision {
	r := history.Revision{Run: s.run, Who: cmpOr(s.info.Who, s.w.o.Who), Version: s.w.o.Version, Commit: s.w.o.Commit}
	return r.Made(s.info.Operation, s.base, st)
}

// settle completes a change of the journal: if no operation is open, the journal ends; otherwise a new one contains
// those that are. It is called with mu held.
func (s *session) settle() error {
	if s.log == nil {
		return nil
	}
	if err := s.log.Broken(); err != nil {
		return err // the journal contains results that the state lacks
	}
	open := s.open.Len()
	if !s.written && open > 0 {
		return nil
	}
	if open > 0 {
		records, err := s.open.Carry()
		if err != nil {
			return err
		}
		if err := s.begin(records); err != nil {
			return err
		}
		s.written = false
	} else {
		version, err := s.start(s.version, nil)
		if err != nil {
			return err
		}
		s.version, s.log, s.written = version, nil, false
	}
	for _, name := range s.rescue {
		if err := s.w.o.Files.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	s.rescue = nil
	return nil
}

// ensureLog creates the journal if there is none, and seals a continued one. It is called with mu held.
func (s *session) ensureLog() error {
	if s.lineage == "" {
		if s.lineage = lineageOf(s.base); s.lineage == "" {
			s.lineage = s.w.o.NewID()
		}
	}
	s.written = true
	if s.log == nil {
		err := s.begin(nil)
		if errors.Is(err, ErrChanged) {
			return &state.LockedError{Err: fmt.Errorf("another run writes the journal of %s: %w", s.w.place, err)}
		}
		return err
	}
	if s.log.lock == s.info.ID {
		return nil
	}
	return s.log.seal(s.info)
}

// begin replaces the stored journal with a new one.
func (s *session) begin(carried []journal.Record) error {
	key, err := journal.NewKey(s.w.o.Cipher)
	if err != nil {
		return err
	}
	h := journal.NewHeader(key)
	h.Lineage, h.Base, h.Created, h.Rescue = s.lineage, s.hash, s.w.o.Now(), s.w.o.Rescue
	h.Host, h.Lock = hostName(), s.info.ID
	if s.base != nil {
		h.Serial = s.base.Serial
	}
	log, first, err := newLog(s, h, key, carried)
	if err != nil {
		return err
	}
	if _, local := s.hold.(*localJournal); local && s.alone == nil {
		if s.alone, err = s.w.alone(); err != nil {
			return err
		}
	}
	if log.version, err = s.start(s.version, first); err != nil {
		return fmt.Errorf("begin the journal of %s: %w", s.w.place, err)
	}
	s.version, s.log = log.version, log
	return nil
}

// start is StartJournal with retries while its result is unknown.
func (s *session) start(was string, first []byte) (version string, err error) {
	for range s.w.o.tries() {
		if version, err = s.startOnce(was, first); err == nil || errors.Is(err, ErrChanged) ||
			errors.Is(err, ErrLost) {
			break
		}
	}
	if errors.Is(err, ErrLost) {
		s.cancel(err)
	}
	return version, err
}

func (s *session) startOnce(was string, first []byte) (string, error) {
	ctx, cancel := s.call()
	defer cancel()
	version, err := s.hold.StartJournal(ctx, was, first)
	if err == nil {
		return version, nil
	}
	there, readErr := s.readJournal(ctx)
	switch {
	case readErr != nil:
		return "", unknown(err, readErr)
	case there.Version == was:
		return "", err
	case first == nil && len(there.Chunks) == 0,
		first != nil && len(there.Chunks) == 1 && bytes.Equal(there.Chunks[0], first):
		return there.Version, nil
	case errors.Is(err, ErrLost):
		return "", err
	}
	return "", ErrChanged
}

func (s *session) readJournal(ctx context.Context) (Journal, error) {
	v := &stored{}
	err := s.w.readJournal(ctx, v)
	return v.raw, err
}

// add is Append with retries while its result is unknown.
func (s *session) add(version string, n int, chunk []byte) (err error) {
	for range s.w.o.tries() {
		if err = s.addOnce(version, n, chunk); err == nil || errors.Is(err, ErrChanged) || errors.Is(err, ErrLost) {
			break
		}
	}
	return err
}

func (s *session) addOnce(version string, n int, chunk []byte) error {
	ctx, cancel := s.call()
	defer cancel()
	err := s.hold.Append(ctx, version, n, chunk)
	if err == nil {
		return nil
	}
	there, readErr := s.readJournal(ctx)
	switch {
	case readErr != nil:
		return unknown(err, readErr)
	case there.Version == version && len(there.Chunks) > n && bytes.Equal(there.Chunks[n], chunk):
		return nil
	case there.Version != version || len(there.Chunks) > n:
		if errors.Is(err, ErrLost) {
			return err
		}
		if there.Version == "" {
			return errRemoved
		}
		return ErrChanged
	}
	return err
}

// errRemoved is the ErrChanged of a journal that was removed with all earlier ones.
var errRemoved error = removedError{}

type removedError struct{}

func (removedError) Error() string {
	return "it was removed during the run, perhaps with its workspace"
}

func (removedError) Is(target error) bool { return target == ErrChanged }

// sealed reports whether the last record of a journal names its owner.
func sealed(p *journal.Parsed) bool {
	return len(p.Records) > 0 && p.Records[len(p.Records)-1].Kind == journal.KindSeal
}

// lastLock returns the ID of the lock under which a journal was last continued.
func lastLock(p *journal.Parsed) string {
	for _, r := range slices.Backward(p.Records) {
		var s journal.SealRecord
		if r.Kind == journal.KindSeal && json.Unmarshal(r.Payload, &s) == nil {
			return s.Lock
		}
	}
	return p.Header.Lock
}

func hostName() string {
	host, _ := os.Hostname()
	return host
}
