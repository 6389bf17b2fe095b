//go:build unix

package worker

import (
	"errors"
	"os"
	"syscall"
)

// hold creates a file and locks it until the returned file, and all copies of it in other processes, are closed. It
// fails with errBusy if the file is locked.
func hold(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errBusy
		}
		return nil, err
	}
	return f, nil
}

// ownOnly keeps the lock of a guard from the command that it starts, whose children may outlive it.
func ownOnly() { syscall.CloseOnExec(lockDescriptor) }
