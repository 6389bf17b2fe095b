//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package replace

import (
	"errors"
	"os"
)

// lock returns an error, because this system cannot lock files.
func lock(*os.File) error { return errors.ErrUnsupported }
