package value

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// NullWriteOnly returns the value with all write-only attributes null, for plans and states.
func NullWriteOnly(block *provider.Block, v cty.Value) cty.Value {
	if !block.HasWriteOnly() {
		return v
	}
	r := rewriter{attr: func(a *provider.Attribute, v cty.Value) (cty.Value, bool) {
		if a.WriteOnly && !v.IsNull() {
			return cty.NullVal(a.ImpliedType()), true
		}
		return v, false
	}}
	v, _ = r.object(blockShape(block), v)
	return v
}

// SetUnknowns returns the value with every computed attribute that is null, at any depth, unknown: the plan of a simple
// provider for a new object. Null objects stay null, as do attributes that only the configuration may set.
func SetUnknowns(block *provider.Block, v cty.Value) cty.Value {
	return SetUnknownsWhere(block, v, func(a *provider.Attribute) bool { return a.Computed })
}

// SetUnknownsWhere does the same for the attributes for which where returns true.
func SetUnknownsWhere(block *provider.Block, v cty.Value, where func(*provider.Attribute) bool) cty.Value {
	return Fill(block, v, func(a *provider.Attribute) cty.Value {
		if where(a) {
			return cty.UnknownVal(a.ImpliedType())
		}
		return cty.NilVal
	})
}

// SetUnknownBlocks returns the value with every computed block that is null, and for which where returns true, unknown.
func SetUnknownBlocks(block *provider.Block, v cty.Value, where func(*provider.NestedBlock) bool) cty.Value {
	if !block.HasComputedBlocks() {
		return v
	}
	r := rewriter{block: func(nb *provider.NestedBlock, v cty.Value) (cty.Value, bool) {
		if nb.Computed && v.IsNull() && where(nb) {
			return cty.UnknownVal(nb.ImpliedType()), true
		}
		return v, false
	}}
	v, _ = r.object(blockShape(block), v)
	return v
}

// Fill returns the value with null attributes replaced by the results of the function, at any depth. An attribute for
// which it returns cty.NilVal is not changed.
func Fill(block *provider.Block, v cty.Value, with func(*provider.Attribute) cty.Value) cty.Value {
	r := rewriter{attr: func(a *provider.Attribute, v cty.Value) (cty.Value, bool) {
		if !v.IsNull() {
			return v, false
		}
		if nv := with(a); nv != cty.NilVal {
			return nv, true
		}
		return v, false
	}}
	v, _ = r.object(blockShape(block), v)
	return v
}

// NullReadOnly returns the value with every attribute null that a configuration cannot set. The rest of a stored object
// can serve as its configuration.
func NullReadOnly(block *provider.Block, v cty.Value) cty.Value {
	r := rewriter{attr: func(a *provider.Attribute, v cty.Value) (cty.Value, bool) {
		if a.Computed && !a.Optional && !v.IsNull() {
			return cty.NullVal(v.Type()), true
		}
		return v, false
	}}
	v, _ = r.object(blockShape(block), v)
	return v
}

// NormalizeRead normalizes values that old providers cannot distinguish: lists, sets and groups of nested blocks that
// are null become empty, and an unknown one becomes a single block with unknown values. Maps of blocks, which old
// providers do not have, are not changed, nor are blocks with attributes of any type. It is applied to every object
// from a read, and to plans and results under the legacy type system.
func NormalizeRead(block *provider.Block, v cty.Value) cty.Value {
	if len(block.Blocks) == 0 {
		return v
	}
	r := rewriter{leave: func(nb *provider.NestedBlock) bool {
		return nb.Nesting == provider.NestingMap || nb.Block.ImpliedType().HasDynamicTypes()
	}, block: func(nb *provider.NestedBlock, v cty.Value) (cty.Value, bool) {
		switch {
		case !v.IsKnown():
			return oneUnknownBlock(nb, v)
		case v.IsNull() && nb.Nesting != provider.NestingSingle:
			return nb.EmptyValue(), true
		}
		return v, false
	}}
	v, _ = r.object(blockShape(block), v)
	return v
}

func oneUnknownBlock(nb *provider.NestedBlock, v cty.Value) (cty.Value, bool) {
	stub := unknownBlock(&nb.Block)
	switch nb.Nesting {
	case provider.NestingList:
		return cty.ListVal([]cty.Value{stub}), true
	case provider.NestingSet:
		return cty.SetVal([]cty.Value{stub}), true
	case provider.NestingMap:
		return v, false // a block cannot have an unknown key
	}
	return stub, true
}

func unknownBlock(b *provider.Block) cty.Value {
	vals := make(map[string]cty.Value, len(b.Attributes)+len(b.Blocks))
	for name, a := range b.Attributes {
		vals[name] = cty.UnknownVal(a.ImpliedType())
	}
	for name, nb := range b.Blocks {
		vals[name], _ = oneUnknownBlock(nb, cty.UnknownVal(nb.ImpliedType()))
	}
	return cty.ObjectVal(vals)
}

// rewriter changes single attributes or block collections of an object, guided by its schema, and rebuilds only changed
// parts. The functions report whether they changed the value; changed parts are not visited.
type rewriter struct {
	leave func(*provider.NestedBlock) bool // nil means that all blocks are visited
	attr  func(*provider.Attribute, cty.Value) (cty.Value, bool)
	block func(*provider.NestedBlock, cty.Value) (cty.Value, bool)
}

func (r rewriter) object(s shape, v cty.Value) (cty.Value, bool) {
	if absent(v) {
		return v, false
	}
	var vals map[string]cty.Value
	set := func(name string, nv cty.Value) {
		if vals == nil {
			vals = ctyfast.Members(v)
		}
		vals[name] = nv
	}
	if r.attr != nil {
		for name, a := range s.attrs {
			if nv, changed := r.attribute(a, ctyfast.Attr(v, name)); changed {
				set(name, nv)
			}
		}
	}
	for name, nb := range s.blocks {
		if nv, changed := r.blocks(nb, ctyfast.Attr(v, name)); changed {
			set(name, nv)
		}
	}
	if vals == nil {
		return v, false
	}
	return cty.ObjectVal(vals), true
}

func (r rewriter) attribute(a *provider.Attribute, v cty.Value) (cty.Value, bool) {
	if nv, changed := r.attr(a, v); changed {
		return nv, true
	}
	if a.Nested != nil {
		return r.members(objectShape(a.Nested), a.Nested.Nesting, v)
	}
	return v, false
}

func (r rewriter) blocks(nb *provider.NestedBlock, v cty.Value) (cty.Value, bool) {
	if r.leave != nil && r.leave(nb) {
		return v, false
	}
	if r.block != nil {
		if nv, changed := r.block(nb, v); changed {
			return nv, true
		}
		if len(nb.Blocks) == 0 && r.attr == nil {
			return v, false
		}
	}
	return r.members(blockShape(&nb.Block), nb.Nesting, v)
}

func (r rewriter) members(s shape, nesting provider.Nesting, v cty.Value) (cty.Value, bool) {
	if absent(v) {
		return v, false
	}
	switch nesting {
	case provider.NestingList, provider.NestingSet:
		vals := ctyfast.Elements(v)
		any := false
		for i, ev := range vals {
			nv, changed := r.object(s, ev)
			vals[i], any = nv, any || changed
		}
		switch {
		case !any:
			return v, false
		case nesting == provider.NestingSet:
			return setLike(v, vals), true
		}
		return sequenceLike(v, vals), true
	case provider.NestingMap:
		vals := ctyfast.Members(v)
		any := false
		for key, ev := range vals {
			nv, changed := r.object(s, ev)
			vals[key], any = nv, any || changed
		}
		if !any {
			return v, false
		}
		return keyedLike(v, vals), true
	}
	return r.object(s, v)
}

// UnknownAsNull returns the value with null in place of all unknown parts: the part of an object that can be stored
// after a failure.
func UnknownAsNull(v cty.Value) cty.Value {
	return replaceUnknown(v, func(u cty.Value) cty.Value { return cty.NullVal(u.Type()) })
}

// replaceUnknown replaces unknown values at any depth, whatever the type, and keeps marks.
func replaceUnknown(v cty.Value, fn func(cty.Value) cty.Value) cty.Value {
	if ctyfast.WhollyKnown(v) {
		return v
	}
	v, marks := v.Unmark()
	ty := v.Type()
	switch {
	case !v.IsKnown():
		v = fn(v)
	case ty.IsObjectType() || ty.IsMapType():
		vals := ctyfast.Members(v)
		for k, ev := range vals {
			vals[k] = replaceUnknown(ev, fn)
		}
		v = keyedLike(v, vals)
	default:
		vals := ctyfast.Elements(v)
		for i, ev := range vals {
			vals[i] = replaceUnknown(ev, fn)
		}
		if ty.IsSetType() {
			v = setLike(v, vals)
		} else {
			v = sequenceLike(v, vals)
		}
	}
	return v.WithMarks(marks)
}
