package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// expandEnabled evaluates lifecycle.enabled. While validating, an unknown value is accepted, as are values that only a
// plan checks.
func expandEnabled(expr hcl.Expression, ctx *hcl.EvalContext, validating bool) (Expansion, diag.List) {
	none := Expansion{Mode: Switched}
	v, hclDiags := funcs.Evaluate(expr, ctx)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() || validating {
		return none, diags
	}
	on, why := checkFlag(v)
	if why == flagUnknown {
		return none, because(diag.CausedByUnknown, blocks.Problem(expr, ctx, "Invalid enabled argument",
			"The value of \"enabled\" depends on attributes that are known only after apply, but whether the "+
				"instance exists must be known during planning. Compute it from values in the configuration, or "+
				"plan and apply in rounds with -allow-deferral."))
	}
	if why == flagSensitive {
		return none, because(diag.CausedBySensitive, blocks.Problem(expr, ctx, "Invalid enabled argument",
			"The value of \"enabled\" is sensitive, but the existence of the instance is visible. If the value is "+
				"not secret, use nonsensitive(...)."))
	}
	if why != "" {
		return none, blocks.Problem(expr, ctx, "Invalid enabled argument",
			`The value of "enabled" %s. It must be true or false.`, why)
	}
	if on {
		none.Keys = []addr.Key{addr.NoKey}
	}
	return none, diags
}

// Problems of a flag's value that have their own explanation.
const (
	flagUnknown   = "is unknown"
	flagSensitive = "is sensitive"
)

// checkFlag returns whether a value is true, or its problem if it is not a bool.
func checkFlag(v cty.Value) (on bool, problem string) {
	switch {
	case value.HasDeepEphemeral(v):
		return false, "is ephemeral"
	case value.IsSensitive(v):
		return false, flagSensitive
	}
	v, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil:
		return false, "cannot be used: " + err.Error()
	case v.IsNull():
		return false, "is null"
	case !v.IsKnown():
		return false, flagUnknown
	}
	return v.True(), ""
}
