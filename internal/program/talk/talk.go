// Package talk is a session with a running program: it combines the process (package program) and the messages (package
// session), from the start and the negotiation of a protocol version to the end.
//
// A Talk has one owner, who starts it and runs Serve in a goroutine. Serve returns when the process has ended, and then
// every open call has an error. Calls are made through Conn, concurrently.
//
//	t, err := talk.Start(program.Command{Argv: argv}, hello, session.MaxLine)
//	go t.Serve(nil, nil)
//	err = t.Agree(1, time.Minute, nil)
//	p, err := t.Conn.Begin("read", params, nil)
package talk

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/session"
)

// LastWord is how long a program may continue after the end of its input.
const LastWord = time.Second

// Talk is one process, from its start to its end.
type Talk struct {
	*program.Conversation
	Conn  *session.Conn
	hello *session.Pending // the call of initialize
}

// Start starts a program and sends it the call of initialize. longest is the maximum size of incoming messages, in
// bytes. Errors are those of program.Converse.
func Start(c program.Command, hello []byte, longest int) (*Talk, error) {
	conv, err := program.Converse(c)
	if err != nil {
		return nil, err
	}
	t := &Talk{Conversation: conv, Conn: session.New(conv.Stdin, conv.Stdout)}
	t.Conn.Limit(longest)
	t.hello, err = t.Conn.Begin("initialize", hello, nil)
	return t, err
}

// EndedError means that a program ended by itself.
type EndedError struct {
	State   string
	Message string // the end of its standard error
}

// Error returns how it ended.
func (e *EndedError) Error() string { return "it ended in the middle of the session: " + e.State }

// Serve transports messages until the program has ended, which it ensures. silent is called when no more output will
// come, because the program has ended or is about to. Then reason returns the error for open calls, or nil for an
// *EndedError. Both may be nil.
func (t *Talk) Serve(silent func(), reason func() error) {
	var streams sync.WaitGroup
	var deaf atomic.Bool
	streams.Go(func() {
		if t.Conn.Write() != nil && !t.EndedWithin(LastWord) {
			deaf.Store(true) // it is running but no longer reads: no answer will come
			t.End(0)
		}
	})
	read := make(chan struct{})
	streams.Go(func() {
		defer close(read)
		// an invalid message has already failed the session; any other end does so below
		_ = t.Conn.Read()
	})
	<-read
	if silent != nil {
		silent()
	}
	t.End(LastWord)
	t.Stdout.Close()
	if reason != nil {
		if err := reason(); err != nil {
			t.Conn.Fail(err)
		}
	}
	ended := &EndedError{State: t.ExitState(), Message: Tail(t.Message())}
	if deaf.Load() {
		ended.State = "it closed its standard input"
	}
	t.Conn.Fail(ended)
	streams.Wait()
}

// RefusedError means that a program did not complete the negotiation of a version. Its text is a clause: "has not
// answered for 1m0s."
type RefusedError struct{ Clause string }

// Error returns the reason of the failure.
func (e *RefusedError) Error() string { return "it was asked to initialize a session, and " + e.Clause }

// Agree waits for the response to initialize, which must contain this version of the protocol. If stop is closed, it
// returns ErrStopped.
func (t *Talk) Agree(version int, patience time.Duration, stop <-chan struct{}) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-t.hello.Done():
	case <-stop:
		return ErrStopped
	case <-timer.C:
		return refused("has not answered for %s. In a session, a program reads one call per line from standard input "+
			"and answers each at once. In many languages, it must flush standard output after each line.", patience)
	}
	reply, err := t.hello.Reply()
	var ended *EndedError
	var broken *session.BrokenError
	switch {
	case errors.As(err, &ended):
		return refused("%s.%s", ended, indented(ended.Message))
	case errors.As(err, &broken):
		return refused("%s. Standard output is only for protocol messages, one per line; print messages for people "+
			"on standard error.\n\nOutput: %s", broken, program.Excerpt(broken.Line))
	case err != nil:
		return err
	case reply.Invalid != nil:
		return refused(
			"%s. Standard output is only for protocol messages; write messages for people to standard "+
				"error.\n\nOutput: %s",
			reply.Invalid, program.Excerpt(reply.Invalid.Line))
	case reply.Error != nil && reply.Error.Code == session.CodeMissing:
		return refused(`does not support that method. It must answer it with {"protocol": %d}.`, version)
	case reply.Error != nil:
		return refused("answered with error %d: %s", reply.Error.Code, reply.Error.Message)
	}
	var response struct {
		Protocol json.RawMessage `json:"protocol"`
	}
	if json.Unmarshal(reply.Result, &response) != nil || response.Protocol == nil {
		return refused(`answered with something other than {"protocol": %d}.`+"\n\nOutput: %s", version,
			program.Excerpt(reply.Result))
	}
	if got := string(response.Protocol); got != fmt.Sprint(version) {
		return refused("answered with version %s of the protocol. This version of the engine uses %d. Use a version "+
			"of the program for it.", program.Excerpt(response.Protocol), version)
	}
	return nil
}

// ErrStopped means that the start was cancelled.
var ErrStopped = errors.New("the session has been closed")

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

func indented(message string) string {
	if message == "" {
		return ""
	}
	return "\n\n" + message
}

// Attached holds the directory of the user, and variables of the environment, for a program that was not started by its
// host.
type Attached struct {
	Directory   string            `json:"directory"`
	Environment map[string]string `json:"environment"`
}

// Greeting returns the parameters of initialize: the supported versions of the protocol, the name of the host, and the
// minimum level of log messages. It contains no part of a configuration. attached is nil for programs that the host has
// started.
func Greeting(version int, host string, env []string, attached *Attached) []byte {
	level := "info"
	for _, pair := range env {
		for _, name := range []string{"TF_LOG", "TF_LOG_PROVIDER"} {
			if text, ok := strings.CutPrefix(pair, name+"="); ok {
				switch text = strings.ToLower(text); {
				case text == "trace" || text == "json":
					level = "trace"
				case text == "debug" && level != "trace":
					level = "debug"
				}
			}
		}
	}
	params, _ := json.Marshal(struct {
		Protocol []int     `json:"protocol"`
		Host     string    `json:"host"`
		Log      string    `json:"log"`
		Attached *Attached `json:"attached,omitempty"`
	}{[]int{version}, cmp.Or(host, "tombolo"), level, attached})
	return params
}

// TailLines is the number of lines of standard error that are shown.
const TailLines = 20

// Tail returns the last lines of a program's standard error.
func Tail(message []byte) string {
	text := strings.TrimRight(strings.ToValidUTF8(string(message), "\uFFFD"), "\r\n")
	lines := strings.Split(text, "\n")
	if n := len(lines) - TailLines; n > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines before)", n)}, lines[n:]...)
	}
	const most = 8 << 10
	text = strings.Join(lines, "\n")
	if len(text) > most {
		text = "(...) " + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return text
}
