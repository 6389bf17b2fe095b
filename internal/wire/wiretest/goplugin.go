package wiretest

import (
	"context"
	"errors"
	"io"
	"math"

	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/internal/wire/handshake"
)

// The rest of this file is a host as in other engines: with the library go-plugin and google.golang.org/grpc.

// served is the name of the only service of a plugin in go-plugin.
const served = "provider"

// Handshake is the configuration of go-plugin for the handshake of host and plugin.
var Handshake = plugin.HandshakeConfig{MagicCookieKey: handshake.CookieKey, MagicCookieValue: handshake.CookieValue}

// Calling returns the client configuration of a host that supports some versions of the protocol.
func Calling(versions ...int) map[int]plugin.PluginSet {
	sets := map[int]plugin.PluginSet{}
	for _, v := range versions {
		sets[v] = plugin.PluginSet{served: connection{}}
	}
	return sets
}

// Connected starts the plugin of a client that was created with Calling, unless it is running, and returns the
// connection to it.
func Connected(client *plugin.Client) (GRPC, error) {
	protocol, err := client.Client()
	if err != nil {
		return GRPC{}, err
	}
	conn, err := protocol.Dispense(served)
	if err != nil {
		return GRPC{}, err
	}
	return GRPC{conn.(*grpc.ClientConn)}, nil
}

// connection implements plugin.GRPCPlugin.
type connection struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer implements plugin.GRPCPlugin.
func (connection) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("a host serves nothing")
}

// GRPCClient implements plugin.GRPCPlugin.
func (connection) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

// GRPC makes a gRPC connection a wire.Conn.
type GRPC struct{ *grpc.ClientConn }

// Invoke implements wire.Conn. It cannot determine whether a call was sent.
func (c GRPC) Invoke(ctx context.Context, method string, request, answer proto.Message, limit int) (bool, error) {
	return true, c.ClientConn.Invoke(ctx, method, request, answer, grpc.MaxCallRecvMsgSize(limit),
		grpc.MaxCallSendMsgSize(math.MaxInt32))
}

// Stream implements wire.Conn.
func (c GRPC) Stream(ctx context.Context, method string, request, answer proto.Message, limit int,
	each func() bool) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method, grpc.MaxCallRecvMsgSize(limit))
	if err == nil {
		err = errors.Join(s.SendMsg(request), s.CloseSend())
	}
	for err == nil {
		proto.Reset(answer)
		if err = s.RecvMsg(answer); err == nil && !each() {
			return true, nil
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return true, err
}
