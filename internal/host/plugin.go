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

// Plugin is a provider that is its own program and speaks the plugin protocol.
type Plugin struct {
	Provider addr.Provider
	Program  string
	Args     []string
	// Dir is the working directory of the program; empty for that of this process.
	Dir string
	// Env is the program's environment; nil for that of this process.
	Env []string
	// Log gets the plugin's log, and at LevelTrace each call; may be nil.
	Log *slog.Logger
	// Redact removes secrets from the plugin's output; nil removes nothing.
	Redact func(string) string
	// Plain leaves the connection unencrypted, so that the traffic can be inspected.
	Plain bool
	// StartTimeout limits the start of the program; 0 for a minute.
	StartTimeout time.Duration
}

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
	run := &running{plugin: p, log: log, hello: make(chan string, 1), read: make(chan struct{}),
		tail: &tail{max: 16 << 10}, head: &tail{max: 4 << 10, keepFirst: true}}
	var err error
	if p.Plain {
		run.env = []string{handshake.CertificateVariable + "="} // another one may exist
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

// traced names every call in the log. Messages are not shown: they hold secrets.
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

// running is the program behind one client.
type running struct {
	plugin Plugin
	log    *slog.Logger

	tls  *tls.Config
	env  []string // beside what the plugin has in any case
	spec process.Spec

	mu     sync.Mutex // guards what follows, to the empty line
	proc   *process.Process
	killed bool
	bad    string // the problem of the first line

	hello   chan string    // the first line, if it is a good one; then closed
	head    *tail          // how stdout begins, in case that is no handshake
	tail    *tail          // how stderr ends
	read    chan struct{}  // closed when stderr has been read to its end
	readers sync.WaitGroup // who reads what the program says

	telling sync.Mutex // guards told
	told    bool       // the program's output was shown
}
