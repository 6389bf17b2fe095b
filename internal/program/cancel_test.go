//go:build unix

package program_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// stop runs a program and cancels it when it has printed a line, or immediately if line is "".
func stop(t *testing.T, c program.Command, line string) (*program.Result, error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	c.Stderr = func(got string) {
		if strings.HasPrefix(got, line) {
			cancel(errInterrupted)
		}
	}
	return program.Run(ctx, c)
}

var errInterrupted = errors.New("interrupted")

func TestCancelStopsTheProgram(t *testing.T) {
	tests := map[string]struct {
		argv  []string
		state string
	}{
		"that hangs":           {programtest.Argv("hang"), "signal: terminated"},
		"that ignores SIGTERM": {programtest.Argv("stubborn"), "signal: killed"},
		"that ends with grace": {programtest.Argv("graceful", "", "0"), "exit status 0"},
		"that fails on it":     {programtest.Argv("graceful", "{}", "4"), "exit status 4"},
		"that is stopped":      {[]string{"/bin/sh", "-c", "echo ready >&2; kill -STOP $$"}, "signal: terminated"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			within(t, func() {
				grace := 30 * time.Second
				if test.state == "signal: killed" {
					grace = 100 * time.Millisecond
				}
				res, err := stop(t, program.Command{Argv: test.argv, Grace: grace}, "ready")
				var stopped *program.StoppedError
				if !errors.As(err, &stopped) || !errors.Is(err, errInterrupted) {
					t.Fatalf("got error %v", err)
				}
				if res.State != test.state {
					t.Errorf("got %s, want %s", res.State, test.state)
				}
			})
		})
	}
}

func TestCancelLetsAProgramFinishWithinItsGrace(t *testing.T) {
	res, err := stop(t, program.Command{Argv: programtest.Argv("graceful", `{"id":"7"}`, "0")}, "ready")
	if err != nil || string(res.Stdout) != `{"id":"7"}` {
		t.Errorf("got %v, %+v", err, res)
	}
}

func TestCancelWithNegativeGraceKillsImmediately(t *testing.T) {
	within(t, func() {
		if _, err := stop(t, program.Command{Argv: programtest.Argv("stubborn"), Grace: -1}, "ready"); err == nil {
			t.Error("no error")
		}
	})
}

func TestCancelEndsTheWholeGroup(t *testing.T) {
	for _, mode := range []string{"hang", "stubborn"} {
		t.Run(mode, func(t *testing.T) {
			argv := programtest.Argv(mode)
			within(t, func() {
				res, err := stop(t, program.Command{
					// The child prints its process ID before it becomes the program, which prints that it is ready.
					Argv: []string{"/bin/sh", "-c", `sh -c 'echo child $$ >&2; exec "$@"' sh "$@" & wait`, "sh",
						argv[0], argv[1]},
					Grace: 300 * time.Millisecond,
				}, "ready")
				if !errors.Is(err, errInterrupted) {
					t.Fatal(err)
				}
				expectEnd(t, childOf(t, res))
			})
		})
	}
}

func TestCancelGivesChildrenTheGraceToo(t *testing.T) {
	// The signal kills the shell immediately; its child finishes within the grace period.
	argv := programtest.Argv("graceful", `{"id":"7"}`, "0")
	res, err := stop(t, program.Command{Argv: append([]string{"/bin/sh", "-c", `"$@"; exit $?`, "sh"}, argv...)},
		"ready")
	if !errors.Is(err, errInterrupted) || string(res.Stdout) != `{"id":"7"}` || res.State != "signal: terminated" {
		t.Errorf("got %v, %+v", err, res)
	}
}

func TestCancelDoesNotWaitForDaemons(t *testing.T) {
	argv := programtest.Argv("daemon", "", "0", "hang")
	within(t, func() {
		res, err := stop(t, program.Command{
			Argv:   append([]string{"/bin/sh", "-c", `"$@"; sleep 60`, "sh"}, argv...),
			Grace:  time.Second,
			Linger: 200 * time.Millisecond,
		}, "child")
		if !errors.Is(err, errInterrupted) {
			t.Fatal(err)
		}
		syscall.Kill(childOf(t, res), syscall.SIGKILL)
	})
}
