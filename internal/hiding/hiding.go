// Package hiding finds the secrets of plans and states, which must not be shown anywhere.
package hiding

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Blocks returns the schema of a resource, or nil if it is not available.
type Blocks func(addr.Provider, addr.Resource) *provider.Block

// Plan adds the sensitive values of a plan to secrets, and the values that its configuration declares as nonsensitive
// to the exceptions.
func Plan(secrets *value.Secrets, p *plan.Plan, blocks Blocks) {
	h := hider{secrets: secrets, blocks: blocks}
	secrets.ShowTexts(p.Nonsensitive...)
	for _, v := range p.Variables {
		if v.Sensitive {
			h.add(v.Value, whole)
		}
	}
	for _, c := range slices.Concat(p.Changes, p.Drift) {
		b := blocks(c.Provider.Provider, c.Object.Instance.Resource)
		for _, v := range []plan.Value{c.Before, c.After} {
			h.object(b, v.Value, v.Sensitive)
		}
	}
	for _, out := range p.Outputs {
		if out.Sensitive || out.BeforeSensitive {
			h.output(out.Before)
			h.output(out.After)
		}
	}
	for _, i := range p.Invocations {
		h.add(i.Config.Value, i.Config.Sensitive)
	}
}

// State adds the sensitive values of a state to secrets.
func State(secrets *value.Secrets, s *state.State, blocks Blocks) {
	h := hider{secrets: secrets, blocks: blocks}
	for _, name := range s.OutputNames() {
		if out := s.Output(name); out.Sensitive {
			h.output(out.Value)
		}
	}
	for _, r := range s.Resources() {
		for _, instance := range r.Instances {
			h.stored(r, instance.Current)
			for object := range maps.Values(instance.Deposed) {
				h.stored(r, object)
			}
		}
	}
}

var whole = []cty.Path{{}}

type hider struct {
	secrets *value.Secrets
	blocks  Blocks
}

func (h hider) add(v cty.Value, paths []cty.Path) {
	if v != cty.NilVal && len(paths) > 0 {
		h.secrets.Add(v, paths)
	}
}

// output adds a sensitive output. A collection is skipped: it is sensitive because of one part, and which part is not
// known.
func (h hider) output(v cty.Value) {
	if v != cty.NilVal && v.Type().IsPrimitiveType() {
		h.add(v, whole)
	}
}

func (h hider) object(b *provider.Block, v cty.Value, paths []cty.Path) {
	if v == cty.NilVal || v.IsNull() {
		return
	}
	if b != nil && v.IsKnown() && b.HasSensitive() {
		paths = value.SensitivePaths(b, v, paths)
	}
	h.add(v, paths)
}

func (h hider) stored(r *state.Resource, object *state.Object) {
	if object == nil {
		return
	}
	if b := h.blocks(r.Manager(object).Provider, r.Addr.Resource); b != nil {
		if len(object.Sensitive) > 0 || object.Flat != nil || holdsSensitive(b, object.Attributes) {
			Stored(h.secrets, b, object)
		}
	} else if len(object.Sensitive) > 0 {
		h.untyped(object)
	}
}

// Stored adds the secrets of a stored object with the schema b to secrets. In an object with another schema version,
// everything below an attribute with a secret is secret.
func Stored(secrets *value.Secrets, b *provider.Block, stored *state.Object) {
	if len(stored.Sensitive) == 0 && !b.HasSensitive() {
		return
	}
	if stored.Flat == nil {
		if v, err := stored.Value(b.ImpliedType()); err == nil {
			secrets.Add(v, value.SensitivePaths(b, v, stored.Sensitive))
			return
		}
	}
	names := map[string]bool{}
	for _, path := range stored.Sensitive {
		if step, ok := path[0].(cty.GetAttrStep); ok {
			names[step.Name] = true
		}
	}
	for name, a := range b.Attributes {
		names[name] = names[name] || a.Sensitive || a.Nested != nil
	}
	for name := range b.Blocks {
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

// holdsSensitive reports whether an object may have a value for an attribute or block that the schema b declares as
// sensitive. Most types with such attributes have many objects without a value for them, which need not be decoded.
func holdsSensitive(b *provider.Block, object []byte) bool {
	attributes, blocks := b.Sensitive()
	for _, list := range [][]string{attributes, blocks} {
		for _, name := range list {
			key := []byte(`"` + name + `":`)
			for rest := object; ; {
				_, after, found := bytes.Cut(rest, key)
				if !found {
					break
				}
				value := bytes.TrimLeft(after, " \t\r\n")
				if !bytes.HasPrefix(value, []byte("null")) && !bytes.HasPrefix(value, []byte("[]")) {
					return true
				}
				rest = after
			}
		}
	}
	return false
}

// untyped adds the sensitive values of an object that is decoded without its schema, so that maps are objects.
func (h hider) untyped(object *state.Object) {
	ty, err := ctyjson.ImpliedType(object.Attributes)
	if err != nil {
		return
	}
	v, err := object.Value(ty)
	if err != nil {
		return
	}
	for _, path := range object.Sensitive {
		part := v
		for _, step := range path {
			name, ok := value.StepName(step)
			if !ok || part.IsNull() || !part.IsKnown() {
				part = cty.NilVal
				break
			}
			if part = member(withoutType(part), name, step); part == cty.NilVal {
				break
			}
		}
		h.add(withoutType(part), whole)
	}
}

// withoutType returns the value of an attribute of any type, which is stored beside its type.
func withoutType(v cty.Value) cty.Value {
	if v == cty.NilVal || v.IsNull() || !v.Type().IsObjectType() || len(v.Type().AttributeTypes()) != 2 ||
		!v.Type().HasAttribute("value") || !v.Type().HasAttribute("type") {
		return v
	}
	ty := v.GetAttr("type")
	text, err := ctyjson.Marshal(ty, ty.Type())
	var is cty.Type
	if err != nil || json.Unmarshal(text, &is) != nil {
		return v
	}
	return v.GetAttr("value")
}

// member returns the part of an object or tuple at a step, or NilVal.
func member(v cty.Value, name string, step cty.PathStep) cty.Value {
	switch ty := v.Type(); {
	case ty.IsObjectType() && ty.HasAttribute(name):
		return v.GetAttr(name)
	case ty.IsTupleType():
		if index, ok := step.(cty.IndexStep); ok && v.HasIndex(index.Key).True() {
			return v.Index(index.Key)
		}
	}
	return cty.NilVal
}
