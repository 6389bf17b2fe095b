package session_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program/session"
)

// received returns the result of Read for a text while n calls are in flight: the replies, with "-" for calls without
// one.
func received(text string, n int) (replies []string, broken *session.BrokenError) {
	conn := session.New(io.Discard, strings.NewReader(text))
	var calls []*session.Pending
	for range n {
		p, err := conn.Begin("read", []byte("{}"), func(string, float64) {})
		if err != nil {
			panic(err)
		}
		calls = append(calls, p)
	}
	errors.As(conn.Read(), &broken)
	end := errors.New("-")
	conn.Fail(end)
	for _, p := range calls {
		<-p.Done()
		reply, err := p.Reply()
		switch {
		case err != nil && reply != nil, err == nil && reply == nil:
			panic("a call has an answer and an error, or neither")
		case err != nil:
			replies = append(replies, err.Error())
		case reply.Error != nil:
			replies = append(replies, fmt.Sprintf("%d %s %s", reply.Error.Code, reply.Error.Message, reply.Result))
		default:
			replies = append(replies, string(reply.Result))
		}
	}
	if _, err := conn.Begin("read", []byte("{}"), nil); err == nil {
		panic("a conversation that has failed takes calls")
	}
	return replies, broken
}

func TestAnswersFindTheirCalls(t *testing.T) {
	for text, want := range map[string]string{
		"": "-|-",
		`{"id":1,"result":{"a":1}}` + "\r\n\n" + `{"jsonrpc":"2.0","id":0,"result":null}`: `null|{"a":1}`,
		"\ufeff" + ` {"id":0,"result":2} ` + "\n":                                         "2|-",
		"50%... " + `{"jsonrpc":"2.0","id":0,"result":2}` + "\n":                          "2|-",
		`{"id":0,"error":{"code":5,"message":"m","data":{"d":[]}}}`:                       `5 m {"d":[]}|-`,
		`{"id":0,"error":null,"result":1}`:                                                `1|-`,
		"hello\n{\"id\":1,\"result\":7}":                                                  "-|7",
	} {
		got, broken := received(text, 2)
		if strings.Join(got, "|") != want || broken != nil {
			t.Errorf("%q: got %q, %v, want %q", text, got, broken, want)
		}
	}
}

func TestAbandonedCallsMayBeAnsweredLate(t *testing.T) {
	r, w := io.Pipe()
	var sent bytes.Buffer
	conn := session.New(&sent, r)
	read := make(chan error)
	go func() { read <- conn.Read() }()
	p, _ := conn.Begin("create", []byte("{\n}"), nil)
	p.Cancel()
	if !p.GiveUp() || p.GiveUp() || conn.Waiting() != 0 {
		t.Error("a call is given up once")
	}
	fmt.Fprintln(w, `{"id":0,"result":1}`)
	q, err := conn.Begin("read", []byte("{}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(w, `{"id":1,"result":2}`)
	<-q.Done()
	if reply, err := q.Reply(); err != nil || string(reply.Result) != "2" {
		t.Errorf("got %v, %v", reply, err)
	}
	fmt.Fprintln(w, `{"id":0,"result":1}`) // a second answer is an error
	if err := <-read; err == nil || !strings.Contains(err.Error(), "call 0 a second time") {
		t.Errorf("got %v", err)
	}
}

func TestMessagesAreWrittenOnePerLine(t *testing.T) {
	r, w := io.Pipe()
	conn := session.New(w, strings.NewReader(""))
	written := make(chan error)
	go func() { written <- conn.Write() }()
	p, _ := conn.Begin("read", []byte("{\n\"a\": \"\\n\"\r\n}"), nil)
	p.Cancel()
	want := `{"jsonrpc":"2.0","id":0,"method":"read","params":{ "a": "\n"  }}` + "\n" +
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":0}}` + "\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
	conn.Fail(io.EOF)
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func TestOutputBetweenCallsFailsTheNextCall(t *testing.T) {
	conn := session.New(io.Discard, strings.NewReader("hello\nagain\n"))
	if err := conn.Read(); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Begin("read", []byte("{}"), nil)
	var invalid *session.InvalidLineError
	if !errors.As(err, &invalid) || string(invalid.Line) != "hello" {
		t.Errorf("got %v", err)
	}
	if _, err := conn.Begin("read", []byte("{}"), nil); err != nil {
		t.Errorf("the one behind it: %v", err)
	}
}

// FuzzSession reads arbitrary text: Read always returns, and every call has one answer or one error. Text after a
// newline does not change earlier answers.
func FuzzSession(f *testing.F) {
	for _, text := range []string{
		`{"id":0,"result":{}}`, "{\"id\":1,\"error\":{\"code\":1}}\n{\"id\":1}",
		`{"method":"$/progress","params":{"id":0,"fraction":1e999}}`, "[]\n", "{}", "\x00\n\xff",
		`{"id":"0","result":1}`, `{"id":1.0,"result":1}`, `{"id":0,"id":1,"result":1}`, `x{"id":0,"result":3}`,
		`{"id":7,"method":"m"}`, `{"id":-1,"result":1}`, "{\"jsonrpc\"",
	} {
		f.Add(text, 2)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = min(max(n, 0), 5)
		before, broken := received(text, n)
		if broken == nil && strings.HasSuffix(text, "\n") {
			after, _ := received(text+"noise\n", n)
			if strings.Join(before, "|") != strings.Join(after, "|") {
				t.Errorf("got %q, with noise behind %q", before, after)
			}
		}
	})
}
