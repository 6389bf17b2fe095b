//go:build unix

package program

import (
	"os"
	"os/exec"
	"syscall"
)

// group is the process group of a program: the program and its descendants, except for those that left the group, as
// daemons do.
type group struct {
	id int
}

// setGroup makes the program the leader of its own group, so that signals reach its children as well, and an interrupt
// from the terminal only reaches this process. A session is a group as well.
func setGroup(cmd *exec.Cmd, session bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !session, Setsid: session}
}

func groupOf(p *os.Process) *group { return &group{id: p.Pid} }

// terminate asks the processes of the group to end. It continues stopped processes, which could not end otherwise.
func (g *group) terminate() {
	syscall.Kill(-g.id, syscall.SIGTERM)
	syscall.Kill(-g.id, syscall.SIGCONT)
}

func (g *group) kill() { syscall.Kill(-g.id, syscall.SIGKILL) }

// gone reports whether the group has no process left to which we may send signals.
func (g *group) gone() bool { return syscall.Kill(-g.id, 0) != nil }

func (g *group) close() {}
