package funcs

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// typeMark marks results of the function "type" and all values derived from them, which the console refuses.
type typeMark struct{}

// describedType is the type of results of the function "type". It has no conversions.
var describedType = cty.Capsule("type", reflect.TypeFor[cty.Type]())

var typeFunc = function.New(&function.Spec{
	Params: []function.Parameter{anything("value")},
	Type:   function.StaticReturnType(describedType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		ty := args[0].Type()
		return cty.CapsuleVal(describedType, &ty).Mark(typeMark{}), nil
	},
})

// DescribedType returns the text that the console prints for the result of a call of the function type; ok is false if
// v is not such a result.
func DescribedType(v cty.Value) (string, bool) {
	if v.Type() != describedType {
		return "", false
	}
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return "", false
	}
	return TypeString(*v.EncapsulatedValue().(*cty.Type)), true
}

// ContainsDescribedType reports whether v was derived from a call of the function type. The console refuses this unless
// the call is the whole expression, in which case DescribedType reports true.
func ContainsDescribedType(v cty.Value) bool { return v.HasMarkDeep(typeMark{}) }

// TypeString returns a type in the syntax of type constraints, with each part of a structural type on its own line.
func TypeString(ty cty.Type) string {
	var b strings.Builder
	writeType(&b, ty, "")
	return b.String()
}

func writeType(b *strings.Builder, ty cty.Type, indent string) {
	const step = "    "
	switch {
	case ty.IsObjectType():
		if len(ty.AttributeTypes()) == 0 {
			b.WriteString("object({})")
			return
		}
		b.WriteString("object({\n")
		for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) {
			b.WriteString(indent + step + name + ": ")
			writeType(b, ty.AttributeType(name), indent+step)
			b.WriteString(",\n")
		}
		b.WriteString(indent + "})")
	case ty.IsTupleType():
		if ty.Length() == 0 {
			b.WriteString("tuple([])")
			return
		}
		b.WriteString("tuple([\n")
		for _, element := range ty.TupleElementTypes() {
			b.WriteString(indent + step)
			writeType(b, element, indent+step)
			b.WriteString(",\n")
		}
		b.WriteString(indent + "])")
	case ty.IsCollectionType():
		kind := "list"
		if ty.IsMapType() {
			kind = "map"
		} else if ty.IsSetType() {
			kind = "set"
		}
		b.WriteString(kind + "(")
		if element := ty.ElementType(); element.IsObjectType() || element.IsTupleType() {
			b.WriteString("\n" + indent + step)
			writeType(b, element, indent+step)
			b.WriteString(",\n" + indent)
		} else {
			writeType(b, element, indent)
		}
		b.WriteString(")")
	default:
		b.WriteString(ty.FriendlyName())
	}
}
