package view

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/plan"
)

// Markdown writes a plan as Markdown for a comment or a page: a headline with the counts, a table with a row for each
// change, and the plan as text, folded, in a fenced block.
func Markdown(w io.Writer, p *plan.Plan, schemas tfjson.Schemas) error {
	var text bytes.Buffer
	v := New(Options{Out: &text, Automation: true})
	v.Plan(p, schemas)
	v.Close()

	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", markdownTitle(p))
	if rows := markdownRows(p); rows != "" {
		b.WriteString("| Action | Object | Why |\n|---|---|---|\n" + rows + "\n")
	}
	plain := strings.Trim(text.String(), "\n")
	fence := strings.Repeat("`", max(3, longestRun(plain, '`')+1))
	fmt.Fprintf(&b, "<details><summary>Details</summary>\n\n%stext\n%s\n%s\n\n</details>\n", fence, plain, fence)
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownTitle(p *plan.Plan) string {
	s := p.Summary()
	switch {
	case p.Errored:
		return "Plan failed"
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

// markdownRows writes a row for each change that does something.
func markdownRows(p *plan.Plan) string {
	var b strings.Builder
	for _, c := range tfjson.SortedChanges(p.Changes) {
		what := markdownAction(c)
		if what == "" {
			continue
		}
		why := reasonText(c)
		if hasMoved(c) {
			why = strings.TrimPrefix(why+"; moved from "+clean(c.PrevAddr.String()), "; ")
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", what, codeCell(clean(c.Object.String())), textCell(why))
	}
	return b.String()
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

// textCell writes text that may hold anything in a cell of a table.
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
