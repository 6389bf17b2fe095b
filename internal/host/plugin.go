package host

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/host/process"
	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/handshake"
	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
	"github.com/tombolo-iac/tombolo/provider"
)

// Plugin is a provider in a separate program that implements the plugin protocol.
type Plugin struct {
	Provider addr.Provider
	Program  string
	Args     []string
	// Dir is the working directory of the program; "" means that of this process.
	Dir string
	// Env is the program's environment; nil means that of this process.
	Env []string
	// Log is the destination of the plugin's log and, at LevelTrace, of a record of each call. It may be nil.
	Log *slog.Logger
	// Redact removes secrets from the plugin's output; nil removes nothing.
	Redact func(string) string
	// Plain leaves the connection unencrypted, so that the traffic can be inspected.
	Plain bool
	// Protocols are the versions of the protocol that the plugin may choose from; nil means all that are supported.
	Protocols []int
	// StartTimeout limits the start of the program; 0 means one minute.
	StartTimeout time.Duration
}

// patience limits a request that asks a plugin to stop.
const patience = 5 * time.Second

// protocols are the supported versions of the protocol; the newest version that both sides support is used.
var protocols = wire.Versions()

// Factory returns a factory that starts a process of the plugin at each call. The processes share the schema from the
// first one.
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

// offered returns the versions of the protocol that the plugin may choose from.
func (p Plugin) offered() []int {
	if p.Protocols == nil {
		return protocols
	}
	return p.Protocols
}

// start starts the program and connects to it.
func (p Plugin) start(ctx context.Context, known *provider.Schema) (provider.Provider, error) {
	name := p.Provider.ForDisplay()
	log := p.Log.With("provider", p.Provider.String())
	run := &running{plugin: p, log: log, hello: make(chan string, 1), read: make(chan struct{}),
		tail: &tail{max: 16 << 10}, head: &tail{max: 4 << 10, keepFirst: true}}
	var err error
	if p.Plain {
		run.env = []string{handshake.CertificateVariable + "="} // the environment may contain another certificate
	} else if run.tls, run.env, err = secured(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, run.kill)
	conn, version, err := run.connect(ctx)
	if cancelled := !stop(); err != nil {
		run.end()
		if cancelled {
			return nil, fmt.Errorf("the start of provider %s was cancelled: %w", name, context.Cause(ctx))
		}
		return nil, run.explainStart(err)
	}
	return wire.NewClient(traced{conn, log}, version, wire.Options{
		Name: p.Provider.String(), Schema: known, Explain: run.explain,
		Close: func() error {
			run.shutDown(conn)
			return nil
		},
	})
}

// traced logs every call. It does not log messages, because they contain secrets.
type traced struct {
	*rpc.Conn
	log *slog.Logger
}

// Invoke implements wire.Conn.
func (t traced) Invoke(ctx context.Context, method string, request, answer proto.Message, limit int) (bool, error) {
	if !t.log.Enabled(ctx, LevelTrace) {
		return t.Conn.Invoke(ctx, method, request, answer, limit)
	}
	start := time.Now()
	t.log.Log(ctx, LevelTrace, "call", "method", method)
	sent, err := t.Conn.Invoke(ctx, method, request, answer, limit)
	t.log.Log(ctx, LevelTrace, "answer", "method", method, "duration", time.Since(start), "failed", err != nil)
	return sent, err
}

// running is the program of one client.
type running struct {
	plugin Plugin
	log    *slog.Logger

	tls  *tls.Config
	env  []string // in addition to the usual variables of a plugin
	spec process.Spec

	mu     sync.Mutex // guards the fields up to the empty line
	proc   *process.Process
	killed bool
	bad    string // problem of the first line

	hello   chan string    // receives the first line if it is valid; then closed
	head    *tail          // beginning of stdout, for errors if there is no handshake
	tail    *tail          // end of stderr
	read    chan struct{}  // closed when stderr was read to its end
	readers sync.WaitGroup // goroutines that read the program's output

	telling sync.Mutex // guards shown
	shown   bool       // the program's output was shown
}
