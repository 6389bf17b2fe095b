// Package suite runs the tests of modules: files of run blocks (package testfile), each of which plans or applies a
// module and judges assertions with what resulted from it.
//
//	result := suite.Run(ctx, suite.Options{Files: files, Load: load, Store: store, Report: report})
//
// It is a client of the engine as the commands plan and apply are: what runs differ in are variables, provider
// configurations, and what stands in for providers (package mock). Each state key of a file has its own state. At
// the end of a file everything that its runs made is destroyed, in the reverse order; what cannot be destroyed is
// reported and stays in its store.
//
// Runs follow one upon the other, except for those that may run beside others: these wait for what they need alone, and
// so does the end of their states. What is reported, and which runs are skipped, does not depend on which ends first.
// The package starts a goroutine for each run at work and one for the reports of a run that takes long, and waits for
// their end.
package suite

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Options configures a run of the suite.
type Options struct {
	Files []*testfile.File
	// Variables returns those from outside of a file: options, environment, files of values.
	Variables func(file *testfile.File) config.Values
	// Load loads a module with the provider configurations that a run wants.
	Load func(ctx context.Context, w Wanted) (*engine.Project, diag.List)
	// Configs returns the configurations that runs are about, as they are without the files of tests.
	Configs Configs
	// Store returns the place of a state; Emptied is called when everything in a file's states is gone.
	Store   func(file *testfile.File, key string) Place
	Emptied func(file *testfile.File)
	Report  Report
	// Parallelism limits the concurrent runs, and the states that are emptied at the same time; 0 is
	// DefaultParallelism.
	Parallelism int
	// Abort ends when nothing should be awaited any more, not even operations in flight.
	Abort context.Context
}

// DefaultParallelism is how many runs work concurrently by default.
const DefaultParallelism = 10

// Place is where a state is.
type Place struct {
	Store state.Store
	Path  string // of its file, for people; "" when it is in memory
}

// Wanted is the module that a run needs.
type Wanted struct {
	// with the module to load; nil for that of the working directory
	Run       *testfile.Run
	Providers func(c *config.Config) []*config.ProviderConfig // nil for those of the module alone
}

// Status is the result of a run or file. Later ones are worse.
type Status uint8

// The statuses.
const (
	Pending Status = iota
	Skip
	Pass
	Fail
	Error
)

// String is the word that programs know.
func (s Status) String() string {
	return [...]string{"pending", "skip", "pass", "fail", "error"}[s]
}

// Outcome is the result of one run.
type Outcome struct {
	Run     *testfile.Run
	Status  Status
	Diags   diag.List
	Met     diag.List // the failures that the run expected, and that are no problems
	Started time.Time
	Elapsed time.Duration
	// Plan is the plan of a run that only plans; State is the state of other runs. One is nil, or both.
	Plan  *plan.Plan
	State *state.State
	// Project has the schemas of Plan and State, or is nil.
	Project *engine.Project
}

// Result is the result of all files.
type Result struct {
	Files  []*FileResult
	Status Status
	// Interrupted means that the run was interrupted.
	Interrupted bool
}

// FileResult is the result of one file.
type FileResult struct {
	File   *testfile.File
	Status Status
	Runs   []*Outcome
	Diags  diag.List // of the file itself
}

// Count returns the number of runs of a status.
func (r *Result) Count(s Status) (n int) {
	for _, f := range r.Files {
		for _, o := range f.Runs {
			if o.Status == s {
				n++
			}
		}
	}
	return n
}

// Leftover is a state that was not emptied.
type Leftover struct {
	File  *testfile.File
	Run   *testfile.Run
	State *state.State
	Open  []state.InFlight // operations with an unknown result
	Path  string
	Diags diag.List
}

// Report hears of everything as it happens; of runs side by side in the order of the file. Its methods are not called
// concurrently.
type Report interface {
	Found(files []*testfile.File)
	FileStarts(f *testfile.File)
	RunStarts(f *testfile.File, r *testfile.Run)
	// Running is called from time to time during a long run; ending reports that its objects are being destroyed.
	Running(f *testfile.File, r *testfile.Run, elapsed time.Duration, ending bool)
	RunEnds(f *testfile.File, o *Outcome)
	TearingDown(f *testfile.File)
	Destroying(f *testfile.File, r *testfile.Run)
	// Destroyed is called for every state that was destroyed with problems.
	Destroyed(l Leftover)
	FileEnds(f *FileResult)
	Ends(r *Result)
}

// Run runs everything. When ctx ends, operations in flight end, nothing new starts, and created objects are destroyed.
func Run(ctx context.Context, o Options) *Result {
	if o.Abort == nil {
		o.Abort = context.Background()
	}
	o.Report.Found(o.Files)
	result := &Result{Status: Pass}
	projects := &loaded{load: o.Load}
	defer projects.close()
	for _, f := range o.Files {
		r := &fileRun{o: o, ctx: ctx, file: f, given: o.Variables(f), result: &FileResult{File: f, Status: Pending},
			projects: projects, states: map[string]*keyed{}}
		r.run()
		result.Files = append(result.Files, r.result)
		result.Status = max(result.Status, r.result.Status)
	}
	result.Interrupted = ctx.Err() != nil
	if result.Interrupted && result.Count(Skip) > 0 {
		result.Status = Error // their result is unknown
	}
	o.Report.Ends(result)
	return result
}

// fileRun is the run of one file.
type fileRun struct {
	o        Options
	ctx      context.Context
	file     *testfile.File
	result   *FileResult
	given    config.Values
	projects *loaded
	turns    *turns

	mu       sync.Mutex // guards what follows
	states   map[string]*keyed
	attempts []*attempt // by number; nil before a run has begun, and of one that was skipped
	outcomes []*Outcome
}

// keyed is the state of one key.
type keyed struct {
	place Place
	// applied are the runs that changed it, the last one at the end; order is the number of that.
	applied []*attempt
	order   int
	current *state.State
	open    []state.InFlight // operations with an unknown result
	origins origins
}

func (r *fileRun) run() {
	r.o.Report.FileStarts(r.file)
	r.result.Status = Pass
	if len(r.file.Runs) > 0 {
		r.result.Status = Pending
	}
	q := ordered(r.file, r.o.Configs)
	r.turns = newTurns(len(q.runs))
	r.attempts, r.outcomes = make([]*attempt, len(q.runs)), make([]*Outcome, len(q.runs))
	r.concurrently(len(q.runs), q.after, func(i int) { r.perform(q, i) })
	for _, out := range r.outcomes {
		r.result.Status = max(r.result.Status, out.Status)
		r.result.Runs = append(r.result.Runs, out)
	}
	slices.SortFunc(r.result.Runs, func(a, b *Outcome) int { // those of the file, whatever was executed first
		return slices.Index(r.file.Runs, a.Run) - slices.Index(r.file.Runs, b.Run)
	})
	r.o.Report.TearingDown(r.file)
	r.tearDown(q)
	r.result.Diags = reviewFile(r.file, r.o.Configs)
	r.o.Report.FileEnds(r.result)
}

// concurrently calls f for all numbers below n, as many at the same time as the options allow, each after those that it
// waits for, which are smaller.
func (r *fileRun) concurrently(n int, after [][]int, f func(i int)) {
	runner := graph.New(cmp.Or(r.o.Parallelism, DefaultParallelism))
	ids := make([]graph.ID, n)
	for i := range n {
		var deps []graph.ID
		for _, j := range after[i] {
			deps = append(deps, ids[j])
		}
		ids[i] = runner.Add(func(*graph.Node) error { f(i); return nil }, deps...)
	}
	if err := runner.Run(context.WithoutCancel(r.ctx)); err != nil {
		panic("suite: a run was skipped by the scheduler: " + err.Error())
	}
}

// perform executes a run, or skips it: after an interrupt, or when one that it waited for has ended with an error or
// was skipped itself.
func (r *fileRun) perform(q queue, i int) {
	run := q.runs[i]
	out := &Outcome{Run: run, Status: Skip, Started: time.Now()}
	if a := r.begin(q, i); a != nil {
		r.turns.tell(i, func() { r.o.Report.RunStarts(r.file, run) })
		watch := r.watch(i, run, false)
		r.execute(a, out)
		watch()
		out.Elapsed = time.Since(out.Started)
	}
	r.mu.Lock()
	r.outcomes[i] = out
	r.mu.Unlock()
	r.turns.tell(i, func() { r.o.Report.RunEnds(r.file, out) })
	r.turns.end(i)
}

// begin returns the attempt of a run; nil if it is to be skipped. Only outputs of runs that it has waited for are
// available to it: which others have ended by now depends on luck.
func (r *fileRun) begin(q queue, i int) *attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := &attempt{file: r, run: q.runs[i], number: i, before: map[string]map[string]cty.Value{},
		unreadable: map[string]diag.List{}}
	for _, j := range q.all(i) {
		if r.outcomes[j].Status == Error || r.outcomes[j].Status == Skip {
			return nil
		}
		if outputs := r.attempts[j].outputs; outputs != nil {
			a.before[q.runs[j].Name] = outputs
		}
	}
	if r.ctx.Err() != nil {
		return nil
	}
	key := stateKey(a.run)
	if r.states[key] == nil {
		r.states[key] = &keyed{place: r.o.Store(r.file, key)}
	}
	a.state = r.states[key]
	r.attempts[i] = a
	return a
}

// interval is how often a long run is reported.
const interval = 2 * time.Second

// watch reports a run while it runs and has its turn; the returned function ends that.
func (r *fileRun) watch(i int, run *testfile.Run, ending bool) func() {
	started := time.Now()
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				r.turns.tellNow(i, func() { r.o.Report.Running(r.file, run, time.Since(started), ending) })
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// extraScope returns the values that assertions can use in addition to those of the module.
func (a *attempt) extraScope(outputs map[string]cty.Value) eval.ExtraScope {
	runs := map[string]cty.Value{}
	for _, run := range a.file.file.Runs {
		runs[run.Name] = cty.NilVal
		if values, ok := a.before[run.Name]; ok {
			runs[run.Name] = cty.ObjectVal(values)
		}
	}
	return eval.ExtraScope{"run": runs, "output": outputs, "var": a.variables}
}
