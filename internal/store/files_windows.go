package store

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/windows"
)

// lock locks the entire file, as Terraform does on Windows.
func lock(f *os.File) error {
	var o windows.Overlapped
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, math.MaxUint32, math.MaxUint32, &o)
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING):
		return ErrLocked
	case errors.Is(err, windows.ERROR_NOT_SUPPORTED) || errors.Is(err, windows.ERROR_INVALID_FUNCTION):
		return fmt.Errorf("%w: %w", ErrNoLocks, err)
	}
	return err
}

// locked tries to take the lock, because the system has no query for it.
func locked(f *os.File) (bool, error) {
	err := lock(f)
	if errors.Is(err, ErrLocked) {
		return true, nil
	}
	if err == nil {
		var o windows.Overlapped
		err = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, math.MaxUint32, math.MaxUint32, &o)
	}
	return false, err
}

// noFollow has no equivalent on Windows: an entry is checked before it is opened.
const noFollow = 0

const noWait = 0

// alive reports whether a process exists on this machine.
func alive(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(h)
	var code uint32
	return windows.GetExitCodeProcess(h, &code) == nil && code == stillActive
}

const stillActive = 259

// processStart returns when a process started, or "" if that is unknown. The time distinguishes processes that had the
// same ID.
func processStart(pid int) string {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return ""
	}
	defer windows.CloseHandle(h)
	var start, exit, kernel, user windows.Filetime
	if windows.GetProcessTimes(h, &start, &exit, &kernel, &user) != nil {
		return ""
	}
	return strconv.FormatInt(start.Nanoseconds(), 10)
}

// replaceable always returns nil: the reason why a file cannot be replaced may disappear a moment later.
func replaceable(string) error { return nil }

func closeFile(f *os.File) error { return f.Close() }

func reserve(*os.File, int64) error { return nil }

// syncDir does nothing: the system itself makes names durable, and folders cannot be synced.
func syncDir(string) error { return nil }

func renameNew(old, name string) (done bool, err error) {
	from, err := windows.UTF16PtrFromString(old)
	if err != nil {
		return true, err
	}
	to, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return true, err
	}
	return true, windows.MoveFile(from, to)
}

// Foreign returns false: on Windows, each user has a folder for temporary files.
func Foreign(string, Info) bool { return false }
