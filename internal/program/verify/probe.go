package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/session"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/provider"
)

// Noise detects output on a program's standard output that is not an answer, in calls with any result. Such a call may
// also fail for another reason, or succeed only by luck: a library may print a warning only on other machines.
type Noise struct {
	mu    sync.Mutex
	found map[string]string // by action and type
}

// Listening returns a caller that checks the output of another.
func (n *Noise) Listening(c handler.Caller) handler.Caller { return &listening{c, n} }

type listening struct {
	handler.Caller
	noise *Noise
}

// Call implements handler.Caller.
func (l *listening) Call(ctx context.Context, c handler.Call) (*handler.Answer, error) {
	a, err := l.Caller.Call(ctx, c)
	var bad *handler.OutputError
	switch {
	case ctx.Err() != nil: // the output may be cut off
	case errors.As(err, &bad):
		l.noise.note(c, bad.Line)
	case err == nil && a != nil && len(bytes.TrimSpace(a.Result)) > 0:
		if _, wrong := strictjson.Parse(a.Result); wrong != nil {
			l.noise.note(c, a.Result)
		}
	}
	return a, err
}

func (n *Noise) note(c handler.Call, output []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.found == nil {
		n.found = map[string]string{}
	}
	n.found[strings.TrimSpace(c.Action+" "+c.Type)] = program.Excerpt([]byte(c.Hide(output)))
}

// Problems returns the problems that were found.
func (n *Noise) Problems() (list []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, call := range slices.Sorted(maps.Keys(n.found)) {
		list = append(list, fmt.Sprintf("%s printed something on standard output that is not an answer: %s\nStandard "+
			"output is only for answers. Write messages, and the output of commands and libraries, to standard error.",
			call, n.found[call]))
	}
	return list
}

// Ready returns why the program cannot be started at all, which would fail most checks with the same message. It also
// compiles a module.
func (t *Trial) Ready() diag.List {
	err := handler.CheckProgram(t.manifest, t.surroundings())
	var not *handler.NotReadyError
	if errors.As(err, &not) {
		return diag.List{}.Errorf(nil, badTrial, "%s", not.Detail)
	}
	return diag.List{}.AppendError(badTrial, err)
}

// begin is how long a program gets to start and wait for its input.
const begin = time.Second

// Ends starts the program, asks it to end while it waits for its input, and returns the problem if it has not ended
// after the patience, when engines kill it. It returns "" if there is no such program.
func (t *Trial) Ends(ctx context.Context, patience time.Duration) (problem string, err error) {
	// Modules get no signals, and a debugger would get those of the program.
	if runtime.GOOS == "windows" || t.manifest.HTTP != nil || t.manifest.Wasm != "" || t.Debugged() {
		return "", nil
	}
	if _, _, err := handler.Prepare(ctx, t.manifest, handler.Surroundings{}, false, func(string) {}); err != nil {
		return "", err
	}
	start, err := handler.NewStart(t.manifest, handler.Surroundings{})
	if err != nil {
		return "", err
	}
	if t.manifest.Mode != manifest.Session {
		start.Argv = append(start.Argv, t.anyCall()...)
	}
	talk, err := program.Converse(program.Command{Argv: start.Argv, Env: start.Env, Grace: time.Second})
	if err != nil {
		return "", err
	}
	var read sync.WaitGroup
	defer func() {
		talk.End(0)
		read.Wait()
		talk.Stdout.Close()
	}()
	if t.manifest.Mode == manifest.Session {
		conn := session.New(talk.Stdin, talk.Stdout)
		hello, err := conn.Begin("initialize", fmt.Appendf(nil, `{"protocol":[%d],"host":"tombolo","log":"info"}`,
			manifest.Protocol), nil)
		if err != nil {
			return "", err
		}
		read.Go(func() { _ = conn.Write() })
		read.Go(func() { conn.Fail(errors.Join(conn.Read(), io.EOF)) })
		select {
		case <-hello.Done():
		case <-time.After(time.Minute):
		case <-ctx.Done():
		}
	} else {
		read.Go(func() { _, _ = io.Copy(io.Discard, talk.Stdout) })
		talk.EndedWithin(begin)
	}
	talk.Terminate()
	if talk.EndedWithin(patience) {
		return "", nil
	}
	return fmt.Sprintf("it received SIGTERM while it waited for input, and was still running %s later. An engine "+
		"then kills it, and loses the result of its work. Let the signal end the program, or end soon after it.",
		patience), nil
}

// anyCall returns the arguments of a call, which is not made.
func (t *Trial) anyCall() []string {
	for _, of := range []struct {
		action string
		types  map[string]*provider.ResourceType
	}{{"read", t.schema.Resources}, {"data", t.schema.Data}, {"open", t.schema.Ephemeral}} {
		for _, name := range slices.Sorted(maps.Keys(of.types)) {
			return []string{of.action, name}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.schema.Functions)) {
		return []string{"call", name}
	}
	return []string{"configure"}
}
