//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package replace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock locks an open file until it is closed or the process ends. Child processes do not inherit the lock.
func lock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
