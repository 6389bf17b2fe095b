package web

import (
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/provider"
)

// value returns a response as a value for templates. A body that is not JSON is a string.
func (r *reply) value() cty.Value {
	headers := map[string]cty.Value{}
	for name, list := range r.header {
		headers[strings.ToLower(name)] = cty.StringVal(strings.ToValidUTF8(strings.Join(list, ", "), "\uFFFD"))
	}
	text := strings.ToValidUTF8(string(r.body), "\uFFFD") // it must not look like an empty body
	body := cty.StringVal(text)
	if len(strings.TrimSpace(text)) == 0 {
		body = cty.NullVal(cty.DynamicPseudoType)
	} else if root, err := strictjson.Parse(r.body); err == nil {
		body = fromJSON(root)
	}
	return cty.ObjectVal(map[string]cty.Value{"status": cty.NumberIntVal(int64(r.status)), "body": body,
		"headers": cty.ObjectVal(headers), "text": cty.StringVal(text)})
}

// fromJSON converts a JSON value to objects and tuples.
func fromJSON(v *strictjson.Value) cty.Value {
	switch v.Kind {
	case strictjson.Bool:
		return cty.BoolVal(v.True)
	case strictjson.Number:
		return cty.MustParseNumberVal(v.Text) // strictjson has narrower limits
	case strictjson.String:
		return cty.StringVal(v.Text)
	case strictjson.Array:
		list := make([]cty.Value, len(v.Items))
		for i, item := range v.Items {
			list[i] = fromJSON(item)
		}
		return cty.TupleVal(list)
	case strictjson.Object:
		vals := make(map[string]cty.Value, len(v.Members))
		for _, m := range v.Members {
			vals[m.Name] = fromJSON(m.Value)
		}
		return cty.ObjectVal(vals)
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// isObject reports whether a value has named members.
func isObject(v cty.Value) bool {
	return v != cty.NilVal && !v.IsNull() && v.IsKnown() && (v.Type().IsObjectType() || v.Type().IsMapType())
}

// isSequence reports whether a value is a sequence of others.
func isSequence(v cty.Value) bool {
	return v != cty.NilVal && !v.IsNull() && v.IsKnown() && (v.Type().IsTupleType() || v.Type().IsListType() ||
		v.Type().IsSetType())
}

func sortedNames(v cty.Value) []string { return slices.Sorted(maps.Keys(v.AsValueMap())) }

// member returns a member of an object, or cty.NilVal if it does not exist.
func member(v cty.Value, name string) cty.Value {
	if !isObject(v) {
		return cty.NilVal
	}
	if v.Type().IsObjectType() {
		if !v.Type().HasAttribute(name) {
			return cty.NilVal
		}
		return v.GetAttr(name)
	}
	key := cty.StringVal(name)
	if v.HasIndex(key).False() {
		return cty.NilVal
	}
	return v.Index(key)
}

// outgoing builds the bodies of requests from the configuration.
type outgoing struct {
	m        *manifest.Manifest
	creating bool
	// stored omits values that are never stored, so that the difference of two bodies is the change.
	stored bool
}

// field returns how an attribute is sent and received, and its name.
func field(m *manifest.Manifest, name string, a *provider.Attribute) (manifest.Field, string) {
	if f := m.Words(a).Field; f != nil {
		if f.Name != "" {
			name = f.Name
		}
		return *f, name
	}
	return manifest.Field{}, name
}

// object returns the members of an object that users configure; config contains the write-only ones, and may be
// cty.NilVal.
func (o outgoing) object(attrs map[string]*provider.Attribute, blocks map[string]*provider.NestedBlock, v,
	config cty.Value) cty.Value {
	vals := map[string]cty.Value{}
	for name, a := range attrs {
		f, name2 := field(o.m, name, a)
		given := member(v, name)
		if a.WriteOnly {
			given = member(config, name)
		}
		if f.NotSent || f.AtCreation && !o.creating || a.WriteOnly && o.stored || !a.Required && !a.Optional ||
			given == cty.NilVal || given.IsNull() || !given.IsKnown() {
			continue
		}
		if a.Nested != nil {
			given = o.members(a.Nested.Nesting, given, member(config, name), func(v, config cty.Value) cty.Value {
				return o.object(a.Nested.Attributes, nil, v, config)
			})
		}
		vals[name2] = given
	}
	for name, nb := range blocks {
		given := member(v, name)
		if given == cty.NilVal || given.IsNull() || nb.Nesting != provider.NestingSingle &&
			nb.Nesting != provider.NestingGroup && given.LengthInt() == 0 {
			continue
		}
		vals[name] = o.members(nb.Nesting, given, member(config, name), func(v, config cty.Value) cty.Value {
			return o.object(nb.Attributes, nb.Blocks, v, config)
		})
	}
	return cty.ObjectVal(vals)
}

// members converts the objects of a nested attribute or of blocks.
func (o outgoing) members(nesting provider.Nesting, v, config cty.Value,
	one func(v, config cty.Value) cty.Value) cty.Value {
	switch nesting {
	case provider.NestingSingle, provider.NestingGroup:
		return one(v, config)
	case provider.NestingMap:
		vals := map[string]cty.Value{}
		for name, e := range v.AsValueMap() {
			vals[name] = e
			if !e.IsNull() {
				vals[name] = one(e, member(config, name))
			}
		}
		return cty.ObjectVal(vals)
	}
	var configs []cty.Value
	if nesting == provider.NestingList && isSequence(config) {
		configs = config.AsValueSlice()
	}
	list := v.AsValueSlice()
	for i, e := range list {
		inner := cty.NilVal
		if i < len(configs) {
			inner = configs[i]
		}
		if !e.IsNull() {
			list[i] = one(e, inner)
		}
	}
	return cty.TupleVal(list)
}

// changes returns the difference of two bodies as a merge patch (RFC 7396).
func changes(before, after cty.Value) cty.Value {
	vals := map[string]cty.Value{}
	for name := range before.AsValueMap() {
		if member(after, name) == cty.NilVal {
			vals[name] = cty.NullVal(cty.DynamicPseudoType)
		}
	}
	for name, v := range after.AsValueMap() {
		was := member(before, name)
		switch {
		case was == cty.NilVal:
			vals[name] = v
		case isObject(was) && isObject(v):
			if inner := changes(was, v); inner.LengthInt() > 0 {
				vals[name] = inner
			}
		case !equal(was, v):
			vals[name] = v
		}
	}
	return cty.ObjectVal(vals)
}

// equal compares values as JSON does: a list equals a tuple, and a map an object.
func equal(a, b cty.Value) bool {
	switch {
	case a.IsNull() || b.IsNull():
		return a.IsNull() && b.IsNull()
	case isObject(a) && isObject(b):
		x, y := a.AsValueMap(), b.AsValueMap()
		return len(x) == len(y) && !slices.ContainsFunc(slices.Collect(maps.Keys(x)), func(name string) bool {
			other, ok := y[name]
			return !ok || !equal(x[name], other)
		})
	case isSequence(a) && isSequence(b):
		return slices.EqualFunc(a.AsValueSlice(), b.AsValueSlice(), equal)
	}
	return a.Type().Equals(b.Type()) && a.RawEquals(b)
}
