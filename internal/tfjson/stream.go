package tfjson

import (
	"bufio"
	"io"
	"strconv"
	"unicode/utf8"
)

// stream writes one JSON document incrementally. The bufio.Writer keeps the first error and returns it on Flush.
type stream struct {
	w *bufio.Writer
	// comma means that a comma precedes the next value.
	comma bool
	buf   []byte
}

func newStream(w io.Writer) *stream { return &stream{w: bufio.NewWriterSize(w, 64<<10)} }

func (s *stream) separate() {
	if s.comma {
		s.w.WriteByte(',')
	}
	s.comma = true
}

// open begins an object or array; close ends it.
func (s *stream) open(c byte) {
	s.separate()
	s.w.WriteByte(c)
	s.comma = false
}

func (s *stream) close(c byte) {
	s.w.WriteByte(c)
	s.comma = true
}

// key writes the name of a member; its value must follow.
func (s *stream) key(name string) {
	s.separate()
	s.quoted(name)
	s.w.WriteByte(':')
	s.comma = false
}

// raw writes a value that is already JSON.
func (s *stream) raw(json string) {
	s.separate()
	s.w.WriteString(json)
}

func (s *stream) rawBytes(json []byte) {
	s.separate()
	s.w.Write(json)
}

func (s *stream) str(v string) {
	s.separate()
	s.quoted(v)
}

func (s *stream) int(v int64) { s.raw(strconv.FormatInt(v, 10)) }

func (s *stream) bool(v bool) { s.raw(strconv.FormatBool(v)) }

// member, memberInt and memberBool write a complete member.
func (s *stream) member(name, v string)          { s.key(name); s.str(v) }
func (s *stream) memberInt(name string, v int64) { s.key(name); s.int(v) }
func (s *stream) memberBool(name string, v bool) { s.key(name); s.bool(v) }

// optional writes a member unless it is empty.
func (s *stream) optional(name, v string) {
	if v != "" {
		s.member(name, v)
	}
}

func (s *stream) quoted(v string) {
	s.buf = appendQuoted(s.buf[:0], v)
	s.w.Write(s.buf)
}

// end writes the line end and reports the first error.
func (s *stream) end() error {
	s.w.WriteByte('\n')
	return s.w.Flush()
}

// appendQuoted appends a string as JSON. Control characters, the line separators of JavaScript and invalid UTF-8 are
// escaped, so that a document can be safely printed to a terminal.
func appendQuoted(b []byte, v string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(v); {
		c := v[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f && c != '<' && c != '>' && c != '&' {
				i++
				continue
			}
			b = append(b, v[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(v[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, v[start:i]...), `\ufffd`...)
		case r >= 0x80 && r < 0xa0, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f,
			r == 0x061c:
			b = append(append(b, v[start:i]...), '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		default:
			i += size
			continue
		}
		i += size
		start = i
	}
	b = append(b, v[start:]...)
	return append(b, '"')
}
