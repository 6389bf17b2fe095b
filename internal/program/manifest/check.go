package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
)

// Check holds the constraints that JSON Schema keywords set for an attribute.
type Check struct{ schema *jsonschema.Schema }

const checkURL = "manifest:///json_schema"

// noReferences refuses to load external references of a schema.
type noReferences struct{}

// Load implements jsonschema.URLLoader.
func (noReferences) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, but only references within the document are supported", url)
}

// check decodes the keywords of an attribute.
func (r *reader) check(v *node) *Check {
	if v.Kind != strictjson.Object {
		r.errorf(v, `"json_schema" must be an object with keywords of JSON Schema, such as {"pattern": "^/"}, not %s.`,
			v.Kind)
		return nil
	}
	before := len(r.diags)
	if r.knownKeywords(v); len(r.diags) > before {
		return nil // the library would report it again
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.raw(v)))
	if err == nil {
		c := jsonschema.NewCompiler()
		c.UseLoader(noReferences{})
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

// keywords maps the JSON Schema keywords for values to the kind of schemas that they contain: one, many by name, or
// many in a list.
var keywords = map[string]string{
	"type": "", "enum": "", "const": "", "multipleOf": "", "maximum": "", "exclusiveMaximum": "", "minimum": "",
	"exclusiveMinimum": "", "maxLength": "",
	"minLength": "", "pattern": "", "format": "", "maxItems": "", "minItems": "", "uniqueItems": "", "maxContains": "",
	"minContains":   "",
	"maxProperties": "", "minProperties": "", "required": "", "dependentRequired": "", "contentEncoding": "",
	"contentMediaType": "",
	"title":            "", "description": "", "default": "", "deprecated": "", "readOnly": "", "writeOnly": "",
	"examples": "",
	"$comment": "",
	"$id":      "", "$schema": "", "$ref": "", "$anchor": "", "$dynamicRef": "", "$dynamicAnchor": "",
	"$vocabulary": "",
	"not":         "one", "if": "one", "then": "one", "else": "one", "items": "one", "contains": "one",
	"additionalProperties": "one", "propertyNames": "one",
	"unevaluatedItems": "one", "unevaluatedProperties": "one", "contentSchema": "one",
	"allOf": "list", "anyOf": "list", "oneOf": "list", "prefixItems": "list",
	"$defs": "named", "definitions": "named", "properties": "named", "patternProperties": "named",
	"dependentSchemas": "named",
}

// formats are the formats that the library checks; it ignores others.
var formats = []string{"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "json-pointer", "period",
	"regex", "relative-json-pointer", "semver", "time", "uri", "uri-reference", "uri-template", "iri", "iri-reference",
	"uuid"}

// knownKeywords reports unknown keywords: JSON Schema ignores them, and the author would believe that values are
// checked.
func (r *reader) knownKeywords(v *node) {
	if v.Kind != strictjson.Object {
		return
	}
	for _, m := range v.Members {
		holds, known := keywords[m.Name]
		switch {
		case !known:
			r.errorAt(m.Offset, "JSON Schema has no keyword %q.%s", m.Name,
				diag.DidYouMean(m.Name, slices.Sorted(maps.Keys(keywords))))
		case m.Name == "format" && m.Value.Kind == strictjson.String && !slices.Contains(formats, m.Value.Text):
			r.errorf(m.Value, "The format %q is not supported.%s", m.Value.Text,
				diag.DidYouMean(m.Value.Text, formats))
		case m.Name == "type":
			for _, word := range append([]*node{m.Value}, m.Value.Items...) {
				if word.Kind == strictjson.String && !slices.Contains(kinds, word.Text) {
					r.errorf(word, "JSON Schema has no type %q; it has %s.%s", word.Text, quotedList(kinds),
						diag.DidYouMean(word.Text, kinds))
				}
			}
		case holds == "one":
			r.knownKeywords(m.Value)
		case holds == "list":
			for _, item := range m.Value.Items {
				r.knownKeywords(item)
			}
		case holds == "named":
			for _, inner := range m.Value.Members {
				r.knownKeywords(inner.Value)
			}
		}
	}
}

// Problem returns why a value is not allowed, as a clause, or "" if it is allowed. The clause contains the value only
// if show is set. Null and partly unknown values are always allowed.
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

// Keywords returns the constraints, for programs that generate values. They are read only.
func (c *Check) Keywords() *jsonschema.Schema { return c.schema }

// firstCause returns the innermost reason in the library's error, which is a tree.
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

// plain converts a value to the types of the library.
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
