package eval

import (
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/state"
)

// The statuses of a checked object, as the state file writes them.
const (
	statusPass    = "pass"
	statusFail    = "fail"
	statusError   = "error"
	statusUnknown = "unknown"
)

// result is what one condition came to.
type result struct {
	status  string
	message string // of a failure
	diags   diag.List
}

// evalCondition evaluates a condition and, when it does not hold, its error message.
func evalCondition(c *config.Condition, ctx *hcl.EvalContext) result {
	v, hclDiags := c.Condition.Value(ctx)
	r := result{diags: diag.List(nil).AppendHCL(hclDiags)}
	rng := c.Condition.Range()
	if hclDiags.HasErrors() {
		r.status = statusError
		return r
	}
	v, _ = v.Unmark()
	fail := func(detail string) result {
		r.status = statusError
		r.diags = append(r.diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Invalid condition result", Detail: detail, Subject: &rng, Expression: c.Condition, EvalContext: ctx})
		return r
	}
	if v.IsKnown() && v.IsNull() {
		return fail("Condition expression must return either true or false, not null.")
	}
	b, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil:
		return fail("Invalid condition result value: " + err.Error() + ".")
	case !b.IsKnown():
		r.status = statusUnknown
		return r
	case b.True():
		r.status = statusPass
		return r
	}
	r.status = statusFail
	r.message = "This check failed, but has an invalid error message as described in the other accompanying messages."
	msg, hclDiags := c.ErrorMessage.Value(ctx)
	r.diags = r.diags.AppendHCL(hclDiags)
	if hclDiags.HasErrors() {
		return r
	}
	sensitive, ephemeral := value.HasDeepSensitive(msg), value.HasDeepEphemeral(msg)
	msg, _ = msg.UnmarkDeep()
	text, err := convert.Convert(msg, cty.String)
	switch {
	case sensitive:
		r.message = "The error message included a sensitive value, so it will not be displayed."
	case ephemeral:
		r.message = "The error message included an ephemeral value, so it will not be displayed."
	case err == nil && text.IsKnown() && !text.IsNull():
		r.message = strings.TrimSpace(text.AsString())
	case err == nil && !text.IsKnown():
		r.message = "The error message is not known yet."
	}
	return r
}

func conditionFailed(summary string, r result, c *config.Condition, ctx *hcl.EvalContext) *diag.Diagnostic {
	rng := c.Condition.Range()
	return &diag.Diagnostic{Severity: diag.Error, Summary: summary, Detail: r.message, Subject: &rng, Expression: c.Condition, EvalContext: ctx}
}

// outcome joins the results of all conditions of one object.
type outcome struct {
	status   string
	failures []string
}

var statusRank = map[string]int{"": 0, statusPass: 1, statusUnknown: 2, statusFail: 3, statusError: 4}

func (o *outcome) add(r result) {
	if r.status == statusFail {
		o.failures = append(o.failures, r.message)
	}
	if statusRank[r.status] > statusRank[o.status] {
		o.status = r.status
	}
}

// checkResults gathers the outcomes of a walk.
type checkResults struct {
	walk *Walk
	mu   sync.Mutex
	by   map[[2]string]map[string]*outcome // kind and configuration address; object address
}

// declare notes a checkable object with no instances yet, report an outcome; later outcomes of an object join earlier ones.
func (c *checkResults) report(kind, config, object string, o outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[[2]string]map[string]*outcome{}
	}
	key := [2]string{kind, config}
	if c.by[key] == nil {
		c.by[key] = map[string]*outcome{}
	}
	have := c.by[key][object]
	if have == nil {
		have = &outcome{}
		c.by[key][object] = have
	}
	have.failures = append(have.failures, o.failures...)
	if statusRank[o.status] > statusRank[have.status] {
		have.status = o.status
	}
}

// CheckResults gives the outcomes of all conditions of the walk in a stable order. Objects that were not reached are unknown.
func (w *Walk) CheckResults() []state.CheckResult {
	w.checks.mu.Lock()
	defer w.checks.mu.Unlock()
	var out []state.CheckResult
	for key, objects := range w.checks.by {
		r := state.CheckResult{Kind: key[0], ConfigAddr: key[1]}
		rank := 0
		for a, o := range objects {
			status := o.status
			if status == "" {
				status = statusUnknown
			}
			r.Objects = append(r.Objects, state.CheckedObject{Addr: a, Status: status, Failures: o.failures})
			if statusRank[status] > rank {
				rank, r.Status = statusRank[status], status
			}
		}
		sort.Slice(r.Objects, func(i, j int) bool { return r.Objects[i].Addr < r.Objects[j].Addr })
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b state.CheckResult) int {
		if a.Kind != b.Kind {
			return strings.Compare(a.Kind, b.Kind)
		}
		return strings.Compare(a.ConfigAddr, b.ConfigAddr)
	})
	return out
}

// evalCheck runs the assertions of a check block: failures are warnings.
func (i *Instance) evalCheck(s *Slot) error {
	if i.walk.Inputs.Validating {
		return nil
	}
	ctx := i.Scope(s.refs)
	var diags diag.List
	o := outcome{}
	for _, c := range s.Check.Asserts {
		r := evalCondition(c, ctx)
		o.add(r)
		for _, d := range r.diags {
			warning := *d
			warning.Severity = diag.Warning
			diags = append(diags, &warning)
		}
		switch r.status {
		case statusFail:
			d := conditionFailed("Check block assertion failed", r, c, ctx)
			d.Severity = diag.Warning
			diags = append(diags, d)
		case statusUnknown:
			rng := c.Condition.Range()
			diags = append(diags, &diag.Diagnostic{Severity: diag.Warning, Summary: "Check block assertion known after apply", Subject: &rng,
				Detail: "The condition could not be evaluated at this time, a result will be known when this plan is applied.", Expression: c.Condition, EvalContext: ctx})
		}
	}
	i.walk.checks.report("check", configAddr(s), instanceAddr(i, "check."+s.Name), o)
	return i.walk.Report(diags)
}
