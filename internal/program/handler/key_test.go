package handler_test

import (
	"context"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// answering is a caller whose program is a function.
type answering func(call handler.Call) *handler.Answer

func (f answering) Call(_ context.Context, call handler.Call) (*handler.Answer, error) {
	return f(call), nil
}
func (answering) Prepare(context.Context, func(string)) error { return nil }

func (answering) Close() error { return nil }

// says returns a program that answers one action with a text, and all others with {}. If the text begins with a
// failure, the call fails.
func says(action, text string) answering {
	return func(call handler.Call) *handler.Answer {
		a := &handler.Answer{Result: []byte("{}"), Program: "toy"}
		if call.Action == action {
			rest, fails := strings.CutPrefix(text, "failure ")
			a.Result = []byte(rest)
			if fails {
				a.Failure = &handler.Failure{State: "it ended with exit status 1", Message: "no such thing: null"}
			}
		}
		return a
	}
}

func driveAnswers(t *testing.T, text string, f answering, opts handler.Options) driver {
	t.Helper()
	m, diags := manifest.Parse([]byte(text), manifest.FileName, t.TempDir())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return drive(t, func(context.Context) (provider.Provider, error) { return handler.New(m, f, opts), nil })
}

const keyed = `{"protocol": 1, "name": "toy", "command": ["toy"], "schema": {"resource_schemas": {
  "toy_box":  {"attributes": {"id": {"type": "string", "computed": true}, "text": {"type": "string",
"optional": true}}},
  "toy_file": {"import": "path", "attributes": {"id": {"type": "string", "computed": true}, "path": {"type": "string",
"required": true}}},
  "toy_row":  {"identity": {"attributes": {"row": {"type": "number",
"required_for_import": true}}}, "attributes": {"id": {"type": "number", "computed": true}}},
  "toy_both": {"identity": {"attributes": {"id": {"type": "string", "required_for_import": true}}},
"attributes": {"id": {"type": "string", "computed": true}}},
  "toy_new":  {"version": 1, "implements": ["create", "read", "upgrade"],
"attributes": {"id": {"type": "string", "computed": true}}},
  "toy_own":  {"attributes": {"id": {"type": "string", "optional": true, "computed": true}}},
  "toy_sole": {"attributes": {"text": {"type": "string", "optional": true}}}
}}}`

// TestCreationsWithoutIDAreNotStored: an object that cannot be found again is not stored, and its result is unknown. A
// program that reports a failure reports itself which object exists.
func TestCreationsWithoutIDAreNotStored(t *testing.T) {
	for _, c := range []struct{ typ, answer, state, text string }{
		{"toy_box", `{}`, "nobody knows", `state.id is not set`},
		{"toy_box", `{"state": {}}`, "nobody knows", `Expected: {"state": {"id": …}}`},
		{"toy_box", `{"state": {"id": null}}`, "nobody knows", "state.id is not set"},
		{"toy_box", `{"state": {"id": ""}}`, "nobody knows", "The program may already have changed something"},
		{"toy_box", `{"state": {"id": {"a": 1}}}`, "nobody knows", "a string was expected, not an object"},
		{"toy_box", `{"state": {"id": 7}}`, `"7"`, "a string was expected, not a number"},
		{"toy_box", `{"state": {"id": "7"}}`, `"7"`, ""},
		{"toy_box", `failure {"state": {"text": "half"}}`, "null", "no such thing"},
		{"toy_box", `failure {"state": {"id": "7"}}`, `"7"`, "no such thing"},
		{"toy_box", `failure {}`, "nothing", "no such thing"},
		{"toy_file", `{}`, "null", ""},
		{"toy_row", `{"identity": {"row": 7}}`, "null", ""},
		{"toy_row", `{"state": {"id": "x"}, "identity": {}}`, "nobody knows", "the string is not one"},
		{"toy_both", `{"state": {"id": ""}}`, "nobody knows", "there is no value for its id"},
		{"toy_both", `{"state": {"id": "7"}}`, `"7"`, ""},
		{"toy_own", `{"state": {"id": null}}`, `"mine"`, "state.id is not set"},
		{"toy_sole", `{}`, "no id", ""},
	} {
		d := driveAnswers(t, keyed, says("create", c.answer), handler.Options{})
		given := map[string]cty.Value{}
		switch c.typ {
		case "toy_file":
			given["path"] = cty.StringVal("/a")
		case "toy_own":
			given["id"] = cty.StringVal("mine")
		}
		resp := d.apply(t.Context(), c.typ, d.null(c.typ), d.config(c.typ, given))
		state := "nobody knows"
		switch {
		case resp.State == cty.NilVal:
		case resp.State.IsNull():
			state = "nothing"
		case !resp.State.Type().HasAttribute("id"):
			state = "no id"
		case resp.State.GetAttr("id").IsNull():
			state = "null"
		default:
			state = `"` + resp.State.GetAttr("id").AsString() + `"`
		}
		got := texts(resp.Diagnostics)
		if state != c.state || !strings.Contains(got, c.text) || (c.text == "") != (got == "") {
			t.Errorf("%s answers create with %s: got state %s, want %s; want %q in\n%s", c.typ, c.answer, state,
				c.state, c.text, got)
		}
	}
}

// TestObjectsKeepTheirID checks that no answer removes the ID of an object, because nothing could be done with it
// afterwards.
func TestObjectsKeepTheirID(t *testing.T) {
	box := func(id, text string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(id), "text": cty.StringVal(text)})
	}
	for _, answer := range []string{`{"state": {"id": null}}`, `{"state": {"id": ""}}`,
		`failure {"state": {"id": null}}`, `{"state": {}}`} {
		d := driveAnswers(t, keyed, says("update", answer), handler.Options{})
		resp := d.apply(t.Context(), "toy_box", box("7", "a"), d.config("toy_box", map[string]cty.Value{
			"text": cty.StringVal("b")}))
		if !resp.Diagnostics.HasErrors() || resp.State == cty.NilVal || !resp.State.GetAttr("id").RawEquals(
			cty.StringVal("7")) {
			t.Errorf("update answered with %s: got %#v\n%s", answer, resp.State, texts(resp.Diagnostics))
		}
	}
	for _, answer := range []string{`{"state": {"id": null}}`, `{"state": {"id": ""}}`} {
		d := driveAnswers(t, keyed, says("read", answer), handler.Options{})
		resp := d.p.Read(t.Context(), provider.ReadRequest{Type: "toy_box", Prior: box("7", "a")})
		if !strings.Contains(texts(resp.Diagnostics), "If the object no longer exists, answer null") ||
			!resp.State.RawEquals(box("7", "a")) {
			t.Errorf("read answered with %s: got %#v\n%s", answer, resp.State, texts(resp.Diagnostics))
		}
	}
}

// TestUpgradesKeepTheID: the key of a stored object is kept by an upgrade of the schema.
func TestUpgradesKeepTheID(t *testing.T) {
	for _, c := range []struct {
		stored, answer string
		good           bool
	}{
		{`{"id": "7"}`, `{"state": {"id": "7"}}`, true}, {`{"id": "7"}`, `{"state": {"id": "8"}}`, true},
		{`{"id": "7"}`, `{"state": {"id": ""}}`, false}, {`{"id": "7"}`, `{"state": {}}`, false},
		{`{"id": ""}`, `{"state": {"id": ""}}`, true}, {`{"name": "7"}`, `{"state": {}}`, true},
	} {
		d := driveAnswers(t, keyed, says("upgrade", c.answer), handler.Options{})
		resp := d.p.UpgradeState(t.Context(), provider.UpgradeStateRequest{Type: "toy_new", Version: 0,
			Stored: provider.StoredObject{JSON: []byte(c.stored)}})
		if got := texts(resp.Diagnostics); c.good == resp.Diagnostics.HasErrors() || !c.good &&
			!strings.Contains(got, "state.id is not set") {
			t.Errorf("%s becomes %s: got %#v\n%s", c.stored, c.answer, resp.State, got)
		}
	}
}

// TestObjectsWithoutIDCanBeRefreshedAndDeleted refreshes and deletes an object without an ID. If the program does not
// find it, the object may still exist, and plans must not fail.
func TestObjectsWithoutIDCanBeRefreshedAndDeleted(t *testing.T) {
	half := cty.ObjectVal(map[string]cty.Value{"id": cty.NullVal(cty.String), "text": cty.StringVal("half")})
	for _, answer := range []string{"failure ", "null", `{"state": null}`} {
		d := driveAnswers(t, keyed, says("read", answer), handler.Options{})
		resp := d.p.Read(t.Context(), provider.ReadRequest{Type: "toy_box", Prior: half})
		if got := texts(resp.Diagnostics); resp.Diagnostics.HasErrors() || !resp.State.RawEquals(half) ||
			!strings.Contains(got, "Object has no id") || !strings.Contains(got, "remove it from the state") {
			t.Errorf("read answered with %s: got %#v\n%s", answer, resp.State, got)
		}
	}
	d := driveAnswers(t, keyed, says("read", `{"state": {"id": "7"}}`), handler.Options{})
	if resp := d.p.Read(t.Context(), provider.ReadRequest{Type: "toy_box", Prior: half}); len(resp.Diagnostics) > 0 ||
		!resp.State.GetAttr("id").RawEquals(cty.StringVal("7")) {
		t.Errorf("a program that finds it all the same is believed: got %#v\n%s", resp.State, texts(resp.Diagnostics))
	}
	for answer, want := range map[string]bool{"": true, "failure ": false} {
		d := driveAnswers(t, keyed, says("delete", answer), handler.Options{})
		resp := d.p.Apply(t.Context(), provider.ApplyRequest{Type: "toy_box", Prior: half, Planned: d.null("toy_box"),
			Config: d.null("toy_box")})
		if got := texts(resp.Diagnostics); resp.State.IsNull() != want || !want &&
			!strings.Contains(got, "remove it from the state") {
			t.Errorf("delete answered with %q: got %#v\n%s", answer, resp.State, got)
		}
	}
}

func TestImportsWithoutIDAreNotStored(t *testing.T) {
	text := strings.Replace(keyed, `"toy_box":  {`,
		`"toy_box":  {"implements": ["create", "read", "delete", "import"], `, 1)
	d := driveAnswers(t, text, says("import", `{"state": {"text": "x"}}`), handler.Options{})
	if resp := d.p.Import(t.Context(), provider.ImportRequest{Type: "toy_box", ID: "7"}); !strings.Contains(
		texts(resp.Diagnostics), "If there is no such object, answer null") {
		t.Errorf("got %s", texts(resp.Diagnostics))
	}
}
