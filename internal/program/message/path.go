package message

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
)

// Path decodes a path into a value of a type: an array of attribute names, keys and indexes. A step into a set ends the
// path at the set. If there is an error, the path is the valid part.
func Path(ty cty.Type, given *strictjson.Value) (cty.Path, error) {
	if given.Kind != strictjson.Array {
		return nil, fmt.Errorf(`a path is an array of names and indexes, such as ["tags", "env"], not %s`, given.Kind)
	}
	var path cty.Path
	for _, step := range given.Items {
		text := step.Kind == strictjson.String
		switch {
		case ty == cty.DynamicPseudoType || ty.IsSetType():
			return path, nil
		case ty.IsObjectType() && text:
			if !ty.HasAttribute(step.Text) {
				return path, fmt.Errorf("there is no attribute %q.%s", step.Text,
					diag.DidYouMean(step.Text, slices.Sorted(maps.Keys(ty.AttributeTypes()))))
			}
			path, ty = path.GetAttr(step.Text), ty.AttributeType(step.Text)
		case ty.IsMapType() && text:
			path, ty = path.IndexString(step.Text), ty.ElementType()
		case (ty.IsListType() || ty.IsTupleType()) && step.Kind == strictjson.Number:
			i, err := strconv.Atoi(step.Text)
			if err != nil || i < 0 || ty.IsTupleType() && i >= ty.Length() {
				return path, fmt.Errorf("there is no index %s", step.Text)
			}
			path = path.IndexInt(i)
			if ty.IsListType() {
				ty = ty.ElementType()
			} else {
				ty = ty.TupleElementType(i)
			}
		default:
			return path, fmt.Errorf("%s does not select a part of %s", step.Kind, ty.FriendlyName())
		}
	}
	return path, nil
}
