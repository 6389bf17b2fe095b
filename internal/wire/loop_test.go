package wire

import (
	"context"
	"fmt"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/provider"
)

// loop is a connection without a network: calls are encoded, handed to a server's methods, and their answers encoded
// back. answer, if set, may change an answer on its way; passed, if set, sees requests and answers.
type loop struct {
	methods map[string]grpc.MethodDesc
	streams map[string]grpc.StreamDesc
	server  any
	answer  func(method string, m proto.Message) proto.Message
	passed  func(method string, m proto.Message)
}

func (l *loop) see(method string, m proto.Message) {
	if l.passed != nil {
		l.passed(method, m)
	}
}

func (l *loop) RegisterService(desc *grpc.ServiceDesc, impl any) {
	l.methods, l.streams, l.server = map[string]grpc.MethodDesc{}, map[string]grpc.StreamDesc{}, impl
	for _, m := range desc.Streams {
		l.streams["/"+desc.ServiceName+"/"+m.StreamName] = m
	}
	for _, m := range desc.Methods {
		l.methods["/"+desc.ServiceName+"/"+m.MethodName] = m
	}
}

func (l *loop) NewStream(ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (
	grpc.ClientStream, error) {
	m, ok := l.streams[method]
	if !ok {
		return nil, status.Error(codes.Unimplemented, "unknown method "+method)
	}
	return &loopStream{ctx: ctx, l: l, desc: m, method: method}, nil
}

// loopStream is both ends of a stream. The server has answered everything before the client reads.
type loopStream struct {
	grpc.ClientStream
	ctx     context.Context
	l       *loop
	desc    grpc.StreamDesc
	method  string
	answers [][]byte
	end     error
	deaf    bool // what is sent reaches nobody
}

func (s *loopStream) SendMsg(req any) error {
	if s.deaf {
		return nil
	}
	s.l.see(s.method, req.(proto.Message))
	b, err := proto.Marshal(req.(proto.Message))
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if s.end = s.desc.Handler(s.l.server, &loopServing{stream: s, request: b}); s.end == nil {
		s.end = io.EOF
	}
	return nil
}

func (s *loopStream) CloseSend() error { return nil }

func (s *loopStream) RecvMsg(m any) error {
	if len(s.answers) == 0 {
		return s.end
	}
	b := s.answers[0]
	s.answers = s.answers[1:]
	return proto.Unmarshal(b, m.(proto.Message))
}

type loopServing struct {
	grpc.ServerStream
	stream  *loopStream
	request []byte
}

func (s *loopServing) Context() context.Context { return s.stream.ctx }
func (s *loopServing) RecvMsg(m any) error      { return proto.Unmarshal(s.request, m.(proto.Message)) }
func (s *loopServing) SendMsg(m any) error {
	out := m.(proto.Message)
	if s.stream.l.answer != nil {
		out = s.stream.l.answer(s.stream.method, out)
	}
	s.stream.l.see(s.stream.method, out)
	b, err := proto.Marshal(out)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	s.stream.answers = append(s.stream.answers, b)
	return nil
}

func (l *loop) Invoke(ctx context.Context, method string, req, resp any, _ ...grpc.CallOption) error {
	m, ok := l.methods[method]
	if !ok {
		return status.Error(codes.Unimplemented, "unknown method "+method)
	}
	l.see(method, req.(proto.Message))
	b, err := proto.Marshal(req.(proto.Message))
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	answer, err := m.Handler(l.server, ctx, func(in any) error { return proto.Unmarshal(b, in.(proto.Message)) }, nil)
	if err != nil {
		return err
	}
	out := answer.(proto.Message)
	if l.answer != nil {
		out = l.answer(method, out)
	}
	l.see(method, out)
	if b, err = proto.Marshal(out); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return proto.Unmarshal(b, resp.(proto.Message))
}

// connect puts a loop between a provider and the client that is returned.
func connect(t testing.TB, p provider.Provider, protocol int) (provider.Provider, *loop) {
	t.Helper()
	server, err := NewServer(func(context.Context) (provider.Provider, error) { return p, nil }, protocol)
	if err != nil {
		t.Fatal(err)
	}
	l := &loop{}
	server.Register(l)
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
