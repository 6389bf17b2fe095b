package serving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/pages"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/plan"
)

const (
	// mostRuns is how many runs are kept.
	mostRuns = 50
	// maxLog is how many bytes of a log are kept, and mostOperations how many operations.
	maxLog         = 1 << 20
	mostOperations = 5000
)

// runs are the runs that pages have started in this process, one at a time. It implements pages.Runs. It owns a
// goroutine for the run under way, which ends with the context of the server: wait waits for it.
type runs struct {
	ctx   context.Context
	call  *command.Call
	o     *options
	start Commands
	wg    sync.WaitGroup

	mu      sync.Mutex // guards the fields below, and the fields of runs
	list    []*process // oldest first
	version int
	busy    bool
	report  []byte // of the last check for drift
	made    time.Time
}

// process is a run.
type process struct {
	pages.Run
	log   bytes.Buffer
	cut   bool
	open  map[operation]int // indices of Operations
	count int               // of changes
}

type operation struct {
	object addr.Object
	action plan.Action
}

func newRuns(ctx context.Context, c *command.Call, o *options, start Commands) *runs {
	return &runs{ctx: ctx, call: c, o: o, start: start}
}

// wait waits for the run under way.
func (r *runs) wait() { r.wg.Wait() }

// List implements pages.Runs.
func (r *runs) List(context.Context) ([]pages.Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []pages.Run
	for _, p := range slices.Backward(r.list) {
		one := p.Run
		one.Log, one.Operations = "", nil
		all = append(all, one)
	}
	return all, nil
}

// Run implements pages.Runs.
func (r *runs) Run(_ context.Context, id string) (*pages.Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.list {
		if p.ID == id {
			one := p.Run
			one.Log, one.Operations = p.log.String(), slices.Clone(p.Operations)
			if p.cut {
				one.Log = "The beginning of the log was left out.\n" + one.Log
			}
			return &one, nil
		}
	}
	return nil, nil
}

// Version implements pages.Runs.
func (r *runs) Version(_ context.Context, id string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.list {
		if p.ID == id {
			return fmt.Sprint(p.count), nil
		}
	}
	return fmt.Sprint(r.version), nil
}

// Approve implements pages.Runs.
func (r *runs) Approve(_ context.Context, name, hash, by string) (string, error) {
	folder := &folder{dir: r.o.plans}
	_, now, err := folder.read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &pages.RefusedError{Why: "The file of the plan has been removed."}
	case err != nil:
		return "", &pages.RefusedError{Why: "The plan cannot be read: " + err.Error() + "."}
	case now != hash:
		return "", &pages.RefusedError{Why: "The file of the plan has changed since the page was shown. Open the " +
			"plan " +
			"again and read it."}
	}
	// The apply compares the hash with what it reads.
	return r.begin("Apply "+name, by, r.start.Apply, []string{"-input=false", "-no-color", "-expect-plan=" + hash,
		filepath.Join(r.o.plans, name)}, nil)
}

// Check implements pages.Runs.
func (r *runs) Check(_ context.Context, by string) (string, error) {
	args := []string{"-json", "-no-color"}
	if r.o.accept != "" {
		args = append(args, "-accept="+r.o.accept)
	}
	return r.begin("Check for drift", by, r.start.Drift, args, func(document []byte) {
		r.report, r.made = document, time.Now()
	})
}

// begin starts a command. keep, which may be nil, receives its standard output if it succeeds; otherwise that is a part
// of the log.
func (r *runs) begin(title, by string, cmd *command.Command, args []string, keep func([]byte)) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ctx.Err() != nil:
		return "", &pages.RefusedError{Why: "The server is ending."}
	case r.busy:
		return "", &pages.RefusedError{Why: "Another run of this server has not ended yet. Wait for it."}
	}
	p := &process{Run: pages.Run{ID: pages.NewToken()[:12], Title: title, By: by, Started: time.Now()},
		open: map[operation]int{}}
	r.list, r.busy = append(r.list, p), true
	if len(r.list) > mostRuns {
		r.list = r.list[1:]
	}
	r.version++
	fmt.Fprintf(r.call.Err, "%s: started by %s\n", title, by)
	r.wg.Go(func() { r.perform(p, cmd, args, keep) })
	return p.ID, nil
}

// perform runs a command like its own process would.
func (r *runs) perform(p *process, cmd *command.Command, args []string, keep func([]byte)) {
	outcome := command.Failed
	var document bytes.Buffer
	defer func() {
		if recover() != nil {
			// The text of a panic could have a secret.
			_, _ = logged{r, p}.Write([]byte("\nThe run crashed, which is a bug. Its last operation is in the " +
				"journal.\n"))
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		p.Ended, p.Failed = time.Now(), outcome != command.Done && outcome != command.Changes
		if keep != nil && !p.Failed {
			keep(document.Bytes())
		}
		r.busy = false
		r.version++
		p.count++
		result := "done"
		if p.Failed {
			result = "failed"
		}
		fmt.Fprintf(r.call.Err, "%s: %s\n", p.Title, result)
	}()
	none, err := os.Open(os.DevNull)
	if err != nil {
		fmt.Fprintf(logged{r, p}, "The run cannot be started: %s\n", err)
		return
	}
	defer none.Close()
	to := logged{r, p}
	app := &command.App{Surroundings: *r.call.Surroundings.At(""), In: command.NewInput(none), Out: to, Err: to,
		Width: 100, Watch: to}
	app.Given, app.Keeps = r.call.Surroundings.Given, r.call.Keeps
	if keep != nil {
		app.Out = &document
	}
	outcome = app.Start(r.ctx, cmd, cmd.Name, false, args)
}

// logged is the output of a run, and receives its events.
type logged struct {
	r *runs
	p *process
}

// Write implements io.Writer.
func (l logged) Write(b []byte) (int, error) {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	l.p.log.Write(b)
	if extra := l.p.log.Len() - maxLog; extra > 0 {
		l.p.log.Next(extra + maxLog/8)
		_, _ = l.p.log.ReadBytes('\n')
		l.p.cut = true
	}
	l.p.count++
	return len(b), nil
}

// Send implements event.Sink.
func (l logged) Send(e event.Event) {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	p := l.p
	switch e := e.(type) {
	case event.OperationStart:
		if e.Planning || len(p.Operations) >= mostOperations {
			return
		}
		p.open[operation{e.Object, e.Action}] = len(p.Operations)
		p.Operations = append(p.Operations, pages.Operation{Address: e.Object.String(), Action: e.Action.String(),
			Started: e.Started})
	case event.OperationDone:
		at, known := p.open[operation{e.Object, e.Action}]
		if e.Planning || !known {
			return
		}
		delete(p.open, operation{e.Object, e.Action})
		o := &p.Operations[at]
		o.Ended, o.Elapsed, o.Failed = true, e.Elapsed, e.Failed
	default:
		return
	}
	p.count++
}

// reports is the source of the reports of drift: the last check of this server, or a file. It implements pages.Drift.
type reports struct {
	file string // "" if there is none
	runs *runs
}

// maxReport is the maximum size of a report in bytes.
const maxReport = 64 << 20

// Last implements pages.Drift. The newer one of file and check counts.
func (d *reports) Last(context.Context) (document []byte, made time.Time, err error) {
	d.runs.mu.Lock()
	document, made = d.runs.report, d.runs.made
	d.runs.mu.Unlock()
	if d.file == "" {
		return document, made, nil
	}
	info, err := os.Stat(d.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return document, made, nil
	case err != nil:
		return nil, time.Time{}, err
	case !info.ModTime().After(made):
		return document, made, nil
	}
	content, err := regular.Read(d.file, maxReport)
	return content, info.ModTime(), err
}
