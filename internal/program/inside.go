package program

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// Inside is a program that runs inside of this process, such as a WASI module, instead of one of the operating system.
type Inside interface {
	// Run runs the program to its end, which is soon after the context has ended. It returns how the program ended in
	// the form of an operating system: "exit status 3". It may be called concurrently.
	Run(ctx context.Context, s Streams) Exit
}

// Streams holds the input of a program inside of this process, and receives its output.
type Streams struct {
	// Args are the arguments, beginning with the name of the program.
	Args []string
	// Env is the environment as "key=value".
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Exit is the end of a program inside of this process.
type Exit struct {
	// Code is the exit status, or -1 if the program did not exit by itself.
	Code int
	// State is the end in words, such as "exit status 3".
	State string
}

// runInside runs a program inside of this process for one request.
func runInside(ctx context.Context, c Command) (*Result, error) {
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	answer := &limited{max: c.MaxStdout, over: make(chan struct{})}
	message := &ends{max: max(1, c.MaxStderr/2)}
	var stderr io.Writer = message
	if c.Stderr != nil {
		shown := &lines{emit: c.Stderr}
		defer shown.flush()
		stderr = io.MultiWriter(message, shown)
	}
	stdout := writer(func(b []byte) (int, error) {
		n, err := answer.Write(b)
		if answer.exceeded() {
			over := &LimitError{Limit: c.MaxStdout}
			end(over)
			return 0, over
		}
		return n, err
	})
	exit := c.Inside.Run(inner, Streams{Args: c.Argv, Env: c.Env, Stdin: &input{rest: c.Stdin}, Stdout: stdout,
		Stderr: stderr})
	res := &Result{Path: c.Argv[0], Stdout: answer.buf, Stderr: message.bytes(), State: exit.State, ExitCode: exit.Code}
	switch {
	case answer.exceeded():
		return res, &LimitError{Limit: c.MaxStdout}
	case ctx.Err() != nil && (exit.Code != 0 || !c.Whole(res.Stdout)):
		return res, &StoppedError{Err: context.Cause(ctx)}
	}
	return res, nil
}

// writer is a function that is an io.Writer.
type writer func(b []byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// input is standard input with a fixed content.
type input struct{ rest []byte }

func (i *input) Read(b []byte) (int, error) {
	n := copy(b, i.rest)
	i.rest = i.rest[n:]
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// body is a running program: a process, or a program inside of this one.
type body interface {
	Stdout() *os.File
	Stderr() *os.File
	Ended() <-chan struct{}
	ExitState() string
	// Terminate asks the program to end. Kill ends it, and its streams. Sweep ends what is left of a program that has
	// ended.
	Terminate()
	Kill()
	Sweep()
}

// insider is a program inside of this process that talks through pipes, as a process does. One goroutine runs it.
type insider struct {
	stop   context.CancelCauseFunc
	inputs [2]*os.File // both ends of its standard input
	theirs [2]*os.File // its ends of standard output and standard error
	ours   [2]*os.File
	ended  chan struct{}
	exit   Exit // set before ended is closed
	once   sync.Once
}

var errTerminated = errors.New("the program was asked to end")

// startInside starts a program inside of this process. stdin is both ends of its standard input.
func startInside(c Command, stdin [2]*os.File) (*insider, error) {
	ctx, stop := context.WithCancelCause(context.Background())
	p := &insider{stop: stop, inputs: stdin, ended: make(chan struct{})}
	for i := range p.ours {
		var err error
		if p.ours[i], p.theirs[i], err = os.Pipe(); err != nil {
			stop(nil)
			return nil, errors.Join(err, closeFiles(p.ours[:], p.theirs[:]))
		}
	}
	go func() {
		p.exit = c.Inside.Run(ctx, Streams{Args: c.Argv, Env: c.Env, Stdin: onlyReader{stdin[0]},
			Stdout: writer(p.theirs[0].Write), Stderr: writer(p.theirs[1].Write)})
		_ = closeFiles(p.theirs[:], stdin[:1]) // they may have been closed before
		close(p.ended)
		stop(nil)
	}()
	return p, nil
}

// onlyReader hides that a reader is a file.
type onlyReader struct{ io.Reader }

func closeFiles(lists ...[]*os.File) (err error) {
	for _, list := range lists {
		for _, f := range list {
			if f != nil {
				err = errors.Join(err, f.Close())
			}
		}
	}
	return err
}

func (p *insider) Stdout() *os.File       { return p.ours[0] }
func (p *insider) Stderr() *os.File       { return p.ours[1] }
func (p *insider) Ended() <-chan struct{} { return p.ended }
func (p *insider) Sweep()                 {}

func (p *insider) ExitState() string {
	select {
	case <-p.ended:
		return p.exit.State
	default:
		return ""
	}
}

// Terminate ends the program: there are no signals that it could handle. Its input ends, too, which it may be waiting
// for.
func (p *insider) Terminate() {
	p.once.Do(func() {
		p.stop(errTerminated)
		_ = p.inputs[1].Close() // the owner of the conversation may have closed it
	})
}

// Kill also ends a write that nobody reads.
func (p *insider) Kill() {
	p.Terminate()
	deadline := time.Now().Add(100 * time.Millisecond)
	for _, f := range p.ours {
		if f.SetReadDeadline(deadline) != nil {
			_ = f.Close() // reading it fails from now on, as it should
		}
	}
	_ = closeFiles(p.theirs[:]) // the program may have ended and closed them
	<-p.ended
}
