// Package nesting protects parsers that recurse for each level of brackets, templates or operators: a stack overflow
// cannot be recovered from, so the nesting of the text is measured before it is parsed. No hand-written text exceeds
// the limits.
//
//	if diags := nesting.Check(src, "main.tf"); diags.HasErrors() { return diags }
//
// All text that package config does not read must be checked here before it is parsed: texts of options, templates read
// at run time, other files.
package nesting

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/diag"
)

const (
	// maxNesting limits the nesting of brackets, quotes and template directives.
	maxNesting = 1000
	// maxOperators limits the operators and index steps of nested expressions at one position: `a + a + a ...` is also
	// nested.
	maxOperators = 10000
	// maxDigits limits the digits of a number: parsing takes quadratic time.
	maxDigits = 100_000
	// maxExponent limits the digits of a number's exponent: formatting 1e99999999 takes minutes.
	maxExponent = 5
	// maxSmall limits the digits of a negative exponent, and maxZeros the zeros after the point at the start of a
	// number: formatting small numbers takes quadratic time.
	maxSmall, maxZeros = 4, 10_000
)

// Check returns an error for the text of a file or expression whose brackets or operators are nested too deeply for the
// parsers. The file name's extension indicates JSON.
func Check(src []byte, filename string) diag.List {
	if strings.HasSuffix(filename, ".json") {
		return checkJSON(src, filename)
	}
	s := scanner{src: src}
	s.scan(false)
	return s.report(filename, 0)
}

// scanner is a lexer for the part of the native syntax that distinguishes brackets from those in comments and literal
// text. Its stack holds one frame for each open bracket or template.
type scanner struct {
	src   []byte
	pos   int
	stack []frame
	ops   int // sum over the stack, including the current expression

	tooDeep bool // stopped at pos because a limit was passed
	tooLong bool // the same, for a number
}

type frame struct {
	// ( [ { for brackets, $ for an interpolation or directive, " and < for templates, % for an open directive block
	kind   byte
	ops    int    // operators of the current expression within the frame
	marker string // closing marker of a heredoc
}

// scan scans the text until its end or a limit. A template starts within literal text.
func (s *scanner) scan(template bool) {
	s.stack = append(s.stack, frame{kind: 0})
	if template {
		s.push('"', "")
	}
	for s.pos < len(s.src) && !s.tooDeep && !s.tooLong {
		switch s.top().kind {
		case '"', '<', '%':
			s.literal(template)
		default:
			s.code()
		}
	}
}

func (s *scanner) top() *frame { return &s.stack[len(s.stack)-1] }

func (s *scanner) push(kind byte, marker string) {
	s.stack = append(s.stack, frame{kind: kind, marker: marker})
	s.tooDeep = s.tooDeep || len(s.stack) > maxNesting+1
}

// pop closes the innermost frame if it is of the given kind.
func (s *scanner) pop(kind byte) bool {
	if s.top().kind != kind {
		return false
	}
	s.ops -= s.top().ops
	s.stack = s.stack[:len(s.stack)-1]
	return true
}

// operator adds a level to the current expression; separator starts the next expression.
func (s *scanner) operator() {
	s.top().ops++
	s.ops++
	s.tooDeep = s.tooDeep || s.ops > maxOperators
}

func (s *scanner) separator() {
	s.ops -= s.top().ops
	s.top().ops = 0
}

func (s *scanner) at(offset int) byte {
	if i := s.pos + offset; i >= 0 && i < len(s.src) {
		return s.src[i]
	}
	return 0
}

// code consumes one token outside of literal text.
func (s *scanner) code() {
	c := s.src[s.pos]
	s.pos++
	switch c {
	case '(':
		s.push(c, "")
	case '[', '{':
		s.operator()
		s.push(c, "")
	case ')':
		s.pop('(')
	case ']':
		s.pop('[')
	case '}':
		if !s.pop('{') {
			s.pop('$')
		}
	case '"':
		s.push('"', "")
	case '#':
		s.skipLine()
	case '/':
		switch s.at(0) {
		case '/':
			s.skipLine()
		case '*':
			s.skipComment()
		default:
			s.operator()
		}
	case '<':
		if s.at(0) == '<' {
			s.heredoc()
		} else {
			s.operator()
		}
	case ',':
		s.separator()
	case '\n':
		if k := s.top().kind; k == 0 || k == '{' {
			s.separator()
		}
	case '=':
		s.equals()
	case '!', '-', '+', '*', '%', '&', '|', '>', '?', ':':
		s.operator()
	default:
		switch {
		case '0' <= c && c <= '9':
			s.number()
		case isNameByte(c):
			for isNameByte(s.at(0)) {
				s.pos++
			}
		}
	}
}

// equals distinguishes the sign of an assignment, which begins an expression, from operators and arrows.
func (s *scanner) equals() {
	switch {
	case s.at(0) == '=':
		s.operator()
	case s.at(0) != '>' && !strings.ContainsRune("=!<>", rune(s.at(-2))):
		s.separator()
	}
}

// number consumes the rest of a number.
func (s *scanner) number() {
	digits := func() (n int) {
		for ; '0' <= s.at(0) && s.at(0) <= '9'; n++ {
			s.pos++
		}
		return n
	}
	n, zeros := digits(), 0
	if s.at(0) == '.' {
		for s.pos++; s.at(0) == '0'; zeros++ {
			s.pos++
		}
		n += zeros + digits()
	}
	if s.tooLong = n > maxDigits || zeros > maxZeros; s.tooLong || s.at(0) != 'e' && s.at(0) != 'E' {
		return
	}
	most := maxExponent
	switch s.pos++; s.at(0) {
	case '-':
		most = maxSmall
		fallthrough
	case '+':
		s.pos++
	}
	s.tooLong = digits() > most
}

func (s *scanner) skipLine() {
	for s.pos < len(s.src) && s.src[s.pos] != '\n' {
		s.pos++
	}
}

func (s *scanner) skipComment() {
	end := bytes.Index(s.src[s.pos:], []byte("*/"))
	if end < 0 {
		s.pos = len(s.src)
		return
	}
	s.pos += end + len("*/")
}

// heredoc enters a template that a line with only the marker closes. The position is at the second "<".
func (s *scanner) heredoc() {
	start := s.pos
	s.pos++
	if s.at(0) == '-' {
		s.pos++
	}
	nameAt := s.pos
	for s.pos < len(s.src) && isNameByte(s.src[s.pos]) {
		s.pos++
	}
	name := string(s.src[nameAt:s.pos])
	if name == "" {
		s.pos = start
		s.operator()
		return
	}
	s.skipLine()
	s.push('<', name)
}

func isNameByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// literal consumes one byte or sequence of a template.
func (s *scanner) literal(bare bool) {
	c := s.src[s.pos]
	frame := s.textFrame()
	quoted := frame.kind == '"' && !(bare && frame == &s.stack[1])
	switch {
	case (c == '$' || c == '%') && s.at(1) == c && s.at(2) == '{':
		s.pos += 3
	case c == '$' && s.at(1) == '{':
		s.pos += 2
		s.push('$', "")
	case c == '%' && s.at(1) == '{':
		s.pos += 2
		s.directive()
	case quoted && c == '\\':
		s.pos += 2
	case quoted && (c == '"' || c == '\n'):
		s.pos++
		for s.top().kind == '%' {
			s.pop('%')
		}
		s.pop('"')
	case frame.kind == '<' && c == '\n':
		s.pos++
		s.heredocLine(frame.marker)
	default:
		s.pos++
	}
}

// textFrame returns the template around the current text: directive blocks are within one.
func (s *scanner) textFrame() *frame {
	i := len(s.stack) - 1
	for i > 0 && s.stack[i].kind == '%' {
		i--
	}
	return &s.stack[i]
}

// heredocLine checks for the closing marker at the start of a line.
func (s *scanner) heredocLine(marker string) {
	i := s.pos
	for i < len(s.src) && (s.src[i] == ' ' || s.src[i] == '\t') {
		i++
	}
	if !strings.HasPrefix(string(s.src[i:min(len(s.src), i+len(marker))]), marker) {
		return
	}
	i += len(marker)
	if i < len(s.src) && s.src[i] == '\r' {
		i++
	}
	if i < len(s.src) && s.src[i] != '\n' {
		return
	}
	s.pos = i
	for s.top().kind == '%' {
		s.pop('%')
	}
	s.pop('<')
}

// directive enters `%{ ... }`. An if or for opens a block of text that its end closes again.
func (s *scanner) directive() {
	i := s.pos
	for i < len(s.src) && (s.src[i] == '~' || s.src[i] == ' ' || s.src[i] == '\t' || s.src[i] == '\n' ||
		s.src[i] == '\r') {
		i++
	}
	end := i
	for end < len(s.src) && isNameByte(s.src[end]) {
		end++
	}
	switch string(s.src[i:end]) {
	case "if", "for":
		s.push('%', "")
	case "endif", "endfor":
		s.pop('%')
	}
	s.push('$', "")
}

func (s *scanner) report(filename string, base int) diag.List {
	switch {
	case s.tooDeep:
		return refuse(filename, s.src, s.pos, base, summary, detail)
	case s.tooLong:
		return refuse(filename, s.src, s.pos, base, summaryLong, detailLong)
	}
	return nil
}

// refuse returns an error at a position of the text.
func refuse(filename string, src []byte, pos, base int, summary, detail string) diag.List {
	line, column := 1, 1
	for _, c := range src[:min(pos, len(src))] {
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	at := hcl.Pos{Line: line, Column: column, Byte: base + pos}
	rng := hcl.Range{Filename: filename, Start: at, End: at}
	return diag.List(nil).Append(&diag.Diagnostic{Severity: diag.Error, Summary: summary, Detail: detail,
		Subject: &rng})
}

const (
	summary     = "Nesting too deep"
	summaryLong = "Number too large"
)

var detailLong = fmt.Sprintf("This number has more than %d digits, or its exponent has more than %d, or more than %d "+
	"below zero. Reading or writing such a number would take too long.", maxDigits, maxExponent,
	maxSmall)

var detail = fmt.Sprintf("Brackets, templates or operators are nested too deeply here: at most %d brackets and %d "+
	"operators are allowed. A file like this is usually the result of a broken generator.", maxNesting, maxOperators)

// checkJSON does the same for JSON, and for the templates in its strings.
func checkJSON(src []byte, filename string) diag.List {
	depth := 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '{', '[':
			if depth++; depth > maxNesting {
				return refuse(filename, src, i, 0, summary, detail)
			}
		case '}', ']':
			depth--
		case '"':
			end := jsonStringEnd(src, i)
			switch s := templateIn(src[i:end]); {
			case s.tooDeep:
				return refuse(filename, src, i, 0, summary, detail)
			case s.tooLong:
				return refuse(filename, src, i, 0, summaryLong, detailLong)
			}
			i = end - 1
		case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			s := scanner{src: src, pos: i}
			if s.number(); s.tooLong {
				return refuse(filename, src, s.pos, 0, summaryLong, detailLong)
			}
			i = s.pos - 1
		}
	}
	return nil
}

// jsonStringEnd returns the position after the string that starts at i.
func jsonStringEnd(src []byte, i int) int {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		case '\n':
			return i
		}
	}
	return len(src)
}

// templateIn scans a JSON string as a template. Most strings are not templates: without a brace they have no
// expressions.
func templateIn(quoted []byte) (s scanner) {
	var text string
	if !bytes.ContainsAny(quoted, `{\`) || json.Unmarshal(quoted, &text) != nil {
		return s // the parser reports the error
	}
	s.src = []byte(text)
	s.scan(true)
	return s
}

// CheckTemplate does the same for a template without surrounding quotes.
func CheckTemplate(src []byte, filename string) diag.List {
	s := scanner{src: src}
	s.scan(true)
	return s.report(filename, 0)
}

// CheckQuoted checks the text of a string that will be parsed as an expression; rng is its range.
func CheckQuoted(text string, rng hcl.Range) diag.List {
	s := scanner{src: []byte(text)}
	s.scan(false)
	switch {
	case s.tooDeep:
		return diag.List(nil).Errorf(&rng, summary, "%s", detail)
	case s.tooLong:
		return diag.List(nil).Errorf(&rng, summaryLong, "%s", detailLong)
	}
	return nil
}
