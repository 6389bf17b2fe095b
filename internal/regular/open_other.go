//go:build !unix

package regular

import (
	"errors"
	"os"
	"time"
)

const dontWait = 0

// leased is never returned on this system: opening a leased file blocks.
var leased = errors.New("the file is leased")

func leaseBreak() time.Duration { return 0 }

// Share does nothing: files inherit their permissions from the folder.
func Share(*os.File, os.FileInfo) error { return nil }

// Permit does nothing.
func Permit(*os.File, os.FileMode) error { return nil }
