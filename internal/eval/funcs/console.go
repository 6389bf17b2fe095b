package funcs

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// typeMark is on results of type and on everything made of them, which the console refuses.
type typeMark struct{}

// describedType is the type of the results of type: nothing converts to or from it.
var describedType = cty.Capsule("type", reflect.TypeFor[cty.Type]())

var typeFunc = function.New(&function.Spec{
	Params: []function.Parameter{anything("value")},
	Type:   function.StaticReturnType(describedType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		ty := args[0].Type()
		return cty.CapsuleVal(describedType, &ty).Mark(typeMark{}), nil
	},
})

// DescribedType returns the text that the console prints for the result of a call of type, and whether v is one.
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

// ContainsDescribedType reports whether type was called somewhere inside an expression rather than as the whole of it,
// which the console refuses: DescribedType reports false and this reports true.
func ContainsDescribedType(v cty.Value) bool { return v.HasMarkDeep(typeMark{}) }

// TypeString writes a type in the syntax of type constraints, with the parts of structural types on lines of their own.
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
