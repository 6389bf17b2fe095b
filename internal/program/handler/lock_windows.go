package handler

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

func tryLock(f *os.File) bool {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, math.MaxUint32, math.MaxUint32, &windows.Overlapped{})
	return !errors.Is(err, windows.ERROR_LOCK_VIOLATION) && !errors.Is(err, windows.ERROR_IO_PENDING)
}

func unlock(f *os.File) {
	_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, math.MaxUint32, math.MaxUint32, &windows.Overlapped{})
}

// inheritable returns nil: on Windows, programs only inherit standard streams.
func inheritable(*os.File) []*os.File { return nil }
