//go:build unix

package plugged

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// appears waits up to a minute for a file.
func (p *plugged) appears(name string) {
	p.t.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(p.path(name)); err == nil {
			return
		}
		if time.Since(begun) > time.Minute {
			p.t.Fatalf("%s does not appear", name)
		}
	}
}

// leaves checks that exactly these files of a state exist.
func (p *plugged) leaves(when string, want ...string) {
	p.t.Helper()
	list, err := os.ReadDir(p.dir)
	p.must(err)
	var got []string
	for _, e := range list {
		if strings.Contains(e.Name(), "tfstate") {
			got = append(got, e.Name())
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		p.t.Errorf("%s: files of the state: %v, want %v", when, got, want)
	}
}

// A console changes nothing, so it leaves no files wherever it ends: while a provider loads, at its prompt, or during
// an evaluation.
func TestInterruptedConsoleLeavesNoFiles(t *testing.T) {
	signals := map[string]syscall.Signal{"hangup": syscall.SIGHUP, "interrupt": syscall.SIGINT, "end": syscall.SIGTERM}
	for name, sig := range signals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			consoleEnds(t, sig, 1)
		})
	}
	t.Run("kill", func(t *testing.T) {
		t.Parallel()
		consoleEnds(t, syscall.SIGKILL, -1)
	})
}

func consoleEnds(t *testing.T, sig syscall.Signal, code int) {
	p := newPlugged(t, pluggedConfig, "BAD=schema-hang")
	r := p.run(func(pid int) {
		p.appears("pids.hung")
		p.must(syscall.Kill(pid, sig))
	}, "console")
	p.wants(r, code)
	p.leaves("while a provider loads")
	p.nothingStays()
	if sig == syscall.SIGKILL {
		return // the next run removes the files of a console that was killed at its prompt
	}
	for when, expression := range map[string]string{
		"at the prompt":    "",
		"in an expression": "[for a in range(1000): [for b in range(1000): [for c in range(1000): a + b + c]]]\n",
	} {
		p := newPlugged(t, "")
		cmd := p.command("console")
		in, feed, err := os.Pipe()
		p.must(err)
		defer feed.Close()
		out, written, err := os.Pipe()
		p.must(err)
		defer out.Close()
		cmd.Stdin, cmd.Stdout = in, written
		p.must(cmd.Start())
		in.Close()
		written.Close()
		p.appears(".terraform.tfstate.lock.info")
		if _, err := io.WriteString(feed, expression); err != nil {
			t.Fatal(err)
		}
		p.must(cmd.Process.Signal(sig))
		_ = cmd.Wait() // the exit code is checked
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("%s: %s, want exit code %d", when, cmd.ProcessState, code)
		}
		p.leaves(when)
	}
}
