package program

import (
	"errors"
	"os"
	"syscall"
)

// freeBefore frees the beginning of a file on the disk, where the file system can do that.
func freeBefore(f *os.File, end int64) {
	const keepSize, punchHole = 1, 2
	_ = syscall.Fallocate(int(f.Fd()), keepSize|punchHole, 0, end)
}

// reserve allocates space for a file up to an end, after its content; its size stays. Some file systems cannot do that.
func reserve(f *os.File, end int64) error {
	const keepSize = 1
	at := lengthOf(f)
	if at >= end {
		return nil
	}
	for {
		err := syscall.Fallocate(int(f.Fd()), keepSize, at, end-at)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
			return &os.PathError{Op: "reserve", Path: f.Name(), Err: err}
		default:
			return nil
		}
	}
}
