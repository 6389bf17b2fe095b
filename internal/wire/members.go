package wire

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// mismatch returns the attribute that an object in msgpack lacks, or has without its type, because the decoder only
// counts attributes. It returns "" if none can be found; b must have been checked.
func mismatch(b []byte, ty cty.Type) string {
	_, what := mismatchIn(b, ty, nil)
	return what
}

// mismatchIn checks the value at the beginning of b and returns its size. It does not check the content of dynamic
// values.
func mismatchIn(b []byte, ty cty.Type, at cty.Path) (size int, what string) {
	size, members, err := msgpackItem(b)
	if err != nil {
		return len(b), ""
	}
	isMap := b[0]&0xf0 == 0x80 || b[0] == 0xde || b[0] == 0xdf
	var seen map[string]bool
	if isMap && ty.IsObjectType() {
		seen = map[string]bool{}
	}
	for i := uint64(0); i < members; i++ {
		step, inner := cty.PathStep(cty.IndexStep{Key: cty.NumberUIntVal(i)}), cty.DynamicPseudoType
		if isMap {
			n, _ := mismatchIn(b[size:], cty.String, nil)
			key := stringItem(b[size : size+n])
			size += n
			i++ // a map counts keys and values
			step = cty.IndexStep{Key: cty.StringVal(key)}
			if seen != nil {
				if seen[key] || !ty.HasAttribute(key) {
					return size, fmt.Sprintf("%sthe attribute %q is not in the schema, or occurs twice",
						prefix(at), key)
				}
				seen[key], inner, step = true, ty.AttributeType(key), cty.GetAttrStep{Name: key}
			} else if ty.IsMapType() {
				inner = ty.ElementType()
			}
		} else if ty.IsListType() || ty.IsSetType() {
			inner = ty.ElementType()
		} else if ty.IsTupleType() && i < uint64(ty.Length()) {
			inner = ty.TupleElementType(int(i))
		}
		n, what := mismatchIn(b[size:], inner, append(at, step))
		if size += n; what != "" {
			return size, what
		}
	}
	if seen != nil {
		for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) {
			if !seen[name] {
				return size, fmt.Sprintf("%sthe attribute %q is missing; an attribute without a value must be sent "+
					"as nil",
					prefix(at), name)
			}
		}
	}
	return size, ""
}

func prefix(at cty.Path) string {
	if len(at) == 0 {
		return ""
	}
	return pathText(at) + ": "
}

// stringItem returns the text of an item that is a string, or "".
func stringItem(b []byte) string {
	for _, form := range []struct {
		from, to byte
		head     int
	}{{0xa0, 0xbf, 1}, {0xd9, 0xd9, 2}, {0xda, 0xda, 3}, {0xdb, 0xdb, 5}, {0xc4, 0xc4, 2}, {0xc5, 0xc5, 3},
		{0xc6, 0xc6, 5}} {
		if b[0] >= form.from && b[0] <= form.to {
			return text(string(b[form.head:]))
		}
	}
	return ""
}
