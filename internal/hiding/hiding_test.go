package hiding_test

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/hiding"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

func TestStoredSecretsAreHiddenBeforeUpgrades(t *testing.T) {
	block := &provider.Block{Attributes: map[string]*provider.Attribute{
		"public": {Type: cty.String, Optional: true}, "made": {Type: cty.List(cty.String), Optional: true},
		"secret": {Type: cty.String, Optional: true, Sensitive: true},
	}}
	made := []cty.Path{cty.GetAttrPath("made").IndexInt(0)}
	for name, stored := range map[string]*state.Object{
		"present": {Attributes: []byte(`{"public":"public","made":["hidden-1"],"secret":"hidden-2"}`), Sensitive: made},
		"other": {Attributes: []byte(`{"public":"public","made":{"a":"hidden-1"},"secret":["hidden-2"],"gone":1}`),
			Sensitive: made},
		"flat": {Flat: map[string]string{"public": "public", "made.#": "1", "made.0": "hidden-1",
			"secret": "hidden-2"}, Sensitive: made},
	} {
		var s value.Secrets
		hiding.Stored(&s, block, stored)
		if got := s.Redact("public hidden-1 hidden-2"); strings.Contains(got, "hidden") ||
			!strings.HasPrefix(got, "public ") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
