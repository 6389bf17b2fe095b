package replace

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock locks an open file until it is closed, also by the end of the process: a byte behind all that is written, which
// others may read.
func lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{Offset: markMost})
}
