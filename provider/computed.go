package provider

import "github.com/zclconf/go-cty/cty"

// MarkComputed returns the proposed value of a creation with unknown values for everything that the provider will
// choose: computed attributes without a value, including those in nested blocks and objects, and computed blocks that
// are not configured. Without it, the plan would keep these attributes null, and the engine would refuse a value in the
// answer of Apply.
//
//	func (p *notes) Plan(_ context.Context, r provider.PlanRequest) provider.PlanResponse {
//		if !r.Prior.IsNull() {
//			return provider.PlanResponse{Planned: r.Proposed} // which has the former values of computed attributes
//		}
//		return provider.PlanResponse{Planned: provider.MarkComputed(p.block, r.Proposed)}
//	}
//
// For an update, Proposed has the former values of computed attributes: set those that the update changes to unknown.
func MarkComputed(b *Block, proposed cty.Value) cty.Value {
	if proposed == cty.NilVal || proposed.IsNull() || !proposed.IsKnown() {
		return proposed
	}
	values := markAttributes(b.Attributes, proposed)
	for name, nested := range b.Blocks {
		v := proposed.GetAttr(name)
		if nested.Computed && v.IsNull() {
			values[name] = cty.UnknownVal(nested.ImpliedType())
			continue
		}
		values[name] = markEach(nested.Nesting, v, func(v cty.Value) cty.Value {
			return MarkComputed(&nested.Block, v)
		})
	}
	return cty.ObjectVal(values)
}

// markAttributes returns the values of an object by attribute, with computed ones marked.
func markAttributes(attributes map[string]*Attribute, object cty.Value) map[string]cty.Value {
	values := object.AsValueMap()
	if values == nil {
		values = map[string]cty.Value{}
	}
	for name, a := range attributes {
		v := values[name]
		switch {
		case a.Computed && v.IsNull():
			values[name] = cty.UnknownVal(a.ImpliedType())
		case a.Nested != nil:
			values[name] = markEach(a.Nested.Nesting, v, func(v cty.Value) cty.Value {
				if v.IsNull() || !v.IsKnown() {
					return v
				}
				return cty.ObjectVal(markAttributes(a.Nested.Attributes, v))
			})
		}
	}
	return values
}

// markEach applies a function to each object in a nested block or attribute.
func markEach(nesting Nesting, v cty.Value, mark func(cty.Value) cty.Value) cty.Value {
	if v.IsNull() || !v.IsKnown() {
		return v
	}
	switch nesting {
	case NestingSingle, NestingGroup:
		return mark(v)
	case NestingMap:
		values := map[string]cty.Value{}
		for it := v.ElementIterator(); it.Next(); {
			key, element := it.Element()
			values[key.AsString()] = mark(element)
		}
		switch {
		case v.Type().IsObjectType():
			return cty.ObjectVal(values)
		case len(values) == 0:
			return v
		}
		return cty.MapVal(values)
	}
	var values []cty.Value
	for it := v.ElementIterator(); it.Next(); {
		_, element := it.Element()
		values = append(values, mark(element))
	}
	switch {
	case v.Type().IsTupleType():
		return cty.TupleVal(values)
	case len(values) == 0:
		return v
	case v.Type().IsSetType():
		return cty.SetVal(values)
	}
	return cty.ListVal(values)
}
