package conformance

import (
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// traced is what a trace collector received from one command.
type traced struct {
	exit     int
	paths    map[string]bool // of its requests
	headers  map[string]bool // the values of the header "who"
	services map[string]bool
	traces   map[string]bool
	roots    int  // spans whose parent is that of the caller
	spans    int  // all spans
	torn     bool // a span's parent is neither there nor the caller's
	raw      string
}

// A span has the compared parts of a span.
type span struct{ trace, id, parent string }

// collector stores requests, and responds with a status.
type collector struct {
	status int

	mu     sync.Mutex // guards the fields below
	got    *traced
	parent map[string]string // span -> parent
}

// callersTrace and callersSpan are those of the caller of a command.
const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	callersSpan  = "b7ad6b7169203331"
)

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, "no gzip", http.StatusBadRequest)
			return
		}
		body = unpacked
	}
	data, err := io.ReadAll(io.LimitReader(body, 16<<20))
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got.paths[r.Method+" "+r.URL.Path] = true
	c.got.headers[r.Header.Get("who")] = true
	c.got.raw += string(data)
	services, spans := inJSON(data)
	if strings.Contains(r.Header.Get("Content-Type"), "protobuf") {
		services, spans = inProtobuf(data)
	}
	for _, s := range services {
		c.got.services[s] = true
	}
	for _, s := range spans {
		c.got.traces[s.trace] = true
		c.parent[s.id] = s.parent
	}
	w.WriteHeader(c.status)
}

// take returns the data received since the last call.
func (c *collector) take(exit int) *traced {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.got
	if got == nil {
		got = &traced{}
	}
	got.exit, got.spans = exit, len(c.parent)
	for _, parent := range c.parent {
		_, known := c.parent[parent]
		switch {
		case parent == callersSpan:
			got.roots++
		case !known:
			got.torn = true
		}
	}
	c.parent = map[string]string{}
	c.got = &traced{paths: map[string]bool{}, headers: map[string]bool{}, services: map[string]bool{},
		traces: map[string]bool{}}
	return got
}

// inJSON decodes a request in JSON.
func inJSON(data []byte) (services []string, spans []span) {
	var doc struct {
		ResourceSpans []struct {
			Resource struct {
				Attributes []struct {
					Key   string
					Value struct{ StringValue string }
				}
			}
			ScopeSpans []struct {
				Spans []struct{ TraceID, SpanID, ParentSpanID string }
			}
		}
	}
	if json.Unmarshal(data, &doc) != nil {
		return nil, nil
	}
	for _, r := range doc.ResourceSpans {
		for _, a := range r.Resource.Attributes {
			if a.Key == "service.name" {
				services = append(services, a.Value.StringValue)
			}
		}
		for _, scope := range r.ScopeSpans {
			for _, s := range scope.Spans {
				spans = append(spans, span{s.TraceID, s.SpanID, s.ParentSpanID})
			}
		}
	}
	return services, spans
}

// fields returns the length-delimited fields of a message, by their numbers.
func fields(data []byte) map[protowire.Number][][]byte {
	out := map[protowire.Number][][]byte{}
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return out
		}
		data = data[n:]
		size := protowire.ConsumeFieldValue(number, kind, data)
		if size < 0 {
			return out
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(data)
			out[number] = append(out[number], value)
		}
		data = data[size:]
	}
	return out
}

// inProtobuf decodes a request in protobuf, with the field numbers of the OpenTelemetry protocol.
func inProtobuf(data []byte) (services []string, spans []span) {
	first := func(list [][]byte) []byte {
		if len(list) == 0 {
			return nil
		}
		return list[0]
	}
	for _, resource := range fields(data)[1] {
		parts := fields(resource)
		for _, attribute := range fields(first(parts[1]))[1] {
			pair := fields(attribute)
			if string(first(pair[1])) == "service.name" {
				services = append(services, string(first(fields(first(pair[2]))[1])))
			}
		}
		for _, scope := range parts[2] {
			for _, one := range fields(scope)[2] {
				s := fields(one)
				spans = append(spans, span{hex.EncodeToString(first(s[1])), hex.EncodeToString(first(s[2])),
					hex.EncodeToString(first(s[4]))})
			}
		}
	}
	return services, spans
}

const tracedProject = `
variable "secret" {
  default   = "hush-hush"
  sensitive = true
}
resource "terraform_data" "a" {
  input = var.secret
}
output "o" {
  value = FAULT
}
`

// If the environment enables traces, a run is one trace, and part of that of its caller, here and in OpenTofu. Whether
// they can be sent does not change the result of a run.
func TestTracesOfARunAreThoseOfOneTrace(t *testing.T) {
	tombolo := filepath.Join(filepath.Dir(findTombolo(t)), "tofu")
	programs := []string{tombolo}
	if path := oracleNamed("tofu-1.12.6").look(t); path != "" {
		programs = append(programs, path)
	}
	asked := func(url string) []string {
		return []string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
			"OTEL_EXPORTER_OTLP_ENDPOINT=" + url, "OTEL_EXPORTER_OTLP_HEADERS=who=me", "OTEL_SERVICE_NAME=ours",
			"TRACEPARENT=00-" + callersTrace + "-" + callersSpan + "-01", "OTEL_EXPORTER_OTLP_TIMEOUT=20000"}
	}
	top := t.TempDir()
	for _, c := range []struct {
		line   string
		fault  string
		status int
		silent bool // traces are not enabled
	}{
		{line: "init", status: 200},
		{line: "validate", status: 200},
		{line: "plan -out=p", status: 200},
		{line: "apply p", status: 200},
		{line: "output", status: 200},
		{line: "plan", status: 200, silent: true},
		{line: "plan", status: 400},
		{line: "validate", status: 200, fault: "nosuch.a"},
		{line: "plan", status: 200, fault: "1"},
		{line: "destroy -auto-approve", status: 200},
	} {
		var all []*traced
		for i, program := range programs {
			collector := &collector{status: c.status}
			collector.take(0)
			server := httptest.NewServer(collector)
			dir := filepath.Join(top, fmt.Sprint(i))
			fault := c.fault
			if fault == "" {
				fault = "2"
			}
			text := strings.ReplaceAll(tracedProject, "FAULT", fault)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := programtest.Bounded(t, program, strings.Fields(c.line)...)
			cmd.Dir = dir
			cmd.Env = []string{"CHECKPOINT_DISABLE=1", "HOME=" + dir, "TF_CLI_CONFIG_FILE=" + emptyFile(t)}
			if !c.silent {
				cmd.Env = append(cmd.Env, asked(server.URL)...)
			}
			out, _ := cmd.CombinedOutput() // its exit code has the result
			server.Close()
			got := collector.take(cmd.ProcessState.ExitCode())
			all = append(all, got)
			whose := []string{"here", "in OpenTofu"}[i]
			switch {
			case c.silent && got.spans > 0:
				t.Errorf("%s %s: %d spans that nobody asked for", c.line, whose, got.spans)
			case !c.silent && (got.roots != 1 || got.torn):
				t.Errorf("%s %s: %d spans, %d of them the caller's children, torn %v:\n%s", c.line, whose, got.spans,
					got.roots, got.torn, out)
			}
			if i == 0 && (strings.Contains(got.raw, "hush") || strings.Contains(got.raw, dir)) {
				t.Errorf("%s: a span has a secret or an argument in it", c.line)
			}
		}
		if len(all) < 2 {
			continue
		}
		ours, theirs := *all[0], *all[1]
		for _, one := range []*traced{&ours, &theirs} { // spans differ between programs
			one.raw, one.roots, one.spans, one.torn = "", 0, 0, false
		}
		if fmt.Sprintf("%+v", ours) != fmt.Sprintf("%+v", theirs) {
			t.Errorf("%s: got %+v, and in OpenTofu %+v", c.line, ours, theirs)
		}
	}
}
