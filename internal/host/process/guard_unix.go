//go:build unix

package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/host/process/group"
)

// guard is the leader of the program's group: a shell that reads from a pipe whose other end only this process has.
// When this process dies, the pipe is closed; then the guard asks the group to end and, a little later, kills it. The
// guard itself ignores the signals that ask the group to end, and the SIGHUP that the system sends to a group with a
// stopped process whose parent has died.
type guard struct {
	cmd   *exec.Cmd
	group *group.Group
	pipe  *os.File
	reply io.Reader // a line when it ignores the signals that its group will get
	once  sync.Once
}

const script = `trap '' TERM HUP INT QUIT PIPE; echo; exec >&-; read end; kill -TERM 0; kill -CONT 0; sleep 2; ` +
	`[ -z "$1" ] || rm -rf -- "$1"; kill -KILL 0`

// newGuard starts a guard. It may not be ready yet, but the program can already start in its group: if this process
// dies now, the guard gets ready and then finds the pipe closed.
func newGuard(temp string) (*guard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	g := &guard{cmd: exec.Command("/bin/sh", "-c", script, "guard", temp), pipe: w}
	g.cmd.Stdin = r
	g.cmd.Env = []string{}
	group.Lead(g.cmd, false)
	if err := g.start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("start the guard of a plugin: %w", err)
	}
	return g, nil
}

func (g *guard) start() (err error) {
	if g.reply, err = g.cmd.StdoutPipe(); err != nil {
		return err
	}
	if err := g.cmd.Start(); err != nil {
		return err
	}
	g.group = group.Of(g.cmd.Process)
	return nil
}

// ready returns when the guard ignores the signals that its group will get. Nothing may signal the group before.
func (g *guard) ready() error {
	if _, err := io.ReadFull(g.reply, make([]byte, 1)); err != nil {
		return fmt.Errorf("the guard of a plugin does not answer: %w", err)
	}
	return nil
}

func (g *guard) prepare(cmd *exec.Cmd) { g.group.Join(cmd) }

func (g *guard) adopt(*os.Process) {}

// end kills the group including the guard. It waits for the guard last: until then, the ID of the group cannot be
// reused.
func (g *guard) end() {
	g.once.Do(func() {
		g.group.Kill()
		g.pipe.Close()
		g.cmd.Wait()
	})
}

func (g *guard) terminate() { g.group.Terminate() }
