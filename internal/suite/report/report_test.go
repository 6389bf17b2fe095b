package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/suite"
	"github.com/tombolo-iac/tombolo/internal/suite/report"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// nasty are texts that contain syntax of a format, or control sequences of terminals.
var nasty = []string{"plain", "a ]]> b", "<run> & \"quotes\"", "\x1b[2Jclear", "line\r\nbreak", "\x00\ufffe", "größer"}

// invented returns a random result of files and runs with any status.
func invented(rng *rand.Rand) *suite.Result {
	text := func() string { return nasty[rng.IntN(len(nasty))] }
	r := &suite.Result{Status: suite.Pass, Interrupted: rng.IntN(4) == 0}
	for i := range rng.IntN(4) {
		file := &suite.FileResult{File: &testfile.File{Name: fmt.Sprintf("tests/%d.tftest.hcl", i)}, Status: suite.Pass}
		for k := range rng.IntN(4) {
			o := &suite.Outcome{Run: &testfile.Run{Name: fmt.Sprintf("run_%d_%d", i, k)}, Started: time.Unix(0, 0),
				Elapsed: time.Second, Status: []suite.Status{suite.Pass, suite.Skip, suite.Fail,
					suite.Error}[rng.IntN(4)]}
			if o.Status == suite.Fail || o.Status == suite.Error {
				o.Diags = o.Diags.Errorf(nil, "Wrong "+text(), "%s", text())
			}
			if rng.IntN(3) == 0 {
				o.Diags = append(o.Diags, &diag.Diagnostic{Severity: diag.Warning, Summary: text(), Detail: text()})
			}
			file.Status = max(file.Status, o.Status)
			file.Runs = append(file.Runs, o)
		}
		file.File.Runs = make([]*testfile.Run, len(file.Runs))
		for k, o := range file.Runs {
			file.File.Runs[k] = o.Run
		}
		r.Status = max(r.Status, file.Status)
		r.Files = append(r.Files, file)
	}
	return r
}

// tell reports a result like the suite.
func tell(to suite.Report, r *suite.Result) {
	var files []*testfile.File
	for _, f := range r.Files {
		files = append(files, f.File)
	}
	to.Found(files)
	for _, f := range r.Files {
		to.FileStarts(f.File)
		for _, o := range f.Runs {
			to.RunStarts(f.File, o.Run)
			to.RunEnds(f.File, o)
		}
		to.TearingDown(f.File)
		to.FileEnds(f)
	}
	to.Ends(r)
}

// All three forms of a report contain each run once, with the same status and the same counts.
func TestFormsOfAReportAgree(t *testing.T) {
	for seed := range uint64(200) {
		r := invented(rand.New(rand.NewPCG(seed, 0)))
		var text, lines bytes.Buffer
		tell(report.New(report.Options{View: view.Options{Out: &text, Err: io.Discard}}), r)
		tell(report.New(report.Options{View: view.Options{Out: &lines, JSON: true}}), r)
		junit, err := report.JUnit(r, report.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for what, got := range map[string]map[string]string{
			"text": fromText(text.String()), "JSON": fromLines(t, lines.String()), "JUnit": fromJUnit(t, junit),
		} {
			for _, f := range r.Files {
				for _, o := range f.Runs {
					want := o.Status.String()
					if what == "text" && o.Status == suite.Error {
						want = "fail" // the text does not distinguish them
					}
					if got[o.Run.Name] != want {
						t.Errorf("seed %d: %s has the run %s as %q, want %q", seed, what, o.Run.Name, got[o.Run.Name],
							want)
					}
					delete(got, o.Run.Name)
				}
			}
			if len(got) > 0 {
				t.Errorf("seed %d: %s has runs that were not told: %v", seed, what, got)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// fromText parses the report for people: a line per run, with its status. It must not contain control characters.
func fromText(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if name, status, ok := strings.Cut(strings.TrimSpace(line), `"... `); ok {
			out[strings.TrimPrefix(name, `run "`)] = status
		}
	}
	if strings.ContainsAny(text, "\x1b\x00\r") {
		out["control characters"] = text
	}
	return out
}

// fromLines parses JSON lines: the last line about a run has its status, and the last line of all has the counts.
func fromLines(t *testing.T, text string) map[string]string {
	t.Helper()
	out, counts := map[string]string{}, map[string]int{}
	var last struct{ Passed, Failed, Errored, Skipped int }
	for line := range strings.Lines(text) {
		var l struct {
			Type    string
			Run     struct{ Run, Progress, Status string }          `json:"test_run"`
			Summary *struct{ Passed, Failed, Errored, Skipped int } `json:"test_summary"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%s: %s", err, line)
		}
		if l.Type == "test_run" && l.Run.Progress == "complete" {
			out[l.Run.Run] = l.Run.Status
			counts[l.Run.Status]++
		}
		if l.Summary != nil {
			last = *l.Summary
		}
	}
	if last.Passed != counts["pass"] || last.Failed != counts["fail"] || last.Errored != counts["error"] ||
		last.Skipped != counts["skip"] {
		t.Errorf("the summary counts %+v, the lines of runs are %v", last, counts)
	}
	return out
}

// fromJUnit parses a JUnit document, whose counts must match its cases.
func fromJUnit(t *testing.T, doc []byte) map[string]string {
	t.Helper()
	var suites struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Skipped  int `xml:"skipped,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
			Cases    []struct {
				Name    string    `xml:"name,attr"`
				Skipped *struct{} `xml:"skipped"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(doc, &suites); err != nil {
		t.Fatalf("%s:\n%s", err, doc)
	}
	out := map[string]string{}
	for _, s := range suites.Suites {
		counts := map[string]int{}
		for _, c := range s.Cases {
			status := "pass"
			switch {
			case c.Skipped != nil:
				status = "skip"
			case c.Failure != nil:
				status = "fail"
			case c.Error != nil:
				status = "error"
			}
			out[c.Name] = status
			counts[status]++
		}
		if s.Tests != len(s.Cases) || s.Skipped != counts["skip"] || s.Failures != counts["fail"] ||
			s.Errors != counts["error"] {
			t.Errorf("the numbers of a suite are not those of its cases: %+v", s)
		}
	}
	return out
}
