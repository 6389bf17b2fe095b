// Package customdiff holds functions of which a Resource's CustomizeDiff can be put together.
//
//	CustomizeDiff: customdiff.All(
//		customdiff.ForceNewIfChange("size", func(_ context.Context, was, is, _ interface{}) bool { return is.(int) < was.(int) }),
//		customdiff.ComputedIf("etag", func(_ context.Context, d *schema.ResourceDiff, _ interface{}) bool { return d.HasChange("text") }),
//	)
//
// Functions that look at a value pass over one that is not known yet: they are asked again when it is.
package customdiff

import (
	"context"
	"errors"

	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// The conditions that functions of this package take.
type (
	// ResourceConditionFunc is a condition on the whole plan.
	ResourceConditionFunc func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) bool
	// ValueChangeConditionFunc is a condition on a value before and after.
	ValueChangeConditionFunc func(ctx context.Context, was, is, meta interface{}) bool
	// ValueConditionFunc is a condition on a value after.
	ValueConditionFunc func(ctx context.Context, value, meta interface{}) bool
	// ValueChangeValidationFunc refuses a change.
	ValueChangeValidationFunc func(ctx context.Context, was, is, meta interface{}) error
	// ValueValidationFunc refuses a value.
	ValueValidationFunc func(ctx context.Context, value, meta interface{}) error
)

// All calls all functions and returns all of their errors.
func All(funcs ...schema.CustomizeDiffFunc) schema.CustomizeDiffFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) error {
		var errs []error
		for _, f := range funcs {
			errs = append(errs, f(ctx, d, meta))
		}
		return errors.Join(errs...)
	}
}

// Sequence calls functions up to the first that returns an error.
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

// If calls a function where a condition holds.
func If(cond ResourceConditionFunc, f schema.CustomizeDiffFunc) schema.CustomizeDiffFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) error {
		if !cond(ctx, d, meta) {
			return nil
		}
		return f(ctx, d, meta)
	}
}

// IfValueChange calls a function where a value changes as the condition says.
func IfValueChange(key string, cond ValueChangeConditionFunc, f schema.CustomizeDiffFunc) schema.CustomizeDiffFunc {
	return If(changing(key, cond), f)
}

// IfValue calls a function where a value is as the condition says.
func IfValue(key string, cond ValueConditionFunc, f schema.CustomizeDiffFunc) schema.CustomizeDiffFunc {
	return If(being(key, cond), f)
}

// changing asks about a value that changes and is known.
func changing(key string, cond ValueChangeConditionFunc) ResourceConditionFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) bool {
		if !d.HasChange(key) || d.IsUnknown(key) {
			return false
		}
		was, is := d.GetChange(key)
		return cond(ctx, was, is, meta)
	}
}

// being asks about a value that is known.
func being(key string, cond ValueConditionFunc) ResourceConditionFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) bool {
		v, known := d.GetKnown(key)
		return known && cond(ctx, v, meta)
	}
}

// ForceNewIf replaces the object where an attribute changes and a condition holds.
func ForceNewIf(key string, cond ResourceConditionFunc) schema.CustomizeDiffFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) error {
		if d.Id() == "" || !d.HasChange(key) || !cond(ctx, d, meta) {
			return nil
		}
		return d.ForceNew(key)
	}
}

// ForceNewIfChange replaces the object where an attribute changes as the condition says.
func ForceNewIfChange(key string, cond ValueChangeConditionFunc) schema.CustomizeDiffFunc {
	return ForceNewIf(key, changing(key, cond))
}

// ComputedIf plans a computed attribute as known only after apply where a condition holds. Any update does so by itself
// for attributes that are not Stable.
func ComputedIf(key string, cond ResourceConditionFunc) schema.CustomizeDiffFunc {
	return If(cond, func(_ context.Context, d *schema.ResourceDiff, _ interface{}) error {
		return d.SetNewComputed(key)
	})
}

// ValidateChange refuses changes of a value.
func ValidateChange(key string, check ValueChangeValidationFunc) schema.CustomizeDiffFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) error {
		if !d.HasChange(key) || d.IsUnknown(key) {
			return nil
		}
		was, is := d.GetChange(key)
		return check(ctx, was, is, meta)
	}
}

// ValidateValue refuses values.
func ValidateValue(key string, check ValueValidationFunc) schema.CustomizeDiffFunc {
	return func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) error {
		v, known := d.GetKnown(key)
		if !known {
			return nil
		}
		return check(ctx, v, meta)
	}
}
