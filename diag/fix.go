package diag

import (
	"bytes"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Fix is a change of the source that would probably solve a problem. Its edits do not overlap. Texts show the first
// line that it changes.
type Fix []Edit

// Edit is a part of a Fix: New replaces Old in a range. An empty Old stands for the whole range, which may itself be
// empty to insert New; any other Old must occur in the range exactly once, as a word, or nothing is changed.
type Edit struct {
	Range    hcl.Range
	Old, New string
}

// Fixed sets the fix of the last member of a list.
func (l List) Fixed(edits ...Edit) List {
	l[len(l)-1].Fix = edits
	return l
}

// Meant sets the fix of the last member of a list: the name given in its Subject is replaced by the nearest candidate,
// if one is near enough.
func (l List) Meant(given string, candidates []string) List {
	last := l[len(l)-1]
	if name := Nearest(given, candidates); name != "" && last.Subject != nil {
		last.Fix = Fix{{*last.Subject, given, name}}
	}
	return l
}

// Around returns the edits that put text before and after a range.
func Around(at hcl.Range, before, behind string) Fix {
	return Fix{{Range: hcl.Range{Filename: at.Filename, Start: at.Start, End: at.Start}, New: before},
		{Range: hcl.Range{Filename: at.Filename, Start: at.End, End: at.End}, New: behind}}
}

// Applied returns a text with the edits of a fix, or false if they do not fit because the text has changed.
func (f Fix) Applied(source string) (string, bool) {
	var b strings.Builder
	at := 0
	for _, e := range f {
		start, end := e.Range.Start.Byte, e.Range.End.Byte
		if start < at || end < start || end > len(source) {
			return "", false
		}
		if e.Old != "" {
			i, ok := onlyWord(source[start:end], e.Old)
			if !ok {
				return "", false
			}
			start += i
			end = start + len(e.Old)
		}
		b.WriteString(source[at:start] + e.New)
		at = end
	}
	return b.String() + source[at:], true
}

// Lines returns the changed lines of a source with the fix applied, and the byte offset at which they start.
func (f Fix) Lines(source []byte) (lines string, start int, ok bool) {
	if len(f) == 0 {
		return "", 0, false
	}
	first, last := f[0].Range.Start.Byte, f[len(f)-1].Range.End.Byte
	if first < 0 || last < first || last > len(source) {
		return "", 0, false
	}
	start = bytes.LastIndexByte(source[:first], '\n') + 1
	end := len(source)
	if next := bytes.IndexByte(source[last:], '\n'); next >= 0 {
		end = last + next
	}
	moved := make(Fix, len(f))
	for i, e := range f {
		e.Range.Start.Byte -= start
		e.Range.End.Byte -= start
		moved[i] = e
	}
	lines, ok = moved.Applied(string(source[start:end]))
	return lines, start, ok
}

// onlyWord returns the index of a word in a text that has it exactly once.
func onlyWord(text, word string) (int, bool) {
	found := -1
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return found, found >= 0
		}
		i += from
		from = i + len(word)
		if i > 0 && isWordByte(text[i-1]) || from < len(text) && isWordByte(text[from]) {
			continue
		}
		if found >= 0 {
			return 0, false
		}
		found = i
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
