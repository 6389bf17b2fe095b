package manifest

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
)

// about maps kinds of values to the keywords that only apply to them. Values of all other kinds satisfy these keywords,
// so they check nothing for another type.
var about = map[string][]string{
	"string": {"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType", "contentSchema"},
	"number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"array": {"minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "items", "prefixItems",
		"unevaluatedItems"},
	"object": {"minProperties", "maxProperties", "required", "dependentRequired", "dependentSchemas", "properties",
		"patternProperties", "additionalProperties", "propertyNames", "unevaluatedProperties"},
}

// twins lists keywords that authors confuse: each line has those for strings, numbers, arrays and objects.
var twins = []map[string]string{
	{"string": "minLength", "number": "minimum", "array": "minItems", "object": "minProperties"},
	{"string": "maxLength", "number": "maximum", "array": "maxItems", "object": "maxProperties"},
	{"array": "items", "object": "additionalProperties"},
}

// kinds are JSON Schema's names of types.
var kinds = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// kindOf returns JSON Schema's name for a type, or "" for the dynamic type.
func kindOf(ty cty.Type) string {
	switch {
	case ty == cty.String:
		return "string"
	case ty == cty.Number:
		return "number"
	case ty == cty.Bool:
		return "boolean"
	case ty.IsMapType() || ty.IsObjectType():
		return "object"
	case ty == cty.DynamicPseudoType:
		return ""
	}
	return "array"
}

// kindIn returns JSON Schema's name for the type of a value.
func kindIn(v *node) string {
	return map[strictjson.Kind]string{strictjson.String: "string", strictjson.Number: "number",
		strictjson.Bool: "boolean", strictjson.Object: "object", strictjson.Array: "array"}[v.Kind]
}

// fit reports keywords that all values of a type satisfy, or none. It ignores $defs, because they are checked where
// they are referred to.
func (r *reader) fit(v *node, ty cty.Type) {
	kind := kindOf(ty)
	if v == nil || v.Kind != strictjson.Object || kind == "" {
		return
	}
	for _, m := range v.Members {
		for _, of := range slices.Sorted(maps.Keys(about)) {
			if of != kind && slices.Contains(about[of], m.Name) {
				r.errorAt(m.Offset, "The keyword %q is for values that are %ss. The value here is always of the kind "+
					"%q, so the keyword has no effect.%s", m.Name, of, kind, twin(m.Name, kind))
			}
		}
		switch m.Name {
		case "type":
			r.fitType(m.Value, kind)
		case "const":
			r.fitValue(m.Value, kind)
		case "enum":
			for _, item := range m.Value.Items {
				r.fitValue(item, kind)
			}
		}
		r.fitInside(m, ty)
	}
	for _, pair := range [][2]string{{"minLength", "maxLength"}, {"minimum", "maximum"}, {"minItems", "maxItems"},
		{"minProperties", "maxProperties"}} {
		low, high := numberIn(v.Get(pair[0])), numberIn(v.Get(pair[1]))
		if low != nil && high != nil && low.Cmp(high) > 0 {
			r.errorf(v.Get(pair[0]), "No value can be at least %s and at most %s: swap %q and %q.",
				v.Get(pair[0]).Text, v.Get(pair[1]).Text, pair[0], pair[1])
		}
	}
}

func twin(name, kind string) string {
	for _, line := range twins {
		for _, other := range line {
			if other == name && line[kind] != "" {
				return fmt.Sprintf(" Did you mean %q?", line[kind])
			}
		}
	}
	return ""
}

func numberIn(v *node) *big.Float {
	if v == nil || v.Kind != strictjson.Number {
		return nil
	}
	f, _, err := big.ParseFloat(v.Text, 10, 256, big.ToNearestEven)
	if err != nil {
		return nil
	}
	return f
}

// fitType reports a required type that the value never has.
func (r *reader) fitType(v *node, kind string) {
	words := []*node{v}
	if v.Kind == strictjson.Array {
		words = v.Items
	}
	for _, w := range words {
		if !slices.Contains(kinds, w.Text) || w.Text == kind || kind == "number" && w.Text == "integer" {
			return
		}
	}
	r.errorf(v, "Because of the attribute's type, every value is of the kind %q, and none of this kind. Remove the "+
		"keyword.", kind)
}

// fitValue reports an allowed value that cannot occur.
func (r *reader) fitValue(v *node, kind string) {
	if got := kindIn(v); v.Kind == strictjson.Null {
		r.errorf(v, "null is always allowed, because an attribute without a value is null. Remove it.")
	} else if got != kind {
		r.errorf(v, "Every value here is of the kind %q, so it can never equal this one of the kind %q.", kind, got)
	}
}

// fitInside checks the schemas inside of a keyword.
func (r *reader) fitInside(m strictjson.Member, ty cty.Type) {
	var element cty.Type
	switch {
	case ty.IsListType() || ty.IsSetType() || ty.IsMapType():
		element = ty.ElementType()
	}
	switch m.Name {
	case "not", "if", "then", "else":
		r.fit(m.Value, ty)
	case "allOf", "anyOf", "oneOf":
		for _, item := range m.Value.Items {
			r.fit(item, ty)
		}
	case "items", "contains", "additionalProperties", "unevaluatedItems", "unevaluatedProperties":
		if element != cty.NilType {
			r.fit(m.Value, element)
		}
	case "propertyNames":
		r.fit(m.Value, cty.String)
	case "patternProperties":
		for _, inner := range m.Value.Members {
			if element != cty.NilType {
				r.fit(inner.Value, element)
			}
		}
	case "prefixItems":
		for i, item := range m.Value.Items {
			switch {
			case ty.IsTupleType() && i < ty.Length():
				r.fit(item, ty.TupleElementType(i))
			case element != cty.NilType:
				r.fit(item, element)
			}
		}
	case "properties":
		for _, inner := range m.Value.Members {
			switch {
			case element != cty.NilType:
				r.fit(inner.Value, element)
			case ty.IsObjectType() && ty.HasAttribute(inner.Name):
				r.fit(inner.Value, ty.AttributeType(inner.Name))
			case ty.IsObjectType():
				r.noProperty(inner.Offset, inner.Name, ty)
			}
		}
	case "required":
		for _, item := range m.Value.Items {
			if ty.IsObjectType() && item.Kind == strictjson.String && !ty.HasAttribute(item.Text) {
				r.noProperty(item.Offset, item.Text, ty)
			}
		}
	}
}

func (r *reader) noProperty(at int, name string, ty cty.Type) {
	var names []string
	for have := range ty.AttributeTypes() {
		names = append(names, have)
	}
	slices.Sort(names)
	hint := diag.DidYouMean(name, names)
	if hint == "" {
		hint = " It has " + strings.Join(names, ", ") + "."
	}
	r.errorAt(at, "The value has no attribute %q.%s", name, hint)
}
