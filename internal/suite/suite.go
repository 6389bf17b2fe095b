// Package suite runs the tests of modules: files of run blocks (package testfile), each of which plans or applies a
// module and judges assertions with what came of it.
//
//	result := suite.Run(ctx, suite.Options{Files: files, Load: load, Store: store, Report: report})
//
// It is a client of the engine as the commands plan and apply are: what runs differ in are variables, provider
// configurations, and what stands in for providers (package mock). Each state key of a file has a state of its own. At
// the end of a file everything that its runs made is destroyed, in the reverse order; what cannot be destroyed is
// reported and stays in its store.
//
// Runs follow one upon the other, also those that may run beside others: these only wait for less. The package starts
// one goroutine for the reports of a run that takes long, and waits for its end.
package suite

import (
	"context"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/eval"
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
	// Abort ends when nothing should be awaited any more, not even operations in flight.
	Abort context.Context
}

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
	Started time.Time
	Elapsed time.Duration
	// Plan is the plan of a run that only plans; State is the state of other runs. One is nil, or both.
	Plan  *plan.Plan
	State *state.State
	// Project has the schemas for them; nil if there is none.
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

// Left is a state that was not emptied.
type Left struct {
	File  *testfile.File
	Run   *testfile.Run
	State *state.State
	Open  []state.InFlight // operations with an unknown result
	Path  string
	Diags diag.List
}

// Report hears of everything as it happens. Its methods are not called concurrently, but Running.
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
	Destroyed(l Left)
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
			projects: projects, states: map[string]*keyed{},
			unreadable: map[string]diag.List{}, outputs: map[string]map[string]cty.Value{}}
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
	states   map[string]*keyed
	order    int
	// variables are those of the run that is under way; nil while modules are only loaded and checked.
	variables map[string]cty.Value
	broken    map[string]diag.List // what keeps variables of the file from having a value in that run
	// unreadable holds undeclared variables from outside whose texts are not expressions.
	unreadable map[string]diag.List
	// outputs are the output values of the runs that have ended.
	outputs map[string]map[string]cty.Value
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
	for _, run := range ordered(r.file) {
		out := &Outcome{Run: run, Status: Skip, Started: time.Now()}
		if r.result.Status != Error && r.ctx.Err() == nil {
			r.o.Report.RunStarts(r.file, run)
			watch := r.watch(run, false)
			r.execute(out)
			watch()
			out.Elapsed = time.Since(out.Started)
		}
		r.result.Status = max(r.result.Status, out.Status)
		r.result.Runs = append(r.result.Runs, out)
		r.o.Report.RunEnds(r.file, out)
	}
	slices.SortFunc(r.result.Runs, func(a, b *Outcome) int { // those of the file, whatever was executed first
		return slices.Index(r.file.Runs, a.Run) - slices.Index(r.file.Runs, b.Run)
	})
	r.o.Report.TearingDown(r.file)
	r.tearDown()
	r.result.Diags = reviewFile(r.file, r.o.Configs)
	r.o.Report.FileEnds(r.result)
}

// interval is how often a long run is reported.
const interval = 2 * time.Second

// watch reports a run while it runs; the returned function ends that.
func (r *fileRun) watch(run *testfile.Run, ending bool) func() {
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
				r.o.Report.Running(r.file, run, time.Since(started), ending)
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// beside returns the values that assertions can use in addition to those of the module.
func (r *fileRun) beside(variables, outputs map[string]cty.Value) eval.Beside {
	runs := map[string]cty.Value{}
	for _, run := range r.file.Runs {
		runs[run.Name] = cty.NilVal
		if values, ok := r.outputs[run.Name]; ok {
			runs[run.Name] = cty.ObjectVal(values)
		}
	}
	return eval.Beside{"run": runs, "output": outputs, "var": variables}
}
