package machines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// grace is how long a command may take to end after it was asked to.
const grace = 5 * time.Second

// maxLine is the maximum length of a reported line, in bytes.
const maxLine = 64 << 10

// Script copies a script to the machine, runs it, reports its output line by line, and removes it. The error of a
// failed script describes how it ended.
func (m *Machine) Script(ctx context.Context, script io.Reader, tell func(line string)) error {
	f, err := m.openFiles()
	if err != nil {
		return err
	}
	name := m.conn.scriptName()
	if err := m.Write(ctx, name, "", 0o700, script); err != nil {
		return fmt.Errorf("failed to upload script: %w", err)
	}
	err = m.link.run(ctx, name, tell)
	_ = f.remove(name) // a script may have removed itself or restarted the machine
	if err != nil {
		return fmt.Errorf("error executing %q: %w", name, err)
	}
	return nil
}

// run implements link. Some seconds after the program was asked to end, it closes the connection.
func (m *sshLink) run(ctx context.Context, name string, tell func(line string)) error {
	session, err := m.client.NewSession()
	if err != nil {
		return fmt.Errorf("opening a session: %w", err)
	}
	defer session.Close() //nolint:errcheck // ended already
	var one sync.Mutex
	out, problems, command := &lines{one: &one, tell: tell}, &lines{one: &one, tell: tell}, `"`+name+`"`
	session.Stdout, session.Stderr = out, problems
	var pid *firstLine
	if !m.windows {
		// The first line is the process ID: servers do not deliver signals to all commands.
		command = `sh -c 'echo $$; exec "$0"' ` + quoted(name)
		pid = &firstLine{rest: out}
		session.Stdout = pid
	}
	if err := session.Start(command); err != nil {
		return err
	}
	over := make(chan error, 1)
	go func() { over <- session.Wait() }()
	select {
	case err = <-over:
	case <-ctx.Done():
		m.askToEnd(session, pid)
		select {
		case <-over:
		case <-time.After(grace):
			_ = m.client.Close()
			<-over
		}
		err = errors.New("interrupted: the command received a signal to end")
	}
	out.end()
	problems.end()
	var missing *ssh.ExitMissingError
	if errors.As(err, &missing) {
		return errors.New("the connection ended before the command did, so its status is unknown. Did the machine " +
			"restart?")
	}
	return err
}

// askToEnd sends a signal to a command and its children, or only to the command if it is not a group leader.
func (m *sshLink) askToEnd(session *ssh.Session, pid *firstLine) {
	n := 0
	if pid != nil {
		n = pid.number()
	}
	if n <= 1 {
		_ = session.Signal(ssh.SIGTERM) // a server without signals sees the end of the connection
		return
	}
	other, err := m.client.NewSession()
	if err != nil {
		return // the connection has ended
	}
	defer other.Close() //nolint:errcheck // ended already
	stop := time.AfterFunc(grace, func() { _ = other.Close() })
	defer stop.Stop()
	_ = other.Run(fmt.Sprintf("kill -TERM -%d 2>/dev/null || kill -TERM %d", n, n)) // it may have already ended
}

// firstLine stores the first line of a stream, and forwards the others.
type firstLine struct {
	mu   sync.Mutex
	line []byte
	done bool
	rest io.Writer
}

// maxFirst limits the first line, in bytes; a process ID is shorter.
const maxFirst = 64

func (f *firstLine) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(p)
	if !f.done {
		i := bytes.IndexByte(p, '\n')
		if f.done = i >= 0; !f.done {
			i = n
		}
		f.line = append(f.line, p[:min(i, maxFirst-len(f.line))]...)
		p = p[min(i+1, n):]
	}
	if len(p) > 0 {
		if _, err := f.rest.Write(p); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// number returns the number on the line, or 0 if there is none yet.
func (f *firstLine) number() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := strconv.Atoi(string(f.line))
	if err != nil || !f.done {
		return 0
	}
	return n
}

// lines calls a function with each line that is written to it.
type lines struct {
	one  *sync.Mutex // held while a line is reported, because the other stream of the command may have one as well
	rest []byte
	tell func(line string)
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.rest = append(l.rest, p...)
			if len(l.rest) >= maxLine {
				l.flush()
			}
			break
		}
		l.rest = append(l.rest, p[:i]...)
		l.flush()
		p = p[i+1:]
	}
	return n, nil
}

func (l *lines) flush() {
	l.one.Lock()
	defer l.one.Unlock()
	l.tell(string(l.rest))
	l.rest = l.rest[:0]
}

// end reports an incomplete last line after the last write.
func (l *lines) end() {
	if len(l.rest) > 0 {
		l.flush()
	}
}
