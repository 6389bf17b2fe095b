package report

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/suite"
	"github.com/tombolo-iac/tombolo/internal/view"
)

type suitesXML struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []suiteXML
}

type suiteXML struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Cases    []caseXML
}

type caseXML struct {
	XMLName   xml.Name   `xml:"testcase"`
	Name      string     `xml:"name,attr"`
	Class     string     `xml:"classname,attr"`
	Time      string     `xml:"time,attr,omitempty"`
	Timestamp string     `xml:"timestamp,attr,omitempty"`
	Skipped   *resultXML `xml:"skipped"`
	Failure   *resultXML `xml:"failure"`
	Error     *resultXML `xml:"error"`
	Err       *textXML   `xml:"system-err"`
}

type resultXML struct {
	Message string `xml:"message,attr,omitempty"`
	Text    string `xml:",cdata"`
}

type textXML struct {
	Text string `xml:",cdata"`
}

// JUnit returns a result in JUnit format.
func JUnit(r *suite.Result, o Options) ([]byte, error) {
	plain := o.View
	plain.Color = false
	o.View = plain
	doc := suitesXML{}
	for _, f := range r.Files {
		s := suiteXML{Name: f.File.Name, Tests: len(f.Runs)}
		failed := "" // after it, all other runs of a file are skipped, at any position
		for _, run := range f.Runs {
			if run.Status == suite.Error {
				failed = run.Run.Name
			}
		}
		for _, run := range f.Runs {
			switch run.Status {
			case suite.Skip, suite.Pending:
				s.Skipped++
			case suite.Fail:
				s.Failures++
			case suite.Error:
				s.Errors++
			}
			s.Cases = append(s.Cases, caseOf(f, run, failed, r.Interrupted, o))
		}
		doc.Suites = append(doc.Suites, s)
	}
	return written(doc)
}

func caseOf(f *suite.FileResult, run *suite.Outcome, failed string, interrupted bool, o Options) caseXML {
	c := caseXML{Name: run.Run.Name, Class: f.File.Name}
	if run.Status == suite.Skip || run.Status == suite.Pending {
		c.Skipped = skipped(failed, interrupted)
		return c
	}
	c.Time = strconv.FormatFloat(run.Elapsed.Seconds(), 'f', -1, 64)
	c.Timestamp = run.Started.UTC().Format(time.RFC3339)
	var errors, warnings diag.List
	for _, d := range o.prepared(run.Diags) {
		if d.Severity == diag.Warning {
			warnings = append(warnings, d)
		} else {
			errors = append(errors, d)
		}
	}
	switch run.Status {
	case suite.Fail:
		c.Failure = &resultXML{failures(run), o.cdata(errors)}
	case suite.Error:
		c.Error = &resultXML{"Encountered an error", o.cdata(errors)}
	default:
		warnings = append(warnings, errors...)
	}
	if len(warnings) > 0 {
		c.Err = &textXML{o.cdata(warnings)}
	}
	return c
}

// cdata returns the text of problems without characters that are invalid in XML: encoding/xml replaces them in
// attributes, but not in this type.
func (o Options) cdata(list diag.List) string { return clean(view.Diagnostics(o.View, list)) }

// clean returns a text without characters that are invalid in XML.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' || r == '\uffff' {
			return utf8.RuneError
		}
		return r
	}, text)
}

func skipped(failed string, interrupted bool) *resultXML {
	switch {
	case failed != "":
		return &resultXML{"Testcase skipped due to a previous testcase error",
			fmt.Sprintf("The run %q ended with an error, so the others of the file were skipped.", failed)}
	case interrupted:
		return &resultXML{"Testcase skipped due to an interrupt", "The tests were interrupted before this run."}
	}
	return &resultXML{"Testcase skipped", ""}
}

// failures returns a text with the failed assertions of a run.
func failures(run *suite.Outcome) string {
	n, first := 0, ""
	for _, d := range run.Diags {
		if _, ok := d.Extra.(eval.Failed); !ok {
			continue
		}
		if n++; n == 1 {
			first = d.Text(diag.Program)
		}
	}
	text := fmt.Sprintf("%d of %d assertions failed", n, len(run.Run.Asserts))
	switch {
	case n == 1:
		text += ": " + first
	case n > 1:
		text += ", including: " + first
	}
	return text
}

// JUnitOfProblems returns problems in JUnit format: one case per file, which fails with the file's errors, and one for
// problems without a file.
func JUnitOfProblems(files []string, list diag.List, o Options) ([]byte, error) {
	o.View.Color = false
	by := map[string]diag.List{}
	for _, d := range list {
		name := ""
		if d.Subject != nil {
			name = d.Subject.Filename
		}
		if name != "" && !slices.Contains(files, name) {
			files = append(files, name)
		}
		by[name] = append(by[name], d)
	}
	s := suiteXML{Name: "validate"}
	for _, name := range append([]string{""}, files...) {
		c := caseXML{Name: name, Class: "validate"}
		if name == "" {
			c.Name = "configuration"
		}
		if errors := by[name].OnlyErrors(); len(errors) > 0 {
			s.Failures++
			c.Failure = &resultXML{errors[0].Summary, o.cdata(errors)}
		}
		if warnings := by[name].OnlyWarnings(); len(warnings) > 0 {
			c.Err = &textXML{o.cdata(warnings)}
		}
		s.Tests++
		s.Cases = append(s.Cases, c)
	}
	return written(suitesXML{Suites: []suiteXML{s}})
}

// Case is a check that is no run of a file: it has passed if it has no problems and was not skipped.
type Case struct {
	Name     string
	Elapsed  time.Duration
	Skipped  string   // the reason, if it was skipped
	Problems []string // in plain text
	Output   string   // what else is useful if it failed
}

// JUnitOfCases returns the results of checks in JUnit format, as one suite with a name.
func JUnitOfCases(name string, cases []Case) ([]byte, error) {
	s := suiteXML{Name: name, Tests: len(cases)}
	for _, one := range cases {
		c := caseXML{Name: one.Name, Class: name, Time: strconv.FormatFloat(one.Elapsed.Seconds(), 'f', 3, 64)}
		switch {
		case one.Skipped != "":
			s.Skipped++
			c.Skipped = &resultXML{Message: clean(one.Skipped)}
		case len(one.Problems) > 0:
			s.Failures++
			first, _, _ := strings.Cut(one.Problems[0], "\n")
			c.Failure = &resultXML{clean(first), clean(strings.Join(one.Problems, "\n"))}
			if one.Output != "" {
				c.Err = &textXML{clean(one.Output)}
			}
		}
		s.Cases = append(s.Cases, c)
	}
	return written(suitesXML{Suites: []suiteXML{s}})
}

func written(doc suitesXML) ([]byte, error) {
	body, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write JUnit document: %w", err)
	}
	return append([]byte(`<?xml version="1.0" encoding="UTF-8"?>`), body...), nil
}
