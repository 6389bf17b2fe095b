// Package tracing records the durations of steps of a run as OpenTelemetry spans, and sends them to a collector.
//
//	r, err := tracing.New(tracing.Options{Getenv: os.Getenv, Name: "Tombolo", Version: "1.15.9"}) // nil: nobody asked
//	ctx, root := r.Begin(ctx, "tombolo apply")
//	ctx, span := tracing.Start(ctx, "plan", tracing.Attr{"tombolo.mode", "destroy"})
//	span.End(err == nil)
//	err = r.Close()
//
// New spans are children of the span in the context. Without one nothing is recorded, and Start costs only a lookup in
// the context. Attributes are names and addresses, but never values of the configuration, arguments of commands or
// texts of errors, because these may be secret.
//
// A Recorder has one goroutine, which sends spans until Close. Spans that the collector does not accept in time are
// dropped and counted.
package tracing

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"sync"
	"time"
)

// Attr is an attribute of a span.
type Attr struct{ Key, Value string }

// Span is a step with a duration. A nil Span records nothing.
type Span struct {
	of     *Recorder
	trace  [16]byte
	id     [8]byte
	parent [8]byte // zero for a root
	name   string
	start  time.Time
	attrs  []Attr
}

type key struct{}

// Start starts a span as a child of the context's span, and returns a context with the new one. Without a span in the
// context, the new one is nil.
func Start(ctx context.Context, name string, attrs ...Attr) (context.Context, *Span) {
	parent, ok := ctx.Value(key{}).(*Span)
	if !ok {
		return ctx, nil
	}
	s := parent.of.span(name, attrs)
	s.trace, s.parent = parent.trace, parent.id
	return context.WithValue(ctx, key{}, s), s
}

// Recording reports whether spans below a context are recorded.
func Recording(ctx context.Context) bool {
	_, ok := ctx.Value(key{}).(*Span)
	return ok
}

// Carry returns the first context with the span of the second.
func Carry(to, from context.Context) context.Context {
	if s, ok := from.Value(key{}).(*Span); ok {
		return context.WithValue(to, key{}, s)
	}
	return to
}

// End ends a span; ok is false if the step failed.
func (s *Span) End(ok bool) {
	if s != nil {
		s.of.ended(s, time.Now(), ok)
	}
}

// Options configures whether and where to record.
type Options struct {
	// Getenv returns environment variables. Those of OpenTelemetry configure everything.
	Getenv func(name string) string
	// Name and Version are those of the program.
	Name, Version string
}

const (
	batchSize  = 512 // spans per request
	maxBatches = 16  // waiting batches; further ones are dropped
)

// Recorder collects ended spans and sends them.
type Recorder struct {
	exporter *exporter
	parent   [8]byte // of roots, from the environment
	trace    [16]byte

	batches chan []ended
	done    chan struct{} // closed when the goroutine has ended
	failed  error         // of the goroutine; read after done

	mu      sync.Mutex // guards the fields below
	waiting []ended
	dropped int
	closed  bool
}

// ended is a span with its end.
type ended struct {
	*Span
	end time.Time
	ok  bool
}

// New returns a recorder, or nil if the environment configures none. It returns an error if the configuration is
// invalid.
func New(o Options) (*Recorder, error) {
	if o.Getenv("OTEL_TRACES_EXPORTER") != "otlp" || strings.EqualFold(o.Getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	e, err := newExporter(o)
	if err != nil {
		return nil, err
	}
	r := &Recorder{exporter: e, batches: make(chan []ended, maxBatches), done: make(chan struct{})}
	r.trace, r.parent = traceParent(o.Getenv("TRACEPARENT"))
	go r.send()
	return r, nil
}

// Begin starts a root span, or a child of the span in TRACEPARENT. A nil Recorder returns a nil span.
func (r *Recorder) Begin(ctx context.Context, name string) (context.Context, *Span) {
	if r == nil {
		return ctx, nil
	}
	s := r.span(name, nil)
	s.trace, s.parent = r.trace, r.parent
	return context.WithValue(ctx, key{}, s), s
}

func (r *Recorder) span(name string, attrs []Attr) *Span {
	s := &Span{of: r, name: name, start: time.Now(), attrs: attrs}
	random(s.id[:])
	return s
}

func random(b []byte) {
	if _, err := rand.Read(b); err != nil {
		panic("tracing: no randomness: " + err.Error())
	}
}

// traceParent parses the header of the W3C recommendation "Trace Context". Without a valid header, it returns a new
// trace.
func traceParent(text string) (trace [16]byte, parent [8]byte) {
	parts := strings.Split(strings.TrimSpace(text), "-")
	if len(parts) >= 4 && len(parts[0]) == 2 && parts[0] != "ff" && len(parts[1]) == 32 && len(parts[2]) == 16 {
		_, err := hex.Decode(trace[:], []byte(parts[1]))
		_, err2 := hex.Decode(parent[:], []byte(parts[2]))
		if err == nil && err2 == nil && trace != [16]byte{} && binary.BigEndian.Uint64(parent[:]) != 0 {
			return trace, parent
		}
	}
	random(trace[:])
	return trace, [8]byte{}
}

func (r *Recorder) ended(s *Span, end time.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.waiting = append(r.waiting, ended{s, end, ok}); len(r.waiting) >= batchSize {
		r.hand()
	}
}

// hand passes the waiting spans to the goroutine. The caller must hold mu.
func (r *Recorder) hand() {
	select {
	case r.batches <- r.waiting:
	default:
		r.dropped += len(r.waiting)
	}
	r.waiting = nil
}

// send sends batches until the channel is closed. After a failure it sends nothing more, so that a missing collector
// delays the end of the run only once.
func (r *Recorder) send() {
	defer close(r.done)
	for batch := range r.batches {
		if r.failed == nil {
			r.failed = r.exporter.export(batch)
		}
	}
}

// Close sends the remaining spans, and returns an error if spans are missing.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	if len(r.waiting) > 0 {
		r.hand()
	}
	r.closed = true
	dropped := r.dropped
	r.mu.Unlock()
	close(r.batches)
	<-r.done
	if r.failed == nil && dropped > 0 {
		return droppedError(dropped)
	}
	return r.failed
}
