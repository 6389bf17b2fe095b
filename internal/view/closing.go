package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view/balance"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// The text of a plan scrolls away, and its end stays visible: the closing block below the counts lists what is
// destroyed, replaced and forgotten, with reasons. The index above the details of a long plan lists all changes.

const (
	// indexAbove is the number of changes above which a plan has an index.
	indexAbove = 20
	// keysOfRow is the maximum number of instance keys, or ranges of them, in a row; keysOfLoss is that in a row about
	// objects that are lost.
	keysOfRow, keysOfLoss = 3, 20
	// maxRows limits the index and the closing block. The details are complete.
	maxRows = 100
)

// outcome is the outcome for an object, in the order of importance to a reader.
type outcome uint8

const (
	destroyed outcome = iota
	replaced
	forgotten
	changed
	created
	taken // by an import
	moved
	readLater
	unprotected // in addition to another fate
	unaffected
)

// words are the words for fates, in the closing block and in the index.
var words = [...]struct{ closing, index string }{
	destroyed: {"Destroyed", "destroy"}, replaced: {"Replaced", "replace"}, forgotten: {"Forgotten", "forget"},
	changed: {"Changed", "update"}, created: {"Created", "create"}, taken: {"Imported", "import"},
	moved: {"Moved", "move"}, readLater: {"Read", "read"},
	unprotected: {closing: "Unguarded"},
}

func fateOf(c *plan.Change) outcome {
	switch {
	case c.Action == plan.Delete:
		return destroyed
	case c.Action.IsReplace():
		return replaced
	case c.Action == plan.Forget:
		return forgotten
	case c.Importing != nil:
		return taken
	case c.Action == plan.Update:
		return changed
	case c.Action == plan.Create:
		return created
	case c.Action == plan.Read:
		return readLater
	case hasMoved(c):
		return moved
	}
	return unaffected
}

// row is a line of the index or the closing block: instances of one resource with the same fate and reason.
type row struct {
	outcome outcome
	changes []*plan.Change
	why     string
	keys    int // how many are shown; 0 means keysOfRow
}

// rows groups changes with the same text into rows, ordered by fate and then as the changes are. why returns a short
// reason for a change.
func rows(changes []*plan.Change, why func(*plan.Change) string) []row {
	var list []row
	for f := destroyed; f < unaffected; f++ {
		for _, c := range changes {
			if fateOf(c) == f {
				list = withRow(list, f, c, why(c))
			}
		}
	}
	return list
}

// withRow adds a change to the last row if that has the same text, and else to a new one.
func withRow(list []row, f outcome, c *plan.Change, why string) []row {
	if n := len(list); n > 0 && list[n-1].takes(c, f, why) {
		list[n-1].changes = append(list[n-1].changes, c)
		return list
	}
	return append(list, row{outcome: f, changes: []*plan.Change{c}, why: why})
}

// takes reports whether a change belongs to the row.
func (r *row) takes(c *plan.Change, f outcome, why string) bool {
	first := r.changes[0]
	return r.outcome == f && r.why == why && first.Object.Deposed == "" && c.Object.Deposed == "" &&
		!first.Object.Instance.Key.IsNone() && !c.Object.Instance.Key.IsNone() &&
		first.Object.Instance.AbsResource() == c.Object.Instance.AbsResource()
}

// address returns the addresses of a row: web[0..4], or web["a"], ["b"] and 3 more.
func (r *row) address() string { return r.addressOf(cmp.Or(r.keys, keysOfRow)) }

// addressOf is like address, with up to shown keys.
func (r *row) addressOf(shown int) string {
	first := r.changes[0].Object
	if len(r.changes) == 1 {
		return clean(first.String())
	}
	keys := make([]addr.Key, len(r.changes))
	for i, c := range r.changes {
		keys[i] = c.Object.Instance.Key
	}
	return clean(first.Instance.AbsResource().String()) + keyList(keys, shown)
}

// keyList writes several instance keys of one resource. Consecutive numbers become a range.
func keyList(keys []addr.Key, shown int) string {
	var parts []string
	for i := 0; i < len(keys); {
		last := i
		from, number := keys[i].Int()
		for number && last+1 < len(keys) {
			next, ok := keys[last+1].Int()
			if !ok || next != from+last+1-i {
				break
			}
			last++
		}
		if len(parts) == shown && i+1 < len(keys) { // a note would need as much room as one key
			return strings.Join(parts, ", ") + fmt.Sprintf(" and %d more", len(keys)-i)
		}
		switch last - i {
		case 0:
			parts = append(parts, clean(keys[i].String()))
		default:
			parts = append(parts, fmt.Sprintf("[%d..%d]", from, from+last-i))
		}
		i = last + 1
	}
	return strings.Join(parts, ", ")
}

// index lists all changes of a long plan, one line for each object or group, destructions first.
func (w *planWriter) index(changes []*plan.Change) {
	if len(changes) <= indexAbove && !w.o.IndexOnly {
		return
	}
	if !w.o.IndexOnly {
		w.WriteString("\n" + w.in(bold, fmt.Sprintf("%d objects:", len(changes))) + "\n")
	}
	w.WriteByte('\n')
	list := rows(changes, func(*plan.Change) string { return "" })
	for i := range list {
		if i == maxRows {
			where := ", in the details below"
			if w.o.IndexOnly {
				where = ""
			}
			fmt.Fprintf(w, "  ... and %d more%s.\n", left(list[i:]), where)
			break
		}
		w.word(list[i].outcome, words[list[i].outcome].index, 7)
		w.WriteString("   " + list[i].address() + "\n")
	}
}

// word writes the first column of a row. Only words for losses are colored, so that they are easy to find.
func (w *planWriter) word(f outcome, word string, width int) {
	text := word
	if f <= forgotten {
		text = w.in(bold, w.in(red, word))
	}
	w.WriteString("  " + text)
	w.pad(width - utf8.RuneCountInString(word))
}

func left(list []row) (n int) {
	for _, r := range list {
		n += len(r.changes)
	}
	return n
}

// closing writes the block at the end of a plan with what it destroys, replaces, forgets or stops protecting, and why.
// Without any of these it writes nothing.
func (w *planWriter) closing(p *plan.Plan, changes []*plan.Change) {
	var lost []*plan.Change
	for _, c := range changes {
		if fateOf(c) <= forgotten {
			lost = append(lost, c)
		}
	}
	bare := slices.DeleteFunc(slices.Clone(p.Changes), func(c *plan.Change) bool { return !c.Unprotected })
	if len(lost)+len(bare) == 0 {
		return
	}
	r := w.reasons(p, changes)
	list := rows(lost, r.why)
	for i := range list {
		list[i].keys = keysOfLoss
		if w.o.IndexOnly { // nothing else names them
			list[i].keys = len(list[i].changes)
		}
	}
	for _, c := range tfjson.SortedChanges(bare) {
		list = withRow(list, unprotected, c, "prevent_destroy no longer holds")
	}
	width := w.addressWidth(list)
	w.WriteByte('\n')
	for i := range list {
		if i == maxRows {
			fmt.Fprintf(w, "  ... and %d more, in the details above.\n", left(list[i:]))
			break
		}
		w.wordedRow(&list[i], words[list[i].outcome].closing, width)
		if f := r.following(&list[i]); f != "" {
			w.note(f, width)
		}
	}
}

// wordWidth is the width of the first column of the closing block: that of its longest word.
const wordWidth = len("Destroyed")

// addressWidth returns the width of the second column: that of the longest address that leaves room for a third column.
func (w *planWriter) addressWidth(list []row) (width int) {
	for i := range min(len(list), maxRows) {
		if n := utf8.RuneCountInString(list[i].address()); n <= w.o.width()/2 {
			width = max(width, n)
		}
	}
	return width
}

// wordedRow writes a row with its reason beside it, or below it if the terminal is too narrow.
func (w *planWriter) wordedRow(r *row, word string, width int) {
	address := r.address()
	w.word(r.outcome, word, wordWidth)
	w.WriteString("   " + w.foldedKeys(address, wordWidth+5))
	switch {
	case r.why == "":
	case utf8.RuneCountInString(address) <= width && w.fits(width, r.why):
		w.pad(width - utf8.RuneCountInString(address))
		w.WriteString("   " + r.why)
	default:
		w.WriteByte('\n')
		w.note(r.why, width)
		return
	}
	w.WriteByte('\n')
}

// foldedKeys divides a list of keys into lines if it is too long for the one at the indentation.
func (w *planWriter) foldedKeys(address string, indent int) string {
	const more = 2
	var b strings.Builder
	column := indent
	for i, part := range strings.SplitAfter(address, "], ") {
		if i > 0 && column+utf8.RuneCountInString(part) >= w.o.width() {
			b.WriteString("\n" + strings.Repeat(" ", indent+more))
			column = indent + more
		}
		b.WriteString(part)
		column += utf8.RuneCountInString(part)
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// fits reports whether a reason fits in the third column.
func (w *planWriter) fits(width int, why string) bool {
	return wordWidth+width+8+utf8.RuneCountInString(why) < w.o.width()
}

// note writes a separate line below a row: in the third column if it fits there, and else in the second.
func (w *planWriter) note(text string, width int) {
	indent := wordWidth + 7
	if w.fits(width, text) {
		indent = wordWidth + width + 8
	}
	for line := range strings.SplitSeq(wrap(text, max(20, w.o.width()-1-indent)), "\n") {
		w.pad(indent)
		w.WriteString(line + "\n")
	}
}

// mostDone limits the rows of completed changes after an apply. The progress lines are complete.
const mostDone = 10

// balance writes the outcome of an apply: the objects that are done, those that failed, each with its error, and those
// that were not attempted, with the objects that blocked them.
func (w *planWriter) balance(b balance.Balance, e Ending) {
	if len(b.Done)+len(b.Broken)+len(b.Failed)+len(b.Open)+len(b.Half)+len(b.Untried) == 0 {
		return
	}
	w.WriteByte('\n')
	w.completedChanges(b.Done)
	errors := errorsOf(e.Problems)
	now := func(o addr.Object) string {
		if s := e.State.Object(o); s != nil && s.Status == state.Tainted {
			return "it is now tainted"
		}
		return ""
	}
	halted := slices.ContainsFunc(e.Problems, func(d *diag.Diagnostic) bool { return d.Code() == interrupted })
	waited := func(o addr.Object) string {
		switch cause, ok := b.Cause[o]; {
		case ok:
			return "waited for " + clean(cause.String())
		case halted:
			return "interrupted before it began"
		}
		return ""
	}
	with := func(texts ...string) string {
		return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "; ")
	}
	w.unfinished("Failed", b.Broken, func(o addr.Object) string {
		return with(errors[o.Instance.String()], "its operations succeeded")
	})
	w.unfinished("Failed", b.Failed, func(o addr.Object) string { return with(errors[o.Instance.String()], now(o)) })
	w.unfinished("In flight", b.Open, func(o addr.Object) string {
		return with(errors[o.Instance.String()], "its outcome is not known", now(o))
	})
	w.unfinished("Half done", b.Half, func(o addr.Object) string {
		return with("its replacement is only half done", waited(o))
	})
	w.unfinished("Not tried", b.Untried, func(o addr.Object) string {
		return with(errors[o.Instance.String()], waited(o))
	})
}

// errorsOf returns the first error of each object, with its number if the errors are numbered.
func errorsOf(problems diag.List) map[string]string {
	out, list := map[string]string{}, problems.OnlyErrors().Sorted()
	for _, d := range list {
		at := cmp.Or(d.Address, d.Within)
		if at == "" || out[at] != "" {
			continue
		}
		out[at] = cleanLine(d.Summary)
		if d.Number > 0 {
			out[at] = fmt.Sprintf("error %d: %s", d.Number, out[at])
		}
	}
	return out
}

// completedChanges writes the completed changes of an apply that did not finish.
func (w *planWriter) completedChanges(changes []*plan.Change) {
	list := rows(tfjson.SortedChanges(changes), func(*plan.Change) string { return "" })
	width := w.addressWidth(list)
	for i := range list {
		if i == mostDone && i+1 < len(list) { // a note would need as much room as a last row
			fmt.Fprintf(w, "  ... and %d more that are done\n", left(list[i:]))
			break
		}
		w.wordedRow(&list[i], words[list[i].outcome].closing, width)
	}
}

// unfinished writes a list of objects with the same outcome.
func (w *planWriter) unfinished(word string, objects []addr.Object, why func(addr.Object) string) {
	changes := make([]*plan.Change, len(objects))
	for i, o := range objects {
		changes[i] = &plan.Change{Object: o, Action: plan.Delete}
	}
	list := rows(changes, func(c *plan.Change) string { return why(c.Object) })
	width := w.addressWidth(list)
	for i := range list {
		if i == maxRows {
			fmt.Fprintf(w, "  ... and %d more\n", left(list[i:]))
			break
		}
		w.wordedRow(&list[i], word, width)
	}
}
