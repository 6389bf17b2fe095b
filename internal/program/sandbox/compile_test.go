package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/sandbox"
)

func TestMain(m *testing.M) {
	if status, is := sandbox.Child(); is {
		os.Exit(status)
	}
	sandbox.UseChildren(false) // most tests compile small modules, which needs no process
	os.Exit(m.Run())
}

// apart lets child processes compile modules during a test. It returns the folder for their temporary folders.
func apart(t *testing.T) (temporary string) {
	t.Helper()
	temporary = t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary)
	t.Cleanup(sandbox.UseChildren(true))
	return temporary
}

// explosion is a module of a few hundred kilobytes whose compilation takes time and memory in proportion to the product
// of its variables and its loops: after the loops each variable is read, and so has a value in each loop.
func explosion(variables, loops int) []byte {
	body := joined(number(1), number(uint64(variables)), []byte{0x7f})
	body = append(body, bytes.Repeat([]byte{0x03, 0x40, 0x20, 0x00, 0x0d, 0x00, 0x0b}, loops)...)
	for i := range variables {
		body = append(append(append(body, 0x20), number(uint64(i))...), 0x1a)
	}
	out := append(header(), section(1, number(1), []byte{0x60, 0, 0})...)
	out = append(out, section(3, number(1), number(0))...)
	out = append(out, section(7, number(1), sized([]byte("_start")), []byte{0, 0})...)
	return append(out, section(10, number(1), sized(append(body, 0x0b)))...)
}

func TestCompilationsEndAtTheirLimits(t *testing.T) {
	hostile := explosion(50_000, 50_000)
	for name, c := range map[string]struct {
		limits sandbox.CompileLimits
		want   string
	}{
		"memory": {sandbox.CompileLimits{Memory: 256 << 20}, "guest.wasm needs more than 256 MiB of memory to compile"},
		"time":   {sandbox.CompileLimits{Time: 300 * time.Millisecond, Memory: 16 << 30}, "takes longer than 300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			temporary := apart(t)
			cache := filepath.Join(t.TempDir(), "modules")
			_, err := open(t, hostile, sandbox.Options{Cache: cache, Compile: c.limits})
			var invalid *sandbox.InvalidError
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "Split its largest functions") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			stacks := make([]byte, 1<<20)
			if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("wazevo")) {
				t.Errorf("a compiler is left behind:\n%s", stacks)
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("temporary files are left behind: %v, %v", left, err)
			}
			if m, err := open(t, guest{}.binary(), sandbox.Options{Cache: cache}); err != nil {
				t.Error(err)
			} else if exit := run(t.Context(), m); exit.Code != 0 {
				t.Errorf("the next module ended with %+v", exit)
			}
		})
	}
}

func TestCancelledCompilationsEndWithTheirCause(t *testing.T) {
	apart(t)
	path := filepath.Join(t.TempDir(), "guest.wasm")
	if err := os.WriteFile(path, explosion(50_000, 50_000), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user has interrupted")
	go cancel(why)
	if _, err := sandbox.Open(ctx, sandbox.Options{Path: path}); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

// A child stores machine code, and later runs neither start a child nor compile.
func TestModulesAreCompiledInAProcessOnce(t *testing.T) {
	for name, usable := range map[string]bool{"with a cache": true, "without a cache": false} {
		t.Run(name, func(t *testing.T) {
			temporary := apart(t)
			o := sandbox.Options{}
			if usable {
				o.Cache = filepath.Join(t.TempDir(), "modules")
			}
			for range 3 {
				m, err := open(t, guest{body: unreachable}.binary(), o)
				if err != nil {
					t.Fatal(err)
				}
				if exit := run(t.Context(), m); !strings.Contains(exit.State, "a trap (unreachable") {
					t.Errorf("got %+v", exit)
				}
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("temporary files are left behind: %v, %v", left, err)
			}
			if !usable {
				return
			}
			if records, err := os.ReadDir(filepath.Join(o.Cache, "checked-1")); err != nil || len(records) != 1 {
				t.Errorf("the records are %v, %v", records, err)
			}
			o.Compile.Memory = 1 // a child would fail now
			if _, err := open(t, guest{body: unreachable}.binary(), o); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDamagedCachesAreNotUsedByChildren(t *testing.T) {
	apart(t)
	cache := filepath.Join(t.TempDir(), "modules")
	for i, damage := range [][]byte{[]byte("x"), bytes.Repeat([]byte("x"), 1000), nil} {
		if _, err := open(t, guest{}.binary(), sandbox.Options{Cache: cache}); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(cache, "wazero-*", "*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("the cache has %q, %v", files, err)
		}
		if err := os.WriteFile(files[0], damage, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := open(t, guest{}.binary(), sandbox.Options{Cache: cache})
		if err != nil {
			t.Fatal(i, err)
		}
		if exit := run(t.Context(), m); exit.Code != 0 {
			t.Errorf("it ended with %+v", exit)
		}
	}
}

func TestChildrenExplainWhyAModuleIsInvalid(t *testing.T) {
	apart(t)
	for binary, want := range map[string]string{
		"text":                            "is not a valid WebAssembly module",
		string(guest{name: "f"}.binary()): "has no function _start",
	} {
		_, err := open(t, []byte(binary), sandbox.Options{})
		var invalid *sandbox.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "guest.wasm "+want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A process that was not given a task by Open ends at once.
func TestChildrenNeedATask(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"x", `{"memory": 1, "limit": 1000000000}`,
		`{"cache": "/", "memory": 1, "limit": 1}`} {
		res, err := program.Run(t.Context(), program.Command{Argv: []string{self},
			Stdin: explosion(50_000, 50_000),
			Env:   append(os.Environ(), fmt.Sprintf("%s=%s", sandbox.ChildVariable, text))})
		if err != nil || res.ExitCode == 0 {
			t.Errorf("%s: got %+v, %v", text, res, err)
		}
	}
}
