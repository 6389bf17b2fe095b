package handler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/debugger"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/talk"
)

// Surroundings holds the environment of programs. The zero value means that of this process.
type Surroundings struct {
	// Env is the environment as "key=value"; nil means that of this process.
	Env []string
	// Dir is the working directory of programs; "" means the current directory.
	Dir string
	// Cache is a folder in which programs may store files; "" means one below the user's cache folder.
	Cache string
	// Grace is how long a program may take to end after a signal; 0 means 10 s.
	Grace time.Duration
	// Spool returns the folder in which answers of calls that change something outlive this process. If it is nil, or
	// returns an empty name, they do not.
	Spool func() program.Spool
	// Patience is how long a program may take to begin a session; 0 means one minute.
	Patience time.Duration
	// Source is the address of the provider as HOST/NAMESPACE/NAME, or "" if it is not known.
	Source string
	// Granted are the permissions that a module has, one line for each; "*" means all. The variable of the provider in
	// the environment can grant more.
	Granted []string
	// Host is the name and version of the host that sessions pass to programs, such as "tombolo/1.15.9"; "" means
	// tombolo.
	Host string
}

// NewCaller returns the caller for the mode of a manifest.
func NewCaller(m *manifest.Manifest, s Surroundings) Caller {
	switch {
	case manifest.ServesRequests && m.HTTP != nil:
		return NewAPI(m, s)
	case m.Mode == manifest.Session, m.Wasm == "" && debugger.Socket(environ(s), m.Name, s.Dir) != "":
		return NewSession(m, s) // a program that its author has started stays for several calls
	}
	return NewOneShot(m, s)
}

// environ returns the environment of the surroundings.
func environ(s Surroundings) []string {
	if s.Env == nil {
		return os.Environ()
	}
	return s.Env
}

// NewOneShot returns the caller that starts the program for each call, with the action as its first argument and the
// type as its second.
func NewOneShot(m *manifest.Manifest, s Surroundings) Caller {
	c := &oneShot{surroundings: s, preparation: newPreparation(m, s), guest: newGuest(m, s)}
	c.ready = sync.OnceValues(func() (Start, error) { return NewStart(m, c.settled()) })
	return c
}

type oneShot struct {
	*preparation
	surroundings Surroundings
	guest        *guest
	ready        func() (Start, error)
}

// temporary is the exit status EX_TEMPFAIL.
const temporary = 75

const temporaryAdvice = `This status means: try again later. To retry read-only calls automatically, set "retry" for ` +
	`the type in the manifest.`

// Call implements Caller.
func (c *oneShot) Call(ctx context.Context, call Call) (*Answer, error) {
	start, err := c.ready()
	if err != nil {
		return nil, err
	}
	cmd := program.Command{
		Argv: append(slices.Clone(start.Argv), call.Action), Base: c.surroundings.Dir, Env: start.Env,
		Stdin: call.Params, Stderr: call.Line, Grace: c.surroundings.Grace,
		Outlives: call.Intent != "",
	}
	if call.Type != "" {
		cmd.Argv = append(cmd.Argv, call.Type)
	}
	if start.Debugged {
		call.Line(start.notice())
	}
	if call.Intent != "" && c.surroundings.Spool != nil {
		cmd.Spool = c.surroundings.Spool()
		cmd.Spool.Token = call.Intent
		if call.Record != nil && cmd.Spool.Dir != "" {
			cmd.Spool.Record = call.Record()
		}
	}
	if err := c.guest.into(&cmd); err != nil {
		return nil, err
	}
	if call.Silent {
		cmd.Whole = func([]byte) bool { return true }
	}
	res, err := program.Run(ctx, cmd)
	if res == nil {
		return nil, err
	}
	a := &Answer{Result: res.Stdout, Program: shown(cmd.Argv), Held: res.Held}
	if err != nil {
		return a, err
	}
	if res.ExitCode != 0 {
		a.Failure = failed(res, cmd.Inside != nil)
	}
	return a, nil
}

// Close implements Caller. Only a preparation can be running outside of calls.
func (c *oneShot) Close() error {
	c.preparation.end()
	return c.guest.close()
}

// shown formats a command line for messages.
func shown(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$") {
			words[i] = fmt.Sprintf("%q", w)
		}
	}
	return strings.Join(words, " ")
}

// failed describes a failure. inside means that the program is a module.
func failed(res *program.Result, inside bool) *Failure {
	f := &Failure{State: "it ended with " + res.State, Message: talk.Tail(res.Stderr), Killed: res.ExitCode < 0,
		Temporary: res.ExitCode == temporary}
	switch {
	case f.Killed && inside:
		f.State = "it was ended by " + res.State
	case f.Killed:
		f.State = "it was ended by a signal (" + res.State + ")"
	case f.Temporary:
		f.Advice = temporaryAdvice
	case res.ExitCode == 127:
		f.Advice = "This status usually means that a command that the script uses is not installed."
	case res.ExitCode == 126:
		f.Advice = "This status usually means that a file that the script runs is not executable."
	}
	return f
}

// Start describes how the program of a manifest is started on this machine.
type Start struct {
	Argv []string
	Env  []string
	// Cache is the value of TOMBOLO_CACHE_DIR.
	Cache string
	// Debugged means that Argv begins with a debugger that the user asked for.
	Debugged bool
	// Socket is where a program listens that its author has started, with which Argv is only its name in messages. ""
	// means that the program has to be started.
	Socket string
}

// NewStart finds everything that a program needs, or returns an error that names what is missing.
func NewStart(m *manifest.Manifest, s Surroundings) (Start, error) {
	if m.Wasm != "" {
		return startInside(m, s), nil
	}
	if socket := debugger.Socket(environ(s), m.Name, s.Dir); socket != "" {
		cache, err := cacheDir(m, s)
		return Start{Argv: []string{"unix:" + socket}, Env: programEnv(m, s, cache, err), Cache: cache,
			Debugged: true, Socket: socket}, nil
	}
	start, err := newStart(m, s, m.Command, "command")
	if err != nil {
		return start, err
	}
	if start.Argv, err = debugger.Command(start.Env, m.Name, start.Argv); err != nil {
		return start, &NotReadyError{Summary: sumNotReady, Detail: err.Error() + ".", Ours: true}
	}
	start.Debugged = debugger.Asked(start.Env, m.Name)
	return start, nil
}

// notice returns the line that tells the user of the debugger.
func (s Start) notice() string {
	if s.Socket != "" {
		return fmt.Sprintf("Connected to the program that listens on %s, without time limits, because %s is set.",
			s.Socket, debugger.Variable)
	}
	return fmt.Sprintf("Started under a debugger, without time limits, because %s is set: %s", debugger.Variable,
		shown(s.Argv))
}

func newStart(m *manifest.Manifest, s Surroundings, command manifest.Command, member string) (Start, error) {
	notReady := func(format string, args ...any) (Start, error) {
		return Start{}, &NotReadyError{Summary: sumNotReady, Detail: fmt.Sprintf(format, args...), Ours: true}
	}
	argv := command.For(runtime.GOOS, runtime.GOARCH)
	if argv == nil {
		return notReady("The manifest %s of provider %s has no %s for %s_%s, and no default one.", m.File, m.Name,
			member, runtime.GOOS, runtime.GOARCH)
	}
	env := environ(s)
	for _, q := range m.Requires {
		if _, err := program.LookPath(q.Command, env, s.Dir); err != nil {
			return notReady("Provider %s needs the program %q, which was not found in PATH.%s", m.Name, q.Command,
				hint(q.Hint))
		}
	}
	for i, word := range argv {
		if rest, ok := strings.CutPrefix(word, "./"); ok {
			if _, err := os.Stat(filepath.Join(m.Dir, filepath.FromSlash(rest))); err != nil {
				return notReady(
					"The command of provider %s names the file %s, which is not in %s. Check word %d of %q in %s.",
					m.Name, word, m.Dir, i+1, member, manifest.FileName)
			}
		}
	}
	cache, err := cacheDir(m, s)
	if unread := (*unreadError)(nil); errors.As(err, &unread) {
		return notReady("The files that the preparation of provider %s depends on cannot be read: %s. \"prepare\" "+
			"and \"prepare_from\" in %s name files in the folder of the provider.", m.Name, err, manifest.FileName)
	}
	usesCache := prepares(m) || slices.ContainsFunc(argv, func(word string) bool {
		return strings.Contains(word, "{cache}")
	})
	if err != nil && usesCache {
		return notReady("Provider %s has no folder for its files: %s. Set XDG_CACHE_HOME or HOME.",
			m.Name, err)
	}
	argv = manifest.InPackage(m.Dir, argv)
	for i, word := range argv {
		argv[i] = strings.ReplaceAll(word, "{cache}", cache)
	}
	if _, err := os.Stat(argv[0]); err != nil && member == "command" && prepares(m) &&
		strings.HasPrefix(argv[0], cache) {
		return Start{}, &NotReadyError{Summary: sumNotReady, Ours: true,
			Detail: fmt.Sprintf("Provider %s is not prepared: %s does not exist. The command \"prepare\" in its "+
				"manifest creates it.", m.Name, argv[0]),
			Advice: diag.Advise("Run \"%s\".", prepareAgain(m.Dir))}
	}
	if err != nil {
		cache = ""
	}
	return Start{Argv: argv, Cache: cache, Env: programEnv(m, s, cache, err)}, nil
}

// programEnv returns the environment of a program. failed is why it has no folder for its files, or nil.
func programEnv(m *manifest.Manifest, s Surroundings, cache string, failed error) []string {
	env := append(program.Environ(environ(s)), fmt.Sprintf("TOMBOLO_PROTOCOL=%d", manifest.Protocol),
		"TOMBOLO_PROVIDER_DIR="+m.Dir, "PYTHONUTF8=1")
	if failed != nil {
		// Most programs store nothing, and services often have no HOME. Python must still not write beside the program.
		return append(env, "PYTHONDONTWRITEBYTECODE=1")
	}
	return append(env, "TOMBOLO_CACHE_DIR="+cache, "PYTHONPYCACHEPREFIX="+filepath.Join(cache, "pycache"))
}

// cacheDir returns the name of a folder, which programs create when they need it.
func cacheDir(m *manifest.Manifest, s Surroundings) (string, error) {
	if s.Cache != "" {
		return filepath.Abs(s.Cache)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	name := m.Name + "-" + cmp.Or(m.Version, "dev")
	if prepares(m) {
		key, err := preparationKey(m)
		if err != nil {
			return "", err
		}
		name += "-" + key
	}
	return filepath.Join(dir, "tombolo", "programs", name), nil
}

func hint(text string) string {
	if text == "" {
		return " Install it."
	}
	return " Hint of its author: " + text
}

// lookupAdvice returns advice for a missing program.
func lookupAdvice(err *program.LookupError) string {
	switch {
	case errors.Is(err.Err, fs.ErrPermission):
		return "Make it executable (chmod +x), or name its interpreter in the command, such as [\"bash\", " +
			"\"./provider.sh\"]."
	case strings.ContainsAny(err.Program, `/\`):
		return "Check the command in " + manifest.FileName + "."
	}
	return "Install it, or add its folder to PATH."
}

// startAdvice returns advice for a file that the system cannot execute.
func startAdvice(err *program.StartError) string {
	advice := err.Advice()
	switch {
	case errors.Is(err.Err, syscall.ENOEXEC):
		return advice + " The command in " + manifest.FileName + " can name the interpreter, too."
	case advice != "":
		return advice
	}
	return "Check the command in " + manifest.FileName + "."
}
