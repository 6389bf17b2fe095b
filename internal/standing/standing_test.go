package standing_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/standing"
	"github.com/tombolo-iac/tombolo/state"
)

// Every field of an object is compared, except the time of its last read, including fields that are added to the type
// later.
func TestEveryFieldOfAnObjectIsCompared(t *testing.T) {
	dependency := addr.ConfigResource{Resource: addr.Resource{Mode: addr.Managed, Type: "a", Name: "b"}}
	other := map[string]any{
		"Status": state.Tainted, "SchemaVersion": int64(3), "Attributes": json.RawMessage(`{"id":"b"}`),
		"Flat": map[string]string{"id": "b"}, "Sensitive": []cty.Path{cty.GetAttrPath("id")}, "Private": []byte("x"),
		"Dependencies":        []addr.ConfigResource{dependency},
		"CreateBeforeDestroy": true, "IdentityVersion": int64(2), "Identity": json.RawMessage(`{}`),
		"Provider": &addr.AbsProviderConfig{Alias: "x"}, "SkipDestroy": true, "Protected": true, "ReadAt": int64(7),
	}
	typ := reflect.TypeFor[state.Object]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		if !f.IsExported() {
			continue
		}
		value, ok := other[f.Name]
		if !ok {
			t.Errorf("the test has no value for the field %s", f.Name)
			continue
		}
		a := &state.Object{Status: state.Ready, Attributes: json.RawMessage(`{"id":"a"}`)}
		b := *a
		reflect.ValueOf(&b).Elem().Field(i).Set(reflect.ValueOf(value))
		if same := standing.Same(a, &b); same != (f.Name == "ReadAt") {
			t.Errorf("objects that differ in %s are the same: %t", f.Name, same)
		}
	}
	spaced := &state.Object{Status: state.Ready, Attributes: json.RawMessage("{\n \"id\": \"a\" }")}
	if !standing.Same(spaced, &state.Object{Status: state.Ready, Attributes: json.RawMessage(`{"id":"a"}`)}) {
		t.Error("white space makes a difference")
	}
}
