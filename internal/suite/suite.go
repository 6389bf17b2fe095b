// Package suite runs the tests of modules: test files with run blocks (package testfile), each of which plans or
// applies a module and evaluates assertions about the result.
//
//	result := suite.Run(ctx, suite.Options{Files: files, Load: load, Store: store, Report: report})
//
// Like the commands plan and apply, it is a client of the engine. Runs differ in variables, provider configurations and
// mocks (package mock). Each state key of a file has its own state. At the end of a file, all objects of its runs are
// destroyed in reverse order; objects that cannot be destroyed are reported and stay in the state's store.
//
// Runs are sequential, except for those that may run in parallel: these wait only for the runs that they need, and so
// does the destruction of their states. Neither the reports nor the set of skipped runs depend on timing. The package
// starts a goroutine for each active run and one for the reports of a long run, and waits for them.
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
	// Variables returns the external variables for a file: options, environment, variable files.
	Variables func(file *testfile.File) config.Values
	// Load loads a module with the provider configurations of a run.
	Load func(ctx context.Context, w Wanted) (*engine.Project, diag.List)
	// Configs returns the configurations of runs, without the test files.
	Configs Configs
	// Store returns the location of a state. Emptied is called when a file's states have no objects any longer.
	Store   func(file *testfile.File, key string) Place
	Emptied func(file *testfile.File)
	Report  Report
	// Parallelism limits the concurrent runs, and the states that are destroyed concurrently; 0 is DefaultParallelism.
	Parallelism int
	// Abort is cancelled when the suite must not wait even for operations in flight.
	Abort context.Context
}

// DefaultParallelism is the default number of concurrent runs.
const DefaultParallelism = 10

// Place is the location of a state.
type Place struct {
	Store state.Store
	Path  string // of its file, for people; "" if it is in memory
}

// Wanted is the module that a run needs.
type Wanted struct {
	// with the module to load; nil for that of the working directory
	Run       *testfile.Run
	Providers func(c *config.Config) []*config.ProviderConfig // nil for those of the module alone
}

// Status is the result of a run or file, from best to worst.
type Status uint8

// The statuses.
const (
	Pending Status = iota
	Skip
	Pass
	Fail
	Error
)

// String returns the word in output for programs.
func (s Status) String() string {
	return [...]string{"pending", "skip", "pass", "fail", "error"}[s]
}

// Outcome is the result of one run.
type Outcome struct {
	Run     *testfile.Run
	Status  Status
	Diags   diag.List
	Met     diag.List // the failures that the run expected, which are not problems
	Started time.Time
	Elapsed time.Duration
	// Plan is the plan of a run that only plans; State is the state of other runs. At least one is nil.
	Plan  *plan.Plan
	State *state.State
	// Project has the schemas of Plan and State, or is nil.
	Project *engine.Project
}

// Result is the result of all files.
type Result struct {
	Files  []*FileResult
	Status Status
	// Interrupted means that the suite was interrupted.
	Interrupted bool
}

// FileResult is the result of one file.
type FileResult struct {
	File   *testfile.File
	Status Status
	Runs   []*Outcome
	Diags  diag.List // of the file itself
}

// Count returns the number of runs with a status.
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

// Report receives all events; those of concurrent runs in the order of the file. Its methods are not called
// concurrently.
type Report interface {
	Found(files []*testfile.File)
	FileStarts(f *testfile.File)
	RunStarts(f *testfile.File, r *testfile.Run)
	// Running is called periodically during a long run; ending reports that its objects are being destroyed.
	Running(f *testfile.File, r *testfile.Run, elapsed time.Duration, ending bool)
	RunEnds(f *testfile.File, o *Outcome)
	TearingDown(f *testfile.File)
	Destroying(f *testfile.File, r *testfile.Run)
	// Destroyed is called for every state whose destruction had problems.
	Destroyed(l Leftover)
	FileEnds(f *FileResult)
	Ends(r *Result)
}

// Run runs all files. When ctx is cancelled, it waits for operations in flight, starts nothing new, and destroys
// created objects.
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

	mu       sync.Mutex // guards the fields below
	states   map[string]*keyed
	attempts []*attempt // by index; nil before a run has begun, and for skipped ones
	outcomes []*Outcome
}

// keyed is the state of one key.
type keyed struct {
	place Place
	// applied are the runs that changed it, the latest one last; order is the index of the latest.
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
	slices.SortFunc(r.result.Runs, func(a, b *Outcome) int { // in the order of the file
		return slices.Index(r.file.Runs, a.Run) - slices.Index(r.file.Runs, b.Run)
	})
	r.o.Report.TearingDown(r.file)
	r.tearDown(q)
	r.result.Diags = reviewFile(r.file, r.o.Configs)
	r.o.Report.FileEnds(r.result)
}

// concurrently calls f for all numbers below n, concurrently up to the limit of the options, each after the smaller
// numbers that it waits for.
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

// perform executes a run, or skips it: after an interrupt, or if one that it waited for has ended with an error or was
// skipped.
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

// begin returns the attempt of a run, or nil if it is skipped. The run can use only the outputs of runs that it has
// waited for, because the set of other ended runs depends on timing.
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

// interval is the interval of reports about a long run.
const interval = 2 * time.Second

// watch reports a run periodically while it has its turn. The returned function stops it.
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
