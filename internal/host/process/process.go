// Package process runs a long-lived program, such as a plugin, and leaves none of its processes behind.
//
// The program gets no standard input unless one is given. It runs in its own process group (on Windows, in a job): an
// interrupt from the terminal does not reach it, and Kill reaches its children, such as the real provider behind a
// wrapper script. A guard in the same group ends the group when this process dies in any way. Only descendants that
// leave the group, as daemons do, escape.
//
// A Watch guards programs that are started in another way, and files that must not remain.
//
//	p, err := process.Start(process.Spec{Path: program, Env: env})
//	defer p.Kill()
//
// Start owns a goroutine that waits for the program, and on Linux another with a thread. They end with the program.
package process

import (
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Spec describes a process to start.
type Spec struct {
	Path string
	Args []string // without the name of the program
	// Stdin is the input of the program, or nil for none. Start does not close it.
	Stdin *os.File
	Env   []string
	Dir   string // "" means the current directory
	// Temp is a directory that is removed if this process dies before it can remove it; "" means none. (Not on
	// Windows.)
	Temp string
}

// Process is a program that was started.
type Process struct {
	cmd   *exec.Cmd
	guard *guard

	stdout, stderr *os.File
	ended          chan struct{} // closed when the program has ended, after err is set
	err            error
}

// Start starts a program. Its streams must be read, or it may block.
func Start(spec Spec) (_ *Process, err error) {
	p := &Process{ended: make(chan struct{})}
	p.cmd = &exec.Cmd{Path: spec.Path, Args: append([]string{spec.Path}, spec.Args...), Env: spec.Env, Dir: spec.Dir}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return nil, closeAll(err, outR, outW)
	}
	p.stdout, p.stderr, p.cmd.Stdout, p.cmd.Stderr = outR, errR, outW, errW
	if spec.Stdin != nil {
		p.cmd.Stdin = spec.Stdin
	}
	if p.guard, err = newGuard(spec.Temp); err == nil {
		p.guard.prepare(p.cmd)
		if err = p.start(); err == nil {
			p.guard.adopt(p.cmd.Process)
		} else {
			p.guard.end()
		}
	}
	if err != nil {
		return nil, closeAll(err, outR, outW, errR, errW)
	}
	outW.Close()
	errW.Close()
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	if err := p.guard.ready(); err != nil {
		p.Kill()
		return nil, closeAll(err, outR, errR)
	}
	return p, nil
}

func closeAll(err error, files ...*os.File) error {
	for _, f := range files {
		f.Close()
	}
	return err
}

// Stdout returns the program's standard output. It ends when all writers have closed it, or after Kill.
func (p *Process) Stdout() *os.File { return p.stdout }

// Stderr is like Stdout.
func (p *Process) Stderr() *os.File { return p.stderr }

// Pid returns the program's process ID.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Ended returns a channel that is closed when the program has ended; its children may still run.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// ExitState returns how the program ended, such as "exit status 1", or "" while it is running.
func (p *Process) ExitState() string {
	select {
	case <-p.ended:
	default:
		return ""
	}
	if p.cmd.ProcessState != nil {
		return p.cmd.ProcessState.String()
	}
	return fmt.Sprint(p.err)
}

// Terminate asks the program and its group to end.
func (p *Process) Terminate() {
	select {
	case <-p.ended:
	default:
		p.guard.terminate()
	}
}

// Kill kills the program and its group, and returns when the program has ended. Its streams end.
func (p *Process) Kill() {
	p.Sweep()
	// A descendant that left the group may still have the other ends open.
	deadline := time.Now().Add(100 * time.Millisecond)
	for _, f := range []*os.File{p.stdout, p.stderr} {
		if f.SetReadDeadline(deadline) != nil {
			f.Close()
		}
	}
}

// Sweep is like Kill, for callers that still read the streams: these keep their content, and end when all writers have
// closed them.
func (p *Process) Sweep() {
	p.guard.end()
	_ = p.cmd.Process.Kill() // it may have left the group
	<-p.ended
}
