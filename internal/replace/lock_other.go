//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package replace

import (
	"errors"
	"os"
)

// lock reports that files cannot be locked here.
func lock(*os.File) error { return errors.ErrUnsupported }
