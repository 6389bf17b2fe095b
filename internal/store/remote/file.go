package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/journal"
)

// local is the journal of a backend that has no room for one: a file of this
// machine.
func (w *workspace) local() journalFile {
	return journalFile{
		w.o.Files, filepath.Join(w.o.Journals, "terraform.tfstate."+hashOf([]byte(w.place.String()))[:16]+
			".journal")}
}

// journalFile is a journal in a single file. All of it is one chunk when it is read.
type journalFile struct {
	files store.Files
	name  string
}

func (f journalFile) read() (j Journal, err error) {
	b, err := store.ReadFile(f.files, f.name)
	if err != nil || b == nil {
		return j, err
	}
	return Journal{Version: versionOf(b), Chunks: [][]byte{b}}, nil
}

// versionOf is a journal's nonce, which no other has.
func versionOf(b []byte) string { return fmt.Sprintf("%x", b[:min(len(b), journal.PrefixSize)]) }

// localJournal is a hold whose journal is a file of this machine.
type localJournal struct {
	Hold
	path journalFile
	end  int64 // where the valid records end
}

// StartJournal implements Hold.
func (l *localJournal) StartJournal(_ context.Context, was string, first []byte) (string, error) {
	there, err := l.path.read()
	switch {
	case err != nil:
		return "", err
	case there.Version != was:
		return "", ErrChanged
	case first == nil && was == "":
		return "", nil
	case first == nil:
		if err := l.path.files.Remove(l.path.name); err != nil {
			return "", err
		}
		return "", l.path.files.SyncDir(filepath.Dir(l.path.name))
	}
	l.end = int64(len(first))
	return versionOf(first), l.path.replace(first)
}

// replace makes the file hold this, as a whole or not at all.
func (f journalFile) replace(content []byte) error {
	temp := f.name + ".new"
	if err := f.files.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := f.files.Open(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(content, 0)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := f.files.Rename(temp, f.name); err != nil {
		return err
	}
	return f.files.SyncDir(filepath.Dir(f.name))
}

// Append implements Hold. The number of the chunk says nothing: only one process has the lock. What a killed run or a
// full disk has left behind the last whole record is written over.
func (l *localJournal) Append(_ context.Context, version string, _ int, chunk []byte) (err error) {
	f, err := l.path.files.Open(l.path.name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrChanged
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head := make([]byte, journal.PrefixSize)
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	if versionOf(head) != version {
		return ErrChanged
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
}

// Delete implements Hold.
func (l *localJournal) Delete(ctx context.Context) error {
	err := l.path.files.Remove(l.path.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.Hold.Delete(ctx))
}
