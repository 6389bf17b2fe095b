//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package program

import (
	"context"
	"os"
)

// runSpooled runs without a spool: there is no lock here that a program could hold by having its output open.
func runSpooled(ctx context.Context, path string, c Command) (*Result, error) {
	p, err := launching(path, c, launch)
	if err != nil {
		return nil, err
	}
	return p.wait(ctx)
}

func lockedFile(*os.File) (bool, error) { return false, nil }

// freeBefore does nothing: no program writes to a file here.
func freeBefore(*os.File, int64) {}

// Keeping reports whether this process was started as a keeper: never here.
func Keeping() bool { return false }

// Keep is the life of a keeper, which there is not here.
func Keep() int { return 1 }
