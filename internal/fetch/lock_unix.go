//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package fetch

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lockPause is the pause between tries to lock, and lockPatience how long to wait before the wait is reported.
	lockPause    = 50 * time.Millisecond
	lockPatience = time.Second
)

// lockFolder waits until no other process uses a folder, and returns a function that unlocks it. It calls waiting once
// if that takes a while, and stops if the context ends. On a file system without such locks it does not wait.
func lockFolder(ctx context.Context, dir string, waiting func()) (unlock func(), err error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	patience := time.NewTimer(lockPatience)
	defer patience.Stop()
	for {
		err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return func() { folder.Close() }, nil
		}
		select {
		case <-ctx.Done():
			folder.Close()
			return nil, context.Cause(ctx)
		case <-patience.C:
			waiting()
		case <-time.After(lockPause):
		}
	}
}
