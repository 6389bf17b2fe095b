//go:build unix

package worker

import (
	"os"
	"syscall"
)

// attributes returns how a child is started: an interrupt from the terminal is for the worker only.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// interrupt asks a child to stop, or, the second time, to abort what it is doing.
func interrupt(p *os.Process) error { return p.Signal(syscall.SIGINT) }
