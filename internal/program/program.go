// Package program runs the programs that act as providers: scripts and executables in any language that read a request
// and write an answer, both in JSON.
//
// Run starts a program for one request: standard input is the request, standard output is the answer, and standard
// error is for messages. ReadStrings, ReadObject and WriteStrings encode and decode the simple protocol in which every
// value is a string. The callers define the meaning of requests.
//
// Run does not trust the program. A program may flood its output, never read its input, ignore signals, or leave
// children behind that keep its pipes open: Run still returns in bounded time and memory, without leaving a goroutine,
// a file or a process of its process group behind. It starts its goroutines itself and waits for them.
//
//	res, err := program.Run(ctx, program.Command{Argv: []string{"python3", "lookup.py"}, Stdin: []byte(`{"id":"7"}`)})
//	if err == nil && res.ExitCode == 0 {
//		answer, err = program.ReadStrings(res.Stdout)
//	}
package program

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	guarded "github.com/tombolo-iac/tombolo/internal/host/process"
	"github.com/tombolo-iac/tombolo/internal/host/process/group"
)

const (
	defaultMaxStdout = 64 << 20
	defaultMaxStderr = 2 << 20
	defaultGrace     = 10 * time.Second
	defaultLinger    = 2 * time.Second
	// killWait limits the wait for a program that not even SIGKILL ends, such as one that is blocked by a dead network
	// file system.
	killWait = 5 * time.Second
)

// Command is a program to run, and its limits. Only Argv is required; no shell is used.
type Command struct {
	// Argv is the program and its arguments. See LookPath for how the program is found.
	Argv []string
	// Path is the file to execute, which is not looked up; "" means Argv[0].
	Path string
	// Inside is set for a program that runs inside of this process. Argv are then only its arguments, beginning with
	// its name, and Env is its entire environment. Of the other fields, only Stdin, Whole, Stderr, MaxStdout and
	// MaxStderr are used.
	Inside Inside
	// Dir is the working directory; "" means Base. A program with a relative path is executed relative to Dir, as
	// execve does, although it is looked up relative to Base.
	Dir string
	// Base is the base of relative names, entries of PATH and Dir; "" means the current directory of this process.
	Base string
	// Env is the environment as "key=value"; nil means that of this process. See Environ for variables that are
	// removed.
	Env []string
	// Installed is for a program that Tombolo itself selects, such as git: relative entries of PATH are ignored, both
	// for the program and (not on Windows) for programs that it starts. They would lead into the working directory,
	// whose files may come from a stranger.
	Installed bool
	// Stdin is the program's only input. It is never connected to a terminal.
	Stdin []byte
	// Whole reports whether the output so far is a complete answer, so that Run need not wait for children that outlive
	// the program and have its standard output open. Nil means that one JSON value is complete.
	Whole func(stdout []byte) bool
	// Stderr, if set, is called with each line of standard error as it is written, without its newline. It is not
	// called concurrently; while it blocks, so does the program when the pipe is full.
	Stderr func(line string)
	// Joined combines standard output and standard error into one stream, in the order in which they were written,
	// which is passed to Stderr. Then there is no answer.
	Joined bool

	// Inherit holds additional files that the program inherits. (Not on Windows.)
	Inherit []*os.File

	// Detached detaches the program from the terminal, so that it cannot wait for input there.
	Detached bool

	// Final kills processes that the program has left in the background, after its answer.
	Final bool

	// Outlives lets the program run to its end if this process dies; otherwise the program then gets a signal, and is
	// killed after two seconds. A program with a Spool always outlives this process. (On Windows programs end with this
	// process.)
	Outlives bool

	// MaxMemory is how many bytes the program, and each process that it starts, may allocate from the moment when it
	// gets its input. 0 means no limit. It is only supported on Linux.
	MaxMemory uint64

	// Spool stores the answer where it outlives this process. It cannot be combined with Joined or Unlimited.
	Spool Spool

	// Grace is the time between SIGTERM and SIGKILL after the context has ended; 0 means 10 s, negative means none.
	Grace time.Duration
	// Linger is how long to continue reading after the program has ended, while other processes have its pipes open and
	// the answer is not complete. 0 means 2 s; Unlimited means as long as a process has them open, and then the end of
	// the context ends these processes, too.
	Linger time.Duration
	// MaxStdout is the maximum size of the output in bytes; 0 means 64 MiB. A program that prints more is killed.
	// Negative means that the output is read, however long, and dropped.
	MaxStdout int
	// MaxStderr is how many bytes of standard error are kept: half from the beginning and half from the end. 0 means 2
	// MiB.
	MaxStderr int
}

// Unlimited is a Linger without limit.
const Unlimited = time.Duration(1<<63 - 1)

// Result is the result of a program that has run.
type Result struct {
	// Path is the file that was executed: the one found in PATH, or the name as given.
	Path   string
	Stdout []byte
	// Stderr is complete unless the program wrote more than MaxStderr; then a line in the middle reports the number of
	// omitted bytes.
	Stderr []byte
	// State is how the program ended, in the operating system's words: "exit status 3", "signal: killed".
	State string
	// ExitCode is -1 if a signal ended the program.
	ExitCode int
	// Held means that a process still had the pipes open when reading stopped.
	Held bool
}

// LookupError means that the program was not found or is not an executable file. Nothing was run.
type LookupError struct {
	Program string
	Err     error
}

func (e *LookupError) Error() string { return e.Err.Error() }
func (e *LookupError) Unwrap() error { return e.Err }

// StartError means that the operating system refused to start the program. Nothing was run.
type StartError struct {
	Path string
	Err  error
	// File is the file to which Path refers in the working directory of the program, or "" if that directory does not
	// exist.
	File string
}

// Error implements error. It ends with advice, if there is any.
func (e *StartError) Error() string {
	if advice := e.Advice(); advice != "" {
		return e.Err.Error() + ". " + strings.TrimSuffix(advice, ".")
	}
	return e.Err.Error()
}
func (e *StartError) Unwrap() error { return e.Err }

// LimitError means that the program was killed because it printed too much.
type LimitError struct {
	Limit int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the program printed more than %s on standard output, and was killed", byteCount(e.Limit))
}

// StoppedError means that the context ended before the program did, and that the program was ended. Err is the
// context's cause.
type StoppedError struct {
	Err error
	// Stuck means that the program did not end even after SIGKILL.
	Stuck bool
}

func (e *StoppedError) Error() string {
	if e.Stuck {
		return fmt.Sprintf("the program was killed but has not ended yet: %v", e.Err)
	}
	return fmt.Sprintf("the program was stopped: %v", e.Err)
}
func (e *StoppedError) Unwrap() error { return e.Err }

// Run runs a program to its end. A program that ends with a failure is not an error: check Result.ExitCode.
//
// Errors are *LookupError and *StartError (without a result: nothing was run), *LimitError and *StoppedError (with a
// result: the output so far), or errors of the system. If a program responds to the signal by completing its work and
// exiting with status 0, it has succeeded, and Run returns no error.
func Run(ctx context.Context, c Command) (*Result, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(c.Argv) == 0 {
		return nil, errors.New("run program: no program was given")
	}
	c = c.withDefaults()
	if c.Inside != nil {
		return runInside(ctx, c)
	}
	path, err := c.find()
	if err != nil {
		return nil, &LookupError{Program: c.Argv[0], Err: err}
	}
	if c.Spool.Dir != "" && c.Spool.spools() {
		return runSpooled(ctx, path, c)
	}
	p, err := launching(path, c, launch)
	if err != nil {
		return nil, err
	}
	return p.wait(ctx)
}

func (c Command) withDefaults() Command {
	if c.Env == nil && c.Inside == nil {
		c.Env = os.Environ()
	}
	if c.Installed && runtime.GOOS != "windows" {
		c.Env = withoutRelative(c.Env)
	}
	if c.Whole == nil {
		c.Whole = json.Valid
	}
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	if c.Linger == 0 {
		c.Linger = defaultLinger
	}
	if c.MaxStdout == 0 {
		c.MaxStdout = defaultMaxStdout
	}
	if c.MaxStderr == 0 {
		c.MaxStderr = defaultMaxStderr
	}
	return c
}

// LookPath finds a program. A name with a slash is used unchanged, and must be an executable file relative to base (""
// means the current directory). Any other name is searched for only in the PATH of env (on Windows: of this process).
// Entries such as "." are used, because they are there on purpose.
func LookPath(name string, env []string, base string) (string, error) {
	if strings.Contains(name, "/") || strings.ContainsRune(name, filepath.Separator) {
		if _, err := exec.LookPath(against(base, name)); err != nil && !errors.Is(err, exec.ErrDot) {
			return "", lookupFailure(name, err)
		}
		return name, nil
	}
	if runtime.GOOS == "windows" {
		path, err := exec.LookPath(name)
		if errors.Is(err, exec.ErrDot) {
			err = nil
		}
		return path, err
	}
	for _, dir := range filepath.SplitList(getenv(env, "PATH")) {
		if dir == "" {
			dir = "."
		}
		if _, err := exec.LookPath(against(base, dir) + "/" + name); err == nil {
			return filepath.Join(dir, name), nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// find finds the program of a command.
func (c Command) find() (string, error) {
	if c.Path != "" {
		return c.Path, nil
	}
	path, err := LookPath(c.Argv[0], c.Env, c.Base)
	if err == nil && c.Installed && !filepath.IsAbs(path) { // Windows searches the working directory first
		return "", &exec.Error{Name: c.Argv[0], Err: exec.ErrDot}
	}
	return path, err
}

// withoutRelative returns an environment whose PATH has only absolute entries.
func withoutRelative(env []string) []string {
	dirs := slices.DeleteFunc(filepath.SplitList(getenv(env, "PATH")), func(dir string) bool {
		return !filepath.IsAbs(dir)
	})
	return append(slices.Clone(env), "PATH="+strings.Join(dirs, string(filepath.ListSeparator)))
}

// against resolves a relative path. Without a base it returns the path unchanged, with its leading "./".
func against(base, path string) string {
	if base == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(base, path)
}

// lookupFailure returns an error with the name of the program as it was written, wherever it was looked up.
func lookupFailure(name string, err error) error {
	var ee *exec.Error
	if errors.As(err, &ee) {
		err = ee.Err
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = &fs.PathError{Op: pe.Op, Path: name, Err: pe.Err}
	}
	return &exec.Error{Name: name, Err: err}
}

// Environ returns the environment of programs: base without the variables with which plugin hosts and plugins recognize
// each other (TF_PLUGIN_MAGIC_COOKIE, PLUGIN_*). With these, a program that is itself a plugin, or starts one, would
// take its parent for its host.
func Environ(base []string) []string {
	return slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		return name == "TF_PLUGIN_MAGIC_COOKIE" || strings.HasPrefix(name, "PLUGIN_")
	})
}

func getenv(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// directory returns the directory in which the program runs, or "" for the current one. It checks the directory in
// advance, because a failure to change to it would be reported as a failure to execute the program.
func directory(c Command) (string, error) {
	dir := against(c.Base, c.Dir)
	if dir == "" {
		return "", nil
	}
	if _, err := os.Stat(dir); err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = &fs.PathError{Op: "chdir", Path: cmp.Or(c.Dir, c.Base), Err: pe.Err}
		}
		return "", err
	}
	return dir, nil
}

// launch starts the program at path; from then on the caller owns the process.
func launch(path, dir string, c Command) (*process, error) {
	cmd := &exec.Cmd{Path: path, Args: c.Argv, Dir: dir, Env: environment(dir, c.Env), ExtraFiles: c.Inherit}
	group.Lead(cmd, c.Detached)
	p := &process{cmd: cmd, limits: c}
	if err := p.openPipes(); err != nil {
		return nil, err
	}
	if !c.Outlives {
		p.watch = guarded.NewWatch()
	}
	err := cmd.Start()
	p.closeChildEnds()
	if err != nil {
		p.unwatch()
		p.closeOurEnds()
		return nil, err
	}
	if p.watch != nil {
		p.watch.Group(cmd.Process.Pid)
	}
	p.group = group.Of(cmd.Process)
	if c.MaxMemory > 0 {
		limitMemory(cmd.Process.Pid, c.MaxMemory)
	}
	p.serve(c.Stdin)
	return p, nil
}
