package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// collector starts a trace collector, and returns its address. It calls f with each document.
func collector(t *testing.T, f func(text string)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		f(string(text))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

type span struct {
	ID         string `json:"spanId"`
	Trace      string `json:"traceId"`
	Parent     string `json:"parentSpanId"`
	Name       string
	Attributes []struct {
		Key   string
		Value struct{ StringValue string }
	}
	Status struct{ Code int }
}

// spans parses documents of a collector. The keys are the names of spans from the root.
func spans(t *testing.T, texts []string) map[string]span {
	t.Helper()
	byID, byPath := map[string]span{}, map[string]span{}
	for _, text := range texts {
		var doc struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		for _, s := range doc.ResourceSpans[0].ScopeSpans[0].Spans {
			byID[s.ID] = s
		}
	}
	for _, s := range byID {
		path := ""
		for at, ok := s, true; ok; at, ok = byID[at.Parent] {
			name := at.Name
			for _, a := range at.Attributes {
				if a.Key == "tombolo.instance" {
					name += " " + a.Value.StringValue
				}
			}
			path = "/" + name + path
		}
		byPath[path] = s
	}
	return byPath
}

// TestTracesHaveSpansForAllSteps applies a configuration with one failing object. There are spans for loading, the
// plan, each object, each provider call and the apply, within the trace of the caller, and failures are marked.
func TestTracesHaveSpansForAllSteps(t *testing.T) {
	p := &planting{newMistake(t)}
	var mu sync.Mutex
	var texts []string
	p.environ = append(p.environ, "OTEL_TRACES_EXPORTER=otlp", "TF_VAR_text="+planted,
		"TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"OTEL_EXPORTER_OTLP_ENDPOINT="+collector(t, func(text string) {
			mu.Lock()
			defer mu.Unlock()
			texts = append(texts, text)
			p.look("a trace", text)
		}))
	p.write("main.tf", []byte(`
variable "text" { sensitive = true }
resource "terraform_data" "a" {
  for_each = toset(["x"])
  input    = var.text
}
resource "terraform_data" "b" {
  input = terraform_data.a["x"].id
  provisioner "local-exec" { command = "exit 1" }
}
`))
	p.run("init")
	if text := p.run("apply", "-auto-approve"); !strings.Contains(text, "exit 1") {
		t.Error(text)
	}
	mu.Lock()
	defer mu.Unlock()
	all := spans(t, texts)
	for path, code := range map[string]int{
		"/tombolo init":       0,
		"/tombolo apply":      2,
		"/tombolo apply/load": 0,
		"/tombolo apply/plan/plan object terraform_data.a[\"x\"]/provider Plan": 0,
		"/tombolo apply/plan/plan object terraform_data.b/provider Plan":        0,
		"/tombolo apply/apply": 2,
		"/tombolo apply/apply/apply object terraform_data.a[\"x\"]":                0,
		"/tombolo apply/apply/apply object terraform_data.a[\"x\"]/provider Apply": 0,
		"/tombolo apply/apply/apply object terraform_data.b":                       2,
		"/tombolo apply/apply/apply object terraform_data.b/provider Apply":        0,
	} {
		s, ok := all[path]
		if !ok || s.Status.Code != code || s.Trace != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("%s: %v, %+v", path, ok, s)
		}
	}
	if s := all["/tombolo apply"]; s.Parent != "b7ad6b7169203331" {
		t.Errorf("the root is below %q", s.Parent)
	}
	if t.Failed() {
		for path, s := range all {
			t.Log(path, s.Status.Code)
		}
	}
}

// A collector that cannot be reached, or an unsupported protocol, causes only a warning.
func TestFailedTracesAreOnlyAWarning(t *testing.T) {
	for _, environ := range [][]string{
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "Traces are incomplete"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "Traces are not recorded"},
	} {
		p := &planting{newMistake(t)}
		p.environ = append(p.environ, "OTEL_TRACES_EXPORTER=otlp", environ[0])
		if text := p.run("version"); !strings.Contains(text, environ[1]) || !strings.Contains(text, "[exit 0]") {
			t.Errorf("%s: %s", environ[0], text)
		}
	}
}
