package host

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/host/process"
	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/provider"
)

// Plugin is a provider that is a program of its own and speaks the plugin protocol.
type Plugin struct {
	Provider addr.Provider
	Program  string
	Args     []string
	// Dir is the working directory of the program; empty for that of this process.
	Dir string
	// Env is the program's environment; nil for that of this process.
	Env []string
	// Log gets what the plugin writes to its log, and at LevelTrace each call; nil for nobody.
	Log *slog.Logger
	// Redact takes out of what the plugin writes what must not be shown; nil for nothing.
	Redact func(string) string
	// Plain leaves the connection unencrypted, so that what passes over it can be looked at.
	Plain bool
	// StartTimeout bounds how long the program may take until it can be called; 0 for a minute.
	StartTimeout time.Duration
}

// LevelTrace is the level below debug that the field's logs have.
const LevelTrace = slog.LevelDebug - 4

// patience is how long a plugin may take to hear that it has to end.
const patience = 5 * time.Second

// protocols are the versions of the protocol that are spoken; the newest that both sides know is used.
var protocols = wire.Versions()

// Factory starts a process of the plugin at each call. The processes share the schema that the first one tells.
func (p Plugin) Factory() provider.Factory {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Redact == nil {
		p.Redact = func(text string) string { return text }
	}
	p.Log = slog.New(redacting{p.Log.Handler(), p.Redact})
	if p.StartTimeout == 0 {
		p.StartTimeout = time.Minute
	}
	var mu sync.Mutex
	var first provider.Provider
	return func(ctx context.Context) (provider.Provider, error) {
		mu.Lock()
		teller := first
		mu.Unlock()
		var known *provider.Schema
		if teller != nil {
			if s, diags := teller.Schema(ctx); !diags.HasErrors() {
				known = s
			}
		}
		started, err := p.start(ctx, known)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		if first == nil {
			first = started
		}
		mu.Unlock()
		return started, nil
	}
}

// start starts the program and connects to it.
func (p Plugin) start(ctx context.Context, known *provider.Schema) (provider.Provider, error) {
	name := p.Provider.ForDisplay()
	log := p.Log.With("provider", p.Provider.String())
	run := &running{plugin: p, log: log, read: make(chan struct{}), tail: &tail{max: 16 << 10}, head: &tail{
		max: 4 << 10, keepFirst: true}}
	var err error
	if p.Plain {
		run.env = []string{certificateVariable + "="} // one of somebody else's may be around
	} else if run.tls, run.env, err = secured(); err != nil {
		return nil, err
	}
	sockets, env := socketFolder()
	run.env = append(run.env, env...)
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  wire.Handshake,
		VersionedPlugins: wire.Calling(protocols...),
		RunnerFunc:       run.runner,
		SkipHostEnv:      p.Env != nil,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: sockets},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		TLSConfig:        run.tls,
		StartTimeout:     p.StartTimeout,
		Logger:           &hcLogger{log: log},
		SyncStdout:       run.said("stdout"),
		SyncStderr:       run.said("stderr"),
		GRPCDialOptions:  []grpc.DialOption{grpc.WithUnaryInterceptor(traced(log))},
	})
	stop := context.AfterFunc(ctx, run.kill)
	conn, err := wire.Connect(client)
	cancelled := !stop()
	if err != nil {
		client.Kill()
		run.kill()
		if cancelled {
			return nil, fmt.Errorf("the start of provider %s was cancelled: %w", name, context.Cause(ctx))
		}
		return nil, run.explainStart(err)
	}
	return wire.NewClient(conn, client.NegotiatedVersion(), wire.Options{
		Name: p.Provider.String(), Schema: known, Explain: run.explain,
		Close: func() error {
			late := time.AfterFunc(patience, run.kill) // a program that does not run cannot even refuse
			defer late.Stop()
			client.Kill() // asks politely, waits two seconds, kills
			run.kill()    // ends what the program has left in its group
			return nil
		},
	})
}

// traced names every call in the log. Messages are not shown: they hold secrets.
func traced(log *slog.Logger) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption) error {
		if !log.Enabled(ctx, LevelTrace) {
			return invoke(ctx, method, req, reply, cc, opts...)
		}
		start := time.Now()
		log.Log(ctx, LevelTrace, "call", "method", method)
		err := invoke(ctx, method, req, reply, cc, opts...)
		log.Log(ctx, LevelTrace, "answer", "method", method, "duration", time.Since(start), "failed", err != nil)
		return err
	}
}

// running is the program behind one client. It is what go-plugin calls a runner.
type running struct {
	plugin Plugin
	log    *slog.Logger

	tls  *tls.Config
	env  []string // beside what the plugin has in any case
	spec process.Spec

	mu     sync.Mutex // guards what follows, to the empty line
	proc   *process.Process
	killed bool
	bad    string // what is wrong with the first line

	hello io.ReadCloser // the first line, for go-plugin
	head  *tail         // how stdout begins, in case that is no handshake
	tail  *tail         // how stderr ends
	read  chan struct{} // closed when stderr has been read to its end

	telling sync.Mutex // guards told
	told    bool       // what the program wrote has been shown
}
