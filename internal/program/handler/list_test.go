package handler_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/invoke"
)

// askedToList asks for the objects of a type of the toy.
func askedToList(t *testing.T, d driver, request string) (answer string, ok bool) {
	t.Helper()
	text, ok, err := invoke.Ask(t.Context(), d.p, "list", "toy_thing", []byte(request))
	if err != nil {
		return err.Error(), false
	}
	return string(text), ok
}

func TestObjectsAreListed(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv, _ := json.Marshal([]string{exe})
	text := strings.Replace(fmt.Sprintf(toyManifest, argv), `"version": 2,`,
		`"version": 2, "implements": ["create", "read", "update", "delete", "list"],`, 1)
	f, _ := newProgram(t, text, handler.Options{})
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
	if got := results(`{"config": {"answer": {"results": []}}}`); len(got) != 0 {
		t.Errorf("an empty list: %v", got)
	}
	for request, want := range map[string]string{
		`{"config": {"answer": {}}}`:                                                                       `there is no array`,
		`{"config": {"answer": {"results": {}}}}`:                                                          `there is no array`,
		`{"config": {"answer": {"results": ["x"]}}}`:                                                       `results[0] must be an object`,
		`{"config": {"answer": {"results": [{"identity": {"id": "a"}}, {"id": "b"}]}}}`:                    `results[1] must be an object`,
		`{"config": {"answer": {"results": [{"identity": {"id": null}}]}}}`:                                `does not name the object`,
		`{"config": {"answer": {"results": [{"identity": {"nme": "x"}}]}}}`:                                `nme`,
		`{"config": {"answer": {"diagnostics": [{"severity": "error", "summary": "no rights to list"}]}}}`: `no rights to list`,
		`{"config": 1}`:     `must be an object`,
		`{"limit": 0}`:      `at least 1`,
		`{"limit": "many"}`: `at least 1`,
	} {
		if answer, ok := askedToList(t, d, request); ok || !strings.Contains(answer, want) {
			t.Errorf("%s: got %s, want %q", request, answer, want)
		}
	}
}

func TestWhatCannotBeListedSaysWhatToAdd(t *testing.T) {
	f, _ := newToy(t, handler.Options{})
	d := drive(t, f)
	if answer, ok := askedToList(t, d, `{}`); ok || !strings.Contains(answer, `add \"list\" to what it implements`) {
		t.Errorf("got %s", answer)
	}
}
