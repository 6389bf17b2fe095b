package validation

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// AllDiag demands all of some checks.
func AllDiag(checks ...schema.SchemaValidateDiagFunc) schema.SchemaValidateDiagFunc {
	return func(value interface{}, path cty.Path) (diags diag.List) {
		for _, check := range checks {
			diags = diags.Extend(check(value, path))
		}
		return diags
	}
}

// AnyDiag demands one of some checks. When none is met, the problems of all are told.
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

// IntNotInSlice refuses some numbers.
func IntNotInSlice(invalid []int) schema.SchemaValidateFunc {
	return check(func(v int) string { return unless(!slices.Contains(invalid, v), "must not be one of %v", invalid) })
}

// StringIsEmpty demands an empty text.
func StringIsEmpty(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string { return unless(v == "", "has to be empty") })(value, key)
}

// StringIsWhiteSpace demands nothing but white space.
func StringIsWhiteSpace(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		return unless(strings.TrimSpace(v) == "", "has to be empty or nothing but spaces")
	})(value, key)
}

// ListOfUniqueStrings demands a list of texts in which none is there twice.
func ListOfUniqueStrings(value interface{}, key string) ([]string, []error) {
	return check(func(list []interface{}) string {
		seen := map[string]bool{}
		for i, v := range list {
			text, ok := v.(string)
			switch {
			case !ok:
				return fmt.Sprintf("has to be a list of texts, but element %d is a %T", i, v)
			case seen[text]:
				return fmt.Sprintf("has the same text twice: %q", text)
			}
			seen[text] = true
		}
		return ""
	})(value, key)
}

// IsCIDRNetwork demands a network with a prefix of min to max bits, written with its first address.
func IsCIDRNetwork(min, max int) schema.SchemaValidateFunc {
	return check(func(v string) string {
		p, err := netip.ParsePrefix(v)
		switch {
		case err != nil:
			return fmt.Sprintf("has to be a network such as 10.0.0.0/8, but is %q", v)
		case p != p.Masked():
			return fmt.Sprintf("has to be the address of a network: that of %s is %s", v, p.Masked())
		}
		return unless(p.Bits() >= min && p.Bits() <= max, "has to have a prefix of %d to %d bits, but %s has %d", min, max, v, p.Bits())
	})
}

// IsIPv4Range demands two addresses with a dash between them, the smaller one first.
func IsIPv4Range(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		from, to, _ := strings.Cut(v, "-")
		first, err1 := netip.ParseAddr(from)
		last, err2 := netip.ParseAddr(to)
		return unless(err1 == nil && err2 == nil && first.Is4() && last.Is4() && first.Less(last), "has to be a range such as 10.0.0.1-10.0.0.9, but is %q", v)
	})(value, key)
}

// IsDayOfTheWeek demands the English name of a day.
func IsDayOfTheWeek(ignoreCase bool) schema.SchemaValidateFunc {
	var days []string
	for d := time.Sunday; d <= time.Saturday; d++ {
		days = append(days, d.String())
	}
	return StringInSlice(days, ignoreCase)
}

// IsMonth demands the English name of a month.
func IsMonth(ignoreCase bool) schema.SchemaValidateFunc {
	var months []string
	for m := time.January; m <= time.December; m++ {
		months = append(months, m.String())
	}
	return StringInSlice(months, ignoreCase)
}

// PreferWriteOnlyAttribute warns of an attribute that is stored where there is one that is not. In the paths, an index that is unknown stands for
// any.
func PreferWriteOnlyAttribute(stored, writeOnly cty.Path) schema.ValidateRawResourceConfigFunc {
	return func(_ context.Context, req schema.ValidateResourceConfigFuncRequest, resp *schema.ValidateResourceConfigFuncResponse) {
		if !req.WriteOnlyAttributesAllowed {
			return
		}
		_ = cty.Walk(req.RawConfig, func(path cty.Path, v cty.Value) (bool, error) {
			if v.IsNull() || !PathMatches(path, stored) {
				return len(path) < len(stored), nil
			}
			resp.Diagnostics = resp.Diagnostics.Append(&diag.Diagnostic{Severity: diag.Warning, Path: path.Copy(), Summary: "Available Write-only Attribute Alternative",
				Detail: fmt.Sprintf("What %s holds is stored in the state. %s does the same and is not stored: use it in its place.", value.FormatPath(stored), value.FormatPath(writeOnly))})
			return false, nil
		})
	}
}

// PathMatches tells whether two paths lead to the same place. An index that is unknown stands for any.
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
