package validation

import (
	"context"
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// ToDiagFunc converts a check to a Schema.ValidateDiagFunc.
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

// nameOf returns the name of the attribute at the start of a path.
func nameOf(path cty.Path) string {
	for i := len(path) - 1; i >= 0; i-- {
		if attr, ok := path[i].(cty.GetAttrStep); ok {
			return attr.Name
		}
	}
	return ""
}

// AllDiag requires that all checks pass.
func AllDiag(checks ...schema.SchemaValidateDiagFunc) schema.SchemaValidateDiagFunc {
	return func(value interface{}, path cty.Path) (diags diag.List) {
		for _, check := range checks {
			diags = diags.Extend(check(value, path))
		}
		return diags
	}
}

// AnyDiag requires that one of the checks passes. If none does, the problems of all are reported.
func AnyDiag(checks ...schema.SchemaValidateDiagFunc) schema.SchemaValidateDiagFunc {
	return func(value interface{}, path cty.Path) (diags diag.List) {
		for _, check := range checks {
			found := check(value, path)
			if !found.HasErrors() {
				return found
			}
			diags = diags.Extend(found)
		}
		return diags
	}
}

// PreferWriteOnlyAttribute warns about a stored attribute that has a write-only counterpart. In the paths, an unknown
// index matches any.
func PreferWriteOnlyAttribute(stored, writeOnly cty.Path) schema.ValidateRawResourceConfigFunc {
	return func(_ context.Context, req schema.ValidateResourceConfigFuncRequest,
		resp *schema.ValidateResourceConfigFuncResponse) {
		if !req.WriteOnlyAttributesAllowed {
			return
		}
		_ = cty.Walk(req.RawConfig, func(path cty.Path, v cty.Value) (bool, error) {
			if v.IsNull() || !PathMatches(path, stored) {
				return len(path) < len(stored), nil
			}
			resp.Diagnostics = resp.Diagnostics.Append(&diag.Diagnostic{Severity: diag.Warning, Path: path.Copy(),
				Summary: "Available Write-only Attribute Alternative",
				Detail: fmt.Sprintf(
					"The value of %s is stored in the state. %s has the same effect and is not stored: use it instead.",
					value.FormatPath(stored), value.FormatPath(writeOnly))})
			return false, nil
		})
	}
}

// PathMatches reports whether two paths are equal. An unknown index matches any.
func PathMatches(a, b cty.Path) bool {
	return slices.EqualFunc(a, b, func(x, y cty.PathStep) bool {
		i, ok := x.(cty.IndexStep)
		j, both := y.(cty.IndexStep)
		switch {
		case ok != both:
			return false
		case ok && (!i.Key.IsKnown() || !j.Key.IsKnown()):
			return true
		}
		return cty.Path{x}.Equals(cty.Path{y})
	})
}
