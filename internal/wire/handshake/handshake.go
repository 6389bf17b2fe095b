// Package handshake is the plugin's side of the connection between a host and a plugin. The host starts the program
// with a cookie, the supported protocol versions and its certificate in the environment. The program writes one line to
// its standard output, with the address on which it listens and its own certificate. Package wire defines the messages
// on the connection.
//
//	err := handshake.Serve(ctx, &handshake.Options{Servers: map[int]*wire.Server{6: server}})
//
// A plugin also forwards its standard output and standard error, answers health checks, and stops when the host asks it
// to. Serve and Listen own their goroutines. All formats are those of the library go-plugin, which other engines and
// most plugins use, and against which the tests run.
package handshake

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
)

// The magic cookie shows a plugin that it was started by a host and not by a person. It is a part of the protocol.
const (
	CookieKey   = "TF_PLUGIN_MAGIC_COOKIE"
	CookieValue = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2"
)

// format is the version of the handshake itself.
const format = 1

// Options configures a plugin. Servers is required.
type Options struct {
	Servers map[int]*wire.Server // by protocol version
	// Server holds the settings for all versions. Its methods and TLS are set by this package.
	Server rpc.Server
}

// Serve serves the host that started this process, until the host asks it to stop or the context ends. It replaces
// os.Stdout and os.Stderr and ignores interrupts, because the host controls them. Calls may still be in progress when
// it returns.
func Serve(ctx context.Context, o *Options) error {
	version := chooseVersion(os.Getenv("PLUGIN_PROTOCOL_VERSIONS"), o.Servers)
	certificate, err := o.secure(os.Getenv(CertificateVariable))
	if err != nil {
		return err
	}
	listener, err := listen()
	if err != nil {
		return fmt.Errorf("listen for the host: %w", err)
	}
	hello := os.Stdout
	output, err := takeOutput()
	if err != nil {
		listener.Close()
		return fmt.Errorf("redirect the output: %w", err)
	}
	defer output.discard()
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // ignored: the host handles it
	server := o.server(version, output)
	address := listener.Addr()
	if _, err := fmt.Fprintf(hello, "%d|%d|%s|%s|grpc|%s\n", format, version, address.Network(), address.String(),
		base64.RawStdEncoding.EncodeToString(certificate)); err != nil {
		listener.Close()
		return fmt.Errorf("print the handshake line: %w", err)
	}
	return serve(ctx, server, listener)
}

// Listen serves at the returned address, over an unencrypted connection. The channel is closed when the context and all
// calls have ended. Listen does not change standard output, standard error and signals.
func Listen(ctx context.Context, o *Options) (address net.Addr, version int, done <-chan struct{}, err error) {
	listener, err := listen()
	if err != nil {
		return nil, 0, nil, fmt.Errorf("listen for hosts: %w", err)
	}
	version = chooseVersion("", o.Servers)
	server := o.server(version, nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = serve(ctx, server, listener) // there is no caller to return an error to
	}()
	return listener.Addr(), version, ended, nil
}

// serve returns when a host has stopped the server or the context has ended.
func serve(ctx context.Context, server *rpc.Server, listener net.Listener) error {
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve the host: %w", err)
	}
	return nil
}

// server returns a server with the methods of a version and those that hosts expect of every plugin.
func (o *Options) server(version int, output *output) *rpc.Server {
	o.Server.Methods = services(o.Server.Stop, output)
	maps.Copy(o.Server.Methods, o.Servers[version].Methods())
	return &o.Server
}

// chooseVersion returns the highest version that both sides support. If there is none, or if the host lists none, it
// returns the plugin's lowest version, and the host decides.
func chooseVersion(offered string, servers map[int]*wire.Server) int {
	best, lowest := 0, 0
	known := strings.Split(offered, ",")
	for version := range servers {
		if slices.Contains(known, strconv.Itoa(version)) {
			best = max(best, version)
		}
		if lowest == 0 || version < lowest {
			lowest = version
		}
	}
	if best == 0 {
		return lowest
	}
	return best
}

// secure restricts the connection to the host that has the key of a certificate, and returns our own certificate. If
// host is "", the connection is unencrypted.
func (o *Options) secure(host string) (certificate []byte, err error) {
	if host == "" {
		return nil, nil
	}
	if o.Server.TLS, err = serverTLS(host); err != nil {
		return nil, err
	}
	return o.Server.TLS.Certificates[0].Certificate[0], nil
}
