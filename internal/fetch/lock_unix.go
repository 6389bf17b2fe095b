//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package fetch

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFolder waits until no other process works in a folder, and gives what ends that. Where the file system has no such locks nobody waits.
func lockFolder(dir string) (unlock func(), err error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Flock(int(folder.Fd()), unix.LOCK_EX)
	}
	return func() { folder.Close() }, nil
}
