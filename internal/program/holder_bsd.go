//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package program

import (
	"os"
	"syscall"
)

// numberedBy returns "": on this system, boots cannot be distinguished without running a program.
func numberedBy() string {
	name, _ := os.Hostname()
	return name
}

// began returns a constant for a running process: different processes with the same ID cannot be distinguished.
func began(pid int) string {
	if err := syscall.Kill(pid, 0); err == syscall.ESRCH {
		return ""
	}
	return "there"
}

// whoHas returns nil: this system does not report it.
func whoHas(*os.File) []int { return nil }

// end does nothing, because it is unknown whether an ID still belongs to the program.
func end([]int) {}
