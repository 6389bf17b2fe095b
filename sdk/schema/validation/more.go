package validation

import (
	"encoding/base64"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// ToDiagFunc makes a Schema.ValidateDiagFunc of a check.
func ToDiagFunc(check schema.SchemaValidateFunc) schema.SchemaValidateDiagFunc {
	return func(value interface{}, path cty.Path) (diags diag.List) {
		warnings, errs := check(value, nameOf(path))
		for _, w := range warnings {
			diags = diags.Append(&diag.Diagnostic{Severity: diag.Warning, Summary: w, Path: path})
		}
		for _, err := range errs {
			diags = diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: err.Error(), Path: path})
		}
		return diags
	}
}

// nameOf gives the attribute that a path is in.
func nameOf(path cty.Path) string {
	for i := len(path) - 1; i >= 0; i-- {
		if attr, ok := path[i].(cty.GetAttrStep); ok {
			return attr.Name
		}
	}
	return ""
}

// NoZeroValues refuses zero, false and texts of nothing but white space.
func NoZeroValues(value interface{}, key string) ([]string, []error) {
	if text, ok := value.(string); ok {
		return StringIsNotWhiteSpace(text, key)
	}
	return check(func(v interface{}) string {
		return unless(v != 0 && v != 0.0 && v != false, "must not be zero")
	})(value, key)
}

// FloatAtLeast demands a number of min or more.
func FloatAtLeast(min float64) schema.SchemaValidateFunc {
	return check(func(v float64) string { return unless(v >= min, "has to be %v or more, but is %v", min, v) })
}

// FloatAtMost demands a number of max or less.
func FloatAtMost(max float64) schema.SchemaValidateFunc {
	return check(func(v float64) string { return unless(v <= max, "has to be %v or less, but is %v", max, v) })
}

// IntDivisibleBy demands a multiple.
func IntDivisibleBy(divisor int) schema.SchemaValidateFunc {
	return check(func(v int) string {
		return unless(divisor != 0 && v%divisor == 0, "has to be a multiple of %d, but is %d", divisor, v)
	})
}

// IsPortNumberOrZero demands a number from 0 to 65535.
func IsPortNumberOrZero(value interface{}, key string) ([]string, []error) {
	return IntBetween(0, 65535)(value, key)
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// IsUUID demands a UUID in its usual form.
func IsUUID(value interface{}, key string) ([]string, []error) {
	return StringMatch(uuid, "has to be a UUID")(value, key)
}

// IsIPv4Address demands an address of version 4.
func IsIPv4Address(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		a, err := netip.ParseAddr(v)
		return unless(err == nil && a.Is4(), "has to be an IPv4 address")
	})(value, key)
}

// IsIPv6Address demands an address of version 6.
func IsIPv6Address(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		a, err := netip.ParseAddr(v)
		return unless(err == nil && a.Is6() && a.Zone() == "", "has to be an IPv6 address")
	})(value, key)
}

// IsMACAddress demands an address of hardware.
func IsMACAddress(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		_, err := net.ParseMAC(v)
		return unless(err == nil, "has to be a MAC address")
	})(value, key)
}

// IsURLWithHTTPS demands a URL of a secure server.
func IsURLWithHTTPS(value interface{}, key string) ([]string, []error) {
	return IsURLWithScheme([]string{"https"})(value, key)
}

// StringIsBase64 demands base64 in its standard form.
func StringIsBase64(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		_, err := base64.StdEncoding.DecodeString(v)
		return unless(err == nil && v != "", "has to be base64")
	})(value, key)
}

// StringDoesNotContainAny refuses texts with any of some characters.
func StringDoesNotContainAny(chars string) schema.SchemaValidateFunc {
	return check(func(v string) string {
		return unless(!strings.ContainsAny(v, chars), "must not contain any of %q", chars)
	})
}

// MapKeyLenBetween demands keys of min to max characters.
func MapKeyLenBetween(min, max int) schema.SchemaValidateDiagFunc {
	return eachKey(func(k string) bool { n := utf8.RuneCountInString(k); return n >= min && n <= max }, "A key is too short or too long")
}

// MapKeyMatch demands keys that match.
func MapKeyMatch(r *regexp.Regexp, message string) schema.SchemaValidateDiagFunc {
	if message == "" {
		message = "A key has to match " + r.String()
	}
	return eachKey(r.MatchString, message)
}

// MapValueLenBetween demands texts of min to max characters as values.
func MapValueLenBetween(min, max int) schema.SchemaValidateDiagFunc {
	return eachMember(func(_, v string) bool { n := utf8.RuneCountInString(v); return n >= min && n <= max }, "A value is too short or too long")
}

// MapValueMatch demands texts that match as values.
func MapValueMatch(r *regexp.Regexp, message string) schema.SchemaValidateDiagFunc {
	if message == "" {
		message = "A value has to match " + r.String()
	}
	return eachMember(func(_, v string) bool { return r.MatchString(v) }, message)
}

func eachKey(holds func(string) bool, message string) schema.SchemaValidateDiagFunc {
	return eachMember(func(k, _ string) bool { return holds(k) }, message)
}

// eachMember checks maps of texts; a value of another type is taken for an empty one.
func eachMember(holds func(key, value string) bool, message string) schema.SchemaValidateDiagFunc {
	return func(value interface{}, path cty.Path) (diags diag.List) {
		m, _ := value.(map[string]interface{})
		for _, k := range slices.Sorted(maps.Keys(m)) {
			v, _ := m[k].(string)
			if !holds(k, v) {
				diags = diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: message, Path: append(path.Copy(), cty.IndexStep{Key: cty.StringVal(k)})})
			}
		}
		return diags
	}
}
