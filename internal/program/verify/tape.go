package verify

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
)

// Tape is a record of calls and their answers. The calls of one trial may be concurrent, so calls are found by their
// parameters.
type Tape struct {
	dir string

	mu      sync.Mutex // guards the fields below
	checks  []string   // that were made; nil in records that do not list them
	entries []entry
	next    map[string][]int // by key: indexes of entries that have not been played
	last    map[string]int
}

// entry is one call. A tape is a text with one entry per line, after a line with the folder.
type entry struct {
	Action  string           `json:"action"`
	Type    string           `json:"type,omitempty"`
	Params  json.RawMessage  `json:"params"`
	Result  string           `json:"result"` // as text: it need not be JSON
	Failure *handler.Failure `json:"failure,omitempty"`
	Program string           `json:"program,omitempty"`
}

func (e entry) key() string { return e.Action + " " + e.Type + " " + string(e.Params) }

// NewTape returns an empty record; dir is the folder of the objects.
func NewTape(dir string) *Tape { return &Tape{dir: dir} }

type head struct {
	Dir    string   `json:"dir"`
	Checks []string `json:"checks,omitempty"`
}

// Made records that a check was made.
func (t *Tape) Made(check string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checks = append(t.checks, check)
}

// Exempt adds the checks of a record that was read to those that are skipped, each with the reason: it does not have
// their calls.
func (t *Tape) Exempt(exempt map[string]string, names []string) {
	for _, name := range names {
		if t.checks != nil && !slices.Contains(t.checks, name) {
			exempt[name] = "it was not made when the calls were recorded"
		}
	}
}

// ReadTape decodes a record.
func ReadTape(r io.Reader) (*Tape, error) {
	t := &Tape{next: map[string][]int{}, last: map[string]int{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 128<<20)
	var h head
	for number := 1; lines.Scan(); number++ {
		var e entry
		var err error
		if number == 1 {
			err = json.Unmarshal(lines.Bytes(), &h)
		} else if err = json.Unmarshal(lines.Bytes(), &e); err == nil {
			t.next[e.key()] = append(t.next[e.key()], len(t.entries))
			t.entries = append(t.entries, e)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d of the record: %w", number, err)
		}
	}
	t.dir, t.checks = h.Dir, h.Checks
	return t, lines.Err()
}

// Dir returns the folder of the objects.
func (t *Tape) Dir() string { return t.dir }

// WriteTo writes the record.
func (t *Tape) WriteTo(w io.Writer) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(head{t.dir, t.checks})
	for _, e := range t.entries {
		if err == nil {
			err = enc.Encode(e)
		}
	}
	if err != nil {
		return 0, err
	}
	return out.WriteTo(w)
}

// Recording returns a caller that records the calls of another.
func (t *Tape) Recording(c handler.Caller) handler.Caller { return &recording{c, t} }

type recording struct {
	handler.Caller
	tape *Tape
}

func (r *recording) Call(ctx context.Context, c handler.Call) (*handler.Answer, error) {
	a, err := r.Caller.Call(ctx, c)
	if err == nil && a != nil {
		e := entry{Action: c.Action, Type: c.Type, Params: plain(c.Params), Result: string(a.Result),
			Failure: a.Failure, Program: a.Program}
		r.tape.mu.Lock()
		r.tape.entries = append(r.tape.entries, e)
		r.tape.mu.Unlock()
	}
	return a, err
}

// plain returns parameters without values that depend on the time, and with sorted members.
func plain(params []byte) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(params, &members) != nil {
		return params
	}
	delete(members, "deadline")
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(members) != nil {
		return params
	}
	return bytes.TrimSpace(out.Bytes())
}

// Replay returns a caller that answers from the record. Equal calls are answered in their order, and further ones as
// the last.
func (t *Tape) Replay(handler.Caller) handler.Caller { return replayer{t} }

type replayer struct{ tape *Tape }

// Call implements handler.Caller.
func (p replayer) Call(ctx context.Context, c handler.Call) (*handler.Answer, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	t, key := p.tape, entry{Action: c.Action, Type: c.Type, Params: plain(c.Params)}.key()
	t.mu.Lock()
	defer t.mu.Unlock()
	if list := t.next[key]; len(list) > 0 {
		t.last[key], t.next[key] = list[0], list[1:]
	}
	i, ok := t.last[key]
	if !ok {
		return nil, fmt.Errorf("the record has no call of %s with this request: %s",
			strings.TrimSpace(c.Action+" "+c.Type), c.Hide(plain(c.Params)))
	}
	e := t.entries[i]
	return &handler.Answer{Result: []byte(e.Result), Failure: e.Failure, Program: e.Program}, nil
}

// Prepare implements handler.Caller. No program is needed.
func (replayer) Prepare(context.Context, func(string)) error { return nil }

// Close implements handler.Caller.
func (replayer) Close() error { return nil }
