//go:build !unix

package regular

import (
	"errors"
	"os"
	"time"
)

const dontWait = 0

// leased is never returned here: who opens a leased file waits.
var leased = errors.New("the file is leased")

func leaseBreak() time.Duration { return 0 }

// Share has nothing to do: files inherit what their folder allows.
func Share(*os.File, os.FileInfo) error { return nil }

// Permit has nothing to do.
func Permit(*os.File, os.FileMode) error { return nil }
