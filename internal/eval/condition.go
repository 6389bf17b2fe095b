package eval

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// The statuses of a checked object, as in the state file.
const (
	statusPass    = "pass"
	statusFail    = "fail"
	statusError   = "error"
	statusUnknown = "unknown"
)

// result is the result of one condition.
type result struct {
	status  string
	message string // the error message; empty if it could not be evaluated
	secret  bool   // the message replaces a sensitive one
	diags   diag.List
}

// detail returns the text of a failure.
func (r result) detail() string {
	if r.message == "" {
		return "The condition is false. Its error message cannot be shown; the other error gives the reason."
	}
	return r.message
}

// evalCondition evaluates a condition and its error message. The message must be valid even if the condition is true:
// otherwise a mistake in it would only be found when the message is needed.
func evalCondition(s *linking.Slot, c *config.Condition, ctx *hcl.EvalContext) result {
	if d := s.Faulty(c.Condition, c.ErrorMessage); d != nil {
		return result{status: statusError, diags: d}
	}
	r := holds(c, ctx, "Invalid condition result")
	text, secret, broken, unsuitable := errorMessage(c, ctx, diag.Warning)
	r.diags = r.diags.Extend(broken).Extend(unsuitable)
	switch {
	case r.diags.HasErrors():
		r.status = statusError
	case r.status == statusFail:
		r.message, r.secret = text, secret
	}
	return r
}

// evalValidation is like evalCondition, for the validation of a variable: as in Terraform, a message that can be
// evaluated but not shown is only an error if it is needed and sensitive or, except while validating, unknown.
func evalValidation(c *config.Condition, ctx *hcl.EvalContext, validating bool) result {
	r := holds(c, ctx, "Invalid variable validation result")
	if r.status == statusError {
		return r
	}
	text, secret, broken, unsuitable := errorMessage(c, ctx, diag.Error)
	r.diags = r.diags.Extend(broken)
	if r.status != statusFail {
		return r
	}
	r.diags, r.message, r.secret = r.diags.Extend(unsuitable), text, secret
	switch {
	case text != unknownMessage || r.diags.HasErrors():
	case validating:
		r.status = statusUnknown
	default:
		rng := c.ErrorMessage.Range()
		r.status = statusError
		r.diags = append(r.diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Invalid error message",
			Detail: "The condition is false, and the error message depends on values that are known only after " +
				"apply. Use only known values in the message.",
			Subject: &rng, Expression: c.ErrorMessage, EvalContext: ctx, Extra: diag.CausedByUnknown})
	}
	return r
}

// holds evaluates the condition without its message. The summary is for an error about a result that is neither true
// nor false.
func holds(c *config.Condition, ctx *hcl.EvalContext, summary string) result {
	v, hclDiags := funcs.Evaluate(c.Condition, ctx)
	r := result{diags: diag.List(nil).AppendHCL(hclDiags)}
	rng := c.Condition.Range()
	if hclDiags.HasErrors() {
		r.status = statusError
		return r
	}
	v, _ = v.Unmark()
	fail := func(detail string) result {
		r.status = statusError
		r.diags = append(r.diags, &diag.Diagnostic{Severity: diag.Error, Summary: summary, Detail: detail,
			Subject: &rng, Expression: c.Condition, EvalContext: ctx})
		return r
	}
	if v.IsKnown() && v.IsNull() {
		return fail("The condition is null; it must be true or false.")
	}
	b, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil:
		return fail("Invalid condition result value: " + err.Error() + ".")
	case !b.IsKnown():
		r.status = statusUnknown
	case b.True():
		r.status = statusPass
	default:
		r.status = statusFail
	}
	return r
}

// unknownMessage replaces an error message that is unknown.
const unknownMessage = "The condition is false. Its error message depends on values that are known only after apply."

// errorMessage evaluates the message of a condition. broken holds the errors of its evaluation, unsuitable the reasons
// why it cannot be shown; leak is the severity of a sensitive value in it.
func errorMessage(c *config.Condition, ctx *hcl.EvalContext, leak diag.Severity) (text string, secret bool, broken,
	unsuitable diag.List) {
	msg, hclDiags := funcs.Evaluate(c.ErrorMessage, ctx)
	if broken = broken.AppendHCL(hclDiags); hclDiags.HasErrors() {
		return "", false, broken, nil
	}
	report := func(severity diag.Severity, summary, detail string) {
		rng := c.ErrorMessage.Range()
		unsuitable = append(unsuitable, &diag.Diagnostic{Severity: severity, Summary: summary, Detail: detail,
			Subject: &rng, Expression: c.ErrorMessage, EvalContext: ctx})
	}
	sensitive, ephemeral := value.HasDeepSensitive(msg), value.HasDeepEphemeral(msg)
	msg, _ = msg.UnmarkDeep()
	str, err := convert.Convert(msg, cty.String)
	switch {
	case err != nil:
		report(diag.Error, "Invalid error message", "Unsuitable value for error message: "+err.Error()+".")
	case str.IsKnown() && str.IsNull():
		report(diag.Error, "Invalid error message", "The error message is null. It must be a string.")
	case sensitive:
		report(leak, "Error message refers to sensitive values", "The expression of this error message refers to "+
			"sensitive values, so the message will not be shown. Remove them from the message, or use the function "+
			"nonsensitive if the message does not reveal them.")
		text = "The error message is not shown because a sensitive value is part of it."
	case ephemeral:
		report(leak, "Error message refers to ephemeral values", "The expression of this error message refers to "+
			"ephemeral values, so the message will not be shown. Remove them from the message, or use the function "+
			"ephemeralasnull.")
		unsuitable[len(unsuitable)-1].Extra = separate{} // as in Terraform
		text = "The error message is not shown because an ephemeral value is part of it."
	case str.IsKnown():
		text = strings.TrimSpace(str.AsString())
	default:
		text = unknownMessage
	}
	return text, sensitive || ephemeral, broken, unsuitable
}

// separate marks diagnostics that are not grouped with others of the same summary.
type separate struct{}

// DoNotConsolidateDiagnostic prevents views from grouping them.
func (separate) DoNotConsolidateDiagnostic() bool { return true }

func (w *Walk) conditionFailed(of Checked, summary string, r result, c *config.Condition,
	ctx *hcl.EvalContext) *diag.Diagnostic {
	rng := c.Condition.Range()
	severity := diag.Error
	if w.Inputs.Lenient {
		severity = diag.Warning
	}
	return &diag.Diagnostic{Severity: severity, Summary: summary, Detail: r.detail(), Subject: &rng,
		Expression: c.Condition, EvalContext: ctx, Extra: of}
}

// evalCheck runs the assertions of a check block: failures are warnings, conditions and messages that cannot be
// evaluated are errors.
func (i *Instance) evalCheck(s *linking.Slot) error {
	if i.walk.checks.status("check", s.Addr(), instanceAddr(i, "check."+s.Name)) == statusFail {
		return nil // its data source cannot be read
	}
	ctx := i.Scope(s.Refs)
	if i.walk.Inputs.Validating {
		return i.report(validateAsserts(s, ctx))
	}
	var diags diag.List
	o := outcome{}
	of := OfCheck{Checked{"check", instanceAddr(i, "check."+s.Name)}}
	for _, c := range s.Check.Asserts {
		r := evalCondition(s, c, ctx)
		o.add(r)
		diags = diags.Extend(r.diags)
		switch r.status {
		case statusFail:
			d := i.walk.conditionFailed(of.Checked, "Check block assertion failed", r, c, ctx)
			d.Severity, d.Extra = diag.Warning, of
			diags = append(diags, d)
		case statusUnknown:
			rng := c.Condition.Range()
			diags = append(diags, &diag.Diagnostic{
				Severity: diag.Warning, Summary: "Check block assertion known after apply", Subject: &rng,
				Detail: "The condition depends on values that are known only after apply, and will be checked " +
					"then.",
				Expression: c.Condition, EvalContext: ctx, Extra: of})
		}
	}
	i.walk.checks.report("check", s.Addr(), instanceAddr(i, "check."+s.Name), o)
	return i.report(diags)
}

// validateAsserts checks what can be checked before values are known: references, and the error messages.
func validateAsserts(s *linking.Slot, ctx *hcl.EvalContext) diag.List {
	var diags diag.List
	for _, c := range s.Check.Asserts {
		if d := s.Faulty(c.Condition, c.ErrorMessage); d != nil {
			diags = diags.Extend(d)
			continue
		}
		_, _, broken, unsuitable := errorMessage(c, ctx, diag.Warning)
		diags = diags.Extend(broken).Extend(unsuitable)
	}
	return diags
}

// Validate checks the conditions of a resource and ignore_changes, as far as possible before values are known; bodyOK
// means that the body of the block is valid.
func (b *Block) Validate(bodyOK bool) diag.List {
	r := b.Slot.Resource
	diags := b.Slot.Faulty(linking.PartDependsOn, linking.PartTriggers)
	ctx := b.context(addr.NoKey)
	check := func(list []*config.Condition, ctx *hcl.EvalContext) {
		for _, c := range list {
			for _, e := range []hcl.Expression{c.Condition, c.ErrorMessage} {
				if d := b.Slot.Faulty(e); d != nil {
					diags = diags.Extend(d)
				} else {
					_, hclDiags := e.Value(ctx)
					diags = diags.AppendHCL(hclDiags)
				}
			}
		}
	}
	check(r.Preconditions, ctx)
	for _, g := range r.Ignored.Conditions() {
		_, more := b.Guard(g, addr.NoKey)
		diags = diags.Extend(more)
	}
	if len(r.Postconditions) > 0 {
		check(r.Postconditions, withSelf(ctx, cty.DynamicVal))
	}
	if !bodyOK || b.Slot.Type == nil {
		return diags
	}
	for _, t := range r.Ignored.EveryPath() {
		diags = diags.Extend(blocks.StaticTraversal(t, b.Slot.Type.Block))
	}
	return diags
}
