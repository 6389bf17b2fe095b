//go:build unix

package group

import (
	"os"
	"os/exec"
	"syscall"
)

// Group is the process group of a program: the program and its descendants, except for those that left the group.
type Group struct {
	id int
}

// Lead makes a program the leader of a new group, so that it does not get the interrupt of the terminal. If detached is
// set, it is the leader of a new session as well. Lead is called before the start.
func Lead(cmd *exec.Cmd, detached bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !detached, Setsid: detached} // a session is also a group
}

// Join makes a program a member of the group. Join is called before the start.
func (g *Group) Join(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.id}
}

// Of returns the group that a started program leads.
func Of(p *os.Process) *Group { return &Group{id: p.Pid} }

// Terminate asks all processes of the group to end. It continues stopped ones, which could not end otherwise.
func (g *Group) Terminate() {
	syscall.Kill(-g.id, syscall.SIGTERM)
	syscall.Kill(-g.id, syscall.SIGCONT)
}

// Kill kills all processes of the group. The ID of the group cannot be reused until somebody has waited for the leader.
func (g *Group) Kill() { syscall.Kill(-g.id, syscall.SIGKILL) }

// Gone reports whether the group has no process left to which we may send signals.
func (g *Group) Gone() bool { return syscall.Kill(-g.id, 0) != nil }

// Close releases resources without ending the processes of the group, which may be daemons.
func (g *Group) Close() {}
