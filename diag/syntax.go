package diag

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// AppendSyntax adds the problems that a parser of the hcl library found in a text, like AppendHCL. Probable
// consequences come after their causes, and a problem of an open block includes where it probably should have ended.
func (l List) AppendSyntax(in hcl.Diagnostics, src []byte) List {
	found := List(nil).AppendHCL(in)
	if !strings.HasSuffix(filename(found), ".json") {
		markFollowing(found)
	}
	for _, d := range found {
		d.syntax = true
	}
	addOpened(found, src)
	repair(found, src)
	for _, d := range found {
		if d.Summary == "Unclosed configuration block" {
			if line := nextHeader(src, d.Subject); line > 0 {
				d.Detail = fmt.Sprintf("There is no closing brace for this block before the end of the file. Another "+
					"block begins at the margin in line %d, so a line with } is probably missing before that.", line)
			}
		}
	}
	return append(l, found...)
}

func filename(l List) string {
	if len(l) == 0 || l[0].Subject == nil {
		return ""
	}
	return l[0].Subject.Filename
}

// markFollowing marks the problems that an earlier problem of the text probably caused: those that begin on a line on
// which another one begins or ends, or on the next line, and all after an unterminated string or block, which swallows
// the text after it.
func markFollowing(list List) {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *Diagnostic) int { return start(a) - start(b) })
	last, swallowed := -1, false // the line in which the causes so far end
	for _, d := range order {
		if d.Subject == nil || d.Severity != Error || d.kind().Role == Whole {
			continue // the text can be parsed
		}
		if swallowed || d.Subject.Start.Line <= last+1 {
			d.Follows = true
		}
		last = max(last, d.Subject.Start.Line)
		if strings.HasPrefix(d.Summary, "Unclosed ") {
			swallowed = true
		}
		if d.Summary == "Invalid multi-line string" {
			last, swallowed = max(last, d.Subject.End.Line), true
		}
	}
}

func start(d *Diagnostic) int {
	if d.Subject == nil {
		return -1
	}
	return d.Subject.Start.Byte
}

// nextHeader returns the line after a range on which an unindented block header seems to begin, or 0.
func nextHeader(src []byte, after *hcl.Range) int {
	if after == nil {
		return 0
	}
	for i, line := range bytes.Split(src, []byte("\n")) {
		if i+1 <= after.End.Line || len(line) == 0 {
			continue
		}
		words := bytes.Fields(line)
		if c := line[0]; c >= 'a' && c <= 'z' && bytes.Equal(words[len(words)-1], []byte("{")) &&
			!bytes.ContainsAny(words[0], "=(") {
			return i + 1
		}
	}
	return 0
}
