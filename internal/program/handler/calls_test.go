package handler_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

func TestAProgramCanTellItsSchema(t *testing.T) {
	const text = `{"protocol": 1, "name": "p", "command": ["x"], "implements": ["schema"]}`
	for answer, want := range map[string]string{
		`{"schema": {"resource_schemas": {"p_t": {"attributes": {"id": {"type": "string", "computed": true}}}}}}`: "",
		`{"schema": {"resource_schema": {}}}`: `Did you mean "resource_schemas"?`,
		`{}`:                                  `there is no member "schema"`,
		`{"schema": 5}`:                       "must be an object",
		`nonsense`:                            "standard output, line 1",
	} {
		m, diags := manifest.Parse([]byte(text), "m.json", "/pkg")
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		p := handler.New(m, saying{text: answer}, handler.Options{})
		s, diags := p.Schema(t.Context())
		if got := texts(diags); (want == "") != (s != nil) || !strings.Contains(got, want) {
			t.Errorf("%s: got %v, %s", answer, s, got)
		}
		for _, d := range diags {
			if d.Subject != nil {
				t.Errorf("%s: a place in what is no file: %s", answer, d.Subject)
			}
		}
		if want == "" && s.Resources["p_t"] == nil {
			t.Error("the type is missing")
		}
	}
}

// waiting is a caller whose calls wait for each other.
type waiting struct {
	now, most atomic.Int32
	release   chan struct{}
}

func (w *waiting) Call(context.Context, handler.Call) (*handler.Answer, error) {
	n := w.now.Add(1)
	for {
		most := w.most.Load()
		if n <= most || w.most.CompareAndSwap(most, n) {
			break
		}
	}
	<-w.release
	w.now.Add(-1)
	return &handler.Answer{Result: []byte(`{"result": 1}`)}, nil
}

func (w *waiting) Close() error { return nil }

func TestNoMoreCallsThanTheManifestAllows(t *testing.T) {
	text := strings.Replace(sprintManifest(`["x"]`), `"protocol": 1,`, `"protocol": 1, "concurrency": 3,`, 1)
	m, diags := manifest.Parse([]byte(text), "m.json", "/pkg")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	w := &waiting{release: make(chan struct{})}
	p := handler.New(m, w, handler.Options{})
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if _, err := p.CallFunction(t.Context(), "sum", []cty.Value{cty.NumberIntVal(1)}); err != nil {
				t.Error(err)
			}
		})
	}
	for w.now.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.CallFunction(ctx, "sum", []cty.Value{cty.NumberIntVal(1)}); err == nil {
		t.Error("a call that waits for its turn does not end with its context")
	}
	close(w.release)
	calls.Wait()
	if most := w.most.Load(); most != 3 {
		t.Errorf("%d calls at once", most)
	}
}

func TestStopEndsCallsThatReadOnly(t *testing.T) {
	f, _ := newToy(t, handler.Options{})
	d := drive(t, f)
	made := d.thing("read: sleep", nil)
	ended := make(chan provider.ReadResponse)
	go func() {
		ended <- d.p.Read(context.Background(), provider.ReadRequest{Type: "toy_thing", Prior: made.State})
	}()
	time.Sleep(50 * time.Millisecond)
	_ = d.p.Stop(t.Context())
	if resp := <-ended; !strings.Contains(texts(resp.Diagnostics), "the run is being interrupted") || resp.State.IsNull() {
		t.Errorf("got %s", texts(resp.Diagnostics))
	}
	if again := d.thing("x", nil); again.Diagnostics.HasErrors() {
		t.Errorf("a change is made to its end: %s", texts(again.Diagnostics))
	}
}

// BenchmarkPlan is what an instance costs that the program takes no part in.
func BenchmarkPlan(b *testing.B) {
	m, diags := manifest.Parse([]byte(sprintManifest(`["x"]`)), "m.json", "/pkg")
	if diags.HasErrors() {
		b.Fatal(diags.Err())
	}
	p := handler.New(m, saying{}, handler.Options{})
	block := m.Schema.Resources["toy_thing"].Block
	vals := block.EmptyValue().AsValueMap()
	vals["name"] = cty.StringVal("thing")
	config := cty.ObjectVal(vals)
	req := provider.PlanRequest{Type: "toy_thing", Prior: cty.NullVal(block.ImpliedType()), Proposed: config, Config: config}
	b.ReportAllocs()
	for b.Loop() {
		if resp := p.Plan(b.Context(), req); resp.Diagnostics.HasErrors() {
			b.Fatal(resp.Diagnostics.Err())
		}
	}
}
