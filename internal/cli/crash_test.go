package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/graph"
)

// TestCrashReportsHideSecrets panics with several kinds of values, in the command itself and on a worker of the engine,
// and checks the report for the secret and the location, and the outcome.
func TestCrashReportsHideSecrets(t *testing.T) {
	for name, crash := range map[string]func(){
		"a text":           func() { panic("not " + planted) },
		"an error":         func() { panic(fmt.Errorf("not %w", errors.New(planted))) },
		"a value":          func() { panic(struct{ text string }{planted}) },
		"of the runtime":   func() { _ = []string{planted}[len(planted)] },
		"a wrong type":     func() { _ = any(planted).(error) },
		"an unhashable":    func() { _ = map[any]int{}[[]string{planted}] },
		"with something":   func() { defer func() { panic(recover()) }(); panic(planted) },
		"with another one": func() { defer func() { panic(errors.New(planted)) }(); panic(planted) },
	} {
		for where, run := range map[string]func(){
			"in the command": crash,
			"on a worker": func() {
				r := graph.New(2)
				r.Add(func(*graph.Node) error { crash(); return nil })
				_ = r.Run(context.Background())
			},
		} {
			t.Run(name+", "+where, func(t *testing.T) {
				var out bytes.Buffer
				a := &command.App{Surroundings: engine.Surroundings{Title: "Tombolo"}, Err: &out}
				o := catchPanic(a, func() command.Outcome { run(); return command.Done })
				if o != command.Failed || !strings.Contains(out.String(), "crash_test.go:") ||
					!strings.Contains(out.String(), "\npanic: ") {
					t.Errorf("outcome %v:\n%s", o, out.String())
				}
				if strings.Contains(out.String(), planted) {
					t.Errorf("the report tells a secret:\n%s", out.String())
				}
			})
		}
	}
}
