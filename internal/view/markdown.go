package view

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/plan"
)

// LeastMarkdown is the smallest limit of Markdown, in bytes.
const LeastMarkdown = 1000

// Markdown writes a plan as Markdown for a comment or a page: failed conditions, a headline with the counts, a table
// with a row for each change or group of equal ones, destructions first, the plan as text in a collapsed, fenced block,
// and the hash of the plan's file, which apply can verify. A limit other than 0 is the maximum number of bytes; the
// text then reports what it leaves out. Of the options it uses Out, the names of the program and the secrets.
func Markdown(o Options, p *plan.Plan, schemas tfjson.Schemas, limit int, hash string) error {
	var text bytes.Buffer
	o.Secrets = cmp.Or(o.Secrets, &Secrets{})
	page := func() (columns, rows int) { return defaultWidth, 1000 } // people read it: as short as in a terminal
	v := New(Options{Out: &text, Automation: true, Program: o.Program, Title: o.Title, Secrets: o.Secrets, Size: page})
	v.Plan(p, schemas)
	v.Close()

	title := fmt.Sprintf("### %s\n\n", markdownTitle(p)) + markdownChecks(o, p) + markdownDeferred(p)
	list := markdownRows(NewDetails(o, p, schemas), p)
	plain := strings.Trim(text.String(), "\n")
	end := ""
	if hash != "" {
		end = "\nPlan file: `" + hash + "`\n"
	}
	doc := title + markdownTable(list, -1) + markdownDetails(plain, -1) + end
	if limit > 0 && len(doc) > limit {
		left := limit - len(title) - len(end)
		table := markdownTable(list, max(left/2, left-len(markdownDetails(plain, -1))))
		doc = title + table + markdownDetails(plain, left-len(table)) + end
	}
	_, err := io.WriteString(o.Out, doc)
	return err
}

// markdownChecks lists the first failed conditions of check blocks, resources and outputs.
func markdownChecks(o Options, p *plan.Plan) string {
	const most, longest = 10, 200
	var lines []string
	for _, check := range p.Checks {
		for _, object := range check.Objects {
			for _, failure := range object.Failures {
				if failure = clean(o.Secrets.Redact(failure)); len(failure) > longest {
					failure = strings.ToValidUTF8(failure[:longest], "") + "..."
				}
				lines = append(lines, fmt.Sprintf("- %s: %s\n", codeCell(object.Addr), textCell(failure)))
			}
		}
	}
	switch {
	case len(lines) == 0:
		return ""
	case len(lines) > most:
		lines = append(lines[:most], fmt.Sprintf("- and %d more\n", len(lines)-most))
	}
	return "**Checks that fail:**\n\n" + strings.Join(lines, "") + "\n"
}

// markdownDeferred lists what the plan defers.
func markdownDeferred(p *plan.Plan) string {
	const most = 10
	if len(p.Deferred) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("**Deferred until this plan is applied:**\n\n")
	for _, d := range p.Deferred[:min(most, len(p.Deferred))] {
		fmt.Fprintf(&b, "- %s: %s\n", codeCell(d.Address), textCell(clean(d.Why())))
	}
	if n := len(p.Deferred) - most; n > 0 {
		fmt.Fprintf(&b, "- and %d more\n", n)
	}
	return b.String() + "\n"
}

// markdownTable writes rows in at most limit bytes, or without a limit if it is -1.
func markdownTable(list []markdownRow, limit int) string {
	if len(list) == 0 {
		return ""
	}
	const note = "| | and %d more | |\n"
	var b strings.Builder
	b.WriteString("| Action | Object | Why |\n|---|---|---|\n")
	for i, r := range list {
		if limit >= 0 && b.Len()+len(r.text)+len(note)+10 > limit {
			more := 0
			for _, left := range list[i:] {
				more += left.objects
			}
			fmt.Fprintf(&b, note, more)
			break
		}
		b.WriteString(r.text)
	}
	return b.String() + "\n"
}

// markdownDetails writes the collapsed text of a plan in at most limit bytes, or without a limit if it is -1.
func markdownDetails(plain string, limit int) string {
	fence := strings.Repeat("`", max(3, longestRun(plain, '`')+1))
	const head, note = "<details><summary>Details</summary>\n\n", "\n... and %d more lines"
	foot := "\n" + fence + "\n\n</details>\n"
	room := limit - len(head) - len(fence) - len("text\n") - len(foot)
	if limit >= 0 && len(plain) > room {
		if room -= len(note) + 20; room < 0 {
			return "The details are too long for this comment.\n"
		}
		end := strings.LastIndexByte(plain[:room+1], '\n')
		if end < 0 {
			return "The details are too long for this comment.\n"
		}
		plain = plain[:end] + fmt.Sprintf(note, strings.Count(plain[end:], "\n"))
	}
	return head + fence + "text\n" + plain + foot
}

func markdownTitle(p *plan.Plan) string {
	s := p.Summary()
	switch {
	case p.Errored:
		return "Plan failed"
	case s == (plan.Summary{}) && !p.Applyable() && len(p.Deferred) > 0:
		return "Everything is deferred"
	case s == (plan.Summary{}) && !p.Applyable():
		return "No changes"
	}
	title := "Plan: "
	if s.Import > 0 {
		title += fmt.Sprintf("%d to import, ", s.Import)
	}
	title += fmt.Sprintf("%d to add, %d to change, %d to destroy", s.Add, s.Change, s.Destroy)
	if s.Forget > 0 {
		title += fmt.Sprintf(", %d to forget", s.Forget)
	}
	return title
}

// markdownRow is a row for the objects to which the same happens for one reason.
type markdownRow struct {
	text    string
	objects int
}

// markdownRows returns the rows of all changes that do something.
func markdownRows(d *Details, p *plan.Plan) (list []markdownRow) {
	changes := slices.DeleteFunc(slices.Clone(p.Changes), func(c *plan.Change) bool { return markdownAction(c) == "" })
	groups := rows(tfjson.SortedChanges(changes), d.reason)
	for i := range groups {
		g := &groups[i]
		why := strings.TrimSpace(g.why + " " + d.why.following(g))
		text := fmt.Sprintf("| %s | %s | %s |\n", markdownAction(g.changes[0]), codeCell(g.address()), textCell(why))
		list = append(list, markdownRow{text, len(g.changes)})
	}
	return list
}

// reason returns in a line why and how an object changes.
func (d *Details) reason(c *plan.Change) string {
	w := &d.brief
	parts := []string{d.why.why(c)}
	switch c.Action {
	case plan.Update:
		if causes := w.causes(c, compareBlock(w.schema(c), w.sides(c), nil)); causes != "" {
			parts = append(parts, "because of changes to "+causes)
		} else {
			parts = append(parts, w.differing(c))
		}
	case plan.Read:
		parts = append(parts, reasonText(c))
	case plan.Create:
		parts = append(parts, w.again(c))
	}
	if c.NotImported != nil {
		parts = append(parts, "its optional import found no object")
	}
	if c.Importing != nil {
		parts = append(parts, "imported from "+w.importedFrom(c.Importing))
	}
	if hasMoved(c) {
		parts = append(parts, "moved from "+clean(c.PrevAddr.String()))
	}
	return strings.Join(slices.DeleteFunc(parts, func(t string) bool { return t == "" }), "; ")
}

func markdownAction(c *plan.Change) string {
	switch {
	case c.Importing != nil && c.Action == plan.NoOp:
		return "import"
	case hasMoved(c) && c.Action == plan.NoOp:
		return "move"
	case c.Action == plan.NoOp:
		return ""
	case c.Action.IsReplace():
		return "replace"
	}
	return strings.ToLower(c.Action.String())
}

// codeCell writes text as code in a cell of a table: a longer fence than any inside, and no bar, which would end the
// cell.
func codeCell(text string) string {
	fence := strings.Repeat("`", longestRun(text, '`')+1)
	space := ""
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		space = " "
	}
	return fence + space + strings.ReplaceAll(text, "|", `\|`) + space + fence
}

// textCell escapes arbitrary text for a table cell.
func textCell(text string) string {
	return strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`).Replace(
		text)
}

// longestRun returns the length of the longest run of a byte.
func longestRun(text string, of byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
