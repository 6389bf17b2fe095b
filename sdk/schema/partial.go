package schema

import (
	"maps"
	"strconv"

	"github.com/zclconf/go-cty/cty"
)

// accept gives the object before with the new values at the accepted keys, and below them.
func (o *object) accept(before, now cty.Value, keys [][]string) cty.Value {
	if len(keys) == 0 {
		return before
	}
	if before.IsNull() {
		before = o.block.EmptyValue()
	}
	if now.IsNull() {
		now = o.block.EmptyValue()
	}
	vals := before.AsValueMap()
	for name, below := range group(keys) {
		if f := o.fields[name]; f != nil {
			vals[name] = f.accept(vals[name], now.GetAttr(name), below)
		}
	}
	return cty.ObjectVal(vals)
}

// group sorts keys by their first step.
func group(keys [][]string) map[string][][]string {
	groups := map[string][][]string{}
	for _, key := range keys {
		groups[key[0]] = append(groups[key[0]], key[1:])
	}
	return groups
}

func (f *field) accept(before, now cty.Value, keys [][]string) cty.Value {
	for _, key := range keys {
		if len(key) == 0 {
			return now
		}
	}
	switch f.schema.Type {
	case TypeList:
		if f.ty.IsListType() {
			return f.acceptList(before, now, keys)
		}
	case TypeMap:
		if f.ty.IsMapType() {
			return f.acceptMap(before, now, keys)
		}
	}
	return now // parts of a set have no names of their own
}

// acceptList takes over single elements. One that is new goes to the end, one that there is no more goes away: in between, no element
// can be missing.
func (f *field) acceptList(before, now cty.Value, keys [][]string) cty.Value {
	vals, fresh := elementsOf(before), elementsOf(now)
	groups := group(keys)
	for i := 0; i < len(fresh); i++ {
		below, ok := groups[strconv.Itoa(i)]
		switch {
		case !ok || i > len(vals):
		case i == len(vals):
			vals = append(vals, f.acceptElement(cty.NullVal(f.elemType()), fresh[i], below))
		default:
			vals[i] = f.acceptElement(vals[i], fresh[i], below)
		}
	}
	for len(vals) > len(fresh) && groups[strconv.Itoa(len(vals)-1)] != nil {
		vals = vals[:len(vals)-1]
	}
	if len(vals) == 0 {
		if before.IsNull() {
			return before
		}
		return cty.ListValEmpty(f.elemType())
	}
	return cty.ListVal(vals)
}

func (f *field) acceptElement(before, now cty.Value, keys [][]string) cty.Value {
	for _, key := range keys {
		if len(key) == 0 {
			return now
		}
	}
	if f.object != nil {
		return f.object.accept(before, now, keys)
	}
	return f.elem.accept(before, now, keys)
}

func (f *field) acceptMap(before, now cty.Value, keys [][]string) cty.Value {
	vals := map[string]cty.Value{}
	if !before.IsNull() {
		maps.Copy(vals, before.AsValueMap())
	}
	for _, key := range keys {
		name := key[0]
		for _, step := range key[1:] {
			name += "." + step // keys of maps may hold dots
		}
		if v := memberOf(now, name); v != cty.NilVal {
			vals[name] = v
		} else {
			delete(vals, name)
		}
	}
	if len(vals) == 0 {
		if before.IsNull() {
			return before
		}
		return cty.MapValEmpty(f.elem.ty)
	}
	return cty.MapVal(vals)
}
