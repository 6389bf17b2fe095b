package handler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// scripted is a caller with a given answer for each call.
type scripted struct {
	saying
	calls   *[]handler.Call
	answers []string
}

func (s scripted) Call(_ context.Context, c handler.Call) (*handler.Answer, error) {
	n := len(*s.calls)
	*s.calls = append(*s.calls, c)
	return &handler.Answer{Result: []byte(s.answers[min(n, len(s.answers)-1)]), Program: "script"}, nil
}

// askingProvider returns a provider with the given answers; where reads the requested states.
func askingProvider(t *testing.T, where handler.RemoteState, answers ...string) (provider.Provider, *[]handler.Call) {
	t.Helper()
	m, diags := manifest.Parse([]byte(`{"protocol": 1, "name": "p", "command": ["x"], "schema": {
		"data_source_schemas": {"p_d": {"cache": "1h", "attributes": {"id": {"type": "string", "computed": true}}}},
		"resource_schemas": {"p_r": {"implements": ["create", "read", "plan"],
			"attributes": {"id": {"type": "string", "computed": true}}}}}}`), "m.json", "/pkg")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	calls := &[]handler.Call{}
	return handler.New(m, scripted{calls: calls, answers: answers},
		handler.Options{RemoteState: where, Cache: t.TempDir()}), calls
}

// network is a remote state with a password among its output values.
func network(_ context.Context, backend, workspace string, config cty.Value) (cty.Value, diag.List) {
	switch {
	case backend == "none":
		return cty.NilVal, nil
	case backend == "broken":
		return cty.NilVal, diag.List{}.Errorf(nil, "No such bucket", "Make it.")
	}
	return cty.ObjectVal(map[string]cty.Value{
		"where":    cty.StringVal(fmt.Sprint(backend, " ", workspace, " ", config.GetAttr("key").AsString())),
		"port":     cty.MustParseNumberVal("12345678901234567890123"),
		"password": cty.StringVal("hunter22").Mark(value.Sensitive),
	}), nil
}

const asking = `{"remote_state": {"n": {"backend": "s3", "workspace": "prod", "config": {"key": "k"}}}}`

func readData(t *testing.T, p provider.Provider) (cty.Value, string) {
	t.Helper()
	config := cty.ObjectVal(map[string]cty.Value{"id": cty.NullVal(cty.String)})
	resp := p.ReadData(t.Context(), provider.ReadDataRequest{Type: "p_d", Config: config})
	return resp.State, texts(resp.Diagnostics)
}

// If a program requests states, the call is repeated with their output values. The program may request more.
func TestProgramsGetRequestedStates(t *testing.T) {
	p, calls := askingProvider(t, network, asking,
		`{"remote_state": {"n": {"backend": "pg", "config": {"key": "k"}}, "x": {"backend": "none"}}}`,
		`{"state": {"id": "42"}}`)
	v, problems := readData(t, p)
	if problems != "" || v.GetAttr("id").AsString() != "42" || len(*calls) != 3 {
		t.Fatalf("%#v after %d calls: %s", v, len(*calls), problems)
	}
	for n, want := range []string{`null`,
		`{"n":{"password":"hunter22","port":12345678901234567890123,"where":"s3 prod k"}}`,
		`{"n":{"password":"hunter22","port":12345678901234567890123,"where":"pg default k"},"x":null}`} {
		var params struct {
			Config      any
			RemoteState json.RawMessage `json:"remote_state"`
		}
		if err := json.Unmarshal((*calls)[n].Params, &params); err != nil || params.Config == nil {
			t.Errorf("call %d: %v: %s", n, err, (*calls)[n].Params)
		}
		if got := string(params.RemoteState); got != want && (n > 0 || got != "") {
			t.Errorf("call %d has the states %s, want %s", n, got, want)
		}
		checkMessage(t, "request_data", (*calls)[n].Params)
		checkMessage(t, "answer_data", []byte(asking))
	}
	// No answer is reused, because the states may have changed.
	*calls = nil
	if _, problems := readData(t, p); problems != "" || len(*calls) != 3 {
		t.Errorf("the second time there were %d calls: %s", len(*calls), problems)
	}
}

// An invalid request for states is an error with a reason and without secrets of a state.
func TestStatesThatProgramsCannotHave(t *testing.T) {
	for answer, want := range map[string]string{
		asking:                 "requested states 8 times",
		`{"remote_state": []}`: `"remote_state" is an array`,
		`{"remote_state": {"n": {"workspace": "w"}}}`:                 `there is no "backend"`,
		`{"remote_state": {"n": {"backend": 5}}}`:                     "remote_state.n cannot be used",
		`{"remote_state": {"n": {"backend": "s3", "config": ["k"]}}}`: `"config" is not an object`,
		`{"remote_state": {"n": {"backend": "broken"}}}`:              "No such bucket: Make it.",
	} {
		p, _ := askingProvider(t, network, answer)
		if _, problems := readData(t, p); !strings.Contains(problems, want) {
			t.Errorf("%s: %s", answer, problems)
		}
	}
	p, _ := askingProvider(t, network, asking, `{"diagnostics": [{"summary": "hunter22 is wrong"}]}`)
	if _, problems := readData(t, p); !strings.Contains(problems, "is wrong") ||
		strings.Contains(problems, "hunter22") {
		t.Errorf("the secret output: %s", problems)
	}
	p, _ = askingProvider(t, nil, asking)
	if _, problems := readData(t, p); !strings.Contains(problems, "not available here") {
		t.Errorf("without states: %s", problems)
	}
	p, calls := askingProvider(t, network, asking)
	null := cty.NullVal(cty.Object(map[string]cty.Type{"id": cty.String}))
	planned := cty.ObjectVal(map[string]cty.Value{"id": cty.UnknownVal(cty.String)})
	config := cty.ObjectVal(map[string]cty.Value{"id": cty.NullVal(cty.String)})
	resp := p.Apply(t.Context(), provider.ApplyRequest{Type: "p_r", Prior: null, Planned: planned, Config: config})
	got := texts(resp.Diagnostics)
	if !strings.Contains(got, `"remote_state" cannot be used in create`) || len(*calls) != 1 {
		t.Errorf("in create, after %d calls: %s", len(*calls), got)
	}
}
