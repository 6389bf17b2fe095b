package report

import (
	"time"

	"github.com/tombolo-iac/tombolo/internal/suite"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
)

// both sends the same reports to one for people and one for programs.
type both struct{ people, programs suite.Report }

// Found implements suite.Report.
func (b both) Found(files []*testfile.File) {
	b.people.Found(files)
	b.programs.Found(files)
}

// FileStarts implements suite.Report.
func (b both) FileStarts(f *testfile.File) {
	b.people.FileStarts(f)
	b.programs.FileStarts(f)
}

// RunStarts implements suite.Report.
func (b both) RunStarts(f *testfile.File, r *testfile.Run) {
	b.people.RunStarts(f, r)
	b.programs.RunStarts(f, r)
}

// Running implements suite.Report.
func (b both) Running(f *testfile.File, r *testfile.Run, elapsed time.Duration, ending bool) {
	b.people.Running(f, r, elapsed, ending)
	b.programs.Running(f, r, elapsed, ending)
}

// RunEnds implements suite.Report.
func (b both) RunEnds(f *testfile.File, o *suite.Outcome) {
	b.people.RunEnds(f, o)
	b.programs.RunEnds(f, o)
}

// TearingDown implements suite.Report.
func (b both) TearingDown(f *testfile.File) {
	b.people.TearingDown(f)
	b.programs.TearingDown(f)
}

// Destroying implements suite.Report.
func (b both) Destroying(f *testfile.File, r *testfile.Run) {
	b.people.Destroying(f, r)
	b.programs.Destroying(f, r)
}

// Destroyed implements suite.Report.
func (b both) Destroyed(l suite.Leftover) {
	b.people.Destroyed(l)
	b.programs.Destroyed(l)
}

// FileEnds implements suite.Report.
func (b both) FileEnds(f *suite.FileResult) {
	b.people.FileEnds(f)
	b.programs.FileEnds(f)
}

// Ends implements suite.Report.
func (b both) Ends(r *suite.Result) {
	b.people.Ends(r)
	b.programs.Ends(r)
}
