package structure_test

import (
	"testing"

	"github.com/tombolo-iac/tombolo/sdk/schema/structure"
)

func TestSpellingsOfADocumentAreEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a": 1, "b": [1, 2]}`, `{"b":[1,2],"a":1}`, true},
		{`{"a": 1}`, `{"a": 2}`, false},
		{`[1, 2]`, `[2, 1]`, false},
		{`{"n": 9007199254740993}`, `{"n": 9007199254740992}`, false},
		{`{"a": 1}`, `{"a": 1} x`, false},
		{``, ``, false},
		{`{`, `{`, false},
	} {
		if got := structure.SuppressJsonDiff("k", c.a, c.b, nil); got != c.same {
			t.Errorf("%s and %s: got %v, want %v", c.a, c.b, got, c.same)
		}
	}
}

func TestNormalFormOfADocument(t *testing.T) {
	for _, c := range []struct {
		in   interface{}
		want string
		ok   bool
	}{
		{`{ "b" : 1.50, "a" : null }`, `{"a":null,"b":1.50}`, true},
		{nil, "", true}, {"", "", true},
		{`{"a"`, `{"a"`, false},
	} {
		got, err := structure.NormalizeJsonString(c.in)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%v: got %q, %v; want %q", c.in, got, err, c.want)
		}
	}
}

func TestObjectsAreReadAndWritten(t *testing.T) {
	members, err := structure.ExpandJsonFromString(`{"b": true, "a": "x"}`)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := structure.FlattenJsonToString(members); err != nil || text != `{"a":"x","b":true}` {
		t.Errorf("got %s, %v", text, err)
	}
	if text, err := structure.FlattenJsonToString(nil); err != nil || text != "" {
		t.Errorf("of nothing: got %q, %v", text, err)
	}
	if _, err := structure.ExpandJsonFromString(`[1]`); err == nil {
		t.Error("a list was taken for an object")
	}
}
