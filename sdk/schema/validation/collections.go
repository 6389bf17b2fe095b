package validation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// MapKeyLenBetween requires keys of min to max characters.
func MapKeyLenBetween(min, max int) schema.SchemaValidateDiagFunc {
	return eachKey(func(k string) bool { n := utf8.RuneCountInString(k); return n >= min && n <= max },
		"A key is too short or too long")
}

// MapKeyMatch requires keys that match.
func MapKeyMatch(r *regexp.Regexp, message string) schema.SchemaValidateDiagFunc {
	if message == "" {
		message = "A key must match " + r.String()
	}
	return eachKey(r.MatchString, message)
}

// MapValueLenBetween requires values of min to max characters.
func MapValueLenBetween(min, max int) schema.SchemaValidateDiagFunc {
	return eachMember(func(_, v string) bool { n := utf8.RuneCountInString(v); return n >= min && n <= max },
		"A value is too short or too long")
}

// MapValueMatch requires values that match.
func MapValueMatch(r *regexp.Regexp, message string) schema.SchemaValidateDiagFunc {
	if message == "" {
		message = "A value must match " + r.String()
	}
	return eachMember(func(_, v string) bool { return r.MatchString(v) }, message)
}

func eachKey(holds func(string) bool, message string) schema.SchemaValidateDiagFunc {
	return eachMember(func(k, _ string) bool { return holds(k) }, message)
}

// eachMember checks maps of strings; a value of another type counts as an empty map.
func eachMember(holds func(key, value string) bool, message string) schema.SchemaValidateDiagFunc {
	return func(value interface{}, path cty.Path) (diags diag.List) {
		m, _ := value.(map[string]interface{})
		for _, k := range slices.Sorted(maps.Keys(m)) {
			v, _ := m[k].(string)
			if !holds(k, v) {
				diags = diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: message,
					Path: append(path.Copy(), cty.IndexStep{Key: cty.StringVal(k)})})
			}
		}
		return diags
	}
}

// ListOfUniqueStrings requires a list of strings without duplicates.
func ListOfUniqueStrings(value interface{}, key string) ([]string, []error) {
	return check(func(list []interface{}) string {
		seen := map[string]bool{}
		for i, v := range list {
			text, ok := v.(string)
			switch {
			case !ok:
				return fmt.Sprintf("must be a list of strings, but element %d is a %T", i, v)
			case seen[text]:
				return fmt.Sprintf("has the same string twice: %q", text)
			}
			seen[text] = true
		}
		return ""
	})(value, key)
}
