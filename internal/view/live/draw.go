package live

import (
	"io"
	"slices"
	"strings"
)

// The control sequences of the display. Terminals that support them draw the text between begin and end at once; others
// ignore both.
const (
	begin     = "\x1b[?2026h"
	end       = "\x1b[?2026l"
	eraseLine = "\x1b[K" // to the end of the line
	eraseRest = "\x1b[J" // to the end of the screen
)

// draw replaces the lines of the last frame, preceded by the text printed since: in one write, or in none if nothing
// has changed. The cursor is left after the last line, or at the beginning of a line if there are none.
func (d *Display) draw(lines []string) {
	if d.log.Len() == 0 && slices.Equal(lines, d.shown) {
		return
	}
	var b strings.Builder
	if len(d.shown) > 0 {
		b.WriteString(begin + "\r")
		if up := d.rowsShown() - 1; up > 0 {
			b.WriteString("\x1b[" + decimal(up) + "A")
		}
	}
	if d.log.Len() > 0 {
		if len(d.shown) > 0 {
			// a line of the log may be as wide as the terminal; then there is nothing to erase after it
			b.WriteString(eraseRest)
		}
		b.WriteString(d.log.String())
		d.log.Reset()
	}
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line + eraseLine)
	}
	if len(d.shown) > 0 {
		b.WriteString(eraseRest + end)
	}
	d.shown = slices.Clone(lines)
	// The owner of the writer handles its errors.
	_, _ = io.WriteString(d.o.Out, b.String())
}

// rowsShown returns how many rows the last frame occupies now: a terminal that has become narrower has wrapped its
// lines.
func (d *Display) rowsShown() int {
	columns, rows := d.size()
	n := 0
	for _, line := range d.shown {
		n += max(1, (Width(line)+columns-1)/columns)
	}
	return min(n, rows)
}
