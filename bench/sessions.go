package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

// rates are calls and sessions of a program a second, one after the other.
type rates struct{ oneShots, sessions, calls float64 }

// sessionsMain measures the provider in testdata/label as a WASI module and as a program of the system, in turns, and
// prints the ratio.
func sessionsMain(ctx context.Context, dir string, n int, stdout io.Writer) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for file, env := range map[string][]string{"label": nil, "label.wasm": {"GOOS=wasip1", "GOARCH=wasm"}} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, file),
			"github.com/tombolo-iac/tombolo/bench/testdata/label")
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", file, err, out)
		}
	}
	var all [2]rates
	const turns = 3
	for range turns {
		for i, program := range []string{`"wasm": "label.wasm"`, `"command": ["./label"]`} {
			one, err := measureRates(ctx, dir, program, n)
			if err != nil {
				return err
			}
			all[i] = rates{max(all[i].oneShots, one.oneShots), max(all[i].sessions, one.sessions),
				max(all[i].calls, one.calls)}
		}
	}
	module, process := all[0], all[1]
	fmt.Fprintf(stdout, "\n| Go, with the kit | one-shot calls/s | sessions/s, with one call | "+
		"calls/s in a session |\n|---|--:|--:|--:|\n")
	for _, row := range []struct {
		name string
		r    rates
	}{{"module", module}, {"process", process}} {
		fmt.Fprintf(stdout, "| %s | %.0f | %.0f | %.0f |\n", row.name, row.r.oneShots, row.r.sessions, row.r.calls)
	}
	fmt.Fprintf(stdout, "| module / process | %.2f | %.2f | %.2f |\n", module.oneShots/process.oneShots,
		module.sessions/process.sessions, module.calls/process.calls)
	return nil
}

// measureRates returns the rates of n calls or sessions.
func measureRates(ctx context.Context, dir, program string, n int) (r rates, err error) {
	caller := func(mode string) (handler.Caller, error) {
		m, diags := manifest.Parse(fmt.Appendf(nil, `{"protocol": 1, "name": "label", "mode": %q, %s, "schema": {
			"functions": {"label": {"parameters": [{"name": "text", "type": "string"}], "return_type": "string"}}}}`,
			mode, program), filepath.Join(dir, manifest.FileName), dir)
		if diags.HasErrors() {
			return nil, diags.Err()
		}
		return handler.NewCaller(m, handler.Surroundings{Cache: filepath.Join(dir, "cache")}), nil
	}
	// calls makes calls with one caller; the first is not counted, because it may compile.
	calls := func(mode string, n int) (perSecond float64, err error) {
		c, err := caller(mode)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		if _, err := callLabel(ctx, c); err != nil {
			return 0, err
		}
		start := time.Now()
		for range n {
			if _, err := callLabel(ctx, c); err != nil {
				return 0, err
			}
		}
		return float64(n) / time.Since(start).Seconds(), nil
	}
	if r.oneShots, err = calls("one-shot", n); err != nil {
		return r, err
	}
	if r.calls, err = calls("session", n); err != nil {
		return r, err
	}
	start := time.Now()
	sessions := max(1, n/10)
	for range sessions {
		if _, err = calls("session", 0); err != nil {
			return r, err
		}
	}
	r.sessions = float64(sessions) / time.Since(start).Seconds()
	return r, nil
}
