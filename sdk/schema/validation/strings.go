package validation

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// StringInSlice requires one of the strings, ignoring case if ignoreCase is true.
func StringInSlice(valid []string, ignoreCase bool) schema.SchemaValidateFunc {
	return check(func(v string) string {
		found := slices.ContainsFunc(valid, func(s string) bool {
			return s == v || ignoreCase &&
				strings.EqualFold(s, v)
		})
		return unless(found, "must be one of %q, but is %q", valid, v)
	})
}

// StringNotInSlice refuses the strings, ignoring case if ignoreCase is true.
func StringNotInSlice(invalid []string, ignoreCase bool) schema.SchemaValidateFunc {
	return check(func(v string) string {
		found := slices.ContainsFunc(invalid, func(s string) bool {
			return s == v || ignoreCase &&
				strings.EqualFold(s, v)
		})
		return unless(!found, "must not be any of %q", invalid)
	})
}

// StringLenBetween requires a string of min to max characters.
func StringLenBetween(min, max int) schema.SchemaValidateFunc {
	return check(func(v string) string {
		n := utf8.RuneCountInString(v)
		return unless(n >= min && n <= max, "must have from %d to %d characters, but has %d", min, max, n)
	})
}

// StringMatch requires a string that matches a regular expression. A non-empty message replaces the usual one.
func StringMatch(r *regexp.Regexp, message string) schema.SchemaValidateFunc {
	return check(func(v string) string {
		if message != "" {
			return unless(r.MatchString(v), "is not valid: %s", message)
		}
		return unless(r.MatchString(v), "must match the expression %s", r)
	})
}

// StringDoesNotMatch requires a string that does not match a regular expression.
func StringDoesNotMatch(r *regexp.Regexp, message string) schema.SchemaValidateFunc {
	return check(func(v string) string {
		if message != "" {
			return unless(!r.MatchString(v), "is not valid: %s", message)
		}
		return unless(!r.MatchString(v), "must not match the expression %s", r)
	})
}

// StringIsNotEmpty refuses the empty string.
func StringIsNotEmpty(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string { return unless(v != "", "must not be empty") })(value, key)
}

// StringIsNotWhiteSpace refuses strings of only white space.
func StringIsNotWhiteSpace(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		return unless(strings.TrimSpace(v) != "", "must not be empty or nothing but spaces")
	})(value, key)
}

// StringIsJSON requires a JSON document.
func StringIsJSON(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string { return unless(json.Valid([]byte(v)), "must be a JSON document") })(value,
		key)
}

// StringIsValidRegExp requires a Go regular expression.
func StringIsValidRegExp(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		_, err := regexp.Compile(v)
		return unless(err == nil, "is not a regular expression: %v", err)
	})(value, key)
}

// IsRFC3339Time requires a time such as 2026-01-02T03:04:05Z.
func IsRFC3339Time(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		_, err := time.Parse(time.RFC3339, v)
		return unless(err == nil, "must be a time such as 2026-01-02T03:04:05Z, but is %q", v)
	})(value, key)
}

// IsUUID requires a UUID in its usual form.
func IsUUID(value interface{}, key string) ([]string, []error) {
	return StringMatch(uuid(), "must be a UUID")(value, key)
}

// StringIsBase64 requires standard base64.
func StringIsBase64(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		_, err := base64.StdEncoding.DecodeString(v)
		return unless(err == nil && v != "", "must be base64")
	})(value, key)
}

// StringDoesNotContainAny refuses strings with any of the characters.
func StringDoesNotContainAny(chars string) schema.SchemaValidateFunc {
	return check(func(v string) string {
		return unless(!strings.ContainsAny(v, chars), "must not contain any of %q", chars)
	})
}

// StringIsEmpty requires an empty string.
func StringIsEmpty(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string { return unless(v == "", "must be empty") })(value, key)
}

// StringIsWhiteSpace requires only white space.
func StringIsWhiteSpace(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		return unless(strings.TrimSpace(v) == "", "must be empty or nothing but spaces")
	})(value, key)
}

// IsDayOfTheWeek requires the English name of a day.
func IsDayOfTheWeek(ignoreCase bool) schema.SchemaValidateFunc {
	var days []string
	for d := time.Sunday; d <= time.Saturday; d++ {
		days = append(days, d.String())
	}
	return StringInSlice(days, ignoreCase)
}

// IsMonth requires the English name of a month.
func IsMonth(ignoreCase bool) schema.SchemaValidateFunc {
	var months []string
	for m := time.January; m <= time.December; m++ {
		months = append(months, m.String())
	}
	return StringInSlice(months, ignoreCase)
}
