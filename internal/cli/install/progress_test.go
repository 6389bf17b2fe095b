package install

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
)

// screen records everything that was drawn.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestDownloadsAreShownOnTerminals(t *testing.T) {
	var out screen
	c := &command.Call{App: &command.App{Out: &out, OutTerminal: true, Surroundings: engine.Surroundings{
		Environ: []string{"TERM=xterm"}}, Size: func() (int, int) { return 80, 24 }}}
	p := newProgress(c)
	defer p.close()
	p.tell("Installing corp/thing v1.0.0...")
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(out.String(), "50% of 1.0 MiB"); {
		if time.Now().After(deadline) {
			t.Fatalf("the download does not show: %q", out.String())
		}
		p.downloads("corp/thing", 512<<10, 1<<20)
		time.Sleep(10 * time.Millisecond)
	}
	p.downloads("corp/other", 100, -1)
	p.ended("corp/thing")
	p.tell("Installed corp/thing v1.0.0 (self-signed)\x1b[2J")
	p.close()
	got := out.String()
	if !strings.Contains(got, "- Installed corp/thing v1.0.0 (self-signed)") || strings.Contains(got, "\x1b[2J") {
		t.Errorf("got %q", got)
	}
	p.ended("corp/other")
}

func TestDownloadsAreNotShownElsewhere(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&command.Call{App: &command.App{Out: &out}})
	p.downloads("corp/thing", 1, 2)
	p.ended("corp/thing")
	p.tell("Installed")
	p.detail("Selected")
	p.close()
	if got := out.String(); got != "- Installed\n  - Selected\n" {
		t.Errorf("got %q", got)
	}
}
