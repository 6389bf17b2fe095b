package wire

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/provider"
)

// loop is a connection without a network: calls are encoded, handed to a server's methods, and their answers encoded
// back. answer, if set, may change an answer on its way.
type loop struct {
	methods map[string]grpc.MethodDesc
	server  any
	answer  func(method string, m proto.Message) proto.Message
}

func (l *loop) RegisterService(desc *grpc.ServiceDesc, impl any) {
	l.methods, l.server = map[string]grpc.MethodDesc{}, impl
	for _, m := range desc.Methods {
		l.methods["/"+desc.ServiceName+"/"+m.MethodName] = m
	}
}

func (l *loop) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams")
}

func (l *loop) Invoke(ctx context.Context, method string, req, resp any, _ ...grpc.CallOption) error {
	m, ok := l.methods[method]
	if !ok {
		return status.Error(codes.Unimplemented, "unknown method "+method)
	}
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
