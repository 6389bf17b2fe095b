package process

import (
	"os"
	"os/exec"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/host/process/group"
)

// guard is a job object. It ends with its last handle, which only this process has.
type guard struct {
	group *group.Group // nil until the program has started
	once  sync.Once
}

func newGuard(string) (*guard, error) { return &guard{}, nil }

func (g *guard) prepare(cmd *exec.Cmd) { group.Lead(cmd, false) }

func (g *guard) adopt(p *os.Process) { g.group = group.Bound(p) }

func (g *guard) ready() error { return nil }

func (g *guard) end() {
	g.once.Do(func() {
		if g.group != nil {
			g.group.Kill()
			g.group.Close()
		}
	})
}

func (g *guard) terminate() { g.group.Terminate() }
