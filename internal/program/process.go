package program

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"

	guarded "github.com/tombolo-iac/tombolo/internal/host/process"
	"github.com/tombolo-iac/tombolo/internal/host/process/group"
)

// process is one running program. The goroutine that calls wait owns it. In addition, there is one goroutine for each
// pipe and one that waits for the end of the program, all of which end before wait returns.
type process struct {
	cmd    *exec.Cmd
	limits Command
	group  *group.Group

	stdin     *os.File // nil if there is nothing to send
	stdinDone chan struct{}
	stdout    *stream
	stderr    *stream
	answer    *limited
	message   *ends
	lines     *lines
	children  []*os.File     // the child's ends of the pipes
	watch     *guarded.Watch // nil if the program may outlive this process
}

func (p *process) unwatch() {
	if p.watch != nil {
		p.watch.End()
	}
}

// openPipes creates pipes. It does not use those of os/exec, which can only wait for their end or for a fixed time,
// because the output must be checked in between.
func (p *process) openPipes() (err error) {
	defer func() {
		if err != nil {
			p.closeChildEnds()
			p.closeOurEnds()
		}
	}()
	pipe := func() (*os.File, *os.File) {
		var r, w *os.File
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	outR, outW := pipe()
	p.answer = &limited{max: p.limits.MaxStdout, over: make(chan struct{})}
	p.stdout = &stream{file: outR, to: p.answer, done: make(chan struct{})}
	errR, errW := pipe()
	p.message = &ends{max: max(1, p.limits.MaxStderr/2)}
	var to io.Writer = p.message
	if p.limits.Stderr != nil {
		p.lines = &lines{emit: p.limits.Stderr}
		to = io.MultiWriter(p.message, p.lines)
	}
	p.stderr = &stream{file: errR, to: to, done: make(chan struct{})}
	p.children = []*os.File{outW, errW}
	if len(p.limits.Stdin) > 0 {
		inR, inW := pipe()
		p.stdin = inW
		p.children = append(p.children, inR)
		if err == nil {
			p.cmd.Stdin = inR
		}
	}
	if err == nil {
		p.cmd.Stdout, p.cmd.Stderr = outW, errW
		if p.limits.Joined {
			p.cmd.Stdout = errW
		}
	}
	return err
}

func (p *process) closeChildEnds() {
	for _, f := range p.children {
		f.Close() // closing a nil *os.File is harmless: that pipe was never opened
	}
	p.children = nil
}

func (p *process) closeOurEnds() {
	p.stdout.file.Close()
	p.stderr.file.Close()
	p.stdin.Close()
}

// serve starts the goroutines that write and read the pipes.
func (p *process) serve(stdin []byte) {
	p.stdinDone = make(chan struct{})
	go func() {
		defer close(p.stdinDone)
		if p.stdin != nil {
			// A program need not read its input, so a broken pipe is not an error; other errors show in the output.
			p.stdin.Write(stdin)
			p.stdin.Close()
		}
	}()
	go p.stdout.read()
	go p.stderr.read()
}

// wait waits until the program has exited, and then until its output is complete.
func (p *process) wait(ctx context.Context) (*Result, error) {
	graceEnd, failure := p.waitExit(ctx)
	var stopped *StoppedError
	if errors.As(failure, &stopped) {
		if !stopped.Stuck {
			p.drain(graceEnd, func() bool { return p.bothEnded() || p.group.Gone() })
		}
		p.group.Kill()
	}
	if stopped == nil || !stopped.Stuck {
		failure = p.linger(ctx, failure)
		if p.limits.Final {
			p.group.Kill()
		}
	}
	select {
	case <-p.answer.over:
		if failure == nil {
			p.group.Kill()
			failure = &LimitError{Limit: p.limits.MaxStdout}
		}
	default:
	}
	p.release()

	res := &Result{
		Path:     p.cmd.Path,
		Stdout:   p.answer.buf,
		Stderr:   p.message.bytes(),
		State:    "still running",
		ExitCode: -1,
		Held:     !p.bothEnded(),
	}
	if stopped == nil || !stopped.Stuck {
		res.State, res.ExitCode = p.cmd.ProcessState.String(), p.cmd.ProcessState.ExitCode()
	}
	if stopped != nil && res.ExitCode == 0 && p.limits.Whole(res.Stdout) {
		failure = nil
	}
	return res, failure
}

// waitExit waits for the program itself, and makes it end when the context ends or its output exceeds the limit.
// graceEnd is when the grace period of a stopped program ends.
func (p *process) waitExit(ctx context.Context) (graceEnd time.Time, failure error) {
	exited := make(chan struct{})
	go func() {
		p.cmd.Wait() // ProcessState contains the result
		close(exited)
	}()
	cancelled, over := ctx.Done(), p.answer.over
	var kill, giveUp <-chan time.Time
	for {
		select {
		case <-exited:
			return graceEnd, failure
		case <-cancelled:
			cancelled = nil
			if failure == nil {
				failure = &StoppedError{Err: context.Cause(ctx)}
				graceEnd = time.Now().Add(p.limits.Grace)
				p.group.Terminate()
				kill = time.After(p.limits.Grace)
			}
		case <-kill:
			p.group.Kill()
			giveUp = time.After(killWait)
		case <-over:
			over = nil
			p.group.Kill()
			if failure == nil {
				failure = &LimitError{Limit: p.limits.MaxStdout}
			}
			giveUp = time.After(killWait)
		case <-giveUp:
			if cause := context.Cause(ctx); cause != nil {
				failure = cause
			}
			return time.Now(), &StoppedError{Err: failure, Stuck: true}
		}
	}
}

// drain reads the pipes until enough returns true or the deadline has passed. The program itself has ended, so the
// first round reads all of its output.
func (p *process) drain(deadline time.Time, enough func() bool) {
	p.stdout.interrupt()
	p.stderr.interrupt()
	const shortest, longest = 200 * time.Microsecond, 20 * time.Millisecond
	for pause := shortest; ; pause = min(2*pause, longest) {
		if p.stdout.readPending()+p.stderr.readPending() > 0 {
			pause = shortest
		}
		left := time.Until(deadline)
		if enough() || left <= 0 {
			return
		}
		time.Sleep(min(pause, left))
	}
}

// linger reads output of other processes after the program has ended. Processes for which Run waits without a limit are
// part of the work, so the end of the context ends them, too.
func (p *process) linger(ctx context.Context, failure error) error {
	limit := p.limits.Linger
	if limit == Unlimited && failure != nil {
		limit = defaultLinger
	}
	if limit != Unlimited {
		p.drain(time.Now().Add(limit), p.settled)
		return failure
	}
	p.drain(time.Now().Add(Unlimited), func() bool { return p.bothEnded() || ctx.Err() != nil })
	if p.bothEnded() {
		return nil
	}
	p.group.Terminate()
	p.drain(time.Now().Add(p.limits.Grace), func() bool { return p.bothEnded() || p.group.Gone() })
	p.group.Kill()
	return &StoppedError{Err: context.Cause(ctx)}
}

// settled reports whether the output is final: no process has the pipes open, or the program succeeded and its output
// is complete. The message of a program that failed may not have arrived yet.
func (p *process) settled() bool {
	if p.answer.exceeded() || p.bothEnded() {
		return true
	}
	return p.cmd.ProcessState.Success() && p.limits.Whole(p.answer.buf)
}

func (p *process) bothEnded() bool { return p.stdout.ended && p.stderr.ended }

// release ends the goroutines of the pipes and closes the pipes.
func (p *process) release() {
	p.unwatch()
	p.stdout.interrupt()
	p.stderr.interrupt()
	p.stdin.Close() // ends a write that a surviving child does not read
	<-p.stdinDone
	p.closeOurEnds()
	p.group.Close()
	if p.lines != nil {
		p.lines.flush()
	}
}
