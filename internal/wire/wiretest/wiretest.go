// Package wiretest puts the plugin protocol between a provider and its test, without processes: the suite that a
// provider passes in process has to pass over the wire as well.
//
//	providertest.Run(t, providertest.Options{New: wiretest.Over(factory, 6), ...})
package wiretest

import (
	"context"
	"errors"
	"math"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/provider"
)

// Over makes a factory of the same providers behind a version of the protocol.
func Over(factory provider.Factory, protocol int) provider.Factory {
	return func(context.Context) (provider.Provider, error) { return Connect(factory, protocol, wire.Options{}) }
}

// Connect serves a provider on an in-memory connection and returns the client's side of it. Closing the client ends
// all; Options.Close is not used.
func Connect(factory provider.Factory, protocol int, o wire.Options) (provider.Provider, error) {
	server, err := wire.NewServer(factory, protocol)
	if err != nil {
		return nil, err
	}
	g := grpc.NewServer(grpc.MaxRecvMsgSize(math.MaxInt32))
	server.Register(g)
	conn, stop, err := Serve(g)
	if err != nil {
		return nil, err
	}
	o.Close = func() error { return errors.Join(stop(), server.Close(context.Background())) }
	return wire.NewClient(conn, protocol, o)
}

// Serve runs a gRPC server on an in-memory connection until stop is called.
func Serve(g *grpc.Server) (conn *grpc.ClientConn, stop func() error, err error) {
	listener := bufconn.Listen(1 << 16)
	conn, err = grpc.NewClient("passthrough:plugin", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}))
	if err != nil {
		return nil, nil, err
	}
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	return conn, func() error {
		err := conn.Close()
		g.Stop()
		return errors.Join(err, <-served)
	}, nil
}
