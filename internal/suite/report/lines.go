package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/suite"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// lines is the report for programs: one JSON object per line.
type lines struct {
	o  Options
	mu sync.Mutex // guards the output
}

func (l *lines) line(f *testfile.File, r *testfile.Run, message, kind string, payload any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	members := []any{kind, payload}
	view.WriteLine(l.o.View, "info", message, kind, append(members, l.about(f, r)...)...)
}

// about returns the JSON members that identify the file and the run of a line.
func (l *lines) about(f *testfile.File, r *testfile.Run) (members []any) {
	if f != nil {
		members = append(members, "@testfile", f.Name)
	}
	if r != nil {
		members = append(members, "@testrun", r.Name)
	}
	return members
}

func (l *lines) diagnostics(f *testfile.File, r *testfile.Run, list diag.List) {
	l.mu.Lock()
	defer l.mu.Unlock()
	view.WriteDiagnostics(l.o.View, l.o.prepared(list), l.about(f, r)...)
}

type fileLine struct {
	Path     string `json:"path"`
	Progress string `json:"progress"`
	Status   string `json:"status,omitempty"`
}

type runLine struct {
	Path     string `json:"path"`
	Run      string `json:"run"`
	Progress string `json:"progress"`
	Elapsed  *int64 `json:"elapsed,omitempty"`
	Status   string `json:"status,omitempty"`
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Found implements suite.Report.
func (l *lines) Found(files []*testfile.File) {
	names, runs := map[string][]string{}, 0
	for _, f := range files {
		var list []string
		for _, r := range f.Runs {
			list = append(list, r.Name)
		}
		names[f.Name] = list
		runs += len(list)
	}
	l.line(nil, nil, fmt.Sprintf("Found %s and %s", plural(len(files), "file"), plural(runs, "run block")),
		"test_abstract", names)
}

func (l *lines) file(f *testfile.File, text, progress, status string) {
	l.line(f, nil, f.Name+"... "+text, "test_file", fileLine{f.Name, progress, status})
}

func (l *lines) run(f *testfile.File, r *testfile.Run, text, progress, status string, elapsed *int64) {
	l.line(f, r, fmt.Sprintf("  %q... %s", r.Name, text), "test_run", runLine{f.Name, r.Name, progress, elapsed,
		status})
}

// FileStarts implements suite.Report.
func (l *lines) FileStarts(f *testfile.File) { l.file(f, "in progress", "starting", "") }

// RunStarts implements suite.Report.
func (l *lines) RunStarts(f *testfile.File, r *testfile.Run) {
	l.run(f, r, "in progress", "starting", "", new(int64))
}

// Running implements suite.Report.
func (l *lines) Running(f *testfile.File, r *testfile.Run, elapsed time.Duration, ending bool) {
	ms := elapsed.Milliseconds()
	if ending {
		l.run(f, r, "tearing down", "teardown", "", &ms)
		return
	}
	l.run(f, r, "in progress", "running", "", &ms)
}

// RunEnds implements suite.Report.
func (l *lines) RunEnds(f *testfile.File, o *suite.Outcome) {
	l.run(f, o.Run, word(o.Status), "complete", o.Status.String(), nil)
	if l.o.Verbose {
		l.verbose(f, o)
		l.diagnostics(f, o.Run, o.Met)
	}
	l.diagnostics(f, o.Run, o.Diags)
}

func (l *lines) verbose(f *testfile.File, o *suite.Outcome) {
	var b bytes.Buffer
	var err error
	kind, what := "test_plan", "plan"
	switch {
	case o.Plan != nil:
		err = tfjson.TestPlan(&b, o.Plan, o.Project.AllSchemas(o.Plan.Base, o.Plan.Changes...))
	case o.State != nil:
		kind, what = "test_state", "state"
		err = tfjson.TestState(&b, o.State, o.Project.AllSchemas(o.State))
	default:
		return
	}
	if err != nil {
		l.diagnostics(f, o.Run, diag.FromError("Failed to render the "+what, err))
		return
	}
	l.line(f, o.Run, "-verbose flag enabled, printing "+what, kind, json.RawMessage(b.Bytes()))
}

// TearingDown implements suite.Report.
func (l *lines) TearingDown(f *testfile.File) { l.file(f, "tearing down", "teardown", "") }

// Destroying implements suite.Report.
func (l *lines) Destroying(f *testfile.File, r *testfile.Run) {
	l.run(f, r, "tearing down", "teardown", "", new(int64))
}

type leftLine struct {
	Instance   string `json:"instance"`
	DeposedKey string `json:"deposed_key,omitempty"`
}

// Destroyed implements suite.Report.
func (l *lines) Destroyed(left suite.Leftover) {
	var list []leftLine
	for _, o := range left.Objects() {
		list = append(list, leftLine{o.Instance.String(), string(o.Deposed)})
	}
	if len(list) > 0 {
		payload := map[string]any{"failed_resources": list}
		if left.Path != "" {
			payload["state"] = left.Path
		}
		l.mu.Lock()
		view.WriteLine(l.o.View, "error", fmt.Sprintf("The objects of %s could not be destroyed. These remain: %s.",
			Maker(left), plural(len(list), "object")), "test_cleanup",
			append([]any{"test_cleanup", payload}, l.about(left.File, left.Run)...)...)
		l.mu.Unlock()
	}
	l.diagnostics(left.File, left.Run, left.Diags)
}

// FileEnds implements suite.Report.
func (l *lines) FileEnds(f *suite.FileResult) {
	l.file(f.File, word(f.Status), "complete", f.Status.String())
	l.diagnostics(f.File, nil, f.Diags)
}

// Ends implements suite.Report.
func (l *lines) Ends(r *suite.Result) {
	first, rest := Summary(r)
	l.line(nil, nil, first+rest, "test_summary", map[string]any{
		"status": r.Status.String(), "passed": r.Count(suite.Pass), "failed": r.Count(suite.Fail),
		"errored": r.Count(suite.Error), "skipped": r.Count(suite.Skip),
	})
}
