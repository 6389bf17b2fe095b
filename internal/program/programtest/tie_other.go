//go:build !linux

package programtest

import "os/exec"

// Tie does nothing where the system offers no such thing.
func Tie(*exec.Cmd) {}
