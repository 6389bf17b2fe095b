package view

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// style writes with or without color.
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

// defaultWidth is the width of text if the terminal's width is not known. Scripts and tests expect it.
const defaultWidth = 78

// Wrap wraps the lines of a text as in diagnostics, for a terminal of a width, or for no terminal if it is 0.
func Wrap(text string, width int) string { return wrap(text, cmp.Or(width, defaultWidth)) }

// unbroken holds messages that programs search for in errors in order to repeat a command. They are not wrapped.
var unbroken = []string{
	"Client.Timeout exceeded while awaiting headers", "Connection closed by remote host",
	"Could not download module code from",
	"Could not download module",
	"The requested URL returned error: ", "net/http: TLS handshake timeout", "connection reset by peer",
	"connection refused", "context deadline exceeded", "i/o timeout", ": 429 Too Many Requests",
	"no available releases match",
}

// glue replaces a space at which a line must not be wrapped. Texts do not contain this character.
const glue = "\x00"

var together = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for _, phrase := range unbroken {
		pairs = append(pairs, phrase, strings.ReplaceAll(phrase, " ", glue))
	}
	return strings.NewReplacer(pairs...)
})

// wrap wraps the lines of a text at spaces so that they fit the width. Lines that begin with a space are examples and
// stay unchanged, as do words that are too long.
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
	for i, word := range strings.Split(together().Replace(line), " ") {
		word = strings.ReplaceAll(word, glue, " ")
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

// clean makes external text safe for terminals and readers: control characters other than newline and tab, characters
// that change the direction of writing and invisible characters become visible escapes. Carriage returns at line ends
// are dropped.
func clean(s string) string {
	i := firstUnsafe(s)
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:i])
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\r':
			b.WriteString(`\r`)
		case isJoiner(r) && before >= 0x80 && before != utf8.RuneError:
			b.WriteString(s[i : i+size]) // part of a word or emoji that has no other spelling
		case unsafeRune(r):
			b.WriteString(escaped(r))
		default:
			b.WriteString(s[i : i+size])
		}
		before = r
		i += size
	}
	return b.String()
}

func escaped(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// isJoiner reports whether r is one of the two invisible characters that scripts other than Latin need within words.
func isJoiner(r rune) bool { return r == 0x200c || r == 0x200d }

// Clean makes external text safe for terminals, as this package does everywhere. It is for commands that write a text
// themselves.
func Clean(s string) string { return clean(s) }

// CleanLine is Clean for text on one line.
func CleanLine(s string) string { return cleanLine(s) }

// cleanLine is clean for text on one line.
func cleanLine(s string) string {
	s = clean(s)
	if strings.ContainsAny(s, "\n\t") {
		s = strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(s)
	}
	return s
}

// outputLines splits a line of a program's output at carriage returns, which progress bars print. Empty parts are
// removed, and tabs are kept.
func outputLines(s string) []string {
	var out []string
	for part := range strings.SplitSeq(strings.TrimRight(s, "\r\n"), "\r") {
		if part != "" {
			out = append(out, strings.ReplaceAll(clean(part), "\n", `\n`))
		}
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}

func firstUnsafe(s string) int {
	for i, r := range s {
		if r == utf8.RuneError || r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && unsafeRune(r) {
			return i
		}
	}
	return -1
}

func unsafeRune(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r == 0x061c || r == 0x200e || r == 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x206f:
		return true // text direction, line separators
	case r == 0x00ad, r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x180e, r == 0x200b,
		isJoiner(r),
		r >= 0x2060 && r <= 0x2064, r == 0x3164, r == 0xfeff, r == 0xffa0, r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 &&
			r <= 0xe007f:
		return true // invisible
	}
	return false
}
