package replace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/regular"
)

const (
	// mark is the file that marks our folders, so that nothing else is ever swept. The process that works in the folder
	// has a lock on it.
	mark     = ".tombolo-unfinished"
	markText = "This folder is removed when the process that works in it ends, or by the next one.\n"
	// markMost is more than a mark ever has.
	markMost = 1 << 10
	// abandoned is the age at which what another system has begun is left over.
	abandoned = 24 * time.Hour
)

// Work is a folder that a process works in.
type Work struct {
	Dir  string
	note *os.File // locked
}

// Unfinished creates a new folder to work in, inside another one and with a given prefix. If the process is killed, the
// next Sweep removes the folder. The caller calls Remove at the end.
func Unfinished(dir, prefix string) (*Work, error) {
	made, err := os.MkdirTemp(dir, prefix+"*")
	if err != nil {
		return nil, err
	}
	w := &Work{Dir: made}
	if w.note, err = os.OpenFile(filepath.Join(made, mark), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		_ = lock(w.note) // where files cannot be locked, nothing is swept
		_, err = w.note.WriteString(markText + boot())
	}
	if err != nil {
		return nil, errors.Join(err, w.Remove())
	}
	return w, nil
}

// Remove removes the folder with all that is still in it.
func (w *Work) Remove() error { return removeMarked(w.Dir, w.note) }

// removeMarked removes a folder, its mark last: what a process that is killed here has left is swept later.
func removeMarked(dir string, note *os.File) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, e := range entries {
		if e.Name() != mark {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	if note != nil {
		_ = note.Close() // some systems keep files that are open
	}
	if err == nil {
		err = os.RemoveAll(dir)
	}
	return err
}

// Sweep removes what killed processes have left in a folder, under names that begin in a way: folders made by
// Unfinished, and no links to some. What cannot be removed stays.
//
// Whether a process still works in a folder is seen by its lock, which ends with the process, and not by a clock, which
// may jump. A lock that another machine holds may not be seen here: of what another system has begun, or this machine
// before it was started anew, the age counts as well. Where files cannot be locked, everything stays.
func Sweep(dir, prefix string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && e.IsDir() {
			sweep(filepath.Join(dir, e.Name()))
		}
	}
}

func sweep(dir string) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return
	}
	name := filepath.Join(dir, mark)
	if there, err := os.Lstat(name); err != nil || !there.Mode().IsRegular() {
		return
	}
	// The text is written under the lock: whoever sees it knows that there was one.
	text, err := regular.Read(name, markMost)
	by, ours := strings.CutPrefix(string(text), markText)
	if err != nil || !ours {
		return
	}
	note, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return
	}
	if lock(note) == nil && (by != "" && by == boot() || time.Since(info.ModTime()).Abs() > abandoned) {
		_ = removeMarked(dir, note)
	}
	_ = note.Close()
}
