package program

import (
	"errors"
	"os"
	"syscall"
)

// freeBefore frees the disk space of the beginning of a file, if the file system supports that.
func freeBefore(f *os.File, end int64) {
	const keepSize, punchHole = 1, 2
	_ = syscall.Fallocate(int(f.Fd()), keepSize|punchHole, 0, end)
}

// reserve allocates space up to an offset after the content of a file, without changing its size. Some file systems do
// not support that.
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
