// Package validation holds checks for Schema.ValidateFunc. They are asked of values that are known, of the type of the attribute.
//
//	"size": {Type: schema.TypeInt, Optional: true, ValidateFunc: validation.IntBetween(1, 64)},
package validation

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// check makes a check of a function that says what is wrong with a value, or nothing.
func check[T any](wrong func(v T) string) schema.SchemaValidateFunc {
	return func(value interface{}, key string) ([]string, []error) {
		v, ok := value.(T)
		if !ok {
			return nil, []error{fmt.Errorf("%q is a %T, which this check is not for", key, value)}
		}
		if text := wrong(v); text != "" {
			return nil, []error{fmt.Errorf("%q %s", key, text)}
		}
		return nil, nil
	}
}

// All demands that all checks pass.
func All(checks ...schema.SchemaValidateFunc) schema.SchemaValidateFunc {
	return func(value interface{}, key string) (warnings []string, errs []error) {
		for _, c := range checks {
			w, e := c(value, key)
			warnings, errs = append(warnings, w...), append(errs, e...)
		}
		return warnings, errs
	}
}

// Any demands that one check passes.
func Any(checks ...schema.SchemaValidateFunc) schema.SchemaValidateFunc {
	return func(value interface{}, key string) (warnings []string, errs []error) {
		for _, c := range checks {
			w, e := c(value, key)
			if len(e) == 0 {
				return w, nil
			}
			warnings, errs = append(warnings, w...), append(errs, e...)
		}
		return warnings, errs
	}
}

// IntBetween demands a number from min to max.
func IntBetween(min, max int) schema.SchemaValidateFunc {
	return check(func(v int) string {
		return unless(v >= min && v <= max, "has to be from %d to %d, but is %d", min, max, v)
	})
}

// IntAtLeast demands a number of min or more.
func IntAtLeast(min int) schema.SchemaValidateFunc {
	return check(func(v int) string { return unless(v >= min, "has to be %d or more, but is %d", min, v) })
}

// IntAtMost demands a number of max or less.
func IntAtMost(max int) schema.SchemaValidateFunc {
	return check(func(v int) string { return unless(v <= max, "has to be %d or less, but is %d", max, v) })
}

// IntInSlice demands one of some numbers.
func IntInSlice(valid []int) schema.SchemaValidateFunc {
	return check(func(v int) string {
		return unless(slices.Contains(valid, v), "has to be one of %v, but is %d", valid, v)
	})
}

// FloatBetween demands a number from min to max.
func FloatBetween(min, max float64) schema.SchemaValidateFunc {
	return check(func(v float64) string {
		return unless(v >= min && v <= max, "has to be from %v to %v, but is %v", min, max, v)
	})
}

// IsPortNumber demands the number of a port of TCP or UDP.
func IsPortNumber(value interface{}, key string) ([]string, []error) {
	return IntBetween(1, 65535)(value, key)
}

// StringInSlice demands one of some texts, in any case of letters if ignoreCase says so.
func StringInSlice(valid []string, ignoreCase bool) schema.SchemaValidateFunc {
	return check(func(v string) string {
		found := slices.ContainsFunc(valid, func(s string) bool { return s == v || ignoreCase && strings.EqualFold(s, v) })
		return unless(found, "has to be one of %q, but is %q", valid, v)
	})
}

// StringNotInSlice refuses some texts.
func StringNotInSlice(invalid []string, ignoreCase bool) schema.SchemaValidateFunc {
	return check(func(v string) string {
		found := slices.ContainsFunc(invalid, func(s string) bool { return s == v || ignoreCase && strings.EqualFold(s, v) })
		return unless(!found, "must not be any of %q", invalid)
	})
}

// StringLenBetween demands a text of min to max characters.
func StringLenBetween(min, max int) schema.SchemaValidateFunc {
	return check(func(v string) string {
		n := utf8.RuneCountInString(v)
		return unless(n >= min && n <= max, "has to have from %d to %d characters, but has %d", min, max, n)
	})
}

// StringMatch demands a text in which an expression is found. The message, if there is one, says so better.
func StringMatch(r *regexp.Regexp, message string) schema.SchemaValidateFunc {
	return check(func(v string) string {
		if message != "" {
			return unless(r.MatchString(v), "is not as it has to be: %s", message)
		}
		return unless(r.MatchString(v), "has to match the expression %s", r)
	})
}

// StringDoesNotMatch demands a text in which an expression is not found.
func StringDoesNotMatch(r *regexp.Regexp, message string) schema.SchemaValidateFunc {
	return check(func(v string) string {
		if message != "" {
			return unless(!r.MatchString(v), "is not as it has to be: %s", message)
		}
		return unless(!r.MatchString(v), "must not match the expression %s", r)
	})
}

// StringIsNotEmpty refuses the empty text.
func StringIsNotEmpty(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string { return unless(v != "", "must not be empty") })(value, key)
}

// StringIsNotWhiteSpace refuses texts of nothing but spaces.
func StringIsNotWhiteSpace(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		return unless(strings.TrimSpace(v) != "", "must not be empty or nothing but spaces")
	})(value, key)
}

// StringIsJSON demands a JSON document.
func StringIsJSON(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string { return unless(json.Valid([]byte(v)), "has to be a JSON document") })(value, key)
}

// StringIsValidRegExp demands a regular expression of Go.
func StringIsValidRegExp(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		_, err := regexp.Compile(v)
		return unless(err == nil, "is no regular expression: %v", err)
	})(value, key)
}

// IsIPAddress demands an address of either version of the protocol.
func IsIPAddress(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string { return unless(net.ParseIP(v) != nil, "has to be an IP address, but is %q", v) })(value, key)
}

// IsCIDR demands a network such as 10.0.0.0/8.
func IsCIDR(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		_, err := netip.ParsePrefix(v)
		return unless(err == nil, "has to be a network such as 10.0.0.0/8, but is %q", v)
	})(value, key)
}

// IsURLWithHTTPorHTTPS demands an address of the web.
func IsURLWithHTTPorHTTPS(value interface{}, key string) ([]string, []error) {
	return IsURLWithScheme([]string{"http", "https"})(value, key)
}

// IsURLWithScheme demands a URL with a host, of one of some schemes. The message does not show it: it may hold a password.
func IsURLWithScheme(schemes []string) schema.SchemaValidateFunc {
	return check(func(v string) string {
		u, err := url.Parse(v)
		return unless(err == nil && u.Host != "" && slices.Contains(schemes, u.Scheme), "has to be a URL with a host and one of the schemes %q", schemes)
	})
}

// IsRFC3339Time demands a time such as 2026-01-02T03:04:05Z.
func IsRFC3339Time(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		_, err := time.Parse(time.RFC3339, v)
		return unless(err == nil, "has to be a time such as 2026-01-02T03:04:05Z, but is %q", v)
	})(value, key)
}

// unless gives a text where something does not hold.
func unless(holds bool, format string, args ...interface{}) string {
	if holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
