package wire

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
	"github.com/tombolo-iac/tombolo/provider"
)

// loop is a connection without a network: it encodes calls, passes them to a server's methods, and encodes the
// responses. request and answer, if set, may change a request or a response; passed, if set, is called with them.
type loop struct {
	methods map[string]rpc.Method
	request func(m proto.Message) proto.Message
	answer  func(method string, m proto.Message) proto.Message
	passed  func(method string, m proto.Message)
}

func (l *loop) see(method string, m proto.Message) {
	if l.passed != nil {
		l.passed(method, m)
	}
}

// find decodes a request for a method.
func (l *loop) find(method string, req proto.Message) (rpc.Method, proto.Message, error) {
	m, ok := l.methods[method]
	if !ok {
		return m, nil, status.Error(codes.Unimplemented, "unknown method "+method)
	}
	if l.request != nil {
		req = l.request(req)
	}
	l.see(method, req)
	in := m.Request()
	return m, in, copyMessage(in, req)
}

func copyMessage(into, from proto.Message) error {
	b, err := proto.Marshal(from)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return proto.Unmarshal(b, into)
}

func (l *loop) answered(method string, into, from proto.Message) error {
	if l.answer != nil {
		from = l.answer(method, from)
	}
	l.see(method, from)
	return copyMessage(into, from)
}

func (l *loop) Invoke(ctx context.Context, method string, req, resp proto.Message, _ int) (bool, error) {
	m, in, err := l.find(method, req)
	if err != nil {
		return false, err
	}
	answer, err := m.Answer(ctx, in)
	if err != nil {
		return true, err
	}
	return true, l.answered(method, resp, answer)
}

// Stream implements wire.Conn. The server sends all responses before the client reads the first.
func (l *loop) Stream(ctx context.Context, method string, req, event proto.Message, _ int, each func() bool) (bool,
	error) {
	m, in, err := l.find(method, req)
	if err != nil {
		return false, err
	}
	var answers []proto.Message
	end := m.Answers(ctx, in, func(answer proto.Message) error {
		event := proto.Clone(event)
		proto.Reset(event)
		if err := l.answered(method, event, answer); err != nil {
			return err
		}
		answers = append(answers, event)
		return nil
	})
	for _, a := range answers {
		proto.Reset(event)
		proto.Merge(event, a)
		if !each() {
			return true, nil
		}
	}
	return true, end
}

// connect puts a loop between a provider and the returned client.
func connect(t testing.TB, p provider.Provider, protocol int) (provider.Provider, *loop) {
	t.Helper()
	server, err := NewServer(func(context.Context) (provider.Provider, error) { return p, nil }, protocol)
	if err != nil {
		t.Fatal(err)
	}
	l := &loop{methods: server.Methods()}
	client, err := NewClient(l, protocol, Options{Name: "example/mirror"})
	if err != nil {
		t.Fatal(err)
	}
	return client, l
}

// eachVersion runs a test for both versions of the protocol.
func eachVersion(t *testing.T, f func(t *testing.T, v *version)) {
	for _, n := range Versions() {
		t.Run(fmt.Sprintf("protocol %d", n), func(t *testing.T) { f(t, versions[n]) })
	}
}
