package planning

import (
	"encoding/json"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// hideStored adds the secrets of a stored object before a provider upgrades it, because the provider may repeat them.
// In an object with another schema version, everything below an attribute with a secret is secret.
func hideStored(secrets *value.Secrets, rt *provider.ResourceType, stored *state.Object) {
	if len(stored.Sensitive) == 0 && !rt.Block.HasSensitive() {
		return
	}
	if stored.Flat == nil {
		if v, err := stored.Value(rt.Block.ImpliedType()); err == nil {
			secrets.Add(v, value.SensitivePaths(rt.Block, v, stored.Sensitive))
			return
		}
	}
	names := map[string]bool{}
	for _, path := range stored.Sensitive {
		if step, ok := path[0].(cty.GetAttrStep); ok {
			names[step.Name] = true
		}
	}
	for name, a := range rt.Block.Attributes {
		names[name] = names[name] || a.Sensitive || a.Nested != nil
	}
	for name := range rt.Block.Blocks {
		names[name] = true
	}
	for name, text := range stored.Flat {
		if first, _, _ := strings.Cut(name, "."); names[first] {
			secrets.Add(cty.StringVal(text), []cty.Path{{}})
		}
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(stored.Attributes, &members) != nil {
		return
	}
	for name, raw := range members {
		if ty, err := ctyjson.ImpliedType(raw); err == nil && names[name] {
			if v, err := ctyjson.Unmarshal(raw, ty); err == nil {
				secrets.Add(v, []cty.Path{{}})
			}
		}
	}
}
