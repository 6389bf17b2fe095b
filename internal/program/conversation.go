package program

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	guarded "github.com/tombolo-iac/tombolo/internal/host/process"
)

// Conversation is a running program that exchanges messages until it is asked to end. The caller reads Stdout to its
// end and calls End. Two goroutines belong to it, which have ended when Ended is closed.
type Conversation struct {
	// Path is the file that was executed.
	Path string
	// Stdin is the input of the program; End closes it. Stdout is its output, which ends when the program has ended,
	// even if another process that it started has it open.
	Stdin, Stdout *os.File

	proc    body
	stderr  *pipeCopy
	message *ends
	grace   time.Duration
	ended   chan struct{}
	closing sync.Once
	ending  sync.Once
}

// Converse starts a program. It uses these fields of the command: Argv, Inside, Dir, Base, Env, Stderr, MaxStderr and
// Grace.
// Errors are *LookupError and *StartError. The program ends when this process dies in any way.
func Converse(c Command) (*Conversation, error) {
	c = c.withDefaults()
	if c.Inside != nil {
		return converseInside(c)
	}
	path, err := LookPath(c.Argv[0], c.Env, c.Base)
	if err != nil {
		return nil, &LookupError{Program: c.Argv[0], Err: err}
	}
	return launching(path, c, converse)
}

func converse(path, dir string, c Command) (*Conversation, error) {
	// A relative program name is resolved in the program's directory, not in ours.
	spec := guarded.Spec{Path: path, Args: c.Argv[1:], Dir: dir, Env: environment(dir, c.Env)}
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	spec.Stdin = in
	proc, err := guarded.Start(spec)
	if err != nil {
		stdin.Close()
		return nil, err
	}
	return conversing(path, stdin, proc, c), nil
}

// converseInside is converse for a program inside of this process.
func converseInside(c Command) (*Conversation, error) {
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	proc, err := startInside(c, [2]*os.File{in, stdin})
	if err != nil {
		return nil, errors.Join(err, closeFiles([]*os.File{in, stdin}))
	}
	return conversing(c.Argv[0], stdin, proc, c), nil
}

// conversing returns the conversation with a program that has started.
func conversing(path string, stdin *os.File, proc body, c Command) *Conversation {
	t := &Conversation{
		Path: path, Stdin: stdin, Stdout: proc.Stdout(), proc: proc, grace: c.Grace,
		message: &ends{max: max(1, c.MaxStderr/2)}, ended: make(chan struct{}),
	}
	t.stderr = &pipeCopy{file: proc.Stderr(), to: t.message, buf: make([]byte, readSize)}
	var shown *lines
	if c.Stderr != nil {
		shown = &lines{emit: c.Stderr}
		t.stderr.to = io.MultiWriter(t.message, shown)
	}
	go t.watch(shown)
	return t
}

// CatchUp forwards all lines that the program had written to standard error when CatchUp was called. There is no order
// between two pipes: after reading a response, call CatchUp to get the earlier messages. (On Windows some of them may
// come later.)
func (t *Conversation) CatchUp() { t.stderr.catchUp() }

// watch reads standard error, and makes the streams end with the program.
func (t *Conversation) watch(shown *lines) {
	var read sync.WaitGroup
	read.Go(func() {
		t.stderr.read()
		if shown != nil {
			shown.flush()
		}
	})
	<-t.proc.Ended()
	t.closeInput()
	// The program's remaining output is in the pipes. They end when its child processes have ended too, unless these
	// have left the group.
	t.proc.Sweep()
	t.proc.Stdout().SetReadDeadline(time.Now().Add(defaultLinger))
	t.proc.Stderr().SetReadDeadline(time.Now().Add(defaultLinger))
	read.Wait()
	t.proc.Stderr().Close()
	close(t.ended)
}

func (t *Conversation) closeInput() { t.closing.Do(func() { t.Stdin.Close() }) }

// Ended returns a channel that is closed when the program has ended and its standard error was read.
func (t *Conversation) Ended() <-chan struct{} { return t.ended }

// ExitState returns how the program ended, such as "exit status 1". It must only be called after Ended is closed.
func (t *Conversation) ExitState() string { return t.proc.ExitState() }

// Message returns the program's standard error. It must only be called after Ended is closed.
func (t *Conversation) Message() []byte { return t.message.bytes() }

// End ends the program: it closes its input immediately, asks it to end after the patience, and kills it after the
// grace period. It returns when the program has ended. It may be called concurrently; the patience of the first call is
// used.
func (t *Conversation) End(patience time.Duration) {
	t.ending.Do(func() {
		t.closeInput()
		if t.EndedWithin(patience) {
			return
		}
		t.proc.Terminate()
		if !t.EndedWithin(t.grace) {
			t.proc.Kill()
		}
	})
	<-t.ended
}

// Terminate asks the program to end. It neither closes its input nor waits.
func (t *Conversation) Terminate() { t.proc.Terminate() }

// EndedWithin waits for the end of the program for at most d, and reports whether it has ended.
func (t *Conversation) EndedWithin(d time.Duration) bool {
	if d <= 0 {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-t.ended:
		return true
	case <-timer.C:
		return false
	}
}

// launching starts a program with a given function, and retries if the file is busy: a script that was just written can
// still be open for writing in a child process that another goroutine has forked and that has not yet executed its
// program.
func launching[T any](path string, c Command, launch func(path, dir string, c Command) (T, error)) (T, error) {
	var none T
	dir, err := directory(c)
	if err != nil {
		return none, &StartError{Path: path, Err: err}
	}
	for try := 0; ; try++ {
		t, err := launch(path, dir, c)
		if err == nil {
			return t, nil
		}
		if !errors.Is(err, syscall.ETXTBSY) || try == 10 {
			return none, &StartError{Path: path, Err: err, File: fileOf(dir, path)}
		}
		time.Sleep(time.Duration(try+1) * 5 * time.Millisecond)
	}
}

// environment returns the environment of a program in a directory.
func environment(dir string, base []string) []string {
	env := Environ(base)
	if dir != "" && runtime.GOOS != "windows" {
		if abs, err := filepath.Abs(dir); err == nil {
			env = append(env, "PWD="+abs)
		}
	}
	return env
}
