package store

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/journal"
	"github.com/tombolo-iac/tombolo/state"
)

// Space is reserved for the journal in advance, so that results of operations in flight can be recorded when the disk
// is full.
const (
	reserveStep = 1 << 20
	slotSize    = 64 << 10 // for one operation in flight
	lazyBytes   = 64 << 10 // records that no caller waits for are written when there are this many bytes,
	lazyTime    = 20 * time.Millisecond
	maxUnsynced = 4 << 20 // and synced at this many
)

// wal is the append-only file of a journal. Append puts a record into memory; Wait makes it durable. Of several
// concurrent callers of Wait, one writes and syncs for all (group commit).
//
// After the first error of its file, the wal never uses that file again: records that are not durable, and all later
// ones, go to a rescue file in another folder.
type wal struct {
	files  Files
	path   string
	info   Info             // of f, to check whether the name still refers to it
	share  func(File) error // gives a file the permissions of the state
	lax    bool             // work without a lock if the file system has none
	rescue []string         // names of rescue files

	mu       sync.Mutex
	cond     sync.Cond
	f        File
	nonce    journal.Nonce
	key      *journal.Key // nil if records are not encrypted
	pending  []byte       // encoded, not yet written to the file
	since    time.Time    // time of the oldest pending record
	unsynced []byte       // written to the file since the last sync
	off      int64        // offset of the next write
	next     uint64       // sequence number of the next record
	durable  uint64       // all lower numbers are durable
	marked   uint64       // all lower numbers are durable according to a record
	busy     bool         // a goroutine is writing
	slots    int          // operations in flight

	reserved  int64
	err       error // why the file is no longer used
	full      error // why no operation may begin although the file still works
	whole     bool  // the file was removed: its entire content goes elsewhere
	rescueAt  int   // index of the current rescue file
	rescueOff int64
	rescued   []string // rescue files with records
	lost      error    // why records cannot be stored anywhere
}

// createWAL creates a journal file under a temporary name, with a header and the records carried over, and renames it
// into place, locked and durable. To replace a journal, the caller must hold its lock; otherwise an existing journal
// belongs to another run, and createWAL returns ErrLocked.
func createWAL(s *session, carried []journal.Record, replace bool) (w *wal, err error) {
	o, p := s.w.o, s.w.p
	key, err := journal.NewKey(o.Cipher)
	if err != nil {
		return nil, err
	}
	h := s.header(key)
	f, err := fresh(o.Files, p.journalNew, s.lax)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if _, err := o.Files.Stat(p.journal); !replace && !isMissing(err) {
		return nil, errors.Join(ErrLocked, o.Files.Remove(p.journalNew))
	}
	w = &wal{files: o.Files, path: p.journal, f: f, share: s.share, lax: s.lax, key: key}
	w.cond.L = &w.mu
	rand.Read(w.nonce[:])
	w.rescue = rescuePaths(h.Rescue, p, w.nonce)
	if err := w.begin(p, h, carried); err != nil {
		return nil, err
	}
	if replace {
		err = o.Files.Rename(p.journalNew, p.journal)
	} else if err = o.Files.RenameNew(p.journalNew, p.journal); errors.Is(err, fs.ErrExist) {
		err = errors.Join(ErrLocked, o.Files.Remove(p.journalNew))
	}
	if err != nil {
		return nil, err
	}
	// The file is in place: from here on it is the journal, even if its name may not survive a crash of the system.
	if err := o.Files.SyncDir(p.dir); err != nil {
		w.stop(err)
	}
	return w, nil
}

// begin writes the header and the records carried over. The file is renamed when everything is durable and marked as
// such.
func (w *wal) begin(p paths, h journal.Header, carried []journal.Record) error {
	payload, err := json.Marshal(h)
	if err != nil {
		return err
	}
	b := append([]byte(journal.Magic), w.nonce[:]...)
	b = journal.Append(b, w.nonce, 0, journal.KindHeader, payload)
	w.next = 1
	for _, r := range carried {
		b = w.key.Append(b, w.nonce, w.next, r.Kind, r.Payload)
		w.next++
	}
	if b, err = w.mark(b, w.next); err != nil {
		return err
	}
	if err := w.share(w.f); err != nil {
		return err
	}
	if _, err := w.f.WriteAt(b, 0); err != nil {
		return err
	}
	w.off, w.durable = int64(len(b)), w.next
	if err := w.f.Sync(); err != nil {
		return err
	}
	w.info, err = w.f.Stat()
	return err
}

// mark appends a record which states that all records below are durable. With it, a gap before it means damage, because
// a power loss only removes records that were never durable. It is called with mu held, or before other goroutines have
// the wal.
func (w *wal) mark(b []byte, below uint64) ([]byte, error) {
	payload, err := json.Marshal(journal.DurableRecord{Below: below})
	if err != nil {
		return b, err
	}
	b = journal.Append(b, w.nonce, w.next, journal.KindDurable, payload)
	w.next++
	w.marked = below
	return b, nil
}

// continueWAL continues a journal that was read; f is its locked file. It first appends records that were read from
// rescue files, and removes these files.
func continueWAL(s *session, f File, j *journal.Parsed) (_ *wal, err error) {
	o, p := s.w.o, s.w.p
	w := &wal{files: o.Files, path: p.journal, f: f, share: s.share, lax: s.lax, nonce: j.Nonce, key: j.Key,
		rescue: rescuePaths(j.Header.Rescue, p, j.Nonce), off: j.End, next: j.Next, durable: j.Next}
	w.cond.L = &w.mu
	if w.info, err = f.Stat(); err != nil {
		return nil, err
	}
	if err := f.Truncate(j.End); err != nil { // remove the bytes after the valid prefix
		return nil, err
	}
	var b []byte
	for _, r := range j.Records[j.Own:] {
		b = j.Key.Append(b, j.Nonce, r.Seq, r.Kind, r.Payload)
	}
	if len(b) > 0 {
		if _, err := f.WriteAt(b, j.End); err != nil {
			return nil, err
		}
		w.off += int64(len(b))
	}
	// The process that wrote these records may have died before its sync, so they may not be durable yet.
	if err := f.Sync(); err != nil {
		return nil, err
	}
	if err := o.Files.SyncDir(p.dir); err != nil {
		return nil, err
	}
	for _, path := range w.rescue {
		if err := removeAny(o.Files, path); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func rescuePaths(folders []string, p paths, n journal.Nonce) (all []string) {
	for _, folder := range folders {
		all = append(all, rescuePath(folder, p.out, n))
	}
	return all
}

func rescuePath(folder, out string, n journal.Nonce) string {
	return filepath.Join(folder, fmt.Sprintf("%s.%x.journal", filepath.Base(out), n[:]))
}

// openLocked opens and locks a file, and checks that the name still refers to it. With lax set, it skips the lock if
// the file system does not support locks.
func openLocked(files Files, name string, flag int, perm os.FileMode, lax bool) (File, error) {
	for range 100 {
		f, err := files.Open(name, flag, perm)
		if err != nil {
			return nil, err
		}
		if err := f.Lock(); err != nil && !(lax && errors.Is(err, ErrNoLocks)) {
			f.Close()
			return nil, err
		}
		mine, err := f.Stat()
		there, statErr := files.Stat(name)
		if err == nil && statErr == nil && SameFile(mine, there) {
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s is repeatedly replaced by another program", name)
}

// Append queues a record and returns its sequence number.
func (w *wal) Append(k journal.Kind, payload []byte) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) == 0 {
		w.since = time.Now()
	}
	w.pending = w.key.Append(w.pending, w.nonce, w.next, k, payload)
	w.next++
	return w.next - 1
}

// Slot changes the number of operations in flight, for which space is reserved.
func (w *wal) Slot(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slots += n
}

// Last returns the number of the last record.
func (w *wal) Last() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next - 1
}

// Broken returns the first reason why no operation may begin.
func (w *wal) Broken() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	return w.full
}

// stop prevents new operations.
func (w *wal) stop(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.full == nil {
		w.full = err
	}
}

// Wait returns when the record is durable.
func (w *wal) Wait(seq uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.durable <= seq {
		if w.lost != nil {
			return w.lost
		}
		if w.busy {
			w.cond.Wait()
			continue
		}
		w.flush(true)
	}
	return nil
}

// push writes pending records to the file, so that they survive the end of the process.
func (w *wal) push() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.busy {
		w.cond.Wait()
	}
	if w.lost == nil {
		w.flush(false)
	}
}

// WritePending writes pending records if there are many or if they are old, for records that no caller waits for.
func (w *wal) WritePending() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.busy && w.lost == nil && (len(w.pending) > lazyBytes || time.Since(w.since) > lazyTime) {
		w.flush(len(w.unsynced) > maxUnsynced)
	}
}

// flush writes all pending records to the file, and syncs it if requested. It is called with mu held, and releases it
// while it works.
func (w *wal) flush(sync bool) {
	w.busy = true
	if sync && len(w.pending) > 0 && w.durable > w.marked {
		w.pending, _ = w.mark(w.pending, w.durable) // the mark is optional
	}
	last, off, start := w.next, w.off, len(w.unsynced)
	w.unsynced = append(w.unsynced, w.pending...)
	w.off += int64(len(w.pending))
	w.pending = w.pending[:0]
	failed := w.err
	need := w.off + int64((w.slots+2)*slotSize)
	if w.off > journal.MaxSize && failed == nil {
		failed = journal.ErrLong // another file gets the rest
	}
	w.mu.Unlock()

	var full error
	if failed == nil {
		full = w.keepReserve(need)
		failed = w.write(w.unsynced[start:], off, sync)
		if failed == nil && sync {
			failed = w.there(off + int64(len(w.unsynced)-start))
		}
	}
	var lost error
	if failed != nil {
		lost = w.elsewhere()
	}

	w.mu.Lock()
	w.busy = false
	if w.full == nil {
		w.full = full
	}
	if w.err == nil {
		w.err = failed
	}
	if lost != nil {
		w.lost = fmt.Errorf("%w; and no other folder could be used: %w", w.err, lost)
	} else if sync || failed != nil {
		w.durable, w.unsynced = last, w.unsynced[:0]
	}
	w.cond.Broadcast()
}

// Settled makes all records durable, and checks once more that the file still has its name.
func (w *wal) Settled() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.busy {
		w.cond.Wait()
	}
	if w.lost == nil {
		w.flush(true)
	}
	return w.lost
}

// there ensures that the file, which ends at an offset, still exists under its name. If another program has removed it,
// there writes it again. Only the goroutine that set busy calls it.
func (w *wal) there(end int64) error {
	there, err := w.files.Stat(w.path)
	switch {
	case err == nil && SameFile(there, w.info):
		return nil
	case err == nil:
		w.whole = true
		return fmt.Errorf("another program has replaced the journal %s", w.path)
	case !isGone(err):
		return nil // the disk cannot report it, and the open file was just written
	}
	if err := w.recreate(end); err != nil {
		w.whole = true
		return fmt.Errorf("the journal %s was removed by another program, and cannot be written again: %w", w.path, err)
	}
	return nil
}

// recreate copies the content of the file, which was removed, to a new file with its name.
func (w *wal) recreate(end int64) error {
	temp := w.path + ".new"
	f, err := fresh(w.files, temp, w.lax)
	if err != nil {
		return err
	}
	steps := []func() error{
		func() error { return w.share(f) },
		func() error {
			_, err := io.Copy(io.NewOffsetWriter(f, 0), io.NewSectionReader(w.f, 0, end))
			return err
		},
		f.Sync,
		func() (err error) { w.info, err = f.Stat(); return err },
		func() error { return w.files.RenameNew(temp, w.path) },
		func() error { return w.files.SyncDir(filepath.Dir(w.path)) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			f.Close()
			return err
		}
	}
	old := w.f
	w.mu.Lock()
	w.f = f
	w.mu.Unlock()
	w.reserved = 0
	return old.Close()
}

func (w *wal) write(b []byte, off int64, sync bool) error {
	if len(b) > 0 {
		if _, err := w.f.WriteAt(b, off); err != nil {
			return err
		}
	}
	if sync {
		return w.f.Sync()
	}
	return nil
}

// keepReserve reserves space for operations in flight after the end of the file. Only the goroutine that set busy calls
// it.
func (w *wal) keepReserve(need int64) error {
	if need <= w.reserved {
		return nil
	}
	if err := w.f.Reserve(need + reserveStep); err != nil {
		if less := w.f.Reserve(need); less != nil {
			return fmt.Errorf("reserve space for the journal: %w", err)
		}
		w.reserved = need
		return nil
	}
	w.reserved = need + reserveStep
	return nil
}

// elsewhere saves the records that are not durable in another folder, or all records if the file was removed. Only the
// goroutine that set busy calls it.
func (w *wal) elsewhere() error {
	if !w.whole || w.rescueOff > 0 {
		return w.save(w.unsynced)
	}
	w.mu.Lock()
	end := w.off
	w.mu.Unlock()
	b := make([]byte, end)
	if _, err := io.ReadFull(io.NewSectionReader(w.f, 0, end), b); err != nil {
		return err
	}
	return w.save(b[journal.PrefixSize:])
}

// save durably appends records to a rescue file. If a folder fails, it uses the next one. Only the goroutine that set
// busy calls it.
func (w *wal) save(b []byte) error {
	err := fmt.Errorf("there is none")
	for ; w.rescueAt < len(w.rescue); w.rescueAt, w.rescueOff = w.rescueAt+1, 0 {
		path := w.rescue[w.rescueAt]
		if err = w.saveAt(path, b); err == nil {
			if len(w.rescued) == 0 || w.rescued[len(w.rescued)-1] != path {
				w.rescued = append(w.rescued, path)
			}
			return nil
		}
	}
	return err
}

func (w *wal) saveAt(path string, b []byte) error {
	flag := os.O_RDWR
	if w.rescueOff == 0 {
		flag |= os.O_CREATE | os.O_EXCL
	}
	f, err := w.files.Open(path, flag, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if w.rescueOff == 0 {
		_ = w.share(f) // without the state's permissions, only the user can read the file
		b = append(append([]byte(journal.Magic), w.nonce[:]...), b...)
	}
	if _, err := f.WriteAt(b, w.rescueOff); err != nil {
		return errors.Join(err, RemoveBlank(w.files, f, path))
	}
	if err := f.Sync(); err != nil {
		return err
	}
	w.rescueOff += int64(len(b))
	return w.files.SyncDir(filepath.Dir(path))
}

// saved returns the error of a run whose results are in the journal. It checks every location that the error names. If
// the journal was removed, it saves the results in another folder.
func (w *wal) saved(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.busy {
		w.cond.Wait()
	}
	there, statErr := w.files.Stat(w.path)
	found := statErr == nil && SameFile(there, w.info)
	var lost error
	if !found && len(w.rescued) == 0 && w.lost == nil {
		w.whole, w.busy = true, true
		w.mu.Unlock()
		lost = w.elsewhere()
		w.mu.Lock()
		w.busy = false
		w.cond.Broadcast()
	}
	if w.whole && len(w.rescued) > 0 {
		all := w.rescued[0]
		return &state.SavedError{Where: w.rescued, Err: err,
			Then: fmt.Sprintf("Restore the files next to the state that were removed or replaced. Then move %s to "+
				"%s, and run any command that locks the state, such as plan: it recovers them", all, w.path)}
	}
	switch {
	case found:
	case statErr != nil && !isGone(statErr):
		return fmt.Errorf("%w; and it is not known whether the results of this run are in the journal %s: %w", err,
			w.path, errors.Join(statErr, lost))
	default:
		return errors.Join(fmt.Errorf("%w; and the journal %s with the results of this run was removed by another "+
			"program", err, w.path), lost)
	}
	return &state.SavedError{Where: append([]string{w.path}, w.rescued...), Err: err}
}

// Size returns how many bytes were appended.
func (w *wal) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.off + int64(len(w.pending))
}

// close closes the file and releases its lock.
func (w *wal) close() error { return w.f.Close() }
