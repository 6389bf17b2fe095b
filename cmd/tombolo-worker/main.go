// Command tombolo-worker performs runs that "tombolo runs" and "tombolo stack apply -remote" put into a queue in a
// PostgreSQL database. See docs/extensions/workers.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/tombolo-iac/tombolo/internal/runs"
	"github.com/tombolo-iac/tombolo/internal/worker"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == worker.GuardWord {
		os.Exit(worker.Guard(os.Args[2:]))
	}
	o, err := options(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = serve(o)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "tombolo-worker: %s\n", explained(err))
		os.Exit(1)
	}
}

// explained adds what to do to errors that people meet when they start a worker.
func explained(err error) string {
	if errors.Is(err, runs.ErrNoDatabase) {
		return "no database: set " + runs.Variable + " or PG_CONN_STR, or PostgreSQL's own variables such as PGHOST"
	}
	return err.Error()
}

// serve runs the worker. The first signal lets it finish its runs, the second stops them, and the third aborts them.
func serve(o worker.Options) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, end := context.WithCancel(context.Background())
	stop, endStop := context.WithCancel(context.Background())
	force, endForce := context.WithCancel(context.Background())
	defer end()
	defer endStop()
	defer endForce()
	go func() {
		for _, cancel := range []func(){end, endStop, endForce} {
			<-signals
			cancel()
		}
	}()
	return worker.New(o).Run(ctx, stop, force)
}

// list is a flag that may be given more than once.
type list []string

func (l *list) String() string         { return strings.Join(*l, " ") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

// options reads the command line.
func options(args []string) (o worker.Options, err error) {
	host, _ := os.Hostname() // only a name for people
	cache, _ := os.UserCacheDir()
	flags := flag.NewFlagSet("tombolo-worker", flag.ContinueOnError)
	var queues, repositories, branches, directories list
	flags.Var(&queues, "queue", "serve the queue `NAME[=N]` with at most N runs at a time; 1 if N is missing (default "+
		"\"default\")")
	flags.Var(&repositories, "repository", "accept runs of the Git repository at `URL`; at least one is needed")
	flags.Var(&branches, "branch", "accept only commits in branches that match `PATTERN` (default all)")
	flags.Var(&directories, "directory", "accept only directories that match `PATTERN`; DIR/** is all below DIR "+
		"(default all)")
	flags.StringVar(&o.Name, "name", host, "the `NAME` that others see")
	flags.StringVar(&o.Dir, "dir", filepath.Join(cache, "tombolo-worker"), "keep clones and checkouts in `DIR`, which "+
		"no other worker may use")
	flags.StringVar(&o.Program, "tombolo", beside("tombolo"), "the `PATH` of the program tombolo")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: the worker has only options", flags.Arg(0))
	}
	if o.Queues, err = parseQueues(queues); err != nil {
		return o, err
	}
	if len(repositories) == 0 {
		return o, errors.New("no repository: name those whose runs the worker accepts (-repository=URL)")
	}
	for _, pattern := range append(branches, directories...) {
		if _, err := path.Match(pattern, ""); err != nil {
			return o, fmt.Errorf("the pattern %q is not valid: %w", pattern, err)
		}
	}
	if o.Repositories, err = accepted(repositories, branches, directories); err != nil {
		return o, err
	}
	for _, name := range []*string{&o.Dir, &o.Program} {
		if *name, err = filepath.Abs(*name); err != nil {
			return o, err
		}
	}
	for _, program := range []string{"git", o.Program} {
		if _, err := exec.LookPath(program); err != nil {
			return o, fmt.Errorf("a program that the worker needs is missing: %w", err)
		}
	}
	if o.Self, err = os.Executable(); err != nil {
		return o, err
	}
	o.Environ, o.Getenv = os.Environ(), os.Getenv
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	o.RiverLog = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return o, nil
}

// accepted returns the repositories that the worker accepts.
func accepted(repositories, branches, directories []string) (list []worker.Repository, err error) {
	for _, url := range repositories {
		if strings.HasPrefix(url, "-") || strings.Contains(url, "::") {
			return nil, fmt.Errorf("the repository %q is not the URL or absolute path of a repository", url)
		}
		if runs.HasPassword(url) {
			return nil, fmt.Errorf("the address of the repository %s contains a user or password, which other users "+
				"of this machine can see and which messages of git may show. Write the address without it, and give "+
				"git the password with a credential helper", runs.Address(url))
		}
		list = append(list, worker.Repository{URL: url, Branches: branches,
			Directories: directories})
	}
	return list, nil
}

// parseQueues reads the values of -queue.
func parseQueues(texts []string) (map[string]int, error) {
	if len(texts) == 0 {
		texts = []string{"default"}
	}
	out := map[string]int{}
	for _, text := range texts {
		name, number, found := strings.Cut(text, "=")
		n := 1
		if found {
			var err error
			if n, err = strconv.Atoi(number); err != nil || n < 1 || n > 1000 {
				return nil, fmt.Errorf("the queue %q has not a number from 1 to 1000 after \"=\"", text)
			}
		}
		if err := runs.CheckName(name); err != nil {
			return nil, err
		}
		out[name] = n
	}
	return out, nil
}

// beside returns the path of a program in the directory of this one, or else the one on the PATH.
func beside(name string) string {
	if own, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(own), name)
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	if found, err := exec.LookPath(name); err == nil {
		return found
	}
	return name
}
