package replace

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock locks an open file until it is closed or the process ends. It locks a byte after the content, which other
// processes may read.
func lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{Offset: markMost})
}
