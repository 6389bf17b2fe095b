//go:build unix

package external

import (
	"context"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

func TestStopLeavesProgramsThatChangeThingsToFinish(t *testing.T) {
	var w *world
	w = newWorld(t, Options{Stderr: func(Line) {
		if err := w.p.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}})
	w.mustApply(
		attrs{"program": tuple("sh", "-c", `echo begun >&2; sleep 0.3; echo '{"id":"7","arguments":{},"result":{}}'`)})
	w.expect("7", map[string]string{}, map[string]string{})
	expectProblem(t, w.read(), sumExecution, nil, "the run is being interrupted")
}

func TestFloodsOfMessagesAreCutAndCounted(t *testing.T) {
	for name, tt := range map[string]struct{ script, rest string }{
		"many lines": {"seq 1 6000 >&2; exit 1",
			"(too many messages of the program: at least 1000 more lines, 4000 bytes, not shown)"},
		"one line": {`head -c 12000000 /dev/zero | tr '\0' x >&2; exit 1`,
			"(too many messages of the program: at least 168 more lines, 10951424 bytes, not shown)"},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			size := 0
			w := newWorld(t, Options{Stderr: func(l Line) {
				lines = append(lines, l.Text)
				size += len(l.Text)
			}})
			for range 2 { // for each call
				lines, size = []string{""}, 0
				w.apply(t.Context(), attrs{"program": tuple("sh", "-c", tt.script)})
				if last := lines[len(lines)-1]; size > 2<<20 || last != tt.rest {
					t.Fatalf("%d bytes in %d lines were passed on, the last is %q", size, len(lines), last)
				}
			}
		})
	}
}

func TestContextStopsProgramsThatChangeThings(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorld(t, Options{Grace: 100 * time.Millisecond, Stderr: func(Line) { cancel() }})
	program := tuple("sh", "-c", `exec "$0" "$1"`, programtest.Argv("")[0], "programtest:stubborn")
	expectProblem(t, w.apply(ctx, attrs{"program": program}), sumExecution, nil,
		"should create the object did not finish", "It may have changed something",
		"State: signal: killed")
}

func TestContextLetsAProgramFinishWithinItsGrace(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorld(t, Options{Stderr: func(Line) { cancel() }})
	answer := `{"id":"7","arguments":{},"result":{}}`
	program := tuple("sh", "-c", `exec "$0" "$1" "$2" 0`, programtest.Argv("")[0], "programtest:graceful", answer)
	if diags := w.apply(ctx, attrs{"program": program}); len(diags) > 0 {
		t.Fatal(diags.Err())
	}
	w.expect("7", map[string]string{}, map[string]string{})
}
