package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/starter"
)

// rates are calls and sessions of a program a second, one after the other.
type rates struct{ oneShots, sessions, calls float64 }

// sessionsMain measures a provider in each language as a WASI module and as a program of the system, in turns, and
// prints the ratio. That in Go uses the kit (testdata/label). Those in C and Rust are the programs of "provider new",
// with a loop for sessions (testdata/sessions).
func sessionsMain(ctx context.Context, dir string, n int, stdout, stderr io.Writer) error {
	fmt.Fprint(stdout, "\n| program | one-shot calls/s | sessions/s, with one call | calls/s in a session |\n"+
		"|---|--:|--:|--:|\n")
	for _, lang := range []string{"c", "rust", "go"} {
		build := buildSessions
		if lang == "go" {
			build = buildKit
		}
		folder := filepath.Join(dir, lang)
		if err := build(ctx, folder, lang); err != nil {
			fmt.Fprintf(stderr, "%s: %v\n", lang, err)
			continue
		}
		if err := compareRates(ctx, folder, lang, n, stdout); err != nil {
			return err
		}
	}
	return nil
}

// compareRates prints the rates of demo.wasm and demo in a folder.
func compareRates(ctx context.Context, dir, lang string, n int, stdout io.Writer) error {
	var all [2]rates
	const turns = 3
	for range turns {
		for i, program := range []string{`"wasm": "demo.wasm"`, `"command": ["./demo"]`} {
			one, err := measureRates(ctx, dir, program, n)
			if err != nil {
				return err
			}
			all[i] = rates{max(all[i].oneShots, one.oneShots), max(all[i].sessions, one.sessions),
				max(all[i].calls, one.calls)}
		}
	}
	module, process := all[0], all[1]
	for _, row := range []struct {
		name string
		r    rates
	}{{"module", module}, {"process", process}} {
		fmt.Fprintf(stdout, "| %s, %s | %.0f | %.0f | %.0f |\n", lang, row.name, row.r.oneShots, row.r.sessions,
			row.r.calls)
	}
	fmt.Fprintf(stdout, "| %s, module / process | %.2f | %.2f | %.2f |\n", lang, module.oneShots/process.oneShots,
		module.sessions/process.sessions, module.calls/process.calls)
	return nil
}

// buildKit compiles the provider in Go.
func buildKit(ctx context.Context, dir, _ string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for file, env := range map[string][]string{"demo": nil, "demo.wasm": {"GOOS=wasip1", "GOARCH=wasm"}} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, file),
			"github.com/tombolo-iac/tombolo/bench/testdata/label")
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", file, err, out)
		}
	}
	return nil
}

//go:embed testdata/sessions
var loops embed.FS

// buildSessions compiles the program of "provider new" in C or Rust, with a loop for sessions.
func buildSessions(ctx context.Context, dir, lang string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	source := map[string]string{"c": "main.c", "rust": "main.rs"}[lang]
	loop, err := loops.ReadFile("testdata/sessions/loop" + filepath.Ext(source))
	if err != nil {
		return err
	}
	text := strings.NewReplacer("int main(", "int one_shot(", "fn main(", "fn one_shot(").
		Replace(string(starter.Files(lang, "demo")[source]))
	if err := os.WriteFile(filepath.Join(dir, source), append([]byte(text), loop...), 0o666); err != nil {
		return err
	}
	return errors.Join(compile(ctx, dir, lang, false), compile(ctx, dir, lang, true))
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
