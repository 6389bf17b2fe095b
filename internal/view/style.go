package view

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// style writes with or without colour.
type style struct{ on bool }

const (
	reset     = "\x1b[0m"
	bold      = "\x1b[1m"
	underline = "\x1b[4m"
	red       = "\x1b[31m"
	green     = "\x1b[32m"
	yellow    = "\x1b[33m"
	cyan      = "\x1b[36m"
	gray      = "\x1b[90m"
)

// in returns a text in a style.
func (s style) in(code, text string) string {
	if !s.on || text == "" || code == "" {
		return text
	}
	return code + text + reset
}

// symbol returns the sign of an op.
func (s style) symbol(o op) string {
	switch o {
	case create:
		return s.in(green, "+")
	case update:
		return s.in(yellow, "~")
	case remove:
		return s.in(red, "-")
	}
	return " "
}

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
