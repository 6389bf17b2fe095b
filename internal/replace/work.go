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
	// mark is the file that marks our folders, so that no others are swept. The process that uses the folder holds a
	// lock on it.
	mark     = ".tombolo-unfinished"
	markText = "This folder is removed when the process that works in it ends, or by the next one.\n"
	// markMost is larger than any mark, in bytes.
	markMost = 1 << 10
	// abandoned is the age at which a folder of another system is considered left over.
	abandoned = 24 * time.Hour
)

// Work is a folder in which a process works.
type Work struct {
	Dir  string
	root *os.Root // the folder, even if it is renamed
	note *os.File // the file mark, with a lock
}

// Unfinished creates a new folder with a given prefix inside of dir. If the process is killed, the next Sweep removes
// the folder. The caller calls Remove at the end.
func Unfinished(dir, prefix string) (*Work, error) {
	made, err := os.MkdirTemp(dir, prefix+"*")
	if err != nil {
		return nil, err
	}
	w := &Work{Dir: made}
	if w.root, err = os.OpenRoot(made); err != nil {
		return nil, errors.Join(err, os.Remove(made))
	}
	if w.note, err = w.root.OpenFile(mark, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		_ = lock(w.note) // without locks, nothing is swept
		_, err = w.note.WriteString(markText + boot())
	}
	if err != nil {
		return nil, errors.Join(err, w.Remove())
	}
	return w, nil
}

// Remove removes the folder with its content, the mark last: if the process is killed meanwhile, a later Sweep removes
// the rest.
func (w *Work) Remove() error {
	var errs []error
	here, err := w.root.Open(".")
	if err == nil {
		var names []string
		names, err = here.Readdirnames(-1)
		_ = here.Close()
		for _, name := range names {
			if name != mark {
				errs = append(errs, w.root.RemoveAll(name))
			}
		}
	}
	err = errors.Join(append(errs, err)...)
	if w.note != nil {
		_ = w.note.Close() // some systems do not remove open files
	}
	if err == nil {
		err = w.root.RemoveAll(mark)
	}
	_ = w.root.Close()
	if err != nil {
		return err
	}
	if err := os.Remove(w.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Sweep removes the folders of Unfinished with a prefix that killed processes have left in dir. It does not follow
// links. Folders that cannot be removed stay.
//
// Whether a process still uses a folder is determined by its lock, which ends with the process, and not by a clock,
// which may jump. A lock that another machine holds may not be visible here: for folders of another system, or of this
// machine before a reboot, the age counts as well. If files cannot be locked, everything stays.
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
	w := &Work{Dir: dir}
	if w.root, err = os.OpenRoot(dir); err != nil {
		return
	}
	if w.leftOver(info) {
		_ = w.Remove()
		return
	}
	if w.note != nil {
		_ = w.note.Close()
	}
	_ = w.root.Close()
}

// leftOver reports whether a folder has our mark and no process uses it. If so, it takes the lock. A link that has
// replaced the folder does not count.
func (w *Work) leftOver(info fs.FileInfo) bool {
	if opened, err := w.root.Stat("."); err != nil || !os.SameFile(info, opened) {
		return false
	}
	if there, err := w.root.Lstat(mark); err != nil || !there.Mode().IsRegular() {
		return false
	}
	// The text is written under the lock, so its existence shows that there was a lock.
	text, err := regular.ReadIn(w.root, mark, markMost)
	by, ours := strings.CutPrefix(string(text), markText)
	if err != nil || !ours {
		return false
	}
	if w.note, err = w.root.OpenFile(mark, os.O_RDWR, 0); err != nil {
		return false
	}
	return lock(w.note) == nil && (by != "" && by == boot() || time.Since(info.ModTime()).Abs() > abandoned)
}
