package tfjson

import (
	"bytes"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
)

// longestFixed is the maximum length in bytes of a suggested line.
const longestFixed = 300

// Fixed returns the line of the source that would solve a problem, and its number; 0 if there is none, if it is too
// long, or if a part of it must not be shown.
func (e *Excerpts) Fixed(d *diag.Diagnostic) (number int, code string) {
	if d.Subject == nil || strings.HasSuffix(d.Subject.Filename, ".json") {
		return 0, ""
	}
	from, source := e.of(d.Subject.Filename), e.sources[d.Subject.Filename]
	lines, start, ok := d.FixIn(source).Lines(source)
	if !ok || !from.visible || len(lines) > longestFixed || strings.ContainsAny(lines, "\r\n") {
		return 0, ""
	}
	end := len(source)
	if next := bytes.IndexByte(source[start:], '\n'); next >= 0 {
		end = start + next
	}
	if !bytes.Equal(source[start:end], from.source[start:end]) {
		return 0, "" // a value in it is covered
	}
	at := clamp(d.Subject.Start.Byte, len(source))
	return d.Subject.Start.Line + breaks(source, at, start), strings.TrimSpace(lines)
}

// breaks returns the number of line breaks between two bytes, or a negative number if to is before from.
func breaks(source []byte, from, to int) int {
	if to < from {
		return -bytes.Count(source[to:from], []byte("\n"))
	}
	return bytes.Count(source[from:to], []byte("\n"))
}
