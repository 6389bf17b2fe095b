package view

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// defaultWidth is the width of text where the terminal does not say: scripts and tests expect it.
const defaultWidth = 78

// Wrap breaks the lines of a text as those of diagnostics are, for a terminal of a width or, if that is 0, none.
func Wrap(text string, width int) string { return wrap(text, cmp.Or(width, defaultWidth)) }

// wrap breaks the lines of a text at spaces so that they fit the width. Lines that begin with a space are taken for
// examples and stay as they are, and so do words that are too long.
func wrap(text string, width int) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/40)
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		wrapLine(&b, line, width)
	}
	return b.String()
}

func wrapLine(b *strings.Builder, line string, width int) {
	if line == "" || line[0] == ' ' || utf8.RuneCountInString(line) <= width {
		b.WriteString(line)
		return
	}
	column := 0
	for i, word := range strings.Split(line, " ") {
		size := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+size > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += size
	}
}
