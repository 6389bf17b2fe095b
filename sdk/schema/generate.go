package schema

import (
	"context"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// GenerateConfig returns the configuration of an object: its configurable attributes, without deprecated ones,
// defaults, zero values of computed attributes, and the second of two conflicting arguments.
func (s *server) GenerateConfig(ctx context.Context,
	req provider.GenerateConfigRequest) provider.GenerateConfigResponse {
	t := s.managed[req.Type]
	if t == nil {
		return provider.GenerateConfigResponse{Diagnostics: noSuchType("resource", req.Type, s.managed)}
	}
	if req.State.IsNull() || !req.State.IsKnown() {
		return s.Base.GenerateConfig(ctx, req)
	}
	config := t.object.configured(req.State)
	return provider.GenerateConfigResponse{Config: t.withoutConflicts(config)}
}

// configured returns the configurable part of an object.
func (o *object) configured(v cty.Value) cty.Value {
	if v.IsNull() || !v.IsKnown() {
		return v
	}
	vals := v.AsValueMap()
	for name, f := range o.fields {
		vals[name] = f.configured(vals[name])
	}
	return cty.ObjectVal(vals)
}

// configured returns the configurable value of a field, or null if it has none.
func (f *field) configured(v cty.Value) cty.Value {
	s := f.schema
	switch {
	case f.implicit || !s.Required && (!s.Optional || s.Deprecated != "" || s.WriteOnly || f.usual(v)):
		if f.block && !v.IsNull() {
			return f.without(v)
		}
		return cty.NullVal(v.Type())
	case !f.block || v.IsNull() || !v.IsKnown() || v.LengthInt() == 0:
		return v
	}
	var elems []cty.Value
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		elems = append(elems, f.object.configured(e))
	}
	switch ty := v.Type(); {
	case ty.IsSetType():
		return cty.SetVal(elems)
	case ty.IsTupleType():
		return cty.TupleVal(elems)
	}
	return cty.ListVal(elems)
}

// without returns the value for no blocks.
func (f *field) without(v cty.Value) cty.Value {
	switch ty := v.Type(); {
	case ty.IsSetType():
		return cty.SetValEmpty(ty.ElementType())
	case ty.IsListType():
		return cty.ListValEmpty(ty.ElementType())
	case ty.IsTupleType():
		return cty.EmptyTupleVal
	}
	return cty.NullVal(v.Type())
}

// usual reports whether a value need not be configured: it is the default, or a zero value that the provider would
// compute.
func (f *field) usual(v cty.Value) bool {
	if f.block || v.IsNull() || !v.IsWhollyKnown() {
		return false
	}
	s := f.schema
	if s.defaults() {
		d, err := s.DefaultValue()
		if err != nil || d == nil {
			return false
		}
		encoded, err := f.encode(nil, d, cty.NilVal)
		return err == nil && encoded.RawEquals(v)
	}
	return s.Computed && isZero(f.decode(v))
}

// withoutConflicts omits arguments that conflict with another one.
func (t *resourceType) withoutConflicts(config cty.Value) cty.Value {
	vals := config.AsValueMap()
	for _, name := range t.object.names {
		f := t.object.fields[name]
		if f.implicit || !given(f, vals[name]) {
			continue
		}
		if slices.ContainsFunc(t.object.names, func(other string) bool {
			o := t.object.fields[other]
			return other < name && !o.implicit && given(o, vals[other]) && (excludes(f, other) || excludes(o, name))
		}) {
			if f.block {
				vals[name] = f.without(vals[name])
			} else {
				vals[name] = cty.NullVal(vals[name].Type())
			}
		}
	}
	return cty.ObjectVal(vals)
}

// excludes reports whether a field conflicts with another one.
func excludes(f *field, other string) bool {
	return slices.Contains(f.schema.ConflictsWith, other) || slices.Contains(f.schema.ExactlyOneOf, other)
}
