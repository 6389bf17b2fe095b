package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
)

// Check is what the keywords of JSON Schema demand of the values of an attribute.
type Check struct{ schema *jsonschema.Schema }

const checkURL = "manifest:///json_schema"

// nowhere refuses to load what a schema refers to outside of itself.
type nowhere struct{}

// Load implements jsonschema.URLLoader.
func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, and only what stands in it is read", url)
}

// check reads the keywords of an attribute.
func (r *reader) check(v *node) *Check {
	if v.Kind != strictjson.Object {
		r.errorf(v, `"json_schema" must be an object with keywords of JSON Schema, such as {"pattern": "^/"}, not %s.`, v.Kind)
		return nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.raw(v)))
	if err == nil {
		c := jsonschema.NewCompiler()
		c.UseLoader(nowhere{})
		c.AssertFormat()
		if err = c.AddResource(checkURL, doc); err == nil {
			var compiled *jsonschema.Schema
			if compiled, err = c.Compile(checkURL); err == nil {
				return &Check{compiled}
			}
		}
	}
	r.errorf(v, "The keywords cannot be used: %s.", firstCause(err))
	return nil
}

// Problem tells why a value is not allowed, as a clause; "" when it is. The clause holds the value only where show is true. Null and
// what is not wholly known are always allowed.
func (c *Check) Problem(v cty.Value, show bool) string {
	if v.IsNull() || !v.IsWhollyKnown() {
		return ""
	}
	err := c.schema.Validate(plain(v))
	switch {
	case err == nil:
		return ""
	case !show:
		return "the value is not one that the provider allows (it is sensitive, so it is not shown)"
	}
	return firstCause(err)
}

// firstCause gives the innermost reason of the library's error, which is a tree.
func firstCause(err error) string {
	var bad *jsonschema.SchemaValidationError
	if errors.As(err, &bad) {
		err = bad.Err
	}
	text := err.Error()
	if lines := strings.Split(text, "\n"); len(lines) > 1 {
		text = strings.TrimLeft(lines[len(lines)-1], " -")
	}
	text = strings.TrimPrefix(text, "at '': ")
	return strings.TrimRight(strings.ReplaceAll(text, checkURL, ""), ".")
}

// plain gives a value as the library wants it.
func plain(v cty.Value) any {
	ty := v.Type()
	switch {
	case v.IsNull():
		return nil
	case ty == cty.String:
		return v.AsString()
	case ty == cty.Number:
		return json.Number(v.AsBigFloat().Text('f', -1))
	case ty == cty.Bool:
		return v.True()
	case ty.IsMapType() || ty.IsObjectType():
		out := map[string]any{}
		for k, e := range v.AsValueMap() {
			out[k] = plain(e)
		}
		return out
	}
	out := []any{}
	for _, e := range v.AsValueSlice() {
		out = append(out, plain(e))
	}
	return out
}
