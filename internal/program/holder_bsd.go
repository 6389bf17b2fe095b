//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package program

import (
	"os"
	"syscall"
)

// numberedBy names this machine: there is nothing here that distinguishes its boots without a program.
func numberedBy() string {
	name, _ := os.Hostname()
	return name
}

// began reports that there is a process; which one of those that had its number is not known.
func began(pid int) string {
	if err := syscall.Kill(pid, 0); err == syscall.ESRCH {
		return ""
	}
	return "there"
}

// whoHas is not known here.
func whoHas(*os.File) []int { return nil }

// end ends nothing: whether a number still is that of the program is not known.
func end([]int) {}
