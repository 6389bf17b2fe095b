// Package wiretest puts the plugin protocol between a provider and its test, without processes: the conformance suite
// must also pass over the wire.
//
//	providertest.Run(t, providertest.Options{New: wiretest.Over(factory, 6), ...})
package wiretest

import (
	"context"
	"errors"
	"math"
	"net"

	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
	"github.com/tombolo-iac/tombolo/provider"
)

// Over returns a factory of the same providers behind a version of the protocol.
func Over(factory provider.Factory, protocol int) provider.Factory {
	return func(context.Context) (provider.Provider, error) { return Connect(factory, protocol, wire.Options{}) }
}

// Connect serves a provider on a connection and returns the client. Closing the client closes everything; Options.Close
// is not used.
func Connect(factory provider.Factory, protocol int, o wire.Options) (provider.Provider, error) {
	server, err := wire.NewServer(factory, protocol)
	if err != nil {
		return nil, err
	}
	conn, stop, err := Serve(&rpc.Server{Methods: server.Methods(), MaxRequest: math.MaxInt32})
	if err != nil {
		return nil, err
	}
	o.Close = func() error { return errors.Join(stop(), server.Close(context.Background())) }
	return wire.NewClient(conn, protocol, o)
}

// Serve runs a server until stop is called, and connects to it.
func Serve(s *rpc.Server) (conn *rpc.Conn, stop func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	conn, err = rpc.Dial(context.Background(), func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	}, nil)
	if err != nil {
		s.Stop()
		return nil, nil, errors.Join(err, <-served)
	}
	return conn, func() error {
		err := conn.Close()
		s.Stop()
		return errors.Join(err, <-served)
	}, nil
}
