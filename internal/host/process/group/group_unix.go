//go:build unix

package group

import (
	"os"
	"os/exec"
	"syscall"
)

// Group is the process group of a program: the program and those of its descendants that did not leave it.
type Group struct {
	id int
}

// Lead makes a program the leader of a new group, so that the terminal's interrupt does not reach it; detached makes it
// the leader of a new session too. It is called before the start.
func Lead(cmd *exec.Cmd, detached bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !detached, Setsid: detached} // a session is a group too
}

// Join makes a program a member of the group. It is called before the start.
func (g *Group) Join(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.id}
}

// Of returns the group that a started program leads.
func Of(p *os.Process) *Group { return &Group{id: p.Pid} }

// Terminate asks all programs of the group to end. Stopped ones are continued, because they could not end otherwise.
func (g *Group) Terminate() {
	syscall.Kill(-g.id, syscall.SIGTERM)
	syscall.Kill(-g.id, syscall.SIGCONT)
}

// Kill ends all programs of the group at once. As long as the leader has not been waited for, its number cannot belong to
// another group.
func (g *Group) Kill() { syscall.Kill(-g.id, syscall.SIGKILL) }

// Gone reports whether the group has no process left that we may signal.
func (g *Group) Gone() bool { return syscall.Kill(-g.id, 0) != nil }

// Close releases what the group needs. Its processes live on: they may be daemons.
func (g *Group) Close() {}
