// Package report shows the results of tests: as text, as JSON lines, and as a file in JUnit format, which many CI
// services read. The first two implement suite.Report; a JUnit file is made from the result.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/suite"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Options configures a report.
type Options struct {
	View view.Options
	// Verbose shows the plan or state of each run; Shown selects single runs by name.
	Verbose bool
	Shown   []string
	// Schemas returns the schemas for a plan or state.
	Schemas func(p *engine.Project, s *state.State, changes ...*plan.Change) tfjson.Schemas
	// Diagnostics prepares problems for the output; nil does not change them.
	Diagnostics func(diag.List) diag.List
}

func (o Options) prepared(list diag.List) diag.List {
	if o.Diagnostics == nil {
		return list
	}
	return o.Diagnostics(list)
}

// New returns the report that the options select.
func New(o Options) suite.Report {
	switch {
	case o.View.JSON:
		return &lines{o: o}
	case o.View.Into != nil:
		programs := o
		o.View.Into, programs.View = nil, o.View.ForPrograms()
		return both{&text{o: o}, &lines{o: programs}}
	}
	return &text{o: o}
}

// word returns the status for texts, which do not distinguish failures from errors.
func word(s suite.Status) string {
	if s == suite.Error {
		s = suite.Fail
	}
	return s.String()
}

// Summary returns the final line: a word for the status, and the rest.
func Summary(r *suite.Result) (word, rest string) {
	failed := r.Count(suite.Fail) + r.Count(suite.Error)
	word = "Success!"
	if r.Status > suite.Pass {
		word = "Failure!"
	}
	rest = fmt.Sprintf(" %d passed, %d failed", r.Count(suite.Pass), failed)
	if n := r.Count(suite.Skip); n > 0 {
		rest += fmt.Sprintf(", %d skipped", n)
	}
	return word, rest + "."
}

// text is the report for people.
type text struct {
	o  Options
	mu sync.Mutex // guards the outputs
}

func (t *text) write(w io.Writer, s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = io.WriteString(w, s) // the owner of the writer handles its errors
}

const (
	gray  = "\x1b[90m"
	green = "\x1b[32m"
	red   = "\x1b[31m"
)

func (t *text) in(code, s string) string {
	if !t.o.View.Color {
		return s
	}
	return code + s + "\x1b[0m"
}

func (t *text) status(s suite.Status) string {
	switch s {
	case suite.Pass:
		return t.in(green, word(s))
	case suite.Fail, suite.Error:
		return t.in(red, word(s))
	}
	return t.in(gray, word(s))
}

func (t *text) line(format string, args ...any) {
	t.write(t.o.View.Out, fmt.Sprintf(format, args...)+"\n")
}

func (t *text) diagnostics(list diag.List) {
	list = t.o.prepared(list.Sorted())
	for _, kind := range []struct {
		severity diag.Severity
		to       io.Writer
	}{{diag.Warning, t.o.View.Out}, {diag.Error, t.errors()}} {
		var some diag.List
		for _, d := range list {
			if d.Severity == kind.severity {
				some = append(some, d)
			}
		}
		if len(some) > 0 {
			t.write(kind.to, view.Diagnostics(t.o.View, some))
		}
	}
	if notes := view.Annotations(t.o.View, list); notes != "" {
		t.write(t.errors(), notes)
	}
}

func (t *text) errors() io.Writer {
	if t.o.View.Err == nil {
		return t.o.View.Out
	}
	return t.o.View.Err
}

// Found implements suite.Report.
func (t *text) Found([]*testfile.File) {}

// FileStarts implements suite.Report.
func (t *text) FileStarts(f *testfile.File) {
	t.line("%s... %s", view.CleanLine(f.Name), t.in(gray, "in progress"))
}

// RunStarts implements suite.Report.
func (t *text) RunStarts(*testfile.File, *testfile.Run) {}

// Running implements suite.Report. At a terminal, it prints that a long run is still running.
func (t *text) Running(f *testfile.File, r *testfile.Run, elapsed time.Duration, ending bool) {
	if t.o.View.Size == nil {
		return
	}
	what := "running"
	if ending {
		what = "tearing down"
	}
	t.line("  run %q... %s", r.Name, t.in(gray, fmt.Sprintf("still %s after %s", what, elapsed.Round(time.Second))))
}

// RunEnds implements suite.Report.
func (t *text) RunEnds(f *testfile.File, o *suite.Outcome) {
	t.line("  run %q... %s", o.Run.Name, t.status(o.Status))
	if t.o.Verbose || slices.Contains(t.o.Shown, o.Run.Name) {
		t.verbose(o)
		t.diagnostics(o.Met)
	}
	t.diagnostics(o.Diags)
}

func (t *text) verbose(o *suite.Outcome) {
	var b strings.Builder
	shown := t.o.View
	shown.Out = &b
	if o.Project != nil {
		shown.Secrets = o.Project.Secrets()
	}
	switch {
	case o.Plan != nil:
		v := view.New(shown)
		v.Plan(o.Plan, t.o.Schemas(o.Project, o.Plan.Base, o.Plan.Changes...))
		v.Close()
	case o.State != nil:
		b.WriteByte('\n')
		if err := view.State(shown, o.State, t.o.Schemas(o.Project, o.State)); err != nil {
			b.WriteString("The state cannot be shown: " + view.Clean(err.Error()) + "\n")
		}
	default:
		return
	}
	t.write(t.o.View.Out, b.String()+"\n")
}

// TearingDown implements suite.Report.
func (t *text) TearingDown(f *testfile.File) {
	t.line("%s... %s", view.CleanLine(f.Name), t.in(gray, "tearing down"))
}

// Destroying implements suite.Report.
func (t *text) Destroying(*testfile.File, *testfile.Run) {}

// Destroyed implements suite.Report.
func (t *text) Destroyed(l suite.Leftover) {
	objects := l.Objects()
	if l.Diags.HasErrors() || len(objects) > 0 {
		var b strings.Builder
		fmt.Fprintf(&b, "\nThe objects of %s could not be destroyed.\n", Maker(l))
		t.write(t.errors(), b.String())
	}
	t.diagnostics(l.Diags)
	if len(objects) == 0 {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nThese objects remain, and must be destroyed by hand:\n")
	for _, o := range objects {
		fmt.Fprintf(&b, "  - %s\n", view.CleanLine(o.String()))
	}
	b.WriteString(kept(l, diag.Named(cmp.Or(t.o.View.Program, diag.Program))))
	t.write(t.errors(), b.String())
}

// Maker returns a text with the run that created the remaining objects.
func Maker(l suite.Leftover) string {
	return fmt.Sprintf("run %q of %s", l.Run.Name, view.CleanLine(l.File.Name))
}

// kept returns the location of the state with the remaining objects, and the commands that destroy them.
func kept(l suite.Leftover, w diag.Words) string {
	if l.Path == "" {
		return ""
	}
	file := view.CleanLine(l.Path)
	text := fmt.Sprintf("\nThe file %s has their state, with their ids. With the\nconfiguration of their "+
		"providers, destroy them with \"%s\".\n", file, w.Command(diag.Run("destroy", "-state="+file)))
	for _, f := range l.Open {
		text += fmt.Sprintf("The outcome of the %s of %s is unknown. Resolve it with \"%s\".\n", f.Action,
			view.CleanLine(f.Object.String()), w.Command(diag.Run("recover", "-state="+file)))
	}
	return text
}

// FileEnds implements suite.Report.
func (t *text) FileEnds(f *suite.FileResult) {
	t.line("%s... %s", view.CleanLine(f.File.Name), t.status(f.Status))
	t.diagnostics(f.Diags)
}

// Ends implements suite.Report.
func (t *text) Ends(r *suite.Result) {
	word, rest := Summary(r)
	code := green
	if r.Status > suite.Pass {
		code = red
	}
	t.line("%s\n%s%s", Table(r), t.in(code, word), rest)
}
