//go:build !without_modules

package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// Limits of modules.
const (
	// MaxSize is the maximum size of a module in bytes.
	MaxSize = 64 << 20
	// DefaultMemory and MaxMemory are in MiB.
	DefaultMemory = 256
	MaxMemory     = 2048
	pagesOfMiB    = 16
	// features are those that compilers use. Reference types would let a module grow a table without a limit.
	features = api.CoreFeaturesV2 &^ api.CoreFeatureReferenceTypes
	wasi     = wasi_snapshot_preview1.ModuleName
	entry    = "_start"
	// notSupported is an error number of WASI.
	notSupported = 58
)

// Module is a compiled module. It may run several times at once; the runs share nothing.
type Module struct {
	path      string
	memory    int
	folders   []Folder
	hosts     []string
	transport *http.Transport
	runtime   wazero.Runtime
	compiled  wazero.CompiledModule
	cache     wazero.CompilationCache // nil without one

	running   sync.WaitGroup
	runs      atomic.Uint64
	exchanges sync.Map // from the name of a run to its *exchange
}

// InvalidError means that a file is not a module that can run.
type InvalidError struct {
	Path    string
	Problem string
	// limit means that its compilation exceeded a limit.
	limit bool
}

// Error returns the name of the file and the problem.
func (e *InvalidError) Error() string { return fmt.Sprintf("%s %s", filepath.Base(e.Path), e.Problem) }

// Open reads and compiles a module. Errors are *InvalidError, or those of reading the file.
func Open(ctx context.Context, o Options) (*Module, error) {
	binary, err := regular.Read(o.Path, MaxSize)
	if err != nil {
		return nil, err
	}
	if o.Memory <= 0 || o.Memory > MaxMemory {
		o.Memory = DefaultMemory
	}
	limit := cmp.Or(o.Compile.Time, compileTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &tooLongError{limit})
	defer cancel()
	if children.Load() {
		if m, err := openApart(ctx, binary, o); !errors.Is(err, errNoChild) {
			return m, err
		}
	}
	return openHere(ctx, binary, o)
}

// openHere compiles a module in this process. The compiler does not stop within a function, so it is left behind if it
// takes too long.
func openHere(ctx context.Context, binary []byte, o Options) (*Module, error) {
	type result struct {
		m   *Module
		err error
	}
	done := make(chan result, 1)
	go func() {
		m, err := open(ctx, ctx, binary, o)
		if err != nil && o.Cache != "" && ctx.Err() == nil {
			o.Cache = "" // its files may be damaged
			m, err = open(ctx, ctx, binary, o)
		}
		done <- result{m, err}
	}()
	ended := func() error {
		var tooLong *tooLongError
		if errors.As(context.Cause(ctx), &tooLong) {
			return tooLong.of(o.Path)
		}
		return context.Cause(ctx)
	}
	select {
	case r := <-done:
		if r.err != nil && ctx.Err() != nil {
			return nil, ended()
		}
		return r.m, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.m != nil {
				_ = r.m.Close() // it has not run
			}
		}()
		return nil, ended()
	}
}

// open compiles a module, or loads its machine code. The compiler stops between two functions when compiling ends.
func open(ctx, compiling context.Context, binary []byte, o Options) (_ *Module, err error) {
	m := &Module{path: o.Path, memory: o.Memory, folders: o.Folders, hosts: o.Hosts, transport: newTransport(o.Hosts)}
	invalid := func(format string, args ...any) error {
		return errors.Join(&InvalidError{Path: o.Path, Problem: fmt.Sprintf(format, args...)}, m.Close())
	}
	defer func() {
		if r := recover(); r != nil { // the compiler met code that it cannot translate
			err = invalid("cannot be compiled: %v", r)
		}
	}()
	slim, err := checked(binary)
	if err != nil {
		return nil, invalid("is not a valid WebAssembly module: %s", err)
	}
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(true).WithDebugInfoEnabled(false).
		WithCoreFeatures(features).
		WithMemoryLimitPages(uint32(o.Memory * pagesOfMiB))
	if m.cache = openCache(o.Cache); m.cache != nil {
		config = config.WithCompilationCache(m.cache)
	}
	m.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := provideWASI(ctx, m.runtime); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	if err := m.provideHTTP(ctx); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	m.compiled, err = m.runtime.CompileModule(compiling, slim)
	if err != nil && compiling.Err() != nil {
		return nil, errors.Join(context.Cause(compiling), m.Close())
	}
	if err != nil {
		return nil, invalid("is not a valid WebAssembly module: %s", oneLine(err))
	}
	if problem := m.problem(); problem != "" {
		return nil, invalid("%s", problem)
	}
	return m, nil
}

// provideWASI exports the functions of WASI. fd_renumber is not supported: the table of open files would grow to any
// number that a module names, up to 16 GiB.
func provideWASI(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(wasi)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	i32 := []api.ValueType{api.ValueTypeI32, api.ValueTypeI32}
	b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) {
		stack[0] = notSupported
	}), i32, i32[:1]).Export("fd_renumber")
	_, err := b.Instantiate(ctx)
	return err
}

// problem returns why a valid module cannot run as a program, or "".
func (m *Module) problem() string {
	for _, f := range m.compiled.ImportedFunctions() {
		if from, name, _ := f.Import(); from != wasi && (from != hostModule || name != sendFunction &&
			name != readFunction) {
			return fmt.Sprintf("needs the function %q of %q, which it does not get: modules only get %s, and %s and "+
				"%s of %s. Compile it for WASI preview 1 (Go: GOOS=wasip1, Rust: --target wasm32-wasip1, C: "+
				"--target=wasm32-wasi)", name, from, wasi, sendFunction, readFunction, hostModule)
		}
	}
	f := m.compiled.ExportedFunctions()[entry]
	if f == nil || len(f.ParamTypes())+len(f.ResultTypes()) > 0 {
		return fmt.Sprintf("has no function %s, so it is a library. Compile it as a program, with a function main",
			entry)
	}
	return ""
}

// Run implements program.Inside.
func (m *Module) Run(ctx context.Context, s program.Streams) (exit program.Exit) {
	m.running.Add(1)
	defer m.running.Done()
	defer func() {
		if r := recover(); r != nil {
			exit = program.Exit{Code: -1, State: fmt.Sprintf("a failure of the sandbox: %v", r)}
		}
	}()
	mounts, free, err := m.mounts()
	defer free()
	if err != nil {
		return program.Exit{Code: -1, State: err.Error()}
	}
	name, end := m.begin()
	defer end()
	guest, err := m.runtime.InstantiateModule(ctx, m.compiled, config(ctx, s).WithName(name).WithFSConfig(mounts))
	if guest != nil {
		// The context may have ended; an error of closing could only repeat how the module ended.
		_ = guest.Close(context.WithoutCancel(ctx))
	}
	return m.exit(ctx, err)
}

// mounts opens the folders of a run. The caller calls free when the run has ended, even after an error.
func (m *Module) mounts() (mounts wazero.FSConfig, free func(), err error) {
	var roots []*os.Root
	free = func() {
		for _, root := range roots {
			_ = root.Close() // nothing was written with it
		}
	}
	mounts = wazero.NewFSConfig()
	open := &atomic.Int32{}
	for _, f := range m.folders {
		root, err := f.open()
		if err != nil {
			return mounts, free, fmt.Errorf("a missing folder that it may use: %w", err)
		}
		roots = append(roots, root)
		if more, ok := mounts.(sysfs.FSConfig); ok {
			mounts = more.WithSysFSMount(&folder{root: root, write: f.Write, open: open}, f.As)
		}
	}
	return mounts, free, nil
}

// config is everything that a run gets.
func config(ctx context.Context, s program.Streams) wazero.ModuleConfig {
	c := wazero.NewModuleConfig().WithArgs(s.Args...).WithStdin(s.Stdin).WithStdout(s.Stdout).
		WithStderr(s.Stderr).WithRandSource(rand.Reader).WithSysWalltime().WithSysNanotime().
		WithNanosleep(func(ns int64) {
			timer := time.NewTimer(time.Duration(ns))
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		})
	for _, pair := range s.Env {
		name, value, _ := strings.Cut(pair, "=")
		c = c.WithEnv(name, value)
	}
	return c
}

// exit describes how a run has ended.
func (m *Module) exit(ctx context.Context, err error) program.Exit {
	var code *sys.ExitError
	switch {
	case err == nil:
		return program.Exit{State: "exit status 0"}
	case ctx.Err() != nil:
		return program.Exit{Code: -1, State: "the end of its time"}
	case errors.As(err, &code):
		return program.Exit{Code: int(code.ExitCode()), State: "exit status " + strconv.Itoa(int(code.ExitCode()))}
	}
	return program.Exit{Code: -1, State: fmt.Sprintf("a trap (%s; its memory is limited to %d MiB)", oneLine(err),
		m.memory)}
}

// oneLine returns the first line of an error of a module; the stack follows.
func oneLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	for _, before := range []string{"] failed: ", "wasm error: "} { // module[] function[_start] failed: wasm error: ...
		if _, reason, ok := strings.Cut(text, before); ok {
			text = reason
		}
	}
	const most = 300
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// Close frees the module. Runs must have ended or be about to.
func (m *Module) Close() error {
	m.running.Wait()
	m.transport.CloseIdleConnections()
	ctx := context.Background()
	var closers []api.Closer
	if m.runtime != nil {
		closers = append(closers, m.runtime)
	}
	if m.cache != nil {
		closers = append(closers, m.cache)
	}
	var err error
	for _, c := range closers {
		err = errors.Join(err, c.Close(ctx))
	}
	return err
}
