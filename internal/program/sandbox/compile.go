//go:build !without_modules

package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/tombolo-iac/tombolo/internal/program"
)

// Limits of the compilation of a module, whose costs its author determines.
const (
	compileTime   = 2 * time.Minute
	compileMemory = 2 << 30 // bytes
	// spareMemory is how much more the operating system allows the child, which ends itself at the limit.
	spareMemory = 512 << 20
	memoryTick  = 20 * time.Millisecond
)

// childVariable, if set, makes a process a child that compiles a module. Its value is the task.
const childVariable = "TOMBOLO_COMPILE_MODULE"

// Exit statuses of such a child, in addition to 0 and those of a crash.
const (
	childFails = 10 + iota
	childNeedsMemory
)

// children is set if this program can be started as a child.
var children atomic.Bool

// task is what a child does. It reads the module from standard input, and stores machine code in the folder Cache.
type task struct {
	Cache  string `json:"cache"`
	Memory int    `json:"memory"` // of a run, in MiB
	Limit  uint64 `json:"limit"`  // bytes that the compiler may use
}

// verdict is the answer of a child.
type verdict struct {
	Problem string `json:"problem"` // of an InvalidError; "" if the module is valid
}

// Child compiles a module and reports true if this process was started for that; status is its exit status. Otherwise
// it lets Open start this program again as a child: a hostile module can keep the compiler busy forever, or let it
// allocate any amount of memory, and only a process can be ended. The main function of a program calls Child before
// anything else, or never: then Open compiles modules in its own process.
func Child() (status int, is bool) {
	text := os.Getenv(childVariable)
	if text == "" {
		children.Store(true)
		return 0, false
	}
	var t task
	if json.Unmarshal([]byte(text), &t) != nil || t.Cache == "" {
		return childFails, true
	}
	return t.perform(os.Stdin, os.Stdout), true
}

func (t task) perform(stdin io.Reader, stdout io.Writer) int {
	debug.SetMemoryLimit(int64(t.Limit - t.Limit/4)) // collect garbage before the limit is reached
	go endAbove(t.Limit)
	binary, err := io.ReadAll(io.LimitReader(stdin, MaxSize))
	if err != nil {
		return childFails
	}
	ctx := context.Background()
	m, err := open(ctx, ctx, binary, Options{Memory: t.Memory, Cache: t.Cache})
	var v verdict
	var invalid *InvalidError
	switch {
	case err == nil:
		defer m.Close() // it has not run
	case errors.As(err, &invalid):
		v.Problem = invalid.Problem
	default:
		fmt.Fprintln(os.Stderr, err)
		return childFails
	}
	if json.NewEncoder(stdout).Encode(v) != nil {
		return childFails
	}
	return 0
}

// endAbove ends this process when it uses more memory than a number of bytes. It never returns.
func endAbove(limit uint64) {
	used := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for {
		if metrics.Read(used); used[0].Value.Uint64()-used[1].Value.Uint64() > limit {
			os.Exit(childNeedsMemory)
		}
		time.Sleep(memoryTick)
	}
}

// openApart is Open with a child that compiles the module. This process then only loads the machine code. It decodes
// and validates the module again, but only if a child has done that within its limits.
func openApart(ctx context.Context, binary []byte, o Options) (*Module, error) {
	key := fmt.Sprintf("%x", sha256.Sum256(binary))
	if usable(o.Cache) {
		if wasChecked(o.Cache, key) {
			if m, err := load(ctx, binary, o); err == nil {
				return m, nil
			}
		}
		m, err := compileAndLoad(ctx, binary, o)
		if err == nil {
			setChecked(o.Cache, key)
		}
		var invalid *InvalidError
		if err == nil || errors.As(err, &invalid) && invalid.limit || ctx.Err() != nil || errors.Is(err, errNoChild) {
			return m, err
		}
		// The files of the cache may be damaged.
	}
	dir, err := os.MkdirTemp("", "tombolo-module-")
	if err != nil {
		return nil, err
	}
	o.Cache = dir
	defer os.RemoveAll(dir) // the machine code is in memory
	return compileAndLoad(ctx, binary, o)
}

// compileAndLoad compiles a module in a child, which stores the machine code in the cache, and loads it from there.
func compileAndLoad(ctx context.Context, binary []byte, o Options) (*Module, error) {
	if err := compile(ctx, binary, o); err != nil {
		return nil, err
	}
	m, err := load(ctx, binary, o)
	if err != nil {
		return nil, fmt.Errorf("its machine code cannot be loaded from %s: %w", o.Cache, err)
	}
	return m, nil
}

// load opens a module whose machine code is in the cache. It does not compile it: for that it would need a context that
// has not ended.
func load(ctx context.Context, binary []byte, o Options) (*Module, error) {
	ended, end := context.WithCancel(ctx)
	end()
	return open(ctx, experimental.WithCompilationWorkers(ended, 2), binary, o)
}

// errNoChild means that this program cannot be started again, because its file was replaced, for example.
var errNoChild = errors.New("no process can be started to compile a module")

// compile lets a child compile a module. Errors are *InvalidError, errNoChild, and the cause of the context.
func compile(ctx context.Context, binary []byte, o Options) error {
	t := task{Cache: o.Cache, Memory: o.Memory, Limit: cmp.Or(o.Compile.Memory, compileMemory)}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return errNoChild
	}
	res, err := program.Run(ctx, program.Command{Path: self, Argv: os.Args[:1],
		Env:   []string{childVariable + "=" + string(text)},
		Stdin: binary, Detached: true, Grace: -1, MaxMemory: t.Limit + spareMemory})
	var v verdict
	var tooLong *tooLongError
	switch {
	case errors.As(context.Cause(ctx), &tooLong):
		return tooLong.of(o.Path)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case res == nil:
		return errNoChild
	case res.ExitCode == childNeedsMemory, outOfMemory(res.Stderr):
		return &InvalidError{Path: o.Path, limit: true, Problem: fmt.Sprintf("needs more than %d MiB of memory to "+
			"compile, which is the limit. Split its largest functions and leave out code that it does not need",
			t.Limit>>20)}
	case err == nil && res.ExitCode == 0 && json.Unmarshal(res.Stdout, &v) == nil && v.Problem == "":
		return nil
	case v.Problem != "":
		return &InvalidError{Path: o.Path, Problem: v.Problem}
	}
	return fmt.Errorf("the process that compiles it ended with %s: %s", res.State,
		oneLine(errors.New(string(res.Stderr))))
}

// tooLongError is the cause of the end of a compilation that exceeds its time.
type tooLongError struct{ limit time.Duration }

func (e *tooLongError) Error() string {
	return fmt.Sprintf("takes longer than %s to compile, which is the limit. Split its largest functions and leave "+
		"out code that it does not need", e.limit)
}

// of returns the error for a file.
func (e *tooLongError) of(path string) error {
	return &InvalidError{Path: path, Problem: e.Error(), limit: true}
}

// usable reports whether a folder exists, or was made, in which machine code can be stored.
func usable(dir string) bool {
	cache := openCache(dir)
	return cache != nil && cache.Close(context.Background()) == nil
}

// checkedFolder is the folder in the cache with an empty file for each module that a child has compiled.
const checkedFolder = "checked-1"

func wasChecked(cache, key string) bool {
	info, err := os.Lstat(filepath.Join(cache, checkedFolder, key))
	return err == nil && info.Mode().IsRegular()
}

// setChecked records that a child has compiled a module. Without the record, the next run starts a child again.
func setChecked(cache, key string) {
	dir := filepath.Join(cache, checkedFolder)
	_ = os.Mkdir(dir, 0o700) // it may exist
	if f, err := os.OpenFile(filepath.Join(dir, key), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		_ = f.Close() // it is empty
	}
}

// outOfMemory reports whether a program of Go ended because the operating system gave it no more memory.
func outOfMemory(stderr []byte) bool {
	return bytes.Contains(stderr, []byte("out of memory")) || bytes.Contains(stderr, []byte("cannot allocate memory"))
}
