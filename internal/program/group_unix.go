//go:build unix

package program

import (
	"os"
	"os/exec"
	"syscall"
)

// group is the process group of a program: the program and those of its descendants that did not leave it, as daemons
// do.
type group struct {
	id int
}

// setGroup makes the program the leader of its own group, so that signals reach its children too, and the
// terminal's interrupt reaches only us.
// A session is a group as well.
func setGroup(cmd *exec.Cmd, session bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !session, Setsid: session}
}

func groupOf(p *os.Process) *group { return &group{id: p.Pid} }

// terminate asks all of the group to end. Stopped processes are continued, else they could not.
func (g *group) terminate() {
	syscall.Kill(-g.id, syscall.SIGTERM)
	syscall.Kill(-g.id, syscall.SIGCONT)
}

func (g *group) kill() { syscall.Kill(-g.id, syscall.SIGKILL) }

// gone reports whether the group has no process left that we may signal.
func (g *group) gone() bool { return syscall.Kill(-g.id, 0) != nil }

func (g *group) close() {}
