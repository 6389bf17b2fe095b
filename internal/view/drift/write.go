package drift

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// maxShown is the maximum number of characters shown of a value.
const maxShown = 60

// Text writes the report for people.
func (r Report) Text(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n", r.title())
	for _, o := range r.Drifted {
		fmt.Fprintf(&b, "\n  %s\n", o.headline())
		o.lines(&b)
		if o.By != nil {
			fmt.Fprintf(&b, "      It was accepted until %s: %s\n", o.By.lastDay(), oneLine(o.By.Reason))
		}
	}
	if len(r.Accepted) > 0 {
		b.WriteString("\nAccepted:\n")
	}
	for _, o := range r.Accepted {
		fmt.Fprintf(&b, "\n  %s\n", o.headline())
		o.lines(&b)
		fmt.Fprintf(&b, "      Until %s: %s\n", o.By.lastDay(), oneLine(o.By.Reason))
	}
	if len(r.Unused) > 0 {
		b.WriteString("\nThese acceptances cover nothing that drifted:\n\n")
	}
	for _, a := range r.Unused {
		fmt.Fprintf(&b, "  %s (until %s)\n", view.Clean(a.Objects.String()), a.lastDay())
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Public returns the report without secrets, which providers may copy into attributes that are not declared as
// sensitive.
func (r Report) Public(o view.Options) Report {
	public := func(list []Object) []Object {
		list = slices.Clone(list)
		for i := range list {
			list[i].Differences = slices.Clone(list[i].Differences)
			for j, d := range list[i].Differences {
				if !d.Sensitive {
					d.Before, d.After = o.Public(d.Before), o.Public(d.After)
					d.Sensitive = ctyfast.ContainsMarked(d.Before) || ctyfast.ContainsMarked(d.After)
					list[i].Differences[j] = d
				}
			}
		}
		return list
	}
	r.Drifted, r.Accepted = public(r.Drifted), public(r.Accepted)
	return r
}

// title returns the summary of the report.
func (r Report) title() string {
	read := fmt.Sprintf("%d objects were read.", r.Looked)
	if r.Looked == 1 {
		read = "One object was read."
	}
	accepted := ""
	if n := len(r.Accepted); n > 0 {
		accepted = fmt.Sprintf(" Accepted: %d.", n)
	}
	if len(r.Drifted) == 0 {
		return "No drift. " + read + accepted
	}
	return fmt.Sprintf("Drift: %d. %s%s", len(r.Drifted), read, accepted)
}

func (o Object) headline() string {
	if o.Gone {
		return "- " + view.Clean(o.Address) + " does not exist any more"
	}
	return "~ " + view.Clean(o.Address)
}

func (o Object) lines(b *bytes.Buffer) {
	for _, d := range o.Differences {
		fmt.Fprintf(b, "      %s: %s\n", view.Clean(d.place()), d.values())
	}
}

// values writes both values, if they may be shown.
func (d Difference) values() string {
	if d.Sensitive {
		return "(sensitive value)"
	}
	return shown(d.Before) + " -> " + shown(d.After)
}

// shown returns a value on one line.
func shown(v cty.Value) string {
	text := string(asJSON(v))
	if runes := []rune(text); len(runes) > maxShown {
		text = string(runes[:maxShown]) + "..."
	}
	return view.Clean(text)
}

// asJSON returns the value as JSON, or null if it has no JSON form.
func asJSON(v cty.Value) json.RawMessage {
	if v.IsWhollyKnown() && !v.IsNull() {
		if text, err := ctyjson.Marshal(v, v.Type()); err == nil {
			return text
		}
	}
	return json.RawMessage("null")
}

// oneLine returns a user's text on one line.
func oneLine(text string) string { return view.Clean(strings.Join(strings.Fields(text), " ")) }

// lastDay is the last day of an acceptance.
func (a *Acceptance) lastDay() string { return a.Until.AddDate(0, 0, -1).Format(time.DateOnly) }

// Markdown writes the report as Markdown.
func (r Report) Markdown(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### %s\n", r.title())
	if len(r.Drifted)+len(r.Accepted) > 0 {
		b.WriteString("\n| | object | attribute | stored | real | accepted |\n|---|---|---|---|---|---|\n")
	}
	for _, o := range r.Drifted {
		note := ""
		if o.By != nil {
			note = "ended on " + o.By.lastDay()
		}
		o.rows(&b, note)
	}
	for _, o := range r.Accepted {
		o.rows(&b, "until "+o.By.lastDay()+": "+oneLine(o.By.Reason))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (o Object) rows(b *bytes.Buffer, note string) {
	row := func(cells ...string) {
		for _, c := range cells {
			fmt.Fprintf(b, "| %s ", c)
		}
		b.WriteString("|\n")
	}
	if o.Gone {
		row("gone", code(o.Address), "", "", "", cell(note))
	}
	for _, d := range o.Differences {
		if d.Sensitive {
			row("changed", code(o.Address), code(d.place()), "(sensitive value)", "(sensitive value)", cell(note))
			continue
		}
		row("changed", code(o.Address), code(d.place()), code(shown(d.Before)), code(shown(d.After)), cell(note))
	}
}

// code returns a text as code for a table cell, in which a backtick would end it.
func code(text string) string {
	return "`" + strings.ReplaceAll(cellText(text), "`", "'") + "`"
}

// cell is a text of a person in a cell: no markup of its own.
func cell(text string) string {
	return strings.NewReplacer("<", "&lt;", "&", "&amp;", "`", "'", "[", "\\[", "*", "\\*", "_", "\\_").Replace(
		cellText(text))
}

func cellText(text string) string { return strings.ReplaceAll(oneLine(text), "|", "\\|") }

// document is the JSON form of the report.
type document struct {
	FormatVersion string           `json:"format_version"`
	Objects       int              `json:"objects"`
	Drifted       []objectDocument `json:"drifted"`
	Accepted      []objectDocument `json:"accepted"`
	Unused        []accDocument    `json:"unused"`
}

type objectDocument struct {
	Address     string               `json:"address"`
	Gone        bool                 `json:"gone"`
	Differences []differenceDocument `json:"differences"`
	Acceptance  *accDocument         `json:"acceptance,omitempty"`
}

type differenceDocument struct {
	Path      string          `json:"path"`
	Before    json.RawMessage `json:"before,omitempty"`
	After     json.RawMessage `json:"after,omitempty"`
	Sensitive bool            `json:"sensitive,omitempty"`
}

type accDocument struct {
	Objects string `json:"objects"`
	Reason  string `json:"reason"`
	Until   string `json:"until"`
}

// JSON writes the report as JSON.
func (r Report) JSON(w io.Writer) error {
	d := document{FormatVersion: "1.0", Objects: r.Looked, Drifted: documents(r.Drifted),
		Accepted: documents(r.Accepted), Unused: []accDocument{}}
	for i := range r.Unused {
		d.Unused = append(d.Unused, *r.Unused[i].document())
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(d)
}

func documents(list []Object) []objectDocument {
	out := []objectDocument{}
	for _, o := range list {
		doc := objectDocument{Address: o.Address, Gone: o.Gone, Differences: []differenceDocument{},
			Acceptance: o.By.document()}
		for _, d := range o.Differences {
			at := differenceDocument{Path: d.place(), Sensitive: d.Sensitive}
			if !d.Sensitive {
				at.Before, at.After = asJSON(d.Before), asJSON(d.After)
			}
			doc.Differences = append(doc.Differences, at)
		}
		out = append(out, doc)
	}
	return out
}

func (a *Acceptance) document() *accDocument {
	if a == nil {
		return nil
	}
	return &accDocument{a.Objects.String(), a.Reason, a.lastDay()}
}
