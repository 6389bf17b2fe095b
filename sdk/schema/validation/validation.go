// Package validation holds checks for Schema.ValidateFunc. They are called with known values of the attribute's type.
//
//	"size": {Type: schema.TypeInt, Optional: true, ValidateFunc: validation.IntBetween(1, 64)},
package validation

import (
	"fmt"

	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// check returns a check that uses a function, which returns the problem of a value or "".
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

// All requires that all checks pass.
func All(checks ...schema.SchemaValidateFunc) schema.SchemaValidateFunc {
	return func(value interface{}, key string) (warnings []string, errs []error) {
		for _, c := range checks {
			w, e := c(value, key)
			warnings, errs = append(warnings, w...), append(errs, e...)
		}
		return warnings, errs
	}
}

// Any requires that one check passes.
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

// unless returns a text if a condition is false, otherwise "".
func unless(holds bool, format string, args ...interface{}) string {
	if holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// NoZeroValues refuses zero, false and strings of only white space.
func NoZeroValues(value interface{}, key string) ([]string, []error) {
	if text, ok := value.(string); ok {
		return StringIsNotWhiteSpace(text, key)
	}
	return check(func(v interface{}) string {
		return unless(v != 0 && v != 0.0 && v != false, "must not be zero")
	})(value, key)
}

var uuid = regex.Lazy(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
