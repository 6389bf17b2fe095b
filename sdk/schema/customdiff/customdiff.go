// Package customdiff has functions to compose a Resource's CustomizeDiff from.
//
//	CustomizeDiff: customdiff.All(
//		customdiff.ForceNewIfChange("size", func(_ context.Context, was, is, _ interface{}) bool { return is.(int) < was.(int) }),
//		customdiff.ComputedIf("etag", func(_ context.Context, d *schema.ResourceDiff, _ interface{}) bool { return d.HasChange("text") }),
//	)
//
// Functions with a condition on a value ignore a value that is unknown: they are called again when it is known.
package customdiff

import (
	"context"
	"errors"

	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// The conditions that functions of this package take.
type (
	// ResourceConditionFunc is a condition on a plan.
	ResourceConditionFunc func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) bool
	// ValueChangeConditionFunc is a condition on the old and the new value.
	ValueChangeConditionFunc func(ctx context.Context, was, is, meta interface{}) bool
	// ValueConditionFunc is a condition on the new value.
	ValueConditionFunc func(ctx context.Context, value, meta interface{}) bool
	// ValueChangeValidationFunc returns an error for an invalid change.
	ValueChangeValidationFunc func(ctx context.Context, was, is, meta interface{}) error
	// ValueValidationFunc returns an error for an invalid value.
	ValueValidationFunc func(ctx context.Context, value, meta interface{}) error
)

// All returns a function that calls all functions and returns all of their errors.
func All(funcs ...schema.CustomizeDiffFunc) schema.CustomizeDiffFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) error {
		var errs []error
		for _, f := range funcs {
			errs = append(errs, f(ctx, d, meta))
		}
		return errors.Join(errs...)
	}
}

// Sequence returns a function that calls functions until one returns an error.
func Sequence(funcs ...schema.CustomizeDiffFunc) schema.CustomizeDiffFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) error {
		for _, f := range funcs {
			if err := f(ctx, d, meta); err != nil {
				return err
			}
		}
		return nil
	}
}

// If returns a function that calls f if a condition is true.
func If(cond ResourceConditionFunc, f schema.CustomizeDiffFunc) schema.CustomizeDiffFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) error {
		if !cond(ctx, d, meta) {
			return nil
		}
		return f(ctx, d, meta)
	}
}

// IfValueChange returns a function that calls f if a value changes and the condition is true for the change.
func IfValueChange(key string, cond ValueChangeConditionFunc, f schema.CustomizeDiffFunc) schema.CustomizeDiffFunc {
	return If(knownChange(key, cond), f)
}

// IfValue returns a function that calls f if the condition is true for a value.
func IfValue(key string, cond ValueConditionFunc, f schema.CustomizeDiffFunc) schema.CustomizeDiffFunc {
	return If(knownValue(key, cond), f)
}

// knownChange returns a condition on a value that changes and is known.
func knownChange(key string, cond ValueChangeConditionFunc) ResourceConditionFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) bool {
		if !d.HasChange(key) || d.IsUnknown(key) {
			return false
		}
		was, is := d.GetChange(key)
		return cond(ctx, was, is, meta)
	}
}

// knownValue returns a condition on a value that is known.
func knownValue(key string, cond ValueConditionFunc) ResourceConditionFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) bool {
		v, known := d.GetKnown(key)
		return known && cond(ctx, v, meta)
	}
}

// ForceNewIf replaces the object if an attribute changes and a condition is true.
func ForceNewIf(key string, cond ResourceConditionFunc) schema.CustomizeDiffFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) error {
		if d.Id() == "" || !d.HasChange(key) || !cond(ctx, d, meta) {
			return nil
		}
		return d.ForceNew(key)
	}
}

// ForceNewIfChange replaces the object if an attribute changes and the condition is true for the change.
func ForceNewIfChange(key string, cond ValueChangeConditionFunc) schema.CustomizeDiffFunc {
	return ForceNewIf(key, knownChange(key, cond))
}

// ComputedIf plans a computed attribute as known only after apply if a condition is true. An update always does so for
// attributes that are not Stable.
func ComputedIf(key string, cond ResourceConditionFunc) schema.CustomizeDiffFunc {
	return If(cond, func(_ context.Context, d *schema.ResourceDiff, _ interface{}) error {
		return d.SetNewComputed(key)
	})
}

// ValidateChange refuses invalid changes of a value.
func ValidateChange(key string, check ValueChangeValidationFunc) schema.CustomizeDiffFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) error {
		if !d.HasChange(key) || d.IsUnknown(key) {
			return nil
		}
		was, is := d.GetChange(key)
		return check(ctx, was, is, meta)
	}
}

// ValidateValue refuses invalid values.
func ValidateValue(key string, check ValueValidationFunc) schema.CustomizeDiffFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) error {
		v, known := d.GetKnown(key)
		if !known {
			return nil
		}
		return check(ctx, v, meta)
	}
}
