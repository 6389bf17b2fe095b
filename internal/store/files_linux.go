package store

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock takes an open-file-description lock. Terraform takes the older kind of record lock, which belongs to the
// process; the kernel makes both conflict. Unlike the older kind, this lock is not lost when another part of the
// process opens and closes the state.
func lock(f *os.File) error {
	err := control(f, func(fd uintptr) error {
		return unix.FcntlFlock(fd, unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	})
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES):
		return ErrLocked
	case cannotLock(err):
		return fmt.Errorf("%w: %w", ErrNoLocks, err)
	}
	return err
}

func locked(f *os.File) (bool, error) {
	l := unix.Flock_t{Type: unix.F_WRLCK}
	err := control(f, func(fd uintptr) error { return unix.FcntlFlock(fd, unix.F_OFD_GETLK, &l) })
	if cannotLock(err) {
		err = fmt.Errorf("%w: %w", ErrNoLocks, err)
	}
	return l.Type != unix.F_UNLCK && err == nil, err
}

// closeFile releases the lock before it closes the file: the lock belongs to the open file, and a process that is being
// started has a copy of it until it executes its program.
func closeFile(f *os.File) error {
	_ = control(f, func(fd uintptr) error {
		return unix.FcntlFlock(fd, unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK})
	})
	return f.Close()
}

// reserve allocates blocks after the end of the file, without changing its size.
func reserve(f *os.File, end int64) error {
	fi, err := f.Stat()
	if err != nil || fi.Size() >= end {
		return err
	}
	err = control(f, func(fd uintptr) error {
		return unix.Fallocate(int(fd), unix.FALLOC_FL_KEEP_SIZE, fi.Size(), end-fi.Size())
	})
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

func control(f *os.File, call func(fd uintptr) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	if err := conn.Control(func(fd uintptr) { callErr = call(fd) }); err != nil {
		return err
	}
	return callErr
}

func renameNew(old, name string) (done bool, err error) {
	err = unix.Renameat2(unix.AT_FDCWD, old, unix.AT_FDCWD, name, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return false, nil
	}
	return true, err
}
