package diag

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// longestRepaired is the maximum size of a text, in bytes, for repairs: each attempt parses the text.
const longestRepaired = 1 << 20

// repair sets the fix of a text's only problem that is not a consequence, if one of the usual changes for its kind
// makes the text parse. So a suggested fix never leads to another syntax error.
func repair(found List, src []byte) {
	var only *Diagnostic
	for _, d := range found {
		if d.Severity != Error || d.Follows {
			continue
		}
		if only != nil {
			return
		}
		only = d
	}
	if only == nil || only.Subject == nil || only.Subject.Empty() || len(src) > longestRepaired ||
		only.Subject.End.Byte > len(src) || strings.HasSuffix(only.Subject.Filename, ".json") {
		return
	}
	for _, fix := range repairs(only, src) {
		if parses(fix, src, only.Subject.Filename) {
			only.Fix = fix
			return
		}
	}
}

// repairs returns the changes to try for a problem, the most likely first.
func repairs(d *Diagnostic, src []byte) []Fix {
	at := *d.Subject
	switch d.Summary {
	case "Argument or block definition required": // name: value
		rest := src[at.End.Byte:]
		if spaces := len(rest) - len(bytes.TrimLeft(rest, " \t")); bytes.HasPrefix(rest[spaces:], []byte(":")) {
			return []Fix{{{Range: stretch(at, at.End.Byte, at.End.Byte+spaces+1), New: " ="}}}
		} else if bytes.HasPrefix(rest[spaces:], []byte("==")) {
			return []Fix{{{Range: stretch(at, at.End.Byte+spaces, at.End.Byte+spaces+2), New: "="}}}
		} else if bytes.HasPrefix(src[at.Start.Byte:], []byte("--")) {
			return []Fix{{{Range: stretch(at, at.Start.Byte, at.Start.Byte+2), New: "#"}}}
		}
	case "Invalid block definition": // name "value"
		if c := d.Context; c != nil && c.Start.Byte <= at.Start.Byte {
			name := len(src[c.Start.Byte:at.End.Byte]) - len(bytes.TrimLeftFunc(src[c.Start.Byte:at.End.Byte], isName))
			return []Fix{inserted(*c, c.Start.Byte+name, " =")}
		}
	case "Invalid character":
		switch src[at.Start.Byte] {
		case ';':
			return []Fix{{{Range: at}}}
		case '$':
			return bare(at, src)
		}
		return quotes(at, src)
	case "Invalid multi-line string":
		return lateQuotes(at, src)
	case "Unclosed template interpolation sequence":
		return lateBraces(at, src)
	case "Missing newline after block definition": // a second }
		return []Fix{{{Range: at}}}
	case "Invalid 'for' expression":
		if string(src[at.Start.Byte:at.End.Byte]) == "of" {
			return []Fix{{{Range: at, New: "in"}}}
		}
		return []Fix{inserted(at, at.Start.Byte, ": ")}
	case "Invalid single-argument block definition":
		return append(asCondition(at, src), habits(d, src)...)
	case "Unexpected comma after argument":
		return []Fix{{{Range: at}}}
	case "Invalid expression":
		if src[at.Start.Byte] == '=' { // the third of ===
			return []Fix{{{Range: at}}}
		}
		if right := arrows[string(src[max(at.Start.Byte-1, 0):at.End.Byte])]; right != "" {
			return []Fix{{{Range: stretch(at, at.Start.Byte-1, at.End.Byte), New: right}}}
		}
		return habits(d, src)
	case "Missing item separator", "Missing argument separator", "Missing attribute separator",
		"Missing key/value separator", "Missing newline after argument", "Unbalanced parentheses":
		return slices.Concat(asCondition(at, src), habits(d, src), separations(at, src))
	case "Unsupported operator":
		word := string(src[at.Start.Byte:at.End.Byte])
		if word == "&" || word == "|" {
			return []Fix{{{Range: at, New: word + word}}}
		}
	}
	return nil
}

// separations returns the changes for a parse error that may be due to a missing or repeated token: a word that was
// written twice, a separator, or a closing bracket.
func separations(at hcl.Range, src []byte) []Fix {
	b := newBrackets(src, at.Filename)
	b.opened(&at)
	var before, here hclsyntax.Token
	for i, t := range b.tokens {
		if t.Range.Start.Byte >= at.Start.Byte {
			here = b.tokens[i]
			break
		}
		if t.Type != hclsyntax.TokenNewline {
			before = t
		}
	}
	word := before.Type == hclsyntax.TokenIdent || before.Type == hclsyntax.TokenNumberLit
	if word && here.Type == before.Type && bytes.Equal(before.Bytes, here.Bytes) {
		return []Fix{{{Range: stretch(at, before.Range.Start.Byte, here.Range.Start.Byte)}}}
	}
	end := before.Range.End.Byte
	list := []Fix{inserted(at, end, ","), inserted(at, end, " =")}
	if len(b.open) == 0 {
		return list
	}
	open := b.open[len(b.open)-1]
	closer := map[hclsyntax.TokenType]string{hclsyntax.TokenOBrack: "]", hclsyntax.TokenOParen: ")",
		hclsyntax.TokenOBrace: "}"}[open.Type]
	without := Fix{{Range: open.Range, New: " "}} // if that parses, too, it is unknown which one was meant
	if closer == "" || parses(without, src, at.Filename) || b.ambiguous(open, end) {
		return list
	}
	return append(list, inserted(at, end, closer))
}

// ambiguous reports whether it is unknown where before end an open bracket was meant to close: an operator follows it,
// or another bracket was opened twice.
func (b *brackets) ambiguous(open hclsyntax.Token, end int) bool {
	outer := slices.IndexFunc(b.open, func(t hclsyntax.Token) bool { return t.Type != hclsyntax.TokenOBrace })
	from := b.open[max(outer, 0)].Range.Start.Byte
	for i, t := range b.tokens {
		if from <= t.Range.Start.Byte && t.Range.Start.Byte < end && t.Type == open.Type &&
			b.tokens[i+1].Type == t.Type {
			return true
		}
		if t.Range.Start.Byte <= open.Range.Start.Byte || t.Range.Start.Byte >= end {
			continue
		}
		switch t.Type {
		case hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenStar, hclsyntax.TokenSlash,
			hclsyntax.TokenPercent, hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan,
			hclsyntax.TokenLessThanEq, hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq, hclsyntax.TokenAnd,
			hclsyntax.TokenOr, hclsyntax.TokenQuestion:
			return true
		}
	}
	return false
}

// parses reports whether a text can be parsed after a change.
func parses(f Fix, src []byte, filename string) bool {
	text, ok := f.Applied(string(src))
	if !ok {
		return false
	}
	_, diags := hclsyntax.ParseConfig([]byte(text), filename, hcl.InitialPos)
	return !diags.HasErrors()
}

// arrows are operators of other languages, of which the second character is where an expression should begin.
var arrows = map[string]string{"<>": "!=", "->": "=>"}

// asCondition returns the change of = to == for an argument's second equals sign.
func asCondition(at hcl.Range, src []byte) []Fix {
	if string(src[at.Start.Byte:at.End.Byte]) != "=" {
		return nil
	}
	return []Fix{{{Range: at, New: "=="}}}
}

// bare returns the change of ${x} outside of a string to x.
func bare(at hcl.Range, src []byte) []Fix {
	line, _, _ := bytes.Cut(src[at.Start.Byte:], []byte("\n"))
	end := bytes.IndexByte(line, '}')
	if !bytes.HasPrefix(line, []byte("${")) || end < 0 {
		return nil
	}
	return []Fix{{{Range: stretch(at, at.Start.Byte, at.Start.Byte+2)},
		{Range: stretch(at, at.Start.Byte+end, at.Start.Byte+end+1)}}}
}

// lateQuotes returns the changes for a string without an end: a quote at the end of the line, before a brace there, or
// after the brace of an interpolation, which may be missing, too.
func lateQuotes(at hcl.Range, src []byte) []Fix {
	line, _, _ := bytes.Cut(src[at.Start.Byte:], []byte("\n"))
	end := len(bytes.TrimRight(src[:at.Start.Byte+len(line)], " \t\r\n"))
	if end > 0 && src[end-1] == '\'' {
		return []Fix{{{Range: stretch(at, end-1, end), New: `"`}}}
	}
	list := []Fix{inserted(at, end, `"`)}
	if end == 0 || src[end-1] != '{' && src[end-1] != '}' {
		return list
	}
	before := len(bytes.TrimRight(src[:end-1], " \t"))
	if before > 0 && src[before-1] == '\'' {
		return append(list, Fix{{Range: stretch(at, before-1, before), New: `"`}})
	}
	word := src[bytes.LastIndexByte(src[:before], '"')+1 : before]
	switch {
	case bytes.Contains(src[bytes.LastIndexByte(src[:before], '\n')+1:before], []byte("${")):
		return append(list, inserted(at, before, `}"`))
	case len(word) > 0 && len(bytes.TrimLeftFunc(word, isName)) == 0:
		return append(list, inserted(at, before, `"`))
	}
	return list
}

// lateBraces returns the changes for an interpolation without an end: a brace before one of the quotes behind it.
func lateBraces(at hcl.Range, src []byte) (list []Fix) {
	line, _, _ := bytes.Cut(src[at.End.Byte:], []byte("\n"))
	for i, c := range line {
		if c == '"' {
			list = append(list, inserted(at, at.End.Byte+i, "}"))
		}
	}
	return list
}

func isName(r rune) bool { return r >= 0x80 || isWordByte(byte(r)) }

// quotes returns the change from single or typographic quotes to double quotes.
func quotes(at hcl.Range, src []byte) []Fix {
	line, _, _ := bytes.Cut(src[at.Start.Byte:], []byte("\n"))
	for _, pair := range [][2]string{{"'", "'"}, {"“", "”"}, {"‘", "’"}, {"`", "`"}} {
		rest, opened := bytes.CutPrefix(line, []byte(pair[0]))
		text, _, closed := bytes.Cut(rest, []byte(pair[1]))
		if !opened || !closed || bytes.ContainsAny(text, "\"\\") {
			continue
		}
		return []Fix{requoted(at, line, pair)}
	}
	return nil
}

// requoted returns the change of all texts within a pair of quotes in a line.
func requoted(at hcl.Range, line []byte, pair [2]string) (fix Fix) {
	for from := 0; ; {
		i := bytes.Index(line[from:], []byte(pair[0]))
		if i < 0 {
			return fix
		}
		start := from + i
		text, _, closed := bytes.Cut(line[start+len(pair[0]):], []byte(pair[1]))
		if !closed {
			return fix
		}
		from = start + len(pair[0]) + len(text) + len(pair[1])
		whole := stretch(at, at.Start.Byte+start, at.Start.Byte+from)
		fix = append(fix, Edit{Range: whole, New: `"` + string(text) + `"`})
	}
}

// inserted returns the change that inserts text at a byte offset of the file of a range.
func inserted(file hcl.Range, at int, text string) Fix {
	return Fix{{Range: stretch(file, at, at), New: text}}
}

// stretch returns a range of the same file with only byte offsets.
func stretch(file hcl.Range, from, to int) hcl.Range {
	return hcl.Range{Filename: file.Filename, Start: hcl.Pos{Byte: from}, End: hcl.Pos{Byte: to}}
}
