package view

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
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

// learnPlan adds the sensitive values of a plan to the known secrets, and the values that its configuration declares as
// nonsensitive to the exceptions.
func (o Options) learnPlan(p *plan.Plan, schemas tfjson.Schemas) {
	if o.ShowSensitive {
		return
	}
	o.Secrets.ShowTexts(p.Nonsensitive...)
	for _, v := range p.Variables {
		if v.Sensitive {
			o.learn(v.Value, []cty.Path{{}})
		}
	}
	for _, c := range slices.Concat(p.Changes, p.Drift) {
		b := blockOf(schemas, c.Provider.Provider, c.Object.Instance.Resource)
		for _, v := range []plan.Value{c.Before, c.After} {
			o.learnObject(b, v.Value, v.Sensitive)
		}
	}
	for _, out := range p.Outputs {
		if out.Sensitive || out.BeforeSensitive {
			o.learnOutput(out.Before)
			o.learnOutput(out.After)
		}
	}
	for _, i := range p.Invocations {
		o.learn(i.Config.Value, i.Config.Sensitive)
	}
}

// learnOutput adds a sensitive output. A collection is skipped: it is sensitive because of one part, and which part is
// not known.
func (o Options) learnOutput(v cty.Value) {
	if v != cty.NilVal && v.Type().IsPrimitiveType() {
		o.learn(v, []cty.Path{{}})
	}
}

func (o Options) learn(v cty.Value, paths []cty.Path) {
	if v != cty.NilVal && len(paths) > 0 {
		o.Secrets.Add(v, paths)
	}
}

func (o Options) learnObject(b *provider.Block, v cty.Value, paths []cty.Path) {
	if v == cty.NilVal || v.IsNull() {
		return
	}
	if b != nil && v.IsKnown() && b.HasSensitive() {
		paths = value.SensitivePaths(b, v, paths)
	}
	o.learn(v, paths)
}

// learnState adds the sensitive values of a state to the known secrets. An object that does not match its schema is
// skipped; the code that shows it reports the problem.
func (o Options) learnState(s *state.State, schemas tfjson.Schemas) {
	if o.ShowSensitive {
		return
	}
	for _, name := range s.OutputNames() {
		if out := s.Output(name); out.Sensitive {
			o.learnOutput(out.Value)
		}
	}
	for _, r := range s.Resources() {
		for _, key := range r.Keys() {
			instance := r.Instances[key]
			objects := slices.Collect(maps.Values(instance.Deposed))
			for _, object := range append(objects, instance.Current) {
				o.learnStored(r, object, schemas)
			}
		}
	}
}

func (o Options) learnStored(r *state.Resource, object *state.Object, schemas tfjson.Schemas) {
	if object == nil {
		return
	}
	b := blockOf(schemas, r.Manager(object).Provider, r.Addr.Resource)
	if schemas == nil && len(object.Sensitive) > 0 {
		o.learnUntyped(object)
	}
	if b == nil || len(object.Sensitive) == 0 && !b.HasSensitive() {
		return
	}
	if v, err := object.Value(b.ImpliedType()); err == nil {
		o.learnObject(b, v, object.Sensitive)
	}
}

// learnUntyped adds the sensitive values of an object that is decoded without its schema, so that maps are objects.
func (o Options) learnUntyped(object *state.Object) {
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
			name, ok := stepName(step)
			if !ok || part.IsNull() || !part.IsKnown() {
				part = cty.NilVal
				break
			}
			if part = member(withoutType(part), name, step); part == cty.NilVal {
				break
			}
		}
		o.learn(withoutType(part), []cty.Path{{}})
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

// LearnState adds the sensitive values of a state to the known secrets, as far as they can be found without schemas.
func LearnState(o Options, s *state.State) { o.learnState(s, nil) }
