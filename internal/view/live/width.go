package live

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

func decimal(n int) string { return strconv.Itoa(n) }

// Width returns how many columns a text occupies. Escape sequences for styles have no width.
func Width(s string) int {
	n, escaped := 0, false
	for _, r := range s {
		switch {
		case escaped:
			escaped = r != 'm'
		case r == '\x1b':
			escaped = true
		default:
			n += runeWidth(r)
		}
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x20:
		return 0
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Truncate shortens a text without styles to fit, ending with an ellipsis if it was cut.
func Truncate(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	if columns <= 0 {
		return ""
	}
	head, _ := cut(s, columns-1)
	return head + "…"
}

// Middle shortens a text in the middle, because the distinguishing part of an address may be at either end.
func Middle(s string, columns int) string {
	over := Width(s) - columns
	if over <= 0 {
		return s
	}
	if columns < 3 {
		return Truncate(s, columns)
	}
	head, rest := cut(s, (columns-1)/2)
	// As much of the rest as fits is kept, counted from its end.
	room := columns - 1 - Width(head)
	runes := []rune(rest)
	from := len(runes)
	for from > 0 && room >= runeWidth(runes[from-1]) {
		from--
		room -= runeWidth(runes[from])
	}
	return head + "…" + string(runes[from:])
}

// shortened returns a name that fits: its middle is left out, or its beginning if there is little room, because the end
// of an address says which instance it is.
func shortened(name string, columns int) string {
	const little = 16
	if columns >= little || Width(name) <= columns {
		return Middle(name, columns)
	}
	runes := []rune(name)
	from, room := len(runes), columns-1
	for from > 0 && room >= runeWidth(runes[from-1]) {
		from--
		room -= runeWidth(runes[from])
	}
	return "…" + string(runes[from:])
}

// cut splits a text after a number of columns.
func cut(s string, columns int) (head, rest string) {
	var b strings.Builder
	for i, r := range s {
		if columns -= runeWidth(r); columns < 0 {
			return b.String(), s[i:]
		}
		b.WriteRune(r)
	}
	return s, ""
}
