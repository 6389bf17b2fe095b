package state

import (
	"cmp"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// IdentityText formats the attributes of an identity, sorted by name.
func IdentityText(v cty.Value) string {
	var parts []string
	for it := v.ElementIterator(); it.Next(); {
		name, part := it.Element()
		parts = append(parts, name.AsString()+"="+partText(part))
	}
	return cmp.Or(strings.Join(parts, ","), "<empty>")
}

func partText(v cty.Value) string {
	switch {
	case !v.IsKnown():
		return "<unknown>"
	case v.IsNull():
		return "<null>"
	case v.Type().IsPrimitiveType():
		text, err := convert.Convert(v, cty.String)
		if err != nil {
			return "<" + v.Type().FriendlyName() + ">"
		}
		return text.AsString()
	}
	var parts []string
	for it := v.ElementIterator(); it.Next(); {
		_, part := it.Element()
		parts = append(parts, partText(part))
	}
	return "[" + strings.Join(parts, ",") + "]"
}
