package command

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/engine"
)

func TestLiveDisplayNeedsATerminal(t *testing.T) {
	size := func() (int, int) { return 80, 24 }
	for _, c := range []struct {
		name     string
		environ  []string
		terminal bool
		noColor  bool
		want     bool
	}{
		{"terminal", []string{"TERM=xterm-256color"}, true, false, true},
		{"no terminal", []string{"TERM=xterm"}, false, false, false},
		{"dumb", []string{"TERM=dumb"}, true, false, false},
		{"unknown terminal", nil, true, false, false},
		{"-no-color", []string{"TERM=xterm"}, true, true, false},
		{"NO_COLOR", []string{"TERM=xterm", "NO_COLOR=1"}, true, false, false},
		{"CI", []string{"TERM=xterm", "CI=true"}, true, false, false},
		{"a program at the other end", []string{"TERM=xterm", "TF_APPEND_USER_AGENT=cdktf/0.20"}, true, false, false},
		{"automation", []string{"TERM=xterm", "TF_IN_AUTOMATION=1"}, true, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			call := &Call{App: &App{Surroundings: engine.Surroundings{Environ: c.environ}, OutTerminal: c.terminal,
				Size: size}, noColor: c.noColor}
			if got := call.ViewOptions().Size != nil; got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// This tests every combination of settings for colors. Settings that disable colors win, and settings that force colors
// need no terminal.
func TestColors(t *testing.T) {
	for bits := range 64 {
		has := func(i int) bool { return bits>>i&1 == 1 }
		var environ []string
		for i, v := range []string{"NO_COLOR=1", "FORCE_COLOR=1", "CLICOLOR_FORCE=0", "TERM=dumb"} {
			if has(i) {
				environ = append(environ, v)
			}
		}
		call := &Call{App: &App{Surroundings: engine.Surroundings{Environ: environ}, OutTerminal: has(4)},
			noColor: has(5)}
		want := !has(0) && !has(5) && (has(1) || has(4) && !has(3))
		if got := call.Color(); got != want {
			t.Errorf("%v, terminal %v, -no-color %v: got %v", environ, has(4), has(5), got)
		}
	}
}
