//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package replace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock locks an open file until it is closed, also by the end of the process. Programs that it starts have no part of
// it.
func lock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
