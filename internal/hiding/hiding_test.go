package hiding_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
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

// TestTheSecretsOfAStateAreFound searches for the sensitive values of objects with random attributes and blocks.
func TestTheSecretsOfAStateAreFound(t *testing.T) {
	block := &provider.Block{
		Attributes: map[string]*provider.Attribute{
			"public": {Type: cty.DynamicPseudoType, Optional: true},
			"secret": {Type: cty.String, Optional: true, Sensitive: true},
			"list":   {Type: cty.List(cty.String), Optional: true, Sensitive: true},
		},
		Blocks: map[string]*provider.NestedBlock{"deep": {Nesting: provider.NestingList, Block: provider.Block{
			Attributes: map[string]*provider.Attribute{
				"secret": {Type: cty.String, Optional: true, Sensitive: true}}}}},
	}
	a, diags := addr.ParseInstance("thing.a")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 4))
		var words []string
		word := func(kind string) cty.Value {
			if r.IntN(3) == 0 {
				return cty.NullVal(cty.String)
			}
			text := fmt.Sprintf("%s-%d-%d", kind, seed, r.IntN(1000))
			if kind == "hidden" {
				words = append(words, text)
			}
			return cty.StringVal(text)
		}
		public := []cty.Value{word("public"), cty.NullVal(cty.String),
			cty.ObjectVal(map[string]cty.Value{"secret": cty.NullVal(cty.String),
				"list": cty.ListValEmpty(cty.String)}),
			cty.ObjectVal(map[string]cty.Value{"secret": word("public")})}[r.IntN(4)]
		list := []cty.Value{cty.NullVal(cty.List(cty.String)), cty.ListValEmpty(cty.String)}[r.IntN(2)]
		if r.IntN(2) == 0 {
			list = cty.ListVal([]cty.Value{word("hidden"), word("hidden")})
		}
		deep := cty.ListValEmpty(cty.Object(map[string]cty.Type{"secret": cty.String}))
		if r.IntN(2) == 0 {
			deep = cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"secret": word("hidden")})})
		}
		v := cty.ObjectVal(map[string]cty.Value{"public": public, "secret": word("hidden"), "list": list, "deep": deep})
		text, err := ctyjson.Marshal(v, block.ImpliedType())
		if err != nil {
			t.Fatal(err)
		}
		builder := (&state.State{}).Builder()
		builder.Fold(state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: a},
			Provider: addr.AbsProviderConfig{Provider: addr.DefaultProvider("thing")},
			Object:   &state.Object{Attributes: text}}})
		var secrets value.Secrets
		hiding.State(&secrets, builder.State(), func(addr.Provider, addr.Resource) *provider.Block { return block })
		for _, w := range words {
			if secrets.Redact(w) == w {
				t.Errorf("seed %d: %s of %s is not hidden", seed, w, text)
			}
		}
	}
}
