package tracing

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// environment returns a Getenv for pairs.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestNothingIsRecordedByDefault(t *testing.T) {
	for _, get := range []func(string) string{environment(), environment("OTEL_TRACES_EXPORTER", "none"),
		environment("OTEL_TRACES_EXPORTER", "otlp", "OTEL_SDK_DISABLED", "true")} {
		r, err := New(Options{Getenv: get})
		if r != nil || err != nil {
			t.Errorf("got %v, %v", r, err)
		}
		ctx, span := r.Begin(t.Context(), "x")
		if _, inner := Start(ctx, "y"); span != nil || inner != nil || Recording(ctx) || r.Close() != nil {
			t.Error("something is recorded")
		}
		span.End(true)
	}
}

// A collector counts spans and returns configured responses.
type collector struct {
	mu      sync.Mutex // guards the fields below
	spans   []string
	parents map[string]string
	headers []http.Header
	answers []int // sent before 200
	url     string
}

func newCollector(t *testing.T) *collector {
	c := &collector{parents: map[string]string{}}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header)
	if len(c.answers) > 0 {
		w.Header().Set("Location", c.url+"/elsewhere")
		w.WriteHeader(c.answers[0])
		c.answers = c.answers[1:]
		return
	}
	text, _ := io.ReadAll(r.Body) // truncated JSON is invalid
	var doc struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					Name         string
					SpanID       string
					ParentSpanID string
				}
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil || r.URL.Path != "/v1/traces" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, s := range doc.ResourceSpans[0].ScopeSpans[0].Spans {
		c.spans = append(c.spans, s.Name)
		c.parents[s.SpanID] = s.ParentSpanID
	}
}

// Many concurrent spans arrive, each with its parent.
func TestAllSpansArrive(t *testing.T) {
	c := newCollector(t)
	c.answers = []int{503, 429}
	r, err := New(Options{Getenv: environment("OTEL_TRACES_EXPORTER", "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT", c.url+"/",
		"OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x, b = c", "OTEL_EXPORTER_OTLP_TIMEOUT", "60000")})
	if err != nil {
		t.Fatal(err)
	}
	const n = 3000
	ctx, root := r.Begin(t.Context(), "root")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range n / 4 {
				_, s := Start(Carry(context.Background(), ctx), strconv.Itoa(i*n+j), Attr{"k", "v\xff"})
				s.End(j%2 == 0)
			}
		})
	}
	all.Wait()
	root.End(true)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if len(c.spans) != n+1 || len(c.parents) != n+1 {
		t.Fatalf("%d spans arrived, with %d ids", len(c.spans), len(c.parents))
	}
	roots := 0
	for _, parent := range c.parents {
		if parent == "" {
			roots++
		} else if c.parents[parent] != "" {
			t.Fatalf("%s is no root", parent)
		}
	}
	if h := c.headers[0]; roots != 1 || h.Get("Authorization") != "Bearer x" || h.Get("B") != "c" {
		t.Errorf("%d roots, headers %v", roots, h)
	}
}

// Spans that the collector refuses cause an error at the end, which contains no header. Redirects are not followed.
func TestCollectorRefusesSpans(t *testing.T) {
	for _, status := range []int{400, 307, 503} {
		c := newCollector(t)
		c.answers = []int{status, status, status, status}
		r, err := New(Options{Getenv: environment("OTEL_TRACES_EXPORTER", "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT", c.url,
			"OTEL_EXPORTER_OTLP_HEADERS", "authorization=hush")})
		if err != nil {
			t.Fatal(err)
		}
		_, root := r.Begin(t.Context(), "root")
		root.End(true)
		if err := r.Close(); err == nil || !strings.Contains(err.Error(), strconv.Itoa(status)) ||
			strings.Contains(err.Error(), "hush") {
			t.Errorf("%d: %v", status, err)
		}
		if want := map[int]int{400: 1, 307: 1, 503: attempts}[status]; len(c.headers) != want {
			t.Errorf("%d: asked %d times", status, len(c.headers))
		}
	}
}

// A collector that never responds delays the end only for one timeout.
func TestCollectorDoesNotRespond(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer s.Close()
	defer close(release)
	r, err := New(Options{Getenv: environment("OTEL_TRACES_EXPORTER", "otlp", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
		s.URL, "OTEL_EXPORTER_OTLP_TIMEOUT", "50")})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for range batchSize * 10 {
		_, root := r.Begin(t.Context(), "root")
		root.End(true)
	}
	if err := r.Close(); err == nil || time.Since(begun) > time.Minute {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
}

func TestInvalidConfigurations(t *testing.T) {
	for name, values := range map[string][]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL":        {"grpc"},
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": {"localhost:4318", "ftp://hush@x", "http://"},
		"OTEL_EXPORTER_OTLP_ENDPOINT":        {"::hush"},
		"OTEL_EXPORTER_OTLP_TIMEOUT":         {"10s", "-1"},
		"OTEL_EXPORTER_OTLP_HEADERS":         {"hush", "a=%hush"},
		"OTEL_RESOURCE_ATTRIBUTES":           {"hush"},
		"OTEL_EXPORTER_OTLP_CERTIFICATE":     {"/does/not/exist"},
	} {
		for _, v := range values {
			r, err := New(Options{Getenv: environment("OTEL_TRACES_EXPORTER", "otlp", name, v)})
			if r != nil || err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s=%s: %v", name, v, err)
			}
		}
	}
}

func TestTraceParentIsUsed(t *testing.T) {
	for text, good := range map[string]bool{"": false, "00": false,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":   true,
		" 01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-": true,
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":   false,
		"00-00000000000000000000000000000000-b7ad6b7169203331-01":   false,
		"00-0af7651916cd43dd8448eb211c80319x-b7ad6b7169203331-01":   false,
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01":   false,
	} {
		trace, parent := traceParent(text)
		if good != (parent != [8]byte{}) || good != (trace[0] == 0x0a && trace[15] == 0x9c) || trace == [16]byte{} {
			t.Errorf("%q: %x %x", text, trace, parent)
		}
	}
}
