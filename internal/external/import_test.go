//go:build unix

package external

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

func TestImportByABareID(t *testing.T) {
	for _, id := range []string{"7", "a/b:c", `{1234-abcd}`, `"x"`, `[1]`, "null"} {
		w := newWorld(t, Options{})
		w.imports(id)
		if want := (attrs{"id": cty.StringVal(id)}).object(w.rt); !w.state.RawEquals(want) {
			t.Fatalf("got %#v", w.state)
		}
		before := w.state
		w.mustRead()
		if !w.state.RawEquals(before) {
			t.Errorf("read changed it to %#v", w.state)
		}
		expectProblem(t, w.apply(t.Context(), nil), sumMissing, nil, "Apply its configuration first")
	}
}

func (w *world) imports(id string) {
	w.t.Helper()
	resp := w.p.Import(w.t.Context(), provider.ImportRequest{Type: typeResource, ID: id})
	if len(resp.Diagnostics) > 0 || len(resp.Imported) != 1 || resp.Imported[0].Type != typeResource {
		w.t.Fatalf("%s: got %+v, %v", id, resp.Imported, resp.Diagnostics.Err())
	}
	w.state = resp.Imported[0].State
}

func TestImportByABareIDUpdatesAtTheNextApply(t *testing.T) {
	needs(t, "bash", "jq")
	dir, opts := notes(t)
	w := newWorld(t, opts)
	w.imports("note-1")
	w.mustApply(attrs{"program": cty.StringVal(testdata(t, "note.sh")), "arguments": strs(map[string]string{
		"text": "x"})})
	w.expect("note-1", map[string]string{"text": "x"}, map[string]string{"bytes": "1"})
	want := []string{`update {"arguments":{"text":"x"},"id":"ID","old_arguments":{}}`}
	if diff := cmp.Diff(want, readLog(t, dir, "note-1")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestImportWithAProgramReadsImmediately(t *testing.T) {
	needs(t, "bash", "jq")
	dir, opts := notes(t)
	if err := os.WriteFile(filepath.Join(dir, "note-1.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	sh := testdata(t, "note.sh")
	w := newWorld(t, opts)
	w.imports(`{"id":"note-1","program":["` + sh + `"],"interpreter":"bash","arguments":{"text":"hi"}}`)
	w.mustRead()
	w.expect("note-1", map[string]string{"text": "hello"}, map[string]string{"bytes": "5"})
	w.expectNoChange(attrs{"program": tuple(sh), "interpreter": cty.StringVal("bash"),
		"arguments": strs(map[string]string{"text": "hello"})})

	w.imports(`{"id":"note-1","program":"` + sh + `"}`)
	w.mustRead()
	w.expectNoChange(attrs{"program": cty.StringVal(sh), "arguments": strs(map[string]string{"text": "hello"})})
	want := []string{`read {"arguments":{"text":"hi"},"id":"ID"}`, `read {"arguments":{},"id":"ID"}`}
	if diff := cmp.Diff(want, readLog(t, dir, "note-1")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestImportRefusesBadIDs(t *testing.T) {
	w := newWorld(t, Options{})
	for id, phrase := range map[string]string{
		``:                                   "The id is empty",
		`{}`:                                 `there is no "id".`,
		`{"id":"7"}`:                         `there is no "program".`,
		`{"id":"","program":"p"}`:            `"id" is empty`,
		`{"id":7,"program":"p"}`:             `"id" must be a string, not a number`,
		`{"id":"7","program":7}`:             `"program" must be a string or an array of strings`,
		`{"id":"7","program":null}`:          `"program" must be a string or an array of strings`,
		`{"id":"7","program":["p",{}]}`:      `"program" must be a string or an array of strings`,
		`{"id":"7","program":"p","args":{}}`: `the member "args" is unknown`,
		`{"id":"7","program":"p","arguments":{"a":1}}`: `"a" in "arguments" must be a string, not a number`,
		`{"id":"7","programm":"p"}`:                    `the member "programm" is unknown. Did you mean "program"?`,
		`{"id":"7","id":"8","program":"p"}`:            `two members named "id"`,
	} {
		resp := w.p.Import(t.Context(), provider.ImportRequest{Type: typeResource, ID: id})
		if len(resp.Diagnostics) != 1 || len(resp.Imported) != 0 || !strings.Contains(resp.Diagnostics[0].Detail,
			phrase) {
			t.Errorf("%s: got %v\nwant %s", id, resp.Diagnostics.Err(), phrase)
		}
	}
}
