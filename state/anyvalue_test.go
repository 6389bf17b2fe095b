package state

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"
)

// TestAnyValueAtAnyPlaceIsRefusedOrSurvives puts other values at every place of a state: accepted states are encoded
// and decoded unchanged.
func TestAnyValueAtAnyPlaceIsRefusedOrSurvives(t *testing.T) {
	text, err := os.ReadFile("testdata/terraform.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	for _, instances := range whole["resources"].([]any) {
		for _, i := range instances.(map[string]any)["instances"].([]any) {
			for name, v := range map[string]any{
				"dependencies": []any{"t.empty"}, "private": "eA==", "status": "tainted", "create_before_destroy": true,
				"provider":                `provider["registry.terraform.io/h/t"].a`,
				"identity_schema_version": 1, "identity": map[string]any{"id": "1"}, "skip_destroy": true,
				"tombolo_prevent_destroy": true, "tombolo_read_at": 1700000000,
			} {
				if fields := i.(map[string]any); fields[name] == nil {
					fields[name] = v
				}
			}
		}
	}
	others := []any{nil, "", ".", "x", "a.b", "é\u0000", false, true, 0, -1, 1.5, 1e30, json.Number("1e400"), []any{},
		[]any{nil}, []any{""}, []any{map[string]any{}}, map[string]any{}, map[string]any{"": nil}, map[string]any{
			"x": ""}}
	places, taken := 0, 0
	try := func() {
		in, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(in); err == nil {
			taken++
		}
		defer func() {
			if t.Failed() {
				t.Logf("the state: %s", in)
			}
		}()
		checkDecode(t, in)
	}
	seen := map[string]int{} // four places of each kind are enough
	var visit func(kind string, v any, set func(any))
	visit = func(kind string, v any, set func(any)) {
		if seen[kind]++; seen[kind] > 4 {
			return
		}
		places++
		for _, other := range others {
			set(other)
			try()
		}
		set(v)
		switch v := v.(type) {
		case []any:
			for i := range v {
				visit(kind+"[]", v[i], func(other any) { v[i] = other })
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				member := v[name]
				delete(v, name)
				try()
				v["other"] = member
				try()
				delete(v, "other")
				visit(kind+"."+name, member, func(other any) { v[name] = other })
			}
		}
	}
	visit("", whole, func(any) {})
	if places < 100 || taken < 500 {
		t.Errorf("only %d places were tried, and %d states taken", places, taken)
	}
}
