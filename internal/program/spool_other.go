//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package program

import (
	"context"
	"os"
)

// runSpooled runs without a spool: on this system, a program cannot hold a lock by having its output open.
func runSpooled(ctx context.Context, path string, c Command) (*Result, error) {
	p, err := launching(path, c, launch)
	if err != nil {
		return nil, err
	}
	return p.wait(ctx)
}

func lockedFile(*os.File) (bool, error) { return false, nil }

// freeBefore does nothing: on this system, no program writes to a file.
func freeBefore(*os.File, int64) {}

// Keeping returns false: there are no keepers on this system.
func Keeping() bool { return false }

// Keep is never called on this system.
func Keep() int { return 1 }
