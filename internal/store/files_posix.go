//go:build unix && !linux

package store

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Without open-file-description locks, a record lock belongs to the process, and closing any file of the same inode
// releases it. This table therefore holds the locked inodes with their holders in this process, and keeps files open
// that must not be closed yet.
var held = struct {
	sync.Mutex
	by map[inode]*holder
}{by: map[inode]*holder{}}

type inode struct{ dev, ino uint64 }

type holder struct {
	file    *os.File
	waiting []*os.File // closed by their users; actually closed when the lock is released
}

func inodeOf(f *os.File) (inode, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return inode{uint64(st.Dev), uint64(st.Ino)}, err
}

func lock(f *os.File) error {
	id, err := inodeOf(f)
	if err != nil {
		return err
	}
	held.Lock()
	defer held.Unlock()
	if held.by[id] != nil {
		return ErrLocked
	}
	err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES):
		return ErrLocked
	case cannotLock(err):
		return fmt.Errorf("%w: %w", ErrNoLocks, err)
	case err == nil:
		held.by[id] = &holder{file: f}
	}
	return err
}

func locked(f *os.File) (bool, error) {
	id, err := inodeOf(f)
	if err != nil {
		return false, err
	}
	held.Lock()
	h := held.by[id]
	held.Unlock()
	if h != nil {
		return h.file != f, nil
	}
	l := unix.Flock_t{Type: unix.F_WRLCK}
	err = unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l)
	if cannotLock(err) {
		err = fmt.Errorf("%w: %w", ErrNoLocks, err)
	}
	return l.Type != unix.F_UNLCK && err == nil, err
}

func closeFile(f *os.File) error {
	id, err := inodeOf(f)
	if err != nil {
		return f.Close()
	}
	held.Lock()
	defer held.Unlock()
	h := held.by[id]
	if h != nil && h.file != f {
		h.waiting = append(h.waiting, f)
		return nil
	}
	if h != nil {
		for _, w := range h.waiting {
			w.Close()
		}
		delete(held.by, id)
	}
	return f.Close()
}

// reserve does nothing on this system: a full disk shows when the journal is written.
func reserve(*os.File, int64) error { return nil }

func renameNew(string, string) (done bool, err error) { return false, nil }
