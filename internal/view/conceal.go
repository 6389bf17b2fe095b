package view

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/hiding"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// A provider may copy a secret into an attribute that is not declared as sensitive, as terraform_data copies its input
// to its output. Known secret strings are therefore hidden in all values shown to people. Documents and JSON lines keep
// their own marks.

// concealing returns the function that hides secrets in values, or nil if there are none to hide.
func (o Options) concealing() func(string) (string, bool) {
	if o.ShowSensitive {
		return nil
	}
	return o.Secrets.Values()
}

// conceal returns the difference of two scalars without secrets. A value that consists of a secret, and two values that
// differ only in secrets, are secret themselves.
func (r *renderer) conceal(n *node) *node {
	if r.hide == nil {
		return n
	}
	before, hadSecret, wasWhole := r.concealed(n.before)
	after, hasSecret, isWhole := before, hadSecret, wasWhole
	if n.op != same {
		after, hasSecret, isWhole = r.concealed(n.after)
	}
	if !hadSecret && !hasSecret {
		return n
	}
	c := *n
	c.before, c.after = before, after
	if wasWhole || isWhole || n.op == update && ctyfast.RawEquals(before, after) {
		c.kind, c.unchanged = secret, n.op == same
	}
	return &c
}

// concealed returns a scalar without secrets, and reports whether it had any, and whether it had nothing else.
func (r *renderer) concealed(v cty.Value) (shown cty.Value, some, whole bool) {
	switch {
	case isAbsent(v) || v.IsNull() || !v.IsKnown():
		return v, false, false
	case v.Type() == cty.Number:
		_, whole = r.hide(literal(v))
		return v, whole, whole
	case v.Type() != cty.String:
		return v, false, false
	}
	text, whole := r.hide(v.AsString())
	if text == v.AsString() {
		return v, false, false
	}
	return cty.StringVal(text), true, whole
}

// Public returns a value without secrets: a part that is a secret is marked as sensitive, and secrets are removed from
// longer strings.
func (o Options) Public(v cty.Value) cty.Value {
	r := renderer{hide: o.concealing()}
	return r.publicly(v)
}

// publicly is Public.
func (r *renderer) publicly(v cty.Value) cty.Value {
	if r.hide == nil || v == cty.NilVal {
		return v
	}
	shown, err := cty.Transform(v, func(_ cty.Path, part cty.Value) (cty.Value, error) {
		switch ty := part.Type(); {
		case part.IsMarked():
			return part, nil
		case ty.IsMapType() && part.IsKnown() && !part.IsNull() && part.LengthInt() > 0:
			return cty.MapVal(r.publicNames(part.AsValueMap())), nil
		case ty.IsObjectType() && part.IsKnown() && !part.IsNull() && part.LengthInt() > 0:
			return cty.ObjectVal(r.publicNames(part.AsValueMap())), nil
		case !ty.IsPrimitiveType():
			return part, nil
		}
		shown, _, whole := r.concealed(part)
		if whole {
			shown = part.Mark(value.Sensitive)
		}
		return shown, nil
	})
	if err != nil {
		panic("view: a value without secrets has another shape: " + err.Error())
	}
	return shown
}

// publicNames returns the members of a map or object under names without secrets. The names stay unique.
func (r *renderer) publicNames(parts map[string]cty.Value) map[string]cty.Value {
	out := make(map[string]cty.Value, len(parts))
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		name := r.name(key)
		for _, taken := out[name]; taken; _, taken = out[name] {
			name += "+"
		}
		out[name] = parts[key]
	}
	return out
}

// name returns a key of a map or object, without secrets.
func (r *renderer) name(key string) string {
	if r.hide != nil {
		key, _ = r.hide(key)
	}
	return key
}

// learnPlan adds the secrets of a plan to the known ones.
func (o Options) learnPlan(p *plan.Plan, schemas tfjson.Schemas) {
	if !o.ShowSensitive {
		hiding.Plan(o.Secrets, p, blocksOf(schemas))
	}
}

// learnState adds the secrets of a state to the known ones.
func (o Options) learnState(s *state.State, schemas tfjson.Schemas) {
	if !o.ShowSensitive {
		hiding.State(o.Secrets, s, blocksOf(schemas))
	}
}

// LearnState adds the sensitive values of a state to the known secrets, as far as they can be found without schemas.
func LearnState(o Options, s *state.State) { o.learnState(s, nil) }

func blocksOf(schemas tfjson.Schemas) hiding.Blocks {
	return func(p addr.Provider, r addr.Resource) *provider.Block { return blockOf(schemas, p, r) }
}
