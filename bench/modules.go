package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/starter"
)

// A moduleRow holds the times of a program that computes a label.
type moduleRow struct {
	name string
	// compiled is the first call, which compiles a module, and stored the first call of the next run, which finds the
	// machine code. median is that of further calls; rate is calls per second, ten at once.
	compiled, stored, median time.Duration
	rate                     float64
}

// modulesMain measures calls of WASI modules in each language, beside the same program in Go as a process. The modules
// are those of "provider new". A second table has sessions.
func modulesMain(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("modules", flag.ContinueOnError)
	flags.SetOutput(stderr)
	n := flags.Int("n", 300, "`number` of calls")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "modules")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprint(stdout, "| program | first call, compiled | first call, stored | median call | calls/s, ten at once |\n"+
		"|---|--:|--:|--:|--:|\n")
	for _, lang := range []string{"c", "rust", "go-wasm", "go-wasm as a process"} {
		row, err := measureModule(ctx, filepath.Join(dir, strings.ReplaceAll(lang, " ", "-")), lang, *n)
		if err != nil {
			fmt.Fprintf(stderr, "%s: %v\n", lang, err)
			continue
		}
		fmt.Fprintf(stdout, "| %s | %v | %v | %v | %.0f |\n", row.name, row.compiled.Round(time.Millisecond/10),
			row.stored.Round(time.Millisecond/10), row.median.Round(time.Microsecond), row.rate)
	}
	return sessionsMain(ctx, filepath.Join(dir, "sessions"), *n, stdout, stderr)
}

func measureModule(ctx context.Context, dir, lang string, n int) (row moduleRow, err error) {
	row.name = lang
	lang, native := strings.CutSuffix(lang, " as a process")
	if err := buildModule(ctx, dir, lang, native); err != nil {
		return row, err
	}
	m, diags := manifest.Load(dir)
	if diags.HasErrors() {
		return row, diags.Err()
	}
	cache := filepath.Join(dir, "cache")
	for _, first := range []*time.Duration{&row.compiled, &row.stored} {
		c := handler.NewCaller(m, handler.Surroundings{Cache: cache})
		if *first, err = callLabel(ctx, c); err != nil {
			return row, errors.Join(err, c.Close())
		}
		if err := c.Close(); err != nil {
			return row, err
		}
	}
	c := handler.NewCaller(m, handler.Surroundings{Cache: cache})
	_, err = callLabel(ctx, c)
	var all []time.Duration
	for i := 0; i < n && err == nil; i++ {
		var took time.Duration
		took, err = callLabel(ctx, c)
		all = append(all, took)
	}
	if err == nil {
		slices.Sort(all)
		row.median = all[len(all)/2]
		row.rate, err = callRate(ctx, c, n)
	}
	return row, errors.Join(err, c.Close())
}

// buildModule writes the files of a new provider and compiles it, if native is set as a program of this system.
func buildModule(ctx context.Context, dir, lang string, native bool) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, text := range starter.Files(lang, "demo") {
		if native {
			text = []byte(strings.NewReplacer(`"wasm": "demo.wasm",`, `"command": ["./demo"],`, `"memory": 64,`, "").
				Replace(string(text)))
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			return err
		}
	}
	return compile(ctx, dir, lang, native)
}

// natives are the commands that compile the source of a module as a program of the system.
var natives = map[string]string{"c": "clang -O2 -s -o demo main.c",
	"rust": "rustc -O -C strip=symbols -o demo main.rs", "go-wasm": "go build -o demo ."}

// compile compiles the source of a provider, to demo.wasm or, if native is set, to demo.
func compile(ctx context.Context, dir, lang string, native bool) error {
	_, command, _ := strings.Cut(starter.Try(lang, "tombolo", "demo", "."), "&& ")
	command, _, _ = strings.Cut(command, " && ")
	if native {
		command = natives[lang]
	}
	var failed error
	for _, one := range []string{command, // Rust before 1.78 has another name, and Debian's is beside that of rustup
		strings.NewReplacer("wasm32-wasip1", "wasm32-wasi", "rustc ", "/usr/bin/rustc ").Replace(command)} {
		cmd := exec.CommandContext(ctx, "sh", "-c", one)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "PWD="+dir)
		out, err := cmd.CombinedOutput()
		if err == nil {
			return nil
		}
		failed = fmt.Errorf("%s: %w\n%s", one, err, out)
	}
	return failed
}

// callLabel calls the function of the provider once.
func callLabel(ctx context.Context, c handler.Caller) (time.Duration, error) {
	start := time.Now()
	a, err := c.Call(ctx, handler.Call{Action: "call", Type: "label",
		Params: []byte(`{"function":"label","args":["Hello, world"]}`),
		Line:   func(string) {}, Progress: func(string, float64) {}})
	switch {
	case err != nil:
		return 0, err
	case a.Failure != nil || !strings.Contains(string(a.Result), "hello-world"):
		return 0, fmt.Errorf("got %q, %+v", a.Result, a.Failure)
	}
	return time.Since(start), nil
}

// callRate returns the number of calls a second, of n calls that are made by ten callers.
func callRate(ctx context.Context, c handler.Caller, n int) (float64, error) {
	calls, problems := make(chan struct{}, n), make(chan error, n)
	for range n {
		calls <- struct{}{}
	}
	close(calls)
	start := time.Now()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for range calls {
				if _, err := callLabel(ctx, c); err != nil {
					problems <- err
				}
			}
		})
	}
	all.Wait()
	took := time.Since(start)
	close(problems)
	return float64(n) / took.Seconds(), <-problems
}
