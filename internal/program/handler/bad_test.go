package handler_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// driver calls a provider in a test.
type driver struct {
	t *testing.T
	p provider.Provider
	s *provider.Schema
}

func drive(t *testing.T, f provider.Factory) driver {
	t.Helper()
	p, err := f(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	s, diags := p.Schema(t.Context())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return driver{t, p, s}
}

// config returns a complete configuration of a type.
func (d driver) config(typ string, given map[string]cty.Value) cty.Value {
	vals := d.s.Resources[typ].Block.EmptyValue().AsValueMap()
	for name, v := range given {
		vals[name] = v
	}
	return cty.ObjectVal(vals)
}

func (d driver) plan(typ string, prior, config cty.Value) provider.PlanResponse {
	block := d.s.Resources[typ].Block
	return d.p.Plan(d.t.Context(), provider.PlanRequest{Type: typ, Prior: prior, Config: config,
		Proposed: value.Propose(block, prior, config)})
}

func (d driver) null(typ string) cty.Value {
	return cty.NullVal(d.s.Resources[typ].Block.ImpliedType())
}

// apply plans and applies.
func (d driver) apply(ctx context.Context, typ string, prior, config cty.Value) provider.ApplyResponse {
	d.t.Helper()
	planned := d.plan(typ, prior, config)
	if planned.Diagnostics.HasErrors() {
		d.t.Fatal(planned.Diagnostics.Err())
	}
	return d.p.Apply(ctx, provider.ApplyRequest{Type: typ, Prior: prior, Planned: planned.Planned, Config: config,
		PlannedPrivate: planned.Private})
}

// applyTo applies to an object with an address.
func (d driver) applyTo(o addr.Object, typ string, prior, config cty.Value) provider.ApplyResponse {
	d.t.Helper()
	planned := d.plan(typ, prior, config)
	if planned.Diagnostics.HasErrors() {
		d.t.Fatal(planned.Diagnostics.Err())
	}
	return d.p.Apply(d.t.Context(), provider.ApplyRequest{Object: o, Type: typ, Prior: prior,
		Planned: planned.Planned, Config: config, PlannedPrivate: planned.Private})
}

func named(name string) (o addr.Object) {
	o.Instance.Resource.Name = name
	return o
}

// thing creates a toy_thing with the attribute "do".
func (d driver) thing(do string, more map[string]cty.Value) provider.ApplyResponse {
	d.t.Helper()
	given := map[string]cty.Value{"name": cty.StringVal("thing"), "do": cty.StringVal(do)}
	for name, v := range more {
		given[name] = v
	}
	return d.apply(d.t.Context(), "toy_thing", d.null("toy_thing"), d.config("toy_thing", given))
}

func texts(diags diag.List) string {
	var b strings.Builder
	for _, d := range diags {
		fmt.Fprintf(&b, "%s: %s %s: %s\n", d.Severity, d.Summary, value.FormatPath(d.Path), d.Detail)
	}
	return b.String()
}

// TestInvalidAnswersHaveAdvice runs programs with invalid answers. State is the state that the engine has to store: ""
// means unknown, null means no object, otherwise it is the ID.
func TestInvalidAnswersHaveAdvice(t *testing.T) {
	t.Run("pipes", func(t *testing.T) {
		f, _ := newToy(t, handler.Options{})
		badAnswers(t, drive(t, f))
	})
	t.Run("spool", func(t *testing.T) { badAnswers(t, drive(t, newSpooled(t))) })
}

// TestProblemsOfProgramsAreCutAndCounted checks that programs have the same limits as plugins.
func TestProblemsOfProgramsAreCutAndCounted(t *testing.T) {
	f, _ := newToy(t, handler.Options{})
	resp := drive(t, f).thing("create: many problems", nil)
	got := texts(resp.Diagnostics)
	if len(resp.Diagnostics) != 1001 || len(got) > 1<<19 {
		t.Errorf("got %d problems of %d bytes, want 1000 and a count", len(resp.Diagnostics), len(got))
	}
	for _, want := range []string{"bytes more)", "has 5000 problems"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q", want)
		}
	}
}

func badAnswers(t *testing.T, d driver) {
	for do, want := range map[string]struct {
		state string
		texts []string
	}{
		"nothing": {"", []string{"printed nothing on standard output", `Expected: {"state": {…}}`,
			"may already have changed something"}},
		"no json": {"", []string{"line 1, column 1", "and messages on standard error",
			"Output: created 42"}},
		"two values":      {"a", []string{"line 1, column 24", "there is text after the end"}},
		"array":           {"", []string{"an object was expected, not an array"}},
		"null":            {"", []string{"only read and import"}},
		"null state":      {"", []string{`"state" is null`}},
		"twice":           {"", []string{`two members named "id"`}},
		"latin1":          {"", []string{"0xe9", "not UTF-8", `caf\xe9`}},
		"surrogate":       {"", []string{"surrogate pair"}},
		"unknown":         {"a", []string{`no attribute or block "nmae". Did you mean "name"?`}},
		"wrong type":      {"42", []string{"state.id", "a string was expected, not a number"}},
		"string":          {"", []string{"an object was expected, not a string"}},
		"changed":         {"a", []string{"state.name", `"thing"`, `"other"`}},
		"huge number":     {"", []string{"the exponent of the number is not between"}},
		"bad number":      {"a", []string{"state.serial", "the string is not one"}},
		"bad diagnostics": {"", []string{`"diagnostics" must be an array`}},
		"bad path":        {"null", []string{"does not exist", `Did you mean "name"?`}},
		"bad dynamic":     {"a", []string{`{"value": …, "type": …}`}},
		"cut":             {"", []string{"the string has no end"}},
		"flood stdout":    {"", []string{"more than 64 MiB"}},
		"noise around": {
			"noisy", []string{"line 1, column 1", "Print only the answer on standard output"}},
		"exit 3": {"null", []string{"it ended with exit status 3", "quota exceeded",
			"create toy_thing"}},
		"silence":                     {"null", []string{"It printed nothing on standard error"}},
		"exit 75":                     {"null", []string{"try again later"}},
		"die":                         {"", []string{"ended by a signal"}},
		"half":                        {"half", []string{"No DNS .ports", "The name is taken."}},
		"flood stderr":                {"null", []string{"exit status 1", "the end"}},
		"daemon instead of an answer": {"", []string{"a background process"}},
	} {
		t.Run(do, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.HasPrefix(do, "da") {
				t.Skip("needs sleep")
			}
			d := d
			d.t = t
			resp := d.thing("create: "+do, nil)
			got := texts(resp.Diagnostics)
			if !resp.Diagnostics.HasErrors() {
				t.Fatal("no error")
			}
			for _, text := range want.texts {
				if !strings.Contains(got, text) {
					t.Errorf("want %q, got\n%s", text, got)
				}
			}
			if len(got) > 16<<10 {
				t.Errorf("the message has %d bytes", len(got))
			}
			state := ""
			switch {
			case resp.State == cty.NilVal:
			case resp.State.IsNull():
				state = "null"
			default:
				state = resp.State.GetAttr("id").AsString()
				if errs := append(value.Conforms(d.s.Resources["toy_thing"].Block, resp.State),
					value.CheckKnown(resp.State)...); len(errs) > 0 {
					t.Errorf("the state cannot be stored: %v", errs)
				}
			}
			if state != want.state {
				t.Errorf("got state %q, want %q", state, want.state)
			}
		})
	}
}

func TestOddAnswersAreAccepted(t *testing.T) {
	f, _ := newToy(t, handler.Options{})
	d := drive(t, f)
	for _, do := range []string{"bom", "large number", "daemon", "empty"} {
		start := time.Now()
		resp := d.thing("create: "+do, nil)
		if do == "empty" { // there is an identity, but no value for it
			if !strings.Contains(texts(resp.Diagnostics), "no value for its id") {
				t.Errorf("%s: %s", do, texts(resp.Diagnostics))
			}
		} else if resp.Diagnostics.HasErrors() {
			t.Errorf("%s: %s", do, texts(resp.Diagnostics))
		}
		if time.Since(start) > 45*time.Second {
			t.Errorf("%s: took %s", do, time.Since(start))
		}
	}
}

func TestFailedUpdatesKeepTheObject(t *testing.T) {
	f, _ := newToy(t, handler.Options{})
	d := drive(t, f)
	made := d.thing("update: exit 3", nil)
	if made.Diagnostics.HasErrors() {
		t.Fatal(made.Diagnostics.Err())
	}
	change := func(do string) provider.ApplyResponse {
		prior := made.State.AsValueMap()
		prior["do"] = cty.StringVal(do)
		return d.apply(t.Context(), "toy_thing", cty.ObjectVal(prior), d.config("toy_thing", map[string]cty.Value{
			"name": cty.StringVal("thing"), "do": cty.StringVal(do), "size": cty.NumberIntVal(5)}))
	}
	for _, do := range []string{"update: exit 3", "update: no json", "update: null state", "update: die"} {
		resp := change(do)
		if !resp.Diagnostics.HasErrors() || !resp.State.GetAttr("size").RawEquals(cty.NumberIntVal(1)) {
			t.Errorf("%s: got %#v %s", do, resp.State, texts(resp.Diagnostics))
		}
	}
	resp := change("update: half")
	if v := resp.State; !resp.Diagnostics.HasErrors() || !v.GetAttr("size").RawEquals(cty.NumberIntVal(1)) ||
		!v.GetAttr("serial").RawEquals(cty.NumberIntVal(7)) || string(resp.Private) != `{"step":2}` {
		t.Errorf("what the program says of a failure is stored, the rest as it was: got %#v, %s", v, resp.Private)
	}
}

func TestDeletionSucceedsWhateverIsPrinted(t *testing.T) {
	f, _ := newToy(t, handler.Options{})
	d := drive(t, f)
	for do, want := range map[string]string{"delete: no json": "warning", "delete: nothing": "", "delete: null": "",
		"delete: exit 3": "error"} {
		made := d.thing(do, nil)
		resp := d.p.Apply(t.Context(), provider.ApplyRequest{Type: "toy_thing", Prior: made.State,
			Planned: d.null("toy_thing"), Config: d.null("toy_thing")})
		got := texts(resp.Diagnostics)
		if !strings.HasPrefix(got, want) || want == "" && got != "" || resp.State.IsNull() == (want == "error") {
			t.Errorf("%s: got %#v\n%s", do, resp.State, got)
		}
	}
}

func TestATimeoutEndsTheProgram(t *testing.T) {
	exe, _ := os.Executable()
	text := strings.Replace(fmt.Sprintf(toyManifest, `["`+filepath.ToSlash(exe)+`"]`), `"create": "5m"`,
		`"create": "1s"`, 1)
	f, _ := newProgram(t, text, handler.Options{})
	d := drive(t, f)
	resp := d.thing("create: sleep", nil)
	if got := texts(resp.Diagnostics); !strings.Contains(got,
		"the timeout of 1s that the manifest sets for create has passed") || resp.State != cty.NilVal {
		t.Errorf("got %s", got)
	}
}

func TestStatus75IsRetriedForReads(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	f, _ := newToy(t, handler.Options{}, "TOY_LOG="+log)
	d := drive(t, f)
	made := d.thing("read: exit 75 once", nil)
	resp := d.p.Read(t.Context(), provider.ReadRequest{Type: "toy_thing", Prior: made.State})
	if resp.Diagnostics.HasErrors() {
		t.Error(texts(resp.Diagnostics))
	}
	prior := made.State.AsValueMap()
	prior["do"] = cty.StringVal("read: exit 75")
	resp = d.p.Read(t.Context(), provider.ReadRequest{Type: "toy_thing", Prior: cty.ObjectVal(prior)})
	if !resp.Diagnostics.HasErrors() {
		t.Error("no error after the last attempt")
	}
	lines, _ := os.ReadFile(log)
	if n := strings.Count(string(lines), "\nread "); n != 5 {
		t.Errorf("read was called %d times, want 2 and 3", n)
	}
}

// collector records the messages of programs.
type collector struct {
	mu      sync.Mutex
	outputs []handler.Output
}

func (c *collector) take(o handler.Output) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outputs = append(c.outputs, o)
}

func TestMessagesArriveWithTheirLevel(t *testing.T) {
	var c collector
	f, _ := newToy(t, handler.Options{Output: c.take})
	d := drive(t, f)
	if resp := d.thing("create: talk", nil); resp.Diagnostics.HasErrors() {
		t.Fatal(texts(resp.Diagnostics))
	}
	var got []string
	for _, o := range c.outputs {
		got = append(got, fmt.Sprintf("%s|%s|%s|%t|%v", o.Label, o.Level, o.Line, o.IsProgress, o.Fraction))
	}
	want := []string{
		"toy_thing create|INFO|plain|false|0", "toy_thing create|DEBUG|for those who look|false|0",
		"toy_thing create|WARN|careful|false|0",
		"toy_thing create|INFO|a quarter|true|0.25", "toy_thing create|INFO||true|-1",
		"toy_thing create|INFO|[x] no level|false|0", "toy_thing create|INFO|{not json|false|0",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestAFloodOfMessagesIsCutOff(t *testing.T) {
	var c collector
	f, _ := newToy(t, handler.Options{Output: c.take})
	drive(t, f).thing("create: flood stderr", nil)
	size := 0
	for _, o := range c.outputs {
		size += len(o.Line)
	}
	last := c.outputs[len(c.outputs)-1].Line
	if size > 2<<20 || !strings.Contains(last, "output is too long") {
		t.Errorf("%d bytes in %d lines were passed on, the last: %.200s", size, len(c.outputs), last)
	}
}

func TestLargeMessagesNeedNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("runs without -short: it reads a gibibyte")
	}
	oneShot, _ := newToy(t, handler.Options{Output: new(collector).take})
	inSession, _ := newSession(t, "", handler.Options{Output: new(collector).take}, nil)
	for mode, f := range map[string]provider.Factory{"one-shot": oneShot, "session": inSession} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		resp := drive(t, f).thing("create: half a gibibyte", nil)
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
			t.Errorf("%s: the heap has grown by %d bytes", mode, grown)
		}
		if got := texts(resp.Diagnostics); !strings.Contains(got, "the end") || len(got) > 64<<10 {
			t.Errorf("%s: the message has %d bytes, and should be the end of what was printed", mode, len(got))
		}
	}
}

func TestSecretsAreInNoMessage(t *testing.T) {
	const canary = "tops3cret\"canary"
	for _, do := range []string{"secret", "secret in a bad answer", "secret in a failure"} {
		var c collector
		f, _ := newToy(t, handler.Options{Output: c.take})
		resp := drive(t, f).thing("create: "+do, map[string]cty.Value{"secret": cty.StringVal(canary)})
		all := texts(resp.Diagnostics)
		for _, o := range c.outputs {
			all += o.Line + "\n"
		}
		if !resp.Diagnostics.HasErrors() || strings.Contains(all, "canary") ||
			!strings.Contains(all, "(sensitive value)") {
			t.Errorf("%s: got\n%s", do, all)
		}
	}
}
