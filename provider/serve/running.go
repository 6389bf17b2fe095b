package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/handshake"
	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
)

// linger is how long the plugin waits for another client after the last one has disconnected. Hosts keep a stream open
// as long as they run.
const linger = 5 * time.Second

// running is a running plugin.
type running struct {
	opts    Options
	servers map[int]*wire.Server // by version of the protocol
	best    int
}

// options returns the handshake options for some of the servers.
func options(servers map[int]*wire.Server) *handshake.Options {
	return &handshake.Options{Servers: servers,
		Server: rpc.Server{MaxRequest: math.MaxInt32, MaxAnswer: wire.MaxMessage}}
}

// serve serves the host that started the plugin.
func (p *running) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	clients := newClients(linger)
	var watchers sync.WaitGroup
	watchers.Go(func() {
		select {
		case <-ctx.Done():
		case <-parentGone(ctx):
		case <-clients.gone:
		}
		cancel()
	})
	o := options(p.servers)
	o.Server.Connection = clients.connection
	err := handshake.Serve(ctx, o)
	cancel()
	watchers.Wait()
	return errors.Join(err, p.close())
}

// serveDebug serves all clients of the plugin until the context ends.
func (p *running) serveDebug(ctx context.Context, out io.Writer) error {
	value, done, err := p.listen(ctx)
	if err != nil {
		return err
	}
	if err := printReattach(out, value); err != nil {
		return err
	}
	<-done
	return p.close()
}

// listen starts to serve clients, and returns the value with which they find the plugin. The channel is closed after
// the context and all calls have ended.
func (p *running) listen(ctx context.Context) (value string, done <-chan struct{}, err error) {
	address, version, done, err := handshake.Listen(ctx, options(map[int]*wire.Server{p.best: p.servers[p.best]}))
	if err != nil {
		return "", nil, err
	}
	value, err = describe(p.opts.Address, version, address)
	return value, done, err
}

// close waits for the calls that are under way.
func (p *running) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), p.opts.Grace)
	defer cancel()
	var errs []error
	for _, s := range p.servers {
		errs = append(errs, s.Close(ctx))
	}
	return errors.Join(errs...)
}

// describe returns the value of ReattachEnv for a plugin.
func describe(provider string, version int, address net.Addr) (string, error) {
	type socket struct{ Network, String string }
	type process struct {
		Protocol        string
		ProtocolVersion int
		Pid             int
		Test            bool
		Addr            socket
	}
	b, err := json.Marshal(map[string]process{provider: {
		Protocol: "grpc", ProtocolVersion: version, Pid: os.Getpid(), Test: true,
		Addr: socket{Network: address.Network(), String: address.String()},
	}})
	if err != nil {
		return "", fmt.Errorf("describe the plugin: %w", err)
	}
	return string(b), nil
}

func printReattach(w io.Writer, value string) error {
	_, err := fmt.Fprintf(w,
		"The provider runs until it is interrupted. To use it, set in another terminal\n\n\t%s='%s'\n\n", ReattachEnv,
		value)
	return err
}

// clients closes gone when there have been connections, but none for a while.
type clients struct {
	linger time.Duration
	gone   chan struct{}

	mu    sync.Mutex // guards the fields below
	count int
	timer *time.Timer
}

func newClients(linger time.Duration) *clients {
	return &clients{linger: linger, gone: make(chan struct{})}
}

// connection is called when a connection opens or closes.
func (c *clients) connection(_ net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s {
	case http.StateNew:
		c.count++
		if c.timer != nil {
			c.timer.Stop()
		}
	case http.StateClosed:
		if c.count--; c.count == 0 {
			c.timer = time.AfterFunc(c.linger, c.check)
		}
	}
}

func (c *clients) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.gone:
	default:
		if c.count == 0 {
			close(c.gone)
		}
	}
}
