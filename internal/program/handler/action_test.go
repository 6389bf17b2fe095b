package handler_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/invoke"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// bell returns a configuration of the action toy_ring.
func bell(given map[string]cty.Value) cty.Value {
	vals := map[string]cty.Value{"text": cty.StringVal("hey"), "times": cty.NullVal(cty.Number),
		"key": cty.NullVal(cty.String), "do": cty.NullVal(cty.String)}
	for name, v := range given {
		vals[name] = v
	}
	return cty.ObjectVal(vals)
}

func TestActionsAreInvoked(t *testing.T) {
	for _, way := range []string{"one-shot", "session"} {
		t.Run(way, func(t *testing.T) {
			var output collector
			f, dir := newToy(t, handler.Options{Output: output.take})
			if way == "session" {
				f, dir = newSession(t, "", handler.Options{Output: output.take}, nil)
			}
			d := drive(t, f)
			given := map[string]cty.Value{"key": cty.StringVal("open sesame")}
			if way == "session" {
				given["do"] = cty.StringVal("invoke: tell")
			}
			config := bell(given)
			req := provider.ValidateResourceRequest{Kind: provider.Action, Type: "toy_ring", Config: config}
			if diags := d.p.ValidateResource(t.Context(), req); len(diags) > 0 {
				t.Fatal(texts(diags))
			}
			planned := d.p.PlanAction(t.Context(), provider.PlanActionRequest{Type: "toy_ring", Config: config})
			if len(planned.Diagnostics) > 0 {
				t.Fatal(texts(planned.Diagnostics))
			}
			var progress []string
			resp := d.p.InvokeAction(t.Context(), provider.InvokeActionRequest{Type: "toy_ring", Config: config,
				Progress: func(message string) { progress = append(progress, message) }})
			if got := texts(resp.Diagnostics); got != "warning: Rung .text: \n" || resp.Lost {
				t.Errorf("got %q, lost %t", got, resp.Lost)
			}
			want := map[string]string{"one-shot": "ringing with (sensitive value) [50%]",
				"session": "waiting for DNS [40%]"}[way]
			if !slices.Equal(progress, []string{want}) {
				t.Errorf("progress: got %q, want %q", progress, want)
			}
			for _, o := range output.outputs {
				if o.IsProgress {
					t.Errorf("progress is said twice: %q", o.Line)
				}
			}
			text, err := os.ReadFile(filepath.Join(dir, "rung"))
			if err != nil || string(text) != "hey 2\n" {
				t.Errorf("it did %q, %v", text, err)
			}
		})
	}
}

func TestActionsAreRefusedBeforeTheyBegin(t *testing.T) {
	f, dir := newToy(t, handler.Options{})
	d := drive(t, f)
	for what, c := range map[string]struct {
		given map[string]cty.Value
		want  string
	}{
		"validate": {map[string]cty.Value{"text": cty.StringVal("forbidden")}, "Forbidden word .text"},
		"plan":     {map[string]cty.Value{"times": cty.Zero}, "Never .times"},
		"unknown":  {map[string]cty.Value{"times": cty.UnknownVal(cty.Number)}, ""},
	} {
		config := bell(c.given)
		diags := d.p.ValidateResource(t.Context(), provider.ValidateResourceRequest{Kind: provider.Action,
			Type: "toy_ring", Config: config})
		if !diags.HasErrors() {
			diags = d.p.PlanAction(t.Context(), provider.PlanActionRequest{Type: "toy_ring",
				Config: config}).Diagnostics
		}
		if got := texts(diags); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s", what, got)
		}
	}
	_ = d.p.Stop(t.Context())
	resp := d.p.InvokeAction(t.Context(), provider.InvokeActionRequest{Type: "toy_ring", Config: bell(nil)})
	if got := texts(resp.Diagnostics); !strings.Contains(got, "was not asked to invoke toy_ring") || resp.Lost {
		t.Errorf("after an interrupt: %s, lost %t", got, resp.Lost)
	}
	if _, err := os.Stat(filepath.Join(dir, "rung")); err == nil {
		t.Error("something was done")
	}
}

// TestLostActionsAreDistinguished makes an action end in each way: it only counts as lost if its result is unknown.
func TestLostActionsAreDistinguished(t *testing.T) {
	m, diags := manifest.Parse([]byte(sprintManifest(`["x"]`)), "m.json", "/pkg")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	for what, c := range map[string]struct {
		caller       handler.Caller
		lost, failed bool
	}{
		"nothing to say":  {saying{text: ""}, false, false},
		"an object":       {saying{text: "{}"}, false, false},
		"a warning":       {saying{text: `{"diagnostics": [{"severity": "warning", "summary": "w"}]}`}, false, false},
		"noise":           {saying{text: "done!"}, false, false}, // with a warning: the action was performed
		"its own error":   {saying{text: `{"diagnostics": [{"severity": "error", "summary": "e"}]}`}, false, true},
		"an exit status":  {saying{failed: true}, false, true},
		"a signal":        {ending{&handler.Answer{Failure: &handler.Failure{Killed: true}}, nil}, true, true},
		"a timeout":       {ending{&handler.Answer{}, context.DeadlineExceeded}, true, true},
		"no start at all": {ending{nil, context.Canceled}, false, true},
	} {
		p := handler.New(m, c.caller, handler.Options{})
		resp := p.InvokeAction(t.Context(), provider.InvokeActionRequest{Type: "toy_ring", Config: bell(nil)})
		if resp.Lost != c.lost || resp.Diagnostics.HasErrors() != c.failed {
			t.Errorf("%s: lost %t, %s", what, resp.Lost, texts(resp.Diagnostics))
		}
		for _, one := range resp.Diagnostics {
			if len(one.Path) > 0 {
				t.Errorf("%s: a place %s", what, value.FormatPath(one.Path))
			}
		}
	}
}

// ending is a caller whose calls all end in the same way.
type ending struct {
	answer *handler.Answer
	err    error
}

func (e ending) Call(context.Context, handler.Call) (*handler.Answer, error) { return e.answer, e.err }

func (ending) Prepare(context.Context, func(string)) error { return nil }

func (ending) Close() error { return nil }

// TestActionsAreAskedForByName performs the calls of the command `provider call`.
func TestActionsAreAskedForByName(t *testing.T) {
	f, dir := newToy(t, handler.Options{})
	d := drive(t, f)
	for _, c := range []struct{ action, request, want string }{
		{"validate", `{"config": {"text": "forbidden"}}`, "Forbidden word"},
		{"validate", `{"config": {"text": "x"}}`, "{}"},
		{"plan", `{"config": {"text": "x", "times": 0}}`, "Never"},
		{"plan", `{"config": {"text": "x"}, "config_unknown": {"times": true}}`, "{}"},
		{"invoke", `{"config": {"text": "by name", "times": 7}}`, "Rung"},
		{"invoke", `{"config": {"txt": "x"}}`, "txt"},
	} {
		text, _, err := invoke.Ask(t.Context(), d.p, c.action, "toy_ring", []byte(c.request))
		if err != nil {
			text = []byte(err.Error())
		}
		if !strings.Contains(string(text), c.want) {
			t.Errorf("%s %s: got %s", c.action, c.request, text)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "rung")); err != nil || string(text) != "by name 7\n" {
		t.Errorf("it did %q, %v", text, err)
	}
}
