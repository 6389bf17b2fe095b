package remote

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/journal"
	"github.com/tombolo-iac/tombolo/state"
)

// lazyBytes is how many bytes of records are collected if no caller waits for them.
const lazyBytes = 256 << 10

// chunks is the journal.Log of a session: records whose callers wait at the same time are sent to the service as one
// chunk. When the service no longer accepts chunks, they go to a file on this machine.
type chunks struct {
	s    *session
	lock string // ID of the lock under which it was begun or sealed

	mu      sync.Mutex
	cond    sync.Cond
	nonce   journal.Nonce
	key     *journal.Key // nil if records are not encrypted
	version string       // of the journal
	n       int          // number of the next chunk
	pending []byte       // encoded, not yet sent
	run     []byte       // record of the current run
	next    uint64       // sequence number of the next record
	durable uint64       // all lower numbers are durable
	total   int64
	busy    bool
	err     error // why the service no longer accepts chunks
	stopped error // why no operation may begin
	lost    error // why records cannot be stored anywhere
	saves   int   // index of the current rescue folder
	rescued []string
	file    store.File // current rescue file
	end     int64      // size of file
}

func newLog(s *session, h journal.Header, key *journal.Key, carried []journal.Record) (c *chunks, first []byte,
	err error) {
	c = &chunks{s: s, lock: s.info.ID, n: 1, key: key}
	c.cond.L = &c.mu
	rand.Read(c.nonce[:])
	payload, err := json.Marshal(h)
	if err != nil {
		return nil, nil, err
	}
	b := append([]byte(journal.Magic), c.nonce[:]...)
	b = journal.Append(b, c.nonce, 0, journal.KindHeader, payload)
	c.next = 1
	for _, r := range carried {
		b = c.key.Append(b, c.nonce, c.next, r.Kind, r.Payload)
		c.next++
	}
	c.durable, c.total = c.next, int64(len(b))
	return c, b, nil
}

// continued returns a log that continues a journal that was read. Records found in files of this machine are written
// with the first chunk.
func (s *session) continued(v *stored) *chunks {
	p := v.parsed
	c := &chunks{s: s, lock: "-", nonce: p.Nonce, key: p.Key, version: v.raw.Version, n: len(v.raw.Chunks),
		next:    p.Next,
		durable: p.Next, total: p.End}
	c.cond.L = &c.mu
	for _, r := range p.Records[p.Own:] {
		c.pending = c.key.Append(c.pending, p.Nonce, r.Seq, r.Kind, r.Payload)
		c.durable = min(c.durable, r.Seq)
	}
	s.rescue = v.rescue
	return c
}

// seal records the new owner of the journal. The former one cannot append any more.
func (c *chunks) seal(info state.LockInfo) error {
	payload, err := json.Marshal(journal.SealRecord{Lock: info.ID, Who: info.Who})
	if err != nil {
		return err
	}
	seq := c.Append(journal.KindSeal, payload)
	c.mu.Lock()
	b := c.pending
	c.pending = nil
	c.mu.Unlock()
	if err := c.s.add(c.version, c.n, b); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n, c.durable, c.lock = c.n+1, seq+1, info.ID
	return nil
}

// Append implements journal.Log.
func (c *chunks) Append(k journal.Kind, payload []byte) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k == journal.KindRun {
		c.run = payload
	}
	before := len(c.pending)
	c.pending = c.key.Append(c.pending, c.nonce, c.next, k, payload)
	c.total += int64(len(c.pending) - before)
	c.next++
	return c.next - 1
}

// Slot implements journal.Log. It reserves no space.
func (c *chunks) Slot(int) {}

// Last implements journal.Log.
func (c *chunks) Last() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next - 1
}

// Size implements journal.Log.
func (c *chunks) Size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// Broken implements journal.Log.
func (c *chunks) Broken() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	return c.stopped
}

// stop prevents new operations.
func (c *chunks) stop(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped == nil {
		c.stopped = err
	}
}

// Wait implements journal.Log.
func (c *chunks) Wait(seq uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.durable <= seq {
		if c.lost != nil {
			return c.lost
		}
		if c.busy {
			c.cond.Wait()
			continue
		}
		c.flush()
	}
	return nil
}

// WritePending implements journal.Log.
func (c *chunks) WritePending() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.busy && c.lost == nil && len(c.pending) > lazyBytes {
		c.flush()
	}
}

// Settled implements journal.Log. Records that no caller waits for are written with the checkpoint.
func (c *chunks) Settled() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.busy {
		c.cond.Wait()
	}
	return c.lost
}

// push writes pending records, for the run that recovers open operations.
func (c *chunks) push() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.busy {
		c.cond.Wait()
	}
	if c.lost == nil && len(c.pending) > 0 {
		c.flush()
	}
	if c.file != nil {
		c.file.Close()
		c.file = nil
	}
}

// flush writes all pending records. It is called with mu held, and releases it while it works.
func (c *chunks) flush() {
	c.busy = true
	b, last, failed := c.pending, c.next, c.err
	c.pending = nil
	c.mu.Unlock()
	if failed == nil {
		failed = c.s.awake()
	}
	if failed == nil {
		failed = c.s.add(c.version, c.n, b)
	}
	if errors.Is(failed, ErrLost) || errors.Is(failed, ErrChanged) {
		c.s.cancel(fmt.Errorf("the journal of %s cannot be continued: %w", c.s.w.place, failed))
	}
	var lost error
	if failed != nil {
		lost = c.save(b, errors.Is(failed, errRemoved))
	}
	c.mu.Lock()
	c.busy = false
	if c.err == nil {
		c.err = failed
	}
	if failed == nil {
		c.n++
	}
	if lost != nil {
		c.lost = fmt.Errorf("%w; and on this machine: %w", failed, lost)
	} else {
		c.durable = last
	}
	c.cond.Broadcast()
}

// save durably appends records to a file on this machine. If a folder fails, it uses the next one. Only the goroutine
// that set busy calls it. gone means that the journal was removed.
func (c *chunks) save(b []byte, gone bool) error {
	err := errors.New("there is no folder for it")
	for ; c.saves < len(c.s.w.o.Rescue); c.saves++ {
		path := rescuePath(c.s.w.o.Rescue[c.saves], c.nonce)
		if err = c.saveIn(path, b, gone); err == nil {
			return nil
		}
		if c.file != nil {
			c.file.Close()
			c.file = nil
		}
	}
	return err
}

func (c *chunks) saveIn(path string, b []byte, gone bool) (err error) {
	if c.file == nil {
		if c.file, err = c.s.w.o.Files.Open(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
			c.file = nil
			return err
		}
		c.rescued = append(c.rescued, path)
		head := append([]byte(journal.Magic), c.nonce[:]...)
		c.mu.Lock()
		saved := journal.Saved{Place: c.s.w.file(), Gone: gone}
		if c.key != nil {
			saved.Key = c.key.Sealed
		}
		if c.run != nil && json.Unmarshal(c.run, &saved.RunInfo) == nil {
			if run, err := json.Marshal(saved); err == nil {
				head = journal.Append(head, c.nonce, 0, journal.KindRun, run)
			}
		}
		c.mu.Unlock()
		b, c.end = append(head, b...), 0
	}
	if _, err := c.file.WriteAt(b, c.end); err != nil {
		return errors.Join(err, store.RemoveBlank(c.s.w.o.Files, c.file, path))
	}
	c.end += int64(len(b))
	return errors.Join(c.file.Sync(), c.s.w.o.Files.SyncDir(filepath.Dir(path)))
}

// rescuePath returns the name of a rescue file in a folder.
func rescuePath(folder string, n journal.Nonce) string {
	return filepath.Join(folder, fmt.Sprintf("terraform.tfstate.%x.journal", n[:]))
}

// saved returns the error of a run whose state could not be stored.
func (c *chunks) saved(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &state.SavedError{Where: append([]string{"the journal of " + c.s.w.place.String()}, c.rescued...), Err: err}
	if errors.Is(err, errRemoved) && len(c.rescued) > 0 {
		e.Where = c.rescued
	}
	machine := ""
	if len(c.rescued) > 0 {
		machine = " on this machine"
	}
	var conflict *state.ConflictError
	switch {
	case errors.Is(err, ErrLost), errors.Is(err, ErrChanged), errors.As(err, &conflict):
		e.Then = "Run any command that locks the state" + machine +
			", such as plan: it recovers them, and reports what conflicts with other runs since then"
	default:
		e.Then = "When the service can be reached again, run any command that locks the state" + machine +
			", such as plan: it recovers them"
	}
	if machine != "" {
		e.Then += ". Do not apply until then"
	}
	return e
}

// rescued reads this machine's rescue files for a journal. It adds records that continue the journal. If another run
// has continued the journal meanwhile, it returns the results, about which a person must decide.
func (w *workspace) rescued(p *journal.Parsed) (late []state.Unfolded, names []string, err error) {
	for _, folder := range w.o.Rescue {
		name := rescuePath(folder, p.Nonce)
		b, err := store.ReadFile(w.o.Files, name, regular.State)
		if err != nil {
			return nil, nil, err // the file may contain results
		}
		if b == nil {
			continue
		}
		unfolded, err := p.Resume(b)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		late, names = append(late, unfolded...), append(names, name)
	}
	return late, names, nil
}

// readReplaced reads results of operations in flight from files of this machine that belong to another journal, which
// was replaced since. It returns the names of these files.
func (w *workspace) readReplaced(p *journal.Parsed, inFlight []state.InFlight) (names []string, err error) {
	own := filepath.Base(rescuePath("", p.Nonce))
	for _, folder := range w.o.Rescue {
		all, err := w.o.Files.List(folder)
		if err != nil {
			continue // missing or invalid: then no results were saved in it
		}
		for _, info := range all {
			if info.Name == own || !isRescue(folder, info) {
				continue
			}
			name := filepath.Join(folder, info.Name)
			b, err := store.ReadFile(w.o.Files, name, regular.State)
			if err != nil {
				continue // file of another state
			}
			adopted, err := p.Adopt(b, inFlight)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if adopted {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// orphans returns the results in files of this machine whose journal was removed from the service, and the names of the
// files.
func (w *workspace) orphans() (results []state.Unfolded, names []string, err error) {
	for _, folder := range w.o.Rescue {
		all, err := w.o.Files.List(folder)
		if err != nil {
			continue // missing or invalid: then no results were saved in it
		}
		for _, info := range all {
			if !isRescue(folder, info) {
				continue
			}
			name := filepath.Join(folder, info.Name)
			b, err := store.ReadFile(w.o.Files, name, regular.State)
			if err != nil {
				continue // file of another state
			}
			found, err := journal.Orphaned(b, w.file(), w.o.Cipher)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
			if len(found) > 0 {
				results, names = append(results, found...), append(names, name)
			}
		}
	}
	return results, names, nil
}

// isRescue reports whether a file in a folder may be a rescue file. Files of other users are ignored.
func isRescue(folder string, file store.Info) bool {
	return file.Mode.IsRegular() && rescueName().MatchString(file.Name) && !store.Foreign(folder, file)
}

// rescueName matches the names of rescue files.
var rescueName = regex.Lazy(`^terraform\.tfstate\.[0-9a-f]{16}\.journal$`)
