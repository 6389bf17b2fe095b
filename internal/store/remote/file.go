package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/journal"
	"github.com/tombolo-iac/tombolo/state"
)

// alone is the lock on a journal in a file of this machine. It is held for the entire session: otherwise another run
// would take the journal of a running one for that of an interrupted one.
type alone struct {
	files store.Files
	name  string
	file  store.File
}

// alone acquires the lock. A read-only place needs none.
func (w *workspace) alone() (*alone, error) {
	a := &alone{files: w.o.Files, name: filepath.Join(w.o.Journals, w.file()+".lock")}
	var err error
	a.file, err = store.Fresh(a.files, a.name)
	switch {
	case errors.Is(err, store.ErrLocked):
		return nil, &state.LockedError{Err: fmt.Errorf("another run uses the journal of %s, which is in %s: %w",
			w.place, filepath.Dir(a.name), err)}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EROFS):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return a, nil
}

// release releases the lock. A lock file that cannot be removed is replaced by the next run.
func (a *alone) release() {
	if a != nil {
		_ = a.files.Remove(a.name)
		_ = a.file.Close()
	}
}

// local returns the journal of a backend that cannot store one: a file on this machine.
func (w *workspace) local() journalFile {
	return journalFile{w.o.Files, filepath.Join(w.o.Journals, w.file()+".journal")}
}

// journalFile is a journal in a single file. Its content is read as one chunk.
type journalFile struct {
	files store.Files
	name  string
}

func (f journalFile) read() (j Journal, err error) {
	b, err := store.ReadFile(f.files, f.name, regular.State)
	if err != nil || b == nil {
		return j, err
	}
	return Journal{Version: versionOf(b), Chunks: [][]byte{b}}, nil
}

// versionOf returns the nonce of a journal, which is unique.
func versionOf(b []byte) string { return fmt.Sprintf("%x", b[:min(len(b), journal.PrefixSize)]) }

// localJournal is a hold whose journal is a file on this machine.
type localJournal struct {
	Hold
	path journalFile
	end  int64 // offset of the end of the valid records
}

// lockWait is how long another run may lock the journal, which it does for a single write.
const lockWait = 30 * time.Second

// locked calls do with the locked file and its prefix, so that no other run writes or replaces it meanwhile. It returns
// ErrChanged if the journal has another version or does not exist.
func (f journalFile) locked(ctx context.Context, version string, do func(_ store.File, head []byte) error) error {
	for began := time.Now(); ; {
		file, err := store.OpenLocked(f.files, f.name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return ErrChanged
		case errors.Is(err, store.ErrLocked) && time.Since(began) < lockWait:
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(lockWait / 3000):
			}
			continue
		case err != nil:
			return err
		}
		head := make([]byte, journal.PrefixSize)
		if _, err = file.ReadAt(head, 0); err == nil && versionOf(head) != version {
			err = ErrChanged
		}
		if err == nil {
			err = do(file, head)
		}
		return errors.Join(err, file.Close())
	}
}

// StartJournal implements Hold.
func (l *localJournal) StartJournal(ctx context.Context, was string, first []byte) (string, error) {
	if was == "" {
		return l.begin(first)
	}
	err := l.path.locked(ctx, was, func(store.File, []byte) error {
		if first != nil {
			return l.path.replace(first, l.path.files.Rename)
		}
		if err := l.path.files.Remove(l.path.name); err != nil {
			return err
		}
		return l.path.files.SyncDir(filepath.Dir(l.path.name))
	})
	if err != nil || first == nil {
		return "", err
	}
	l.end = int64(len(first))
	return versionOf(first), nil
}

// begin creates the journal if there is none.
func (l *localJournal) begin(first []byte) (string, error) {
	there, err := l.path.read()
	switch {
	case err != nil:
		return "", err
	case there.Version != "":
		return "", ErrChanged
	case first == nil:
		return "", nil
	}
	err = l.path.replace(first, l.path.files.RenameNew)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, store.ErrLocked) {
		return "", ErrChanged
	}
	l.end = int64(len(first))
	return versionOf(first), err
}

// replace atomically replaces the content of the file.
func (f journalFile) replace(content []byte, rename func(old, name string) error) error {
	temp := f.name + ".new"
	file, err := store.Fresh(f.files, temp)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(content, 0)
	if err = errors.Join(err, file.Sync()); err == nil {
		err = rename(temp, f.name)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return f.files.SyncDir(filepath.Dir(f.name))
}

// Append implements Hold. It ignores the number of the chunk; instead, the file must have no record at the chunk's
// offset. Leftovers of a killed run or a full disk are overwritten.
func (l *localJournal) Append(ctx context.Context, version string, _ int, chunk []byte) error {
	return l.path.locked(ctx, version, func(f store.File, head []byte) error {
		if other, err := l.goneOn(f, head, chunk); other || err != nil {
			return errors.Join(err, changedIf(other))
		}
		if _, err := f.WriteAt(chunk, l.end); err != nil {
			return err
		}
		if err := f.Truncate(l.end + int64(len(chunk))); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		l.end += int64(len(chunk))
		return nil
	})
}

func changedIf(other bool) error {
	if other {
		return ErrChanged
	}
	return nil
}

// goneOn reports whether another run has added a record at the offset of a chunk. The chunk itself may be there if a
// first try failed after its write.
func (l *localJournal) goneOn(f store.File, head, chunk []byte) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size <= l.end {
		return false, err
	}
	rest := make([]byte, info.Size-l.end)
	if n, err := f.ReadAt(rest, l.end); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	} else {
		rest = rest[:n]
	}
	return !bytes.Equal(rest, chunk) && journal.HasRecord(rest, head), nil
}

// Delete implements Hold.
func (l *localJournal) Delete(ctx context.Context) error {
	err := l.path.files.Remove(l.path.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.Hold.Delete(ctx))
}
