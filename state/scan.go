package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxDepth limits nesting in state files, so that hostile input causes an error and not a stack overflow.
const maxDepth = 10_000

// scanner scans JSON from a stream, strictly and in one pass. A state must not be decoded as leniently as encoding/json
// does (duplicate members, other letter case, replaced bytes), and the attributes of each object are needed as compact
// JSON without intermediate values.
//
// Slices that methods return are valid until the next call.
type scanner struct {
	r       io.Reader
	buf     []byte // buf[pos:] was read and not yet consumed
	pos     int
	base    int64 // offset of buf[0] in the input
	scratch []byte
	depth   int
	readErr error // the error of the reader, io.EOF included
}

func newScanner(r io.Reader) *scanner {
	return &scanner{r: r, buf: make([]byte, 0, 64<<10)}
}

func newBytesScanner(b []byte) *scanner {
	return &scanner{buf: b, readErr: io.EOF}
}

// scanError is a problem at an offset; the decoder adds the position in the document.
type scanError struct {
	offset int64
	msg    string
}

func (e *scanError) Error() string { return e.msg }

func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

func (s *scanner) errorf(format string, args ...any) error {
	return &scanError{s.offset(), fmt.Sprintf(format, args...)}
}

// more makes at least one byte available if there is one, and reports whether there is.
func (s *scanner) more() bool {
	if s.pos < len(s.buf) {
		return true
	}
	if s.readErr != nil {
		return false
	}
	s.base += int64(len(s.buf))
	s.buf, s.pos = s.buf[:0], 0
	for s.readErr == nil && len(s.buf) == 0 {
		var n int
		n, s.readErr = s.r.Read(s.buf[:cap(s.buf)])
		s.buf = s.buf[:n]
	}
	return len(s.buf) > 0
}

// end returns the error for input that ends too early.
func (s *scanner) end() error {
	if s.readErr != nil && !errors.Is(s.readErr, io.EOF) {
		return s.readErr
	}
	return &scanError{s.offset(), "the file ends here, in the middle of the document: it was cut off"}
}

// next skips white space and returns the byte that the next token starts with, without consuming it.
func (s *scanner) next() (byte, error) {
	for s.more() {
		for i, c := range s.buf[s.pos:] {
			if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
				s.pos += i
				return c, nil
			}
		}
		s.pos = len(s.buf)
	}
	return 0, s.end()
}

// take skips white space and consumes the given byte.
func (s *scanner) take(want byte) error {
	c, err := s.next()
	if err != nil {
		return err
	}
	if c != want {
		return s.errorf("expected %q, found %s", want, describe(c))
	}
	s.pos++
	return nil
}

func describe(c byte) string {
	switch {
	case c == 0:
		return "a NUL byte"
	case c >= 0x80 || c < 0x20:
		return fmt.Sprintf("the byte 0x%02x", c)
	}
	return fmt.Sprintf("%q", c)
}

func (s *scanner) enter() error {
	s.depth++
	if s.depth > maxDepth {
		return s.errorf("nested deeper than %d levels", maxDepth)
	}
	return nil
}

// object reads an object; each is called with the name of each member and must consume its value.
func (s *scanner) object(each func(name string) error) error {
	return s.members('{', '}', func() error {
		b, err := s.string()
		if err != nil {
			return err
		}
		name := string(b)
		if err := s.take(':'); err != nil {
			return err
		}
		return each(name)
	})
}

// fields reads an object with known members; each is called with the index of a member's name and must consume its
// value. Members with other names are skipped, as in Terraform, after a call of other unless it is nil. Members that
// are repeated, or that differ only in letter case, are refused: programs interpret such documents differently, and a
// state may seem empty to one of them.
func (s *scanner) fields(names []string, each func(i int) error, other func(name string)) error {
	var seen uint32
	return s.members('{', '}', func() error {
		at := s.offset()
		b, err := s.string()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(names, func(n string) bool { return n == string(b) })
		if i < 0 {
			for _, n := range names {
				if strings.EqualFold(n, string(b)) {
					return &scanError{at, fmt.Sprintf("the member %q differs from %q only in letter case, so "+
						"programs could read it differently", b, n)}
				}
			}
		} else if seen&(1<<i) != 0 {
			return &scanError{at, fmt.Sprintf("the member %q occurs twice", b)}
		} else {
			seen |= 1 << i
		}
		if i < 0 && other != nil {
			other(string(b))
		}
		if err := s.take(':'); err != nil {
			return err
		}
		if i < 0 {
			s.scratch, err = s.raw(s.scratch[:0])
			return err
		}
		return each(i)
	})
}

// array reads an array; each is called for each element and must consume it.
func (s *scanner) array(each func(i int) error) error {
	i := -1
	return s.members('[', ']', func() error {
		i++
		return each(i)
	})
}

func (s *scanner) members(open, close byte, each func() error) error {
	if err := s.take(open); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer func() { s.depth-- }()
	c, err := s.next()
	if err != nil {
		return err
	}
	if c == close {
		s.pos++
		return nil
	}
	for {
		if err := each(); err != nil {
			return err
		}
		c, err := s.next()
		if err != nil {
			return err
		}
		switch c {
		case ',':
			s.pos++
		case close:
			s.pos++
			return nil
		default:
			return s.errorf("expected ',' or %q, found %s", close, describe(c))
		}
	}
}

// null consumes a null and reports whether there was one.
func (s *scanner) null() (bool, error) {
	c, err := s.next()
	if err != nil || c != 'n' {
		return false, err
	}
	return true, s.literal("null")
}

// string reads a string and decodes its escapes.
func (s *scanner) string() ([]byte, error) {
	if c, err := s.next(); err != nil {
		return nil, err
	} else if c != '"' {
		return nil, s.errorf("expected a string, found %s", describe(c))
	}
	// Most strings are in the buffer, are ASCII and have no escapes.
	for i, c := range s.buf[s.pos+1:] {
		if c == '"' {
			text := s.buf[s.pos+1 : s.pos+1+i]
			s.pos += i + 2
			return text, nil
		}
		if c < 0x20 || c >= 0x80 || c == '\\' {
			break
		}
	}
	at := s.offset()
	raw, err := s.rawString(s.scratch[:0])
	if err != nil {
		return nil, err
	}
	s.scratch = raw
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, &scanError{at, "a string has an invalid escape"}
	}
	return []byte(text), nil
}

// raw appends the next value in compact form, with validation.
func (s *scanner) raw(dst []byte) ([]byte, error) {
	c, err := s.next()
	if err != nil {
		return nil, err
	}
	switch {
	case c == '{' || c == '[':
		return s.rawMembers(dst, c)
	case c == '"':
		return s.rawString(dst)
	case c == '-' || c >= '0' && c <= '9':
		return s.number(dst)
	case c == 't':
		return append(dst, "true"...), s.literal("true")
	case c == 'f':
		return append(dst, "false"...), s.literal("false")
	case c == 'n':
		return append(dst, "null"...), s.literal("null")
	}
	return nil, s.errorf("expected a value, found %s", describe(c))
}

// rawMembers reads members like members, and appends them while it validates.
func (s *scanner) rawMembers(dst []byte, open byte) ([]byte, error) {
	close := open + 2 // in ASCII, each closing bracket is its opening one plus two
	s.pos++
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer func() { s.depth-- }()
	dst = append(dst, open)
	c, err := s.next()
	if err != nil {
		return nil, err
	}
	if c == close {
		s.pos++
		return append(dst, close), nil
	}
	for {
		if open == '{' {
			if dst, err = s.rawName(dst); err != nil {
				return nil, err
			}
		}
		if dst, err = s.raw(dst); err != nil {
			return nil, err
		}
		c, err := s.next()
		if err != nil {
			return nil, err
		}
		switch c {
		case ',':
			s.pos++
			dst = append(dst, ',')
		case close:
			s.pos++
			return append(dst, close), nil
		default:
			return nil, s.errorf("expected ',' or %q, found %s", close, describe(c))
		}
	}
}

func (s *scanner) rawName(dst []byte) ([]byte, error) {
	c, err := s.next()
	if err != nil {
		return nil, err
	}
	if c != '"' {
		return nil, s.errorf("expected a string, found %s", describe(c))
	}
	if dst, err = s.rawString(dst); err != nil {
		return nil, err
	}
	if err := s.take(':'); err != nil {
		return nil, err
	}
	return append(dst, ':'), nil
}

// rawString appends a string with its quotes and escapes as they are.
func (s *scanner) rawString(dst []byte) ([]byte, error) {
	at := s.offset()
	start := len(dst)
	dst = append(dst, '"')
	s.pos++
	ascii := true
	for s.more() {
		rest := s.buf[s.pos:]
		for i := 0; i < len(rest); i++ {
			switch c := rest[i]; {
			case c == '"':
				dst = append(dst, rest[:i+1]...)
				s.pos += i + 1
				if !ascii && !utf8.Valid(dst[start:]) {
					return nil, &scanError{
						at, "a string is not valid UTF-8: the file was damaged or written by a broken program"}
				}
				return dst, nil
			case c < 0x20:
				s.pos += i
				return nil, s.errorf("a string contains %s, which must be escaped", describe(c))
			case c >= 0x80:
				ascii = false
			case c == '\\':
				dst = append(dst, rest[:i]...)
				s.pos += i
				var err error
				if dst, err = s.escape(dst); err != nil {
					return nil, err
				}
				rest, i = s.buf[s.pos:], -1
			}
		}
		dst = append(dst, rest...)
		s.pos = len(s.buf)
	}
	return nil, s.end()
}

// escape appends one escape sequence after validation.
func (s *scanner) escape(dst []byte) ([]byte, error) {
	need := 2
	for n := 0; n < need; n++ {
		if !s.more() {
			return nil, s.end()
		}
		c := s.buf[s.pos]
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
		switch {
		case n == 1 && c == 'u':
			need = 6
		case n == 1 && strings.IndexByte(`"\/bfnrt`, c) < 0, n > 1 && !hex:
			return nil, s.errorf("a string has an invalid escape")
		}
		dst = append(dst, c)
		s.pos++
	}
	return dst, nil
}

// number appends a number as it is written.
func (s *scanner) number(dst []byte) ([]byte, error) {
	at, start := s.offset(), len(dst)
	for s.more() {
		rest := s.buf[s.pos:]
		i := 0
		for i < len(rest) && (rest[i] >= '0' && rest[i] <= '9' || strings.IndexByte("+-.eE", rest[i]) >= 0) {
			i++
		}
		dst = append(dst, rest[:i]...)
		s.pos += i
		if i < len(rest) {
			break
		}
	}
	if !validNumber(dst[start:]) {
		return nil, &scanError{at, fmt.Sprintf("%q is not a number", dst[start:])}
	}
	return dst, nil
}

func validNumber(b []byte) bool {
	digits := func() bool {
		n := 0
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		b = b[n:]
		return n > 0
	}
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	if len(b) > 1 && b[0] == '0' && b[1] >= '0' && b[1] <= '9' || !digits() {
		return false
	}
	if len(b) > 0 && b[0] == '.' {
		if b = b[1:]; !digits() {
			return false
		}
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		// A number such as 1e999999999 could later be written with all its digits.
		if len(b) > 4 || !digits() {
			return false
		}
	}
	return len(b) == 0
}

// literal consumes a word.
func (s *scanner) literal(word string) error {
	for i := 0; i < len(word); i++ {
		if !s.more() {
			return s.end()
		}
		if s.buf[s.pos] != word[i] {
			return s.errorf("expected %s, found %s", word, describe(s.buf[s.pos]))
		}
		s.pos++
	}
	return nil
}

// finish ensures that only white space follows.
func (s *scanner) finish() error {
	c, err := s.next()
	var cut *scanError
	switch {
	case errors.As(err, &cut):
		return nil
	case err != nil:
		return err
	case c == 0:
		return s.errorf(
			"NUL bytes follow the end of the document, as after a crash of the system while the file was written")
	}
	return s.errorf("text follows the end of the document, starting with %s", describe(c))
}
