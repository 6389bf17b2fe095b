package value

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

func TestIdentifyUsesVisibleAttributes(t *testing.T) {
	b := &provider.Block{Attributes: map[string]*provider.Attribute{"id": {Type: cty.String, Computed: true}, "name": {
		Type: cty.String, Optional: true}}}
	v := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i-1"), "name": cty.StringVal("web")})
	for _, c := range []struct {
		hidden    []cty.Path
		key, text string
	}{
		{nil, "id", "i-1"},
		{[]cty.Path{cty.GetAttrPath("id")}, "name", "web"},
		{[]cty.Path{cty.GetAttrPath("id"), cty.GetAttrPath("name")}, "", ""},
		{[]cty.Path{{}}, "", ""},
	} {
		if key, text := Identify(b, v, c.hidden); key != c.key || text != c.text {
			t.Errorf("hidden %v: %s=%s, want %s=%s", c.hidden, key, text, c.key, c.text)
		}
	}
}
