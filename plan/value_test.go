package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/plan"
)

// planted is a value with a secret in each kind of position.
var planted = plan.Value{
	Value: cty.ObjectVal(map[string]cty.Value{
		"id":   cty.UnknownVal(cty.String),
		"list": cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal("hush")}),
		"map":  cty.MapVal(map[string]cty.Value{"k": cty.StringVal("hush"), "l": cty.StringVal("b")}),
		"nested": cty.ObjectVal(map[string]cty.Value{
			"password": cty.StringVal("hush"), "size": cty.NumberFloatVal(1.5),
		}),
		"none": cty.NullVal(cty.String),
		"set":  cty.SetVal([]cty.Value{cty.StringVal("hush")}),
		"yes":  cty.True,
	}),
	Sensitive: []cty.Path{
		cty.GetAttrPath("list").IndexInt(1),
		cty.GetAttrPath("map").IndexString("k"),
		cty.GetAttrPath("nested").GetAttr("password"),
		cty.GetAttrPath("set"),
	},
}

func TestPrintedPlansShowNoSecrets(t *testing.T) {
	change := &plan.Change{Before: planted, After: planted}
	hidden := cty.StringVal("hush")
	for _, what := range []any{planted, *change, []plan.Value{planted}, plan.OutputChange{Before: hidden, After: hidden,
		Sensitive: true, BeforeSensitive: true}, plan.Variable{Value: hidden, Sensitive: true}} {
		for _, verb := range []string{"%v", "%+v", "%s", "%#v"} {
			if text := fmt.Sprintf(verb, what); strings.Contains(text, "hush") {
				t.Errorf("%s of %T shows a secret: %s", verb, what, text)
			}
		}
	}
	want := `{id = (known after apply), list = ["a", (sensitive value)], map = {k = (sensitive value), l = "b"}, ` +
		`nested = {password = (sensitive value), size = 1.5}, none = null, set = (sensitive value), yes = true}`
	if diff := cmp.Diff(want, planted.String()); diff != "" {
		t.Error(diff)
	}
}

func TestValuesOfPlansAreDecoded(t *testing.T) {
	var got struct {
		ID     *string
		List   []string
		Map    map[string]string
		Nested struct {
			Password string
			Size     float64
		}
		None *string
		Set  []string
		Yes  bool
	}
	if err := planted.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.ID != nil || got.None != nil || got.Map["k"] != "hush" || got.Nested.Size != 1.5 || got.Set[0] != "hush" {
		t.Errorf("got %+v", got)
	}
	var whole any
	if err := planted.Decode(&whole); err != nil {
		t.Fatal(err)
	}
	if size := whole.(map[string]any)["nested"].(map[string]any)["size"]; size != json.Number("1.5") {
		t.Errorf("got %T %[1]v", size)
	}
	var value cty.Value
	if err := planted.Decode(&value); err != nil || !value.RawEquals(planted.Value) {
		t.Errorf("got %#v, %v", value, err)
	}
	var wrong []int
	for what, v := range map[string]plan.Value{"another type": planted, "no value": {}} {
		if err := v.Decode(&wrong); err == nil {
			t.Errorf("%s was decoded", what)
		}
	}
}
