package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/sandbox"
)

// guest describes a module; its zero value is a program that ends at once.
type guest struct {
	imports []string // functions of the type () -> () in the form module.name
	body    []byte   // instructions of the function 0 after the imports, without the final end
	name    string   // the name under which that function is exported; "" means _start, "-" none
	results int      // how many numbers it returns
	start   bool     // it is the start function, too
	pages   int      // the minimum of its memory
	table   uint32   // the minimum of its table
	data    int      // offset of a byte that is written into the memory; 0 means none
}

func number(n uint64) (out []byte) {
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

func joined(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func sized(content []byte) []byte { return joined(number(uint64(len(content))), content) }

func section(id byte, content ...[]byte) []byte {
	return joined([]byte{id}, sized(joined(content...)))
}

func header() []byte { return []byte("\x00asm\x01\x00\x00\x00") }

// binary returns the module.
func (g guest) binary() []byte {
	function := number(uint64(len(g.imports)))
	out := header()
	out = append(out, section(1, number(2), []byte{0x60, 0, 0}, []byte{0x60, 0, byte(g.results)},
		bytes.Repeat([]byte{0x7f}, g.results))...)
	if len(g.imports) > 0 {
		list := number(uint64(len(g.imports)))
		for _, full := range g.imports {
			from, name, _ := strings.Cut(full, ".")
			list = joined(list, sized([]byte(from)), sized([]byte(name)), []byte{0, 0})
		}
		out = append(out, section(2, list)...)
	}
	out = append(out, section(3, number(1), number(1))...)
	if g.table > 0 {
		out = append(out, section(4, number(1), []byte{0x70, 0}, number(uint64(g.table)))...)
	}
	out = append(out, section(5, number(1), []byte{0}, number(uint64(g.pages)))...)
	switch g.name {
	case "":
		out = append(out, section(7, number(1), sized([]byte("_start")), []byte{0}, function)...)
	case "-":
	default:
		out = append(out, section(7, number(1), sized([]byte(g.name)), []byte{0}, function)...)
	}
	if g.start {
		out = append(out, section(8, function)...)
	}
	out = append(out, section(10, number(1), sized(joined(number(0), g.body, []byte{0x0b})))...)
	if g.data > 0 {
		out = append(out, section(11, number(1), []byte{0, 0x41}, signed(g.data), []byte{0x0b},
			sized([]byte("x")))...)
	}
	return out
}

// signed encodes a number that is not negative.
func signed(n int) (out []byte) {
	for ; n >= 0x40; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

var (
	unreachable = []byte{0x00}
	endless     = []byte{0x03, 0x40, 0x0c, 0x00, 0x0b}
	recursion   = []byte{0x10, 0x00}
	// growth grows the memory until that fails, and then traps.
	growth = []byte{0x03, 0x40, 0x41, 0x10, 0x40, 0x00, 0x41, 0x7f, 0x47, 0x0d, 0x00, 0x0b, 0x00}
)

func open(t testing.TB, binary []byte, o sandbox.Options) (*sandbox.Module, error) {
	t.Helper()
	o.Path = filepath.Join(t.TempDir(), "guest.wasm")
	if err := os.WriteFile(o.Path, binary, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := sandbox.Open(t.Context(), o)
	if err == nil {
		t.Cleanup(func() {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return m, err
}

func run(ctx context.Context, m *sandbox.Module) program.Exit {
	return m.Run(ctx, program.Streams{Args: []string{"guest"}, Stdin: strings.NewReader(""), Stdout: io.Discard,
		Stderr: io.Discard})
}

func TestHostileModulesEndWithAReason(t *testing.T) {
	for name, c := range map[string]struct {
		guest guest
		code  int
		state string
		limit time.Duration // of its context; 0 means none
	}{
		"nothing":             {guest{}, 0, "exit status 0", 0},
		"a trap":              {guest{body: unreachable}, -1, "a trap (unreachable", 0},
		"a trap at the start": {guest{body: unreachable, start: true}, -1, "a trap", 0},
		"an endless loop":     {guest{body: endless}, -1, "the end of its time", 100 * time.Millisecond},
		"endless at first": {guest{body: endless, start: true}, -1, "the end of its time",
			100 * time.Millisecond},
		"endless recursion":      {guest{body: recursion}, -1, "a trap (stack overflow", 0},
		"endless memory":         {guest{body: growth}, -1, "its memory is limited to 16 MiB", 0},
		"data outside of memory": {guest{pages: 1, data: 1 << 20}, -1, "a trap (", 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := open(t, c.guest.binary(), sandbox.Options{Memory: 16})
			if err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			if c.limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.limit)
				defer cancel()
			}
			for range 2 { // one run must not harm the next
				if exit := run(ctx, m); exit.Code != c.code || !strings.Contains(exit.State, c.state) {
					t.Errorf("got %d, %q, want %d, %q", exit.Code, exit.State, c.code, c.state)
				}
			}
		})
	}
}

func TestModulesThatCannotRunAreRefusedWithTheReason(t *testing.T) {
	for name, c := range map[string]struct {
		binary []byte
		want   string
	}{
		"another file":      {[]byte("#!/bin/sh\n"), "is not a valid WebAssembly module"},
		"nothing":           {nil, "is not a valid WebAssembly module"},
		"a library":         {guest{name: "f"}.binary(), "has no function _start"},
		"no exports":        {guest{name: "-"}.binary(), "has no function _start"},
		"a result":          {guest{results: 1, body: []byte{0x41, 0}}.binary(), "has no function _start"},
		"other functions":   {guest{imports: []string{"env.socket"}}.binary(), `needs the function "socket" of "env"`},
		"too much memory":   {guest{pages: 1 << 15}.binary(), "over limit of 256 pages"},
		"an enormous table": {guest{table: 1<<32 - 1}.binary(), "its table has 4294967295 elements"},
		"variables without end": {append(header(), section(10, number(1), sized(joined(number(1), number(1<<32-1),
			[]byte{0x7f, 0x0b})))...), "more than 50000 variables"},
		"things without end": {append(header(), section(1, number(1<<32-1))...), "declares 4294967295 things"},
		"names without end":  {append(header(), section(7, number(1), number(1<<31), []byte{0, 0})...), "declares"},
		"elements without end": {append(header(), section(9, number(1), []byte{0, 0x41, 0, 0x0b},
			number(1<<32-1))...), "declares 4294967295 things"},
		"data without end": {append(header(), section(11, number(1), []byte{1}, number(1<<31))...), "declares"},
		"an import of a memory": {append(header(), section(2, number(1), sized([]byte("a")), sized([]byte("b")),
			[]byte{2, 0, 1})...), "imports something that is not a function"},
		"a wrong WASI function": {guest{imports: []string{"wasi_snapshot_preview1.fd_sock"}}.binary(), "fd_sock"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := open(t, c.binary, sandbox.Options{Memory: 16})
			var invalid *sandbox.InvalidError
			if err == nil {
				// what is not known to the host is only found when the module is put together
				if exit := run(t.Context(), m); exit.Code != -1 || !strings.Contains(exit.State, c.want) {
					t.Errorf("it ran: %+v", exit)
				}
				return
			}
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), c.want) ||
				!strings.HasPrefix(err.Error(), "guest.wasm ") {
				t.Errorf("got %v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := sandbox.Open(t.Context(), sandbox.Options{Path: filepath.Join(t.TempDir(), "none")}); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestDamagedModulesAreErrors opens and runs modules with random damage. Nothing may panic, and each run must end.
func TestDamagedModulesAreErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, g := range []guest{{body: growth, pages: 1, table: 3, data: 5}, {body: endless, start: true},
		{imports: []string{"wasi_snapshot_preview1.proc_exit"}, body: unreachable}} {
		whole := g.binary()
		for n := range whole {
			survives(t, whole[:n])
		}
		for range 150 {
			damaged := bytes.Clone(whole)
			for range 1 + r.IntN(3) {
				damaged[8+r.IntN(len(damaged)-8)] = byte(r.UintN(256))
			}
			survives(t, damaged)
		}
	}
}

func FuzzModules(f *testing.F) {
	for _, g := range []guest{{}, {body: growth, pages: 1, table: 3, data: 5}, {body: endless, start: true}} {
		f.Add(g.binary())
	}
	f.Fuzz(func(t *testing.T, binary []byte) { survives(t, binary) })
}

func survives(t *testing.T, binary []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guest.wasm")
	if err := os.WriteFile(path, binary, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := sandbox.Open(t.Context(), sandbox.Options{Path: path, Memory: 1})
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if exit := run(ctx, m); exit.State == "" || strings.Contains(exit.State, "a failure of the sandbox") {
		t.Errorf("%x ended with %+v", binary, exit)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func TestCompiledModulesAreReusedOnlyFromAFolderOfTheUser(t *testing.T) {
	files := func(dir string) (list []string) {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				list = append(list, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	ends := func(dir string) {
		t.Helper()
		m, err := open(t, guest{}.binary(), sandbox.Options{Cache: dir})
		if err != nil {
			t.Fatal(err)
		}
		if exit := run(t.Context(), m); exit.Code != 0 {
			t.Errorf("got %+v", exit)
		}
	}
	dir := filepath.Join(t.TempDir(), "modules")
	ends(dir)
	before := files(dir)
	if len(before) != 1 {
		t.Fatalf("the cache has %q", before)
	}
	ends(dir)
	if after := files(dir); len(after) != 1 || after[0] != before[0] {
		t.Errorf("the cache has %q after %q", after, before)
	}
	whole, err := os.ReadFile(before[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{nil, whole[:len(whole)/2], bytes.Repeat([]byte("x"), len(whole))} {
		if err := os.WriteFile(before[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		ends(dir)
	}
	if runtime.GOOS == "windows" {
		return // permissions are inherited from the user's folder there
	}
	shared, link := filepath.Join(t.TempDir(), "shared"), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Mkdir(shared, 0o700), os.Chmod(shared, 0o777), os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	ends(shared)
	if got := files(shared); len(got) != 0 {
		t.Errorf("a folder that others can write to has %q", got)
	}
	count := len(files(dir))
	ends(link)
	if got := files(dir); len(got) != count {
		t.Errorf("a link was followed: %q", got)
	}
}
