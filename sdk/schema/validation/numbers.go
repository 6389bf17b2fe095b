package validation

import (
	"slices"

	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// IntBetween requires a number from min to max.
func IntBetween(min, max int) schema.SchemaValidateFunc {
	return check(func(v int) string {
		return unless(v >= min && v <= max, "must be from %d to %d, but is %d", min, max, v)
	})
}

// IntAtLeast requires a number of min or more.
func IntAtLeast(min int) schema.SchemaValidateFunc {
	return check(func(v int) string { return unless(v >= min, "must be %d or more, but is %d", min, v) })
}

// IntAtMost requires a number of max or less.
func IntAtMost(max int) schema.SchemaValidateFunc {
	return check(func(v int) string { return unless(v <= max, "must be %d or less, but is %d", max, v) })
}

// IntInSlice requires one of the numbers.
func IntInSlice(valid []int) schema.SchemaValidateFunc {
	return check(func(v int) string {
		return unless(slices.Contains(valid, v), "must be one of %v, but is %d", valid, v)
	})
}

// FloatBetween requires a number from min to max.
func FloatBetween(min, max float64) schema.SchemaValidateFunc {
	return check(func(v float64) string {
		return unless(v >= min && v <= max, "must be from %v to %v, but is %v", min, max, v)
	})
}

// FloatAtLeast requires a number of min or more.
func FloatAtLeast(min float64) schema.SchemaValidateFunc {
	return check(func(v float64) string { return unless(v >= min, "must be %v or more, but is %v", min, v) })
}

// FloatAtMost requires a number of max or less.
func FloatAtMost(max float64) schema.SchemaValidateFunc {
	return check(func(v float64) string { return unless(v <= max, "must be %v or less, but is %v", max, v) })
}

// IntDivisibleBy requires a multiple of divisor.
func IntDivisibleBy(divisor int) schema.SchemaValidateFunc {
	return check(func(v int) string {
		return unless(divisor != 0 && v%divisor == 0, "must be a multiple of %d, but is %d", divisor, v)
	})
}

// IntNotInSlice refuses the numbers.
func IntNotInSlice(invalid []int) schema.SchemaValidateFunc {
	return check(func(v int) string { return unless(!slices.Contains(invalid, v), "must not be one of %v", invalid) })
}
