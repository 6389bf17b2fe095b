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

// Conversation is a program that runs until it is asked to end, and exchanges messages meanwhile. The caller reads
// Stdout to its end, and calls End. Two goroutines belong to it, which have ended when Ended is closed.
type Conversation struct {
	// Path is the file that was executed.
	Path string
	// Stdin is the input of the program; End closes it. Stdout is its output: it ends when the program has ended, even
	// if something that the program started still holds it.
	Stdin, Stdout *os.File

	proc    *guarded.Process
	stderr  *hearing
	message *ends
	grace   time.Duration
	ended   chan struct{}
	closing sync.Once
	ending  sync.Once
}

// Converse starts a program. Of the command, Argv, Dir, Base, Env, Stderr, MaxStderr and Grace count. Errors are
// *LookupError and *StartError. The program ends when this process dies, however it dies.
func Converse(c Command) (*Conversation, error) {
	c = c.withDefaults()
	path, err := LookPath(c.Argv[0], c.Env, c.Base)
	if err != nil {
		return nil, &LookupError{Program: c.Argv[0], Err: err}
	}
	return launching(path, c, converse)
}

func converse(path, dir string, c Command) (*Conversation, error) {
	// A relative program is searched from its own directory, not from ours.
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
	t := &Conversation{
		Path: path, Stdin: stdin, Stdout: proc.Stdout(), proc: proc, grace: c.Grace,
		message: &ends{max: max(1, c.MaxStderr/2)}, ended: make(chan struct{}),
	}
	t.stderr = &hearing{file: proc.Stderr(), to: t.message, buf: make([]byte, readSize)}
	var shown *lines
	if c.Stderr != nil {
		shown = &lines{emit: c.Stderr}
		t.stderr.to = io.MultiWriter(t.message, shown)
	}
	go t.watch(shown)
	return t, nil
}

// CatchUp has passed on, when it returns, the lines that the program had written to standard error when it was called.
// Two pipes have no order: after reading an answer, call this to get the messages before it. (On Windows some of it may
// come later.)
func (t *Conversation) CatchUp() { t.stderr.catchUp() }

// watch reads standard error, and sees to it that the streams end with the program.
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
	// What the program wrote is in the pipes. They end when what it left behind has ended too, unless that has left the
	// group.
	t.proc.Sweep()
	t.proc.Stdout().SetReadDeadline(time.Now().Add(defaultLinger))
	t.proc.Stderr().SetReadDeadline(time.Now().Add(defaultLinger))
	read.Wait()
	t.proc.Stderr().Close()
	close(t.ended)
}

func (t *Conversation) closeInput() { t.closing.Do(func() { t.Stdin.Close() }) }

// Ended is closed when the program has ended and its standard error is read.
func (t *Conversation) Ended() <-chan struct{} { return t.ended }

// Fate returns how the program ended, such as "exit status 1". Only once Ended is closed.
func (t *Conversation) Fate() string { return t.proc.Fate() }

// Message returns the program's standard error. Only once Ended is closed.
func (t *Conversation) Message() []byte { return t.message.bytes() }

// End ends the program: its input ends now, after the patience it is asked to end, and after its grace it is killed. It
// returns when the program has ended, and may be called by several; the patience of the first counts.
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

// Terminate asks the program to end: its input stays open, and the call does not wait.
func (t *Conversation) Terminate() { t.proc.Terminate() }

// EndedWithin waits for the end of the program, and reports whether it came.
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

// launching starts a program by the given means. A script that was written a moment ago can still be open for writing
// in a child of ours that another goroutine has forked but that has not reached its exec yet. That passes.
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
