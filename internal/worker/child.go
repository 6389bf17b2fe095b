package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/runs"
)

// log is the log of a run: it writes lines to the database in groups.
type log struct {
	queue *runs.Queue
	claim *runs.Claim
	ctx   context.Context //nolint:containedctx // of one run; the streams of a child have no context

	mu    sync.Mutex // guards the fields below
	lines []string
	bytes int   // of all lines so far
	err   error // the first one
}

// Limits of a log.
const (
	maxLine  = 256 << 10
	maxLog   = 64 << 20
	group    = 200
	interval = 250 * time.Millisecond
)

// add adds a line that a child printed. One that is not a JSON object becomes the message of one.
func (l *log) add(line []byte, kind string) {
	text := string(bytes.TrimRight(line, "\r\n"))
	if strings.TrimSpace(text) == "" {
		return
	}
	if !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		wrapped, err := json.Marshal(map[string]string{"@level": "info", "@message": text, "type": kind})
		if err != nil {
			return // a text always has a form in JSON
		}
		text = string(wrapped)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.bytes
	l.bytes += len(text)
	switch {
	case l.bytes <= maxLog:
		l.lines = append(l.lines, text)
	case before <= maxLog:
		l.lines = append(l.lines, `{"@level":"warn","@message":"The log is longer than 64 MiB. The rest is left out.",`+
			`"type":"log"}`)
	}
	if len(l.lines) >= group {
		l.flush()
	}
}

// flush writes the lines. The caller has the mutex.
func (l *log) flush() {
	if len(l.lines) == 0 {
		return
	}
	if err := l.queue.AddLines(l.ctx, l.claim, l.lines); err != nil && l.err == nil {
		l.err = err
	}
	l.lines = nil
}

// write writes the lines, and returns the first error so far.
func (l *log) write() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	return l.err
}

// stream splits what a child prints into lines.
type stream struct {
	log  *log
	kind string
	rest []byte
}

func (s *stream) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		i := bytes.IndexByte(s.rest, '\n')
		if i < 0 {
			break
		}
		s.log.add(s.rest[:i], s.kind)
		s.rest = s.rest[i+1:]
	}
	if len(s.rest) > maxLine {
		s.close()
	}
	return len(p), nil
}

func (s *stream) close() {
	s.log.add(s.rest, s.kind)
	s.rest = nil
}

// start runs the program tombolo in a directory, and returns its exit code. Its output goes to the log, and to the
// buffer if there is one.
func (w *Worker) start(l *log, a *active, dir string, output *bytes.Buffer, args ...string) (code int, err error) {
	if how, _ := a.how(); how > 0 {
		return 1, nil // it does not begin
	}
	cmd := exec.Command(w.Self, append([]string{GuardWord, w.Program}, args...)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, w.environment(&l.claim.Run, a.out.root), attributes()
	if a.out.lock != nil {
		cmd.ExtraFiles = []*os.File{a.out.lock} // becomes lockDescriptor
	}
	cmd.WaitDelay = 10 * time.Second // for programs that outlive it and have its output open
	out, problems := &stream{log: l, kind: "output"}, &stream{log: l, kind: "stderr"}
	cmd.Stdout, cmd.Stderr = out, problems
	if output != nil {
		cmd.Stdout = output
	}
	if _, err := cmd.StdinPipe(); err != nil { // it stays open until the command has ended, or this process
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	a.mu.Lock()
	a.child, a.sent = cmd.Process, 0
	a.signal()
	a.mu.Unlock()
	ended := make(chan struct{})
	var flushing sync.WaitGroup
	flushing.Go(func() { l.follow(a, ended) })
	err = cmd.Wait()
	close(ended)
	flushing.Wait()
	a.mu.Lock()
	a.child = nil
	a.mu.Unlock()
	out.close()
	problems.close()
	if problem := l.write(); problem != nil {
		return 0, problem
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

// follow writes lines while a child runs. If the run no longer belongs to this worker, it stops the child.
func (l *log) follow(a *active, ended <-chan struct{}) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		if l.write() != nil {
			a.end(runs.Stop, true)
		}
	}
}

// disposable is engine.DisposableVariable: a worker does not contain the engine.
const disposable = "TOMBOLO_DISPOSABLE_FOLDER"

// environment returns the environment of a run: that of the worker, without what only the worker needs and what would
// change what a command does. root is the checkout, which is removed later, so states must not be there.
func (w *Worker) environment(r *runs.Run, root string) []string {
	var out []string
	for _, v := range w.Environ {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case name == runs.Variable, strings.HasPrefix(name, "TF_CLI_ARGS"), name == "TF_WORKSPACE",
			name == "TF_DATA_DIR", name == "TF_INPUT", name == "TF_LOG_PATH":
		default:
			out = append(out, v)
		}
	}
	out = append(out, "TF_IN_AUTOMATION=1", disposable+"="+root, "TF_INPUT=0", "NO_COLOR=1")
	if r.Workspace != "" {
		out = append(out, "TF_WORKSPACE="+r.Workspace)
	}
	return out
}
