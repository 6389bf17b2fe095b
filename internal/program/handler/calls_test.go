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
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

func TestProgramsCanReportTheirSchema(t *testing.T) {
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
				t.Errorf("%s: a place in what is not a file: %s", answer, d.Subject)
			}
		}
		if want == "" && s.Resources["p_t"] == nil {
			t.Error("the type is missing")
		}
	}
}

func TestImportsOfMissingObjectsFail(t *testing.T) {
	m, diags := manifest.Parse([]byte(sprintManifest(`["x"]`)), "m.json", "/pkg")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	for answer, want := range map[string]string{
		`null`: "found no toy_fixed", `{"state": null}`: "found no toy_fixed", `{}`: "found no toy_fixed",
		`{"state": {"id": "1"}}`: "",
		`{"state": {"ID": "1"}}`: `no attribute or block "ID"`,
		`{"diagnostics": [{"severity": "error", "summary": "Not yours", "attribute": ["text"]}]}`: "Not yours",
	} {
		resp := handler.New(m, saying{text: answer}, handler.Options{}).Import(t.Context(), provider.ImportRequest{
			Type: "toy_fixed", ID: "1"})
		if got := texts(resp.Diagnostics); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %s", answer, got)
		}
	}
	resp := handler.New(m, saying{}, handler.Options{}).Import(t.Context(), provider.ImportRequest{
		Type: "toy_thing", Identity: cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("7")})})
	if resp.Diagnostics.HasErrors() || resp.Imported[0].State.GetAttr("id").AsString() != "7" {
		t.Errorf("by identity: got %s", texts(resp.Diagnostics))
	}
}

// noting is a caller that records its calls.
type noting struct {
	saying
	calls *[]string
}

func (n noting) Call(ctx context.Context, c handler.Call) (*handler.Answer, error) {
	*n.calls = append(*n.calls, c.Action+" "+string(c.Params))
	return n.saying.Call(ctx, c)
}

func TestResourcesWithInvalidAnswersAreClosed(t *testing.T) {
	m, diags := manifest.Parse([]byte(sprintManifest(`["x"]`)), "m.json", "/pkg")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	config := cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("n"), "key": cty.NullVal(cty.String)})
	for answer, want := range map[string]struct {
		problem string
		closed  bool
	}{
		`{"result": {"key": "k"}, "renew_at": "soon", "private": 7}`:               {`must be a time such as`, true},
		`{"result": {"kye": "k"}, "private": 7}`:                                   {`Did you mean "key"?`, true},
		`{"result": null, "private": 7}`:                                           {`"result" is null`, true},
		`{"result": {"key": "k"}}`:                                                 {"", false},
		`{"diagnostics": [{"severity": "error", "summary": "Closed on Sundays"}]}`: {"Closed on Sundays", false},
		`nonsense`: {"line 1", false},
	} {
		var calls []string
		resp := handler.New(m, noting{saying{text: answer}, &calls}, handler.Options{}).OpenEphemeral(t.Context(),
			provider.OpenEphemeralRequest{Type: "toy_lease", Config: config})
		got := texts(resp.Diagnostics)
		if (want.problem == "") != (got == "") || !strings.Contains(got, want.problem) {
			t.Errorf("%s: got %s", answer, got)
		}
		if closed := len(calls) == 2 && strings.HasPrefix(calls[1], "close ") &&
			strings.Contains(calls[1], `"private":7`); closed != want.closed || !closed && len(calls) > 1 {
			t.Errorf("%s: calls %q", answer, calls)
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

func (*waiting) Prepare(context.Context, func(string)) error { return nil }

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
	if resp := <-ended; !strings.Contains(texts(resp.Diagnostics), "the run is being interrupted") ||
		resp.State.IsNull() {
		t.Errorf("got %s", texts(resp.Diagnostics))
	}
	if again := d.thing("x", nil); !strings.Contains(texts(again.Diagnostics), "was not asked to create toy_thing") ||
		!again.State.IsNull() {
		t.Errorf("a change is begun after the interrupt: %s", texts(again.Diagnostics))
	}
}

func TestQueuedChangesAreNotMadeAfterAnInterrupt(t *testing.T) {
	text := strings.Replace(sprintManifest(`["x"]`), `"protocol": 1,`, `"protocol": 1, "concurrency": 1,`, 1)
	m, diags := manifest.Parse([]byte(text), "m.json", "/pkg")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	w := &waiting{release: make(chan struct{})}
	p := handler.New(m, w, handler.Options{})
	block := m.Schema.Resources["toy_thing"].Block
	vals := block.EmptyValue().AsValueMap()
	vals["name"] = cty.StringVal("thing")
	config := cty.ObjectVal(vals)
	null := cty.NullVal(block.ImpliedType())
	plan := p.Plan(t.Context(), provider.PlanRequest{Type: "toy_thing", Prior: null, Proposed: config, Config: config})
	req := provider.ApplyRequest{Type: "toy_thing", Prior: null, Planned: plan.Planned, Config: config}
	answers := make(chan provider.ApplyResponse, 2)
	for range 2 {
		go func() { answers <- p.Apply(context.Background(), req) }()
	}
	for w.now.Load() < 1 {
		time.Sleep(time.Millisecond)
	}
	_ = p.Stop(t.Context())
	if second := <-answers; !strings.Contains(texts(second.Diagnostics),
		"was not asked to create toy_thing: the run is being interrupted") || second.State.Equals(null).False() {
		t.Errorf("got %#v: %s", second.State, texts(second.Diagnostics))
	}
	close(w.release)
	if first := <-answers; strings.Contains(texts(first.Diagnostics), "interrupted") {
		t.Errorf("a change under way is not awaited: %s", texts(first.Diagnostics))
	}
	if most := w.most.Load(); most != 1 {
		t.Errorf("%d calls at once", most)
	}
}

// BenchmarkPlan measures the cost of planning an instance without the program.
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
	req := provider.PlanRequest{Type: "toy_thing", Prior: cty.NullVal(block.ImpliedType()), Proposed: config,
		Config: config}
	b.ReportAllocs()
	for b.Loop() {
		if resp := p.Plan(b.Context(), req); resp.Diagnostics.HasErrors() {
			b.Fatal(resp.Diagnostics.Err())
		}
	}
}

func TestMistakesInElementsOfSetsHaveThePathOfTheSet(t *testing.T) {
	const text = `{"protocol": 1, "name": "p", "command": ["x"], "schema": {"resource_schemas": {"p_t": {
		"block_types": {
			"some":  {"nesting_mode": "set", "block": {"attributes": {"kind": {"type": "string", "required": true, "json_schema": {"enum": ["A"]}}}}},
			"order": {"nesting_mode": "list", "block": {"attributes": {"kind": {"type": "string", "required": true, "json_schema": {"enum": ["A"]}}}}}}}}}}`
	m, diags := manifest.Parse([]byte(text), "m.json", "/pkg")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	d := drive(t, func(context.Context) (provider.Provider, error) {
		return handler.New(m, saying{}, handler.Options{}), nil
	})
	one := cty.ObjectVal(map[string]cty.Value{"kind": cty.StringVal("B")})
	diags = d.p.ValidateResource(t.Context(), provider.ValidateResourceRequest{
		Kind: provider.ManagedResource, Type: "p_t", Config: d.config("p_t", map[string]cty.Value{
			"some": cty.SetVal([]cty.Value{one}), "order": cty.ListVal([]cty.Value{one})}),
	})
	var at []string
	for _, one := range diags {
		at = append(at, value.FormatPath(one.Path))
	}
	if got := strings.Join(at, " "); got != ".order[0].kind .some" {
		t.Errorf("the mistakes are at %s:\n%s", got, texts(diags))
	}
}
