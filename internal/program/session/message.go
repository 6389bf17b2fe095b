package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

var errTooLong = errors.New("the line is too long")

// lines reads lines up to a maximum length.
type lines struct {
	r   *bufio.Reader
	max int
	buf []byte
}

func newLines(r io.Reader, longest int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), max: longest}
}

// next returns a line without its newline; it is valid until the next call. The last line may be returned with io.EOF.
// If a line is too long, its beginning is returned with errTooLong.
func (l *lines) next() ([]byte, error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if err == nil && len(l.buf) == 0 && len(part) <= l.max {
			return bytes.TrimSuffix(part[:len(part)-1], []byte("\r")), nil
		}
		l.buf = append(l.buf, part...)
		if len(l.buf) > l.max {
			return l.buf[:l.max], errTooLong
		}
		switch {
		case err == nil:
			return bytes.TrimSuffix(l.buf[:len(l.buf)-1], []byte("\r")), nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return l.buf, err
		}
	}
}

// message holds the members of a message from the other side.
type message map[string]json.RawMessage

func (m message) has(name string) bool { return m[name] != nil }

var byteOrderMark = []byte("\xef\xbb\xbf")

// split splits a line into stray text and the message after it; m is nil if there is none. An error means that the line
// was probably meant as a message.
func split(line []byte) (m message, invalid []byte, err error) {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, byteOrderMark))
	if len(line) > 0 && (line[0] == '{' || line[0] == '[') {
		if line[0] == '[' {
			return nil, nil, errors.New("it is an array; messages are sent one by one")
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, nil, fmt.Errorf("it is not JSON, or not on one line: %w", err)
		}
		return m, nil, nil
	}
	// A prompt or a progress bar that was printed without a newline.
	for _, beginning := range []string{`{"jsonrpc"`, `{"id"`} {
		if at := bytes.Index(line, []byte(beginning)); at > 0 && json.Unmarshal(line[at:], &m) == nil {
			return m, line[:at], nil
		}
		m = nil
	}
	return nil, line, nil
}

// take processes one line. An error means that the session cannot continue.
func (c *Conn) take(line []byte) *BrokenError {
	m, invalid, err := split(line)
	if invalid != nil {
		c.keepInvalid(invalid)
	}
	switch {
	case err != nil:
		return c.broken("it printed a line that is not a message: "+err.Error(), line,
			&Reply{Result: bytes.Clone(line)})
	case m == nil:
		return nil
	case m.has("method"):
		return c.called(m)
	case m.has("id") || m.has("result") || m.has("error"):
		return c.answered(m, line)
	case bare(m):
		return c.broken(`it printed an answer without the envelope {"jsonrpc": "2.0", "id": …, "result": …}`, line,
			&Reply{Result: bytes.Clone(line)})
	}
	c.keepInvalid(line) // a log line in the wrong stream
	return nil
}

// bare reports whether an object was probably meant as an answer, so that its call will get none.
func bare(m message) bool {
	for _, name := range []string{"jsonrpc", "state", "diagnostics", "planned", "protocol"} {
		if m.has(name) {
			return true
		}
	}
	return len(m) == 0
}

// keepInvalid keeps a line that is not a message for the calls in flight, one of which has printed it, or else for the
// next call.
func (c *Conn) keepInvalid(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line = bytes.Clone(line[:min(len(line), 1<<10)])
	if len(c.calls) == 0 && c.invalid == nil {
		c.invalid = &InvalidLineError{Line: line}
	}
	for _, p := range c.calls {
		if p.invalid == nil {
			p.invalid = &InvalidLineError{Line: line}
		}
	}
}

// broken returns an error, with the possible answer to the only call in flight.
func (c *Conn) broken(problem string, line []byte, reply *Reply) *BrokenError {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &BrokenError{Problem: problem, Line: bytes.Clone(line[:min(len(line), 1<<10)])}
	if len(c.calls) == 1 {
		e.Reply = reply
	}
	return e
}

// called processes a notification, or a request of the program, which is not allowed.
func (c *Conn) called(m message) *BrokenError {
	var method string
	if json.Unmarshal(m["method"], &method) != nil {
		return nil
	}
	c.mu.Lock()
	if id := m["id"]; id != nil && c.failed == nil && len(id) <= 100 && len(c.outbox) < MaxLine {
		c.outbox = append(c.outbox, `{"jsonrpc":"2.0","id":`...)
		c.outbox = appendLine(c.outbox, id)
		c.outbox = append(c.outbox, `,"error":{"code":-32601,"message":"the host does not accept calls"}}`+"\n"...)
		c.signal()
	}
	c.mu.Unlock()
	if method != "$/progress" {
		return nil
	}
	var params struct {
		ID       int64    `json:"id"`
		Message  string   `json:"message"`
		Fraction *float64 `json:"fraction"`
	}
	if json.Unmarshal(m["params"], &params) != nil {
		return nil
	}
	c.mu.Lock()
	p := c.calls[params.ID]
	c.mu.Unlock()
	if p != nil && p.progress != nil {
		fraction := -1.0
		if params.Fraction != nil {
			fraction = *params.Fraction
		}
		p.progress(params.Message, fraction)
	}
	return nil
}

// answered delivers a response to its call. A response without a call is an error, because the call for which it was
// meant would wait for ever.
func (c *Conn) answered(m message, line []byte) *BrokenError {
	reply, problem := readReply(m)
	id, err := strconv.ParseInt(string(m["id"]), 10, 64)
	if err != nil {
		found := "an answer without an id"
		if m.has("id") {
			found = fmt.Sprintf("an answer whose id is %s", clip(m["id"]))
		}
		if reply != nil && reply.Error != nil {
			found += fmt.Sprintf(" (%s)", clip([]byte(reply.Error.Message)))
		}
		return c.broken("it printed "+found+"; an answer has the id of its call, the same integer", line, reply)
	}
	c.mu.Lock()
	if c.late[id] {
		delete(c.late, id)
		c.mu.Unlock()
		return nil
	}
	if p := c.calls[id]; p == nil {
		known := id >= 0 && id < c.next
		c.mu.Unlock()
		if known {
			return c.broken(
				fmt.Sprintf("it answered call %d a second time; each call is answered once, with its own id", id), line,
				reply)
		}
		return c.broken(fmt.Sprintf("it answered call %d, which was not made", id), line, reply)
	}
	defer c.mu.Unlock()
	if problem != "" {
		c.finish(id, nil, &BrokenError{Problem: problem, Line: bytes.Clone(line[:min(len(line), 1<<10)]), Reply: reply})
		return nil
	}
	c.finish(id, reply, nil)
	return nil
}

// readReply decodes the result or the error of a response. If there is a problem, the reply contains the valid part.
func readReply(m message) (reply *Reply, problem string) {
	null := func(name string) bool { return !m.has(name) || string(m[name]) == "null" }
	reply = &Reply{Result: bytes.Clone(m["result"])}
	switch {
	case null("error") && m.has("result"):
		return reply, ""
	case null("error"):
		return reply, `its answer has neither "result" nor "error"`
	case !null("result"):
		return reply, `its answer has both "result" and "error"`
	}
	var e struct {
		Code    *int64          `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(m["error"], &e) != nil || e.Code == nil {
		return &Reply{Error: &Error{Message: string(clip(m["error"]))}},
			`"error" in its answer is not like {"code": 1, "message": "…"}`
	}
	if string(e.Data) == "null" {
		e.Data = nil
	}
	return &Reply{Result: e.Data, Error: &Error{Code: *e.Code, Message: e.Message}}, ""
}

// clip truncates text for messages.
func clip(text []byte) []byte {
	const most = 200
	if len(text) > most {
		return append(bytes.Clone(text[:most]), "..."...)
	}
	return text
}
