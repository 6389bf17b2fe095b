// Package report writes a plan, an apply or a state as one self-contained HTML file, which needs no network, server or
// other file.
//
//	err := report.Plan(w, report.Options{View: options, Problems: diags}, plan, schemas)
//	err := report.Units(w, report.Options{View: options}, title, units)
//	err := report.State(w, report.Options{View: options}, state, schemas)
//
// A Recorder records the events of an apply. With it, a report of the plan has results and a timeline.
//
// The page is a fixed shell with one style and one script, which its Content-Security-Policy lists by their hashes, and
// a payload: a compressed JSON document, which the script shows only as text. Before anything is added to the document,
// internal/view, which also writes the text of plans, replaces the secrets. The positions of nodes in graphs and the
// order of steps are computed here, so that a browser shows ten thousand objects without a delay.
package report

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Options configures a report.
type Options struct {
	// View has the names of the program, the secrets and the sources.
	View view.Options
	// Version is the version of the program.
	Version string
	// Problems are the problems of planning or applying.
	Problems diag.List
	// Workspace is the workspace of a state. A plan has its own.
	Workspace string
	// Run holds the events of an apply of the plan, or is nil if it was not applied.
	Run *Recorder
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// Plan writes the report of a plan, or of its apply.
func Plan(w io.Writer, o Options, p *plan.Plan, schemas tfjson.Schemas) error {
	return write(w, planDocument(o, p, schemas))
}

// State writes the report of a state.
func State(w io.Writer, o Options, s *state.State, schemas tfjson.Schemas) error {
	d, err := stateDocument(o, s, schemas)
	if err != nil {
		return err
	}
	return write(w, d)
}

//go:embed page
var files embed.FS

// scripts are the parts of the script, in order.
var scripts = []string{"base.js", "filter.js", "changes.js", "lists.js", "graph.js", "focus.js", "timeline.js",
	"units.js", "main.js"}

// Style returns the style of reports, for other pages that look like them.
func Style() string {
	text, err := files.ReadFile("page/report.css")
	if err != nil {
		panic("report: the style is missing: " + err.Error())
	}
	return string(text)
}

// Policy returns the Content-Security-Policy that every report has in its head, for servers that send it as a header.
func Policy() string {
	_, rest, _ := strings.Cut(shell()[0], `content="`)
	policy, _, _ := strings.Cut(rest, `"`)
	return policy
}

// shell is the page without its payload, in two parts, and the text for browsers without JavaScript.
var shell = sync.OnceValue(func() [3]string {
	read := func(name string) string {
		text, err := files.ReadFile("page/" + name)
		if err != nil {
			panic("report: a part of the page is missing: " + err.Error())
		}
		return string(text)
	}
	style := read("report.css")
	var script strings.Builder
	script.WriteString("'use strict';\n(() => {\n")
	for _, name := range scripts {
		script.WriteString(read(name))
	}
	script.WriteString("})();\n")
	page := strings.NewReplacer("{{style}}", style, "{{style-hash}}", digest(style), "{{script}}", script.String(),
		"{{script-hash}}", digest(script.String())).Replace(read("page.html"))
	head, rest, _ := strings.Cut(page, "{{plain}}")
	middle, tail, _ := strings.Cut(rest, "{{payload}}")
	return [3]string{head, middle, tail}
})

// digest returns the hash of an element's text in the syntax of a Content-Security-Policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// write writes the page of a document.
func write(w io.Writer, d *document) error {
	parts := shell()
	var head bytes.Buffer
	head.WriteString(strings.Replace(parts[0], "{{title}}", html.EscapeString(d.Title), 1))
	d.plain(&head)
	head.WriteString(parts[1])
	if _, err := w.Write(head.Bytes()); err != nil {
		return err
	}
	encoder := base64.NewEncoder(base64.StdEncoding, w)
	compressor := gzip.NewWriter(encoder)
	if err := json.NewEncoder(compressor).Encode(d); err != nil {
		return err
	}
	if err := compressor.Close(); err != nil {
		return err
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(w, parts[2])
	return err
}

// mostPlain limits how many objects the text for browsers without JavaScript lists.
const mostPlain = 200

// plain writes the most important parts as HTML that needs no script.
func (d *document) plain(b *bytes.Buffer) {
	b.WriteString("<h1>" + html.EscapeString(d.Title) + "</h1>\n<p>" + html.EscapeString(d.Headline) + "</p>\n")
	if len(d.Units) > 0 {
		b.WriteString("<ul>\n")
		for _, u := range d.Units {
			b.WriteString("<li>" + html.EscapeString(strings.TrimSuffix(u.Name+": "+u.Phase+": "+u.Reason, ": ")) +
				"</li>\n")
		}
		b.WriteString("</ul>\n")
	}
	if len(d.Losses) > 0 {
		b.WriteString("<ul>\n")
	}
	for i, l := range d.Losses {
		if i == mostPlain {
			b.WriteString("<li>and more</li>\n")
			break
		}
		o := d.Objects[l]
		b.WriteString("<li>" + html.EscapeString(strings.Trim(o.Fate+" "+o.Address+": "+o.Why, ": ")) + "</li>\n")
	}
	if len(d.Losses) > 0 {
		b.WriteString("</ul>\n")
	}
}
