//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package handler

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock reports whether it got the lock. The lock belongs to the open file: all processes that have inherited the
// file have it, until one of them releases it.
func tryLock(f *os.File) bool {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return !errors.Is(err, unix.EWOULDBLOCK)
		}
	}
}

func unlock(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }

func inheritable(f *os.File) []*os.File { return []*os.File{f} }
