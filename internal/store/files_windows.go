package store

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/windows"
)

// lock locks the whole file, as Terraform does there.
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

// locked can only try: the system has no way to ask.
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

// noFollow has no counterpart here: an entry is checked before it is opened.
const noFollow = 0

const noWait = 0

// alive reports whether a process of this machine is there.
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

// began returns the start of a process, which distinguishes it from others with the same number; "" if it is unknown.
func began(pid int) string {
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

// replaceable reports nothing here: what keeps a file from being replaced may be gone a moment later.
func replaceable(string) error { return nil }

func closeFile(f *os.File) error { return f.Close() }

func reserve(*os.File, int64) error { return nil }

// syncDir has nothing to do: the system keeps names durable by itself, and folders cannot be synced.
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

// Foreign reports whether a file may have been put into a folder by another user. Each has a folder for temporary files
// here.
func Foreign(string, Info) bool { return false }
