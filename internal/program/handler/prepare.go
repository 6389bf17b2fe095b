package handler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/debugger"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/talk"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// PreparationError means that the preparation command of a manifest has failed.
type PreparationError struct {
	// Provider is the name of the provider, Dir its folder.
	Provider, Dir string
	// State is how the command ended, such as "exit status 1"; Output is the end of its output; Command is the command
	// line.
	State, Output, Command string
}

// Error returns a text with all fields except for Dir.
func (e *PreparationError) Error() string { return e.detail(e.Output) }

func (e *PreparationError) detail(output string) string {
	if output = strings.TrimSpace(output); output == "" {
		output = "(It printed nothing.)"
	}
	return fmt.Sprintf("Provider %s must be prepared once on each machine, but the command ended with %s.\n\n%s\n\n"+
		"Command: %s", e.Provider, e.State, output, e.Command)
}

func (e *PreparationError) advice() *diag.Advice {
	return diag.Advise("Fix the problem it reports, and try again, or run:\n  %s", prepareAgain(e.Dir))
}

// prepareAgain returns the command that prepares the provider in a folder.
func prepareAgain(dir string) diag.Command { return diag.Run("provider", "prepare", dir) }

// prepares reports whether a program needs a preparation on this platform.
func prepares(m *manifest.Manifest) bool {
	return m.Prepare.For(runtime.GOOS, runtime.GOARCH) != nil
}

// Preparation returns the preparation command of a program on this platform for messages, or "" if there is none.
func Preparation(m *manifest.Manifest) string {
	return shown(m.Prepare.For(runtime.GOOS, runtime.GOARCH))
}

// Prepare runs the command "prepare" of a manifest in the folder TOMBOLO_CACHE_DIR, once on this machine unless again
// is set. It returns the folder, and whether it has run the command. If there is no command for this platform, there is
// no folder. An error is a *PreparationError, one of those of NewStart and program.Run, or the cause with which the
// context has ended.
func Prepare(ctx context.Context, m *manifest.Manifest, s Surroundings, again bool, say func(line string)) (
	cache string, ran bool, err error) {
	if !prepares(m) {
		return "", false, nil
	}
	start, err := newStart(m, s, m.Prepare, "prepare")
	if err != nil {
		return "", false, err
	}
	folder := preparedFolder{
		Dir: start.Cache, Again: again,
		Whole:   func() bool { return !lacks(m, start.Cache) },
		Waiting: func() { say(fmt.Sprintf("Another process is preparing provider %s. Waiting for it...", m.Name)) },
		Make: func(ctx context.Context, hold []*os.File) error {
			ran = true
			return start.prepare(ctx, m, s, hold, say)
		},
	}
	err = prepareOnce(ctx, folder)
	if failed := (*fs.PathError)(nil); !ran && errors.As(err, &failed) {
		err = &NotReadyError{Summary: sumUnprepared, Ours: true,
			Detail: fmt.Sprintf(
				"Provider %s is prepared once on each machine, in the folder %s, which cannot be created: %s. Set "+
					"XDG_CACHE_HOME to use another cache folder.", m.Name, start.Cache, err)}
	}
	return start.Cache, ran, err
}

// lacks reports whether the program is missing although the preparation should have created it.
func lacks(m *manifest.Manifest, cache string) bool {
	argv := m.Command.For(runtime.GOOS, runtime.GOARCH)
	if len(argv) == 0 || !strings.HasPrefix(argv[0], "{cache}") {
		return false
	}
	_, err := os.Stat(strings.ReplaceAll(argv[0], "{cache}", cache))
	return err != nil
}

// prepare runs the command.
func (start Start) prepare(ctx context.Context, m *manifest.Manifest, s Surroundings, hold []*os.File,
	say func(line string)) error {
	say(fmt.Sprintf("Preparing provider %s, once on this machine: %s", m.Name, shown(start.Argv)))
	var end []string // last lines of its output
	keep := func(line string) {
		if end = append(end, line); len(end) > talk.TailLines+1 {
			end = end[1:]
		}
		say(line)
	}
	res, err := program.Run(ctx, program.Command{
		Argv: start.Argv, Base: s.Dir, Dir: start.Cache, Env: start.Env, Grace: s.Grace, Inherit: hold,
		Joined: true, Detached: true, Stderr: keep, Whole: func([]byte) bool { return true },
	})
	switch {
	case err != nil:
		return err
	case res.ExitCode != 0:
		return &PreparationError{Provider: m.Name, Dir: m.Dir, State: res.State,
			Output: talk.Tail([]byte(strings.Join(end, "\n"))), Command: shown(start.Argv)}
	}
	return nil
}

// preparation runs the preparation of a caller when it is first needed, and remembers its result.
type preparation struct {
	m       *manifest.Manifest
	needed  bool
	settled func() Surroundings // with the folder for the current files of the provider

	ending context.Context
	cancel context.CancelCauseFunc

	turn chan struct{} // held while the result is checked; guards the fields below
	over bool
	err  error
}

func newPreparation(m *manifest.Manifest, s Surroundings) *preparation {
	p := &preparation{m: m, needed: prepares(m), turn: make(chan struct{}, 1)}
	p.ending, p.cancel = context.WithCancelCause(context.Background())
	p.settled = sync.OnceValue(func() Surroundings {
		if cache, err := cacheDir(m, s); err == nil && p.needed {
			s.Cache = cache
		}
		return s // NewStart reports the error
	})
	return p
}

// Debugged reports whether the user asked for a debugger for the program.
func (p *preparation) Debugged() bool {
	env := p.settled().Env
	if env == nil {
		env = os.Environ()
	}
	return p.m.Wasm == "" && debugger.Asked(env, p.m.Name)
}

// Prepare implements Caller. If the preparation fails, it fails for all calls; if a wait is cancelled, only that call
// fails.
func (p *preparation) Prepare(ctx context.Context, say func(line string)) error {
	if !p.needed {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.ending, func() { cancel(errClosed) })()
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.turn }()
	if p.over {
		return p.err
	}
	_, _, err := Prepare(ctx, p.m, p.settled(), false, say)
	if ctx.Err() != nil && err != nil {
		return context.Cause(ctx)
	}
	p.over, p.err = true, err
	return err
}

// end cancels a running preparation, and waits for its end.
func (p *preparation) end() {
	p.cancel(errClosed)
	p.turn <- struct{}{}
	<-p.turn
}

// preparationKey returns a hash of everything on which a preparation depends: the command, and the files of the
// provider that it may read, except for the binary that makes a plugin of them.
func preparationKey(m *manifest.Manifest) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s_%s %q\n", runtime.GOOS, runtime.GOARCH, m.Prepare.For(runtime.GOOS, runtime.GOARCH))
	names := []string{"."}
	if m.PrepareFrom != nil {
		names = slices.Concat(m.PrepareFrom, m.Prepare.For(runtime.GOOS, runtime.GOARCH))
		names = slices.DeleteFunc(names, func(word string) bool { return !strings.HasPrefix(word, "./") })
	}
	for _, name := range names {
		// An installed folder is often a link.
		root, err := filepath.EvalSymlinks(filepath.Join(m.Dir, filepath.FromSlash(name)))
		if err != nil {
			return "", &unreadError{err}
		}
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case path != root && manifest.IsLeftover(d.Name()), filepath.Clean(name) == "." &&
				filepath.Dir(path) == root && strings.HasPrefix(strings.ToLower(d.Name()), "terraform-provider-"):
				if d.IsDir() {
					return filepath.SkipDir
				}
				return nil
			case d.IsDir():
				return nil
			}
			return hashFile(sum, filepath.Join(filepath.FromSlash(name), strings.TrimPrefix(path, root)), path)
		})
		if err != nil {
			return "", &unreadError{err}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// unreadError means that the files of a provider cannot be read.
type unreadError struct{ error }

// hashFile adds a file to a hash: its name in the provider, its permission to be executed, and its content. For
// anything that is not a file or a link to one, only the name is added.
func hashFile(to io.Writer, name, path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		fmt.Fprintf(to, "%q\n", filepath.ToSlash(name))
		return nil
	}
	f, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(to, "%q %t %d\n", filepath.ToSlash(name), info.Mode()&0o111 != 0, info.Size())
	_, err = io.Copy(to, f)
	return err
}
