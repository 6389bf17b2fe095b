package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/tombolo-iac/tombolo/internal/wire"
)

// linger is how long the plugin waits for another client after the last has gone. Hosts keep a stream open as long as
// they live.
const linger = 5 * time.Second

// running is a plugin that runs.
type running struct {
	opts    Options
	servers map[int]*wire.Server // by version of the protocol
	best    int

	mu    sync.Mutex // guards what follows
	g     *grpc.Server
	ended bool
}

func config(servers map[int]*wire.Server) *plugin.ServeConfig {
	return &plugin.ServeConfig{HandshakeConfig: wire.Handshake, VersionedPlugins: wire.Serving(servers)}
}

// newServer makes the gRPC server, for go-plugin.
func (p *running) newServer(more ...grpc.ServerOption) func([]grpc.ServerOption) *grpc.Server {
	return func(opts []grpc.ServerOption) *grpc.Server {
		opts = append(opts, grpc.MaxRecvMsgSize(math.MaxInt32), grpc.MaxSendMsgSize(wire.MaxMessage))
		g := grpc.NewServer(append(opts, more...)...)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.g = g
		if p.ended {
			g.Stop()
		}
		return g
	}
}

// end hangs up on all clients, which cancels their calls and makes go-plugin return.
func (p *running) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.g != nil {
		p.g.Stop()
	}
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
		p.end()
	})
	c := config(p.servers)
	c.GRPCServer = p.newServer(grpc.StatsHandler(clients))
	plugin.Serve(c)
	cancel()
	watchers.Wait()
	return p.close()
}

// serveDebug serves whoever is told of the plugin, until the context ends.
func (p *running) serveDebug(ctx context.Context, out io.Writer) error {
	// A person reads along here, and not a host: what the library tells of each step is left out.
	value, done,
		err := p.listen(ctx, hclog.New(&hclog.LoggerOptions{Name: "plugin", Level: hclog.Warn, Output: os.Stderr}))
	if err != nil {
		return err
	}
	if err := printReattach(out, value); err != nil {
		return err
	}
	<-done
	return p.close()
}

// listen begins to serve whoever is told of the plugin, and returns what to tell them. The channel is closed when the
// context has ended and nothing is served any more.
func (p *running) listen(ctx context.Context, log hclog.Logger) (value string, done <-chan struct{}, err error) {
	c := config(map[int]*wire.Server{p.best: p.servers[p.best]})
	c.GRPCServer = p.newServer()
	c.Logger = log
	reattach, closed := make(chan *plugin.ReattachConfig, 1), make(chan struct{})
	c.Test = &plugin.ServeTestConfig{Context: ctx, ReattachConfigCh: reattach, CloseCh: closed}
	go plugin.Serve(c)
	select {
	case r := <-reattach:
		value, err = describe(p.opts.Address, r)
		return value, closed, err
	case <-closed:
		return "", nil, errors.New("the plugin cannot be served")
	}
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

// describe returns the value of ReattachEnv that leads to a plugin.
func describe(address string, r *plugin.ReattachConfig) (string, error) {
	type socket struct{ Network, String string }
	type process struct {
		Protocol        string
		ProtocolVersion int
		Pid             int
		Test            bool
		Addr            socket
	}
	b, err := json.Marshal(map[string]process{address: {
		Protocol: string(r.Protocol), ProtocolVersion: r.ProtocolVersion, Pid: r.Pid, Test: r.Test,
		Addr: socket{Network: r.Addr.Network(), String: r.Addr.String()},
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

// clients closes gone when there were connections and have been none for a while.
type clients struct {
	linger time.Duration
	gone   chan struct{}

	mu    sync.Mutex // guards what follows
	count int
	timer *time.Timer
}

func newClients(linger time.Duration) *clients {
	return &clients{linger: linger, gone: make(chan struct{})}
}

func (c *clients) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (c *clients) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (c *clients) HandleRPC(context.Context, stats.RPCStats)                         {}

func (c *clients) HandleConn(_ context.Context, s stats.ConnStats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s.(type) {
	case *stats.ConnBegin:
		c.count++
		if c.timer != nil {
			c.timer.Stop()
		}
	case *stats.ConnEnd:
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
