package worker

import (
	"os"
	"syscall"
)

// attributes returns how a child is started.
func attributes() *syscall.SysProcAttr { return nil }

// interrupt ends a child: Windows has no signal that would let it finish its operations. The next run of the state
// reads its journal.
func interrupt(p *os.Process) error { return p.Kill() }
