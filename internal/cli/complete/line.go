package complete

import "strings"

// line is a command line up to the cursor, split into words as shells do.
type line struct {
	words   []string // the words before the current one, without quotes
	current string   // the word at the cursor, without quotes
	raw     string   // the same as it was typed
	quote   byte     // the quote that is open at the cursor, or 0
	pending bool     // the last character is a backslash, without the character that it escapes
}

// parse splits a line. The current word is empty after a space.
func parse(text string) line {
	var l line
	var word strings.Builder
	start, inWord := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		blank := c == ' ' || c == '\t' || c == '\n'
		if !inWord && !blank {
			start, inWord = i, true
		}
		switch {
		case l.quote == '\'' && c != '\'' || l.quote == '"' && c != '"' && c != '\\':
			word.WriteByte(c)
		case l.quote == c && c != 0:
			l.quote = 0
		case c == '\\' && i+1 < len(text):
			i++
			if l.quote == '"' && !strings.ContainsRune("\"\\$`", rune(text[i])) {
				word.WriteByte('\\')
			}
			word.WriteByte(text[i])
		case c == '\\':
			l.pending = true
		case c == '\'' || c == '"':
			l.quote = c
		case blank && inWord:
			l.words = append(l.words, word.String())
			word.Reset()
			inWord = false
		case blank:
		default:
			word.WriteByte(c)
		}
	}
	l.current = word.String()
	if inWord {
		l.raw = text[start:]
	}
	return l
}

// write returns a completion in the form that the shell expects. Shells that use "complete -C" insert it verbatim in
// place of the current word, which is their second argument: in bash it begins after an equals sign, a colon or an
// opening quote. Shells that pass no arguments expect the plain word.
func (l line) write(value string, args []string) (string, bool) {
	rest, ok := strings.CutPrefix(value, l.current)
	if !ok || l.pending || len(args) < 2 {
		return value, ok && !l.pending
	}
	escaped, ok := escape(rest, l.quote)
	if !ok {
		return "", false
	}
	if before, ok := strings.CutSuffix(l.raw, args[1]); ok {
		return (l.raw + escaped)[len(before):], true
	}
	return l.raw + escaped, true
}

// escape quotes text for the shell; quote is the open quote. A text in single quotes cannot contain one.
func escape(text string, quote byte) (string, bool) {
	special := " \t!\"#$&'()*;<>?[\\]^`{|}"
	switch quote {
	case '\'':
		return text, !strings.Contains(text, "'")
	case '"':
		special = "\"$\\`"
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if strings.IndexByte(special, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String(), true
}
