package handler_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/invoke"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// askedToList lists the objects of a type of the toy.
func askedToList(t *testing.T, d driver, request string) (answer string, ok bool) {
	t.Helper()
	text, ok, err := invoke.Ask(t.Context(), d.p, "list", "toy_thing", []byte(request))
	if err != nil {
		return err.Error(), false
	}
	return string(text), ok
}

func TestObjectsAreListed(t *testing.T) {
	f, _ := newToy(t, handler.Options{})
	d := drive(t, f)
	var want []any
	for range 3 {
		id := d.thing("", nil).State.GetAttr("id").AsString()
		want = append(want, object{"identity": object{"id": id}, "display_name": "the object " + id})
	}
	results := func(request string) (list []any) {
		answer, ok := askedToList(t, d, request)
		var got struct{ Results []any }
		if err := json.Unmarshal([]byte(answer), &got); err != nil || !ok {
			t.Fatalf("%s: %v %s", request, err, answer)
		}
		return got.Results
	}
	anyOrder := cmpopts.SortSlices(func(a, b any) bool { return fmt.Sprint(a) < fmt.Sprint(b) })
	if diff := cmp.Diff(want, results(`{}`), anyOrder); diff != "" {
		t.Error(diff)
	}
	if got := results(`{"limit": 2}`); len(got) != 2 {
		t.Errorf("with a limit of two: %v", got)
	}
	if got := results(`{"config": {"prefix": "nothing"}}`); len(got) != 0 {
		t.Errorf("an empty list: %v", got)
	}
	for _, answer := range []string{`{"results":[{"identity":{"id":"nobody"}}]}`, // the object was deleted
		`{"results":[{"identity":{"id":"nobody"},"object":null}]}`} {
		if got := results(`{"include_object": true, "config": {"answer": ` + strconv.Quote(answer) + `}}`); len(got) != 0 {
			t.Errorf("%s: got %v", answer, got)
		}
	}
	whole := results(`{"include_object": true, "config": {"prefix": "th"}}`)
	if len(whole) != 3 || whole[0].(object)["object"].(object)["name"] != "thing" {
		t.Errorf("whole objects: got %v", whole)
	}
	// If an answer omits the object, it is read.
	id := want[0].(object)["identity"].(object)["id"]
	answer := strconv.Quote(fmt.Sprintf(`{"results":[{"identity":{"id":%q}}]}`, id))
	whole = results(`{"include_object": true, "config": {"answer": ` + answer + `}}`)
	if len(whole) != 1 || whole[0].(object)["object"].(object)["name"] != "thing" {
		t.Errorf("an object to be read: got %v", whole)
	}
	if got := results(`{"config": {"answer": ` + answer + `}}`)[0].(object)["object"]; got != nil {
		t.Errorf("an object that nobody asked for: %v", got)
	}
}

// TestInvalidListsAreExplained tests invalid lists and invalid requests.
func TestInvalidListsAreExplained(t *testing.T) {
	f, _ := newToy(t, handler.Options{})
	d := drive(t, f)
	for answer, want := range map[string]string{
		`{}`:                 `there is no array`,
		`{"results": {}}`:    `there is no array`,
		`{"results": ["x"]}`: `results[0] must be an object`,
		`{"results": [{"identity": {"id": "a"}, "object": {}}, {"id": "b"}]}`:                     `results[1] must be an object`,
		`{"results": [{"identity": {"id": null}}]}`:                                               `is incomplete`,
		`{"results": [{"identity": {"nme": "x"}}]}`:                                               `nme`,
		`{"results": [{"identity": {"id": "a"}, "object": {"nme": "x"}}]}`:                        `nme`,
		`{"results": [{"identity": {"id": "a"}, "object": {"secret": "hush hush", "size": []}}]}`: `size`,
		`{"diagnostics": [{"severity": "error", "summary": "no rights to list"}]}`:                `no rights to list`,
	} {
		request := `{"include_object": true, "config": {"answer": ` + strconv.Quote(answer) + `}}`
		got, ok := askedToList(t, d, request)
		if ok || !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %q", answer, got, want)
		}
		if strings.Contains(strings.ReplaceAll(got, "the secret", ""), "hush hush") {
			t.Errorf("%s: a secret of an object is shown: %s", answer, got)
		}
	}
	for request, want := range map[string]string{
		`{"config": 1}`:               `an object was expected`,
		`{"config": {"prefx": "a"}}`:  `prefx`,
		`{"config": {"answer": "x"}}`: `answer`,
		`{"limit": 0}`:                `at least 1`,
		`{"limit": "many"}`:           `at least 1`,
		`{"include_object": 1}`:       `true or false`,
	} {
		if answer, ok := askedToList(t, d, request); ok || !strings.Contains(answer, want) {
			t.Errorf("%s: got %s, want %q", request, answer, want)
		}
	}
}

func TestUnlistableTypesHaveAdvice(t *testing.T) {
	f, _ := newToy(t, handler.Options{})
	d := drive(t, f)
	text, ok, err := invoke.Ask(t.Context(), d.p, "list", "toy_fixed", []byte(`{}`))
	if ok || err != nil || !strings.Contains(string(text), `\"list\" to its \"implements\"`) {
		t.Errorf("got %s, %v", text, err)
	}
}

// TestTypesThatImplementListNeedNoDescription checks that such a type has a list without arguments.
func TestTypesThatImplementListNeedNoDescription(t *testing.T) {
	text := strings.Replace(sprintManifest(`["x"]`), `"implements": ["create", "read", "delete", "plan",`,
		`"identity": {"attributes": {"id": {"type": "string", "required_for_import": true}}}, `+
			`"implements": ["list", "create", "read", "delete", "plan",`, 1)
	m, diags := manifest.Parse([]byte(text), "m.json", "/pkg")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	p := handler.New(m, saying{text: `{"results": [{"identity": {"id": "a"}}]}`}, handler.Options{})
	if list := m.Schema.Lists["toy_fixed"]; list == nil || !list.Block.ImpliedType().Equals(cty.EmptyObject) {
		t.Fatalf("the list is %v", list)
	}
	resp := p.List(t.Context(), provider.ListRequest{Type: "toy_fixed", Config: cty.EmptyObjectVal, Limit: 3})
	if resp.Diagnostics.HasErrors() || len(resp.Results) != 1 {
		t.Errorf("got %v, %v", resp.Results, resp.Diagnostics.Err())
	}
}
