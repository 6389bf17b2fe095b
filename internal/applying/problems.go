package applying

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/plan"
)

// problems returns the final problems of an apply; err is the error of its walk.
func (a *applier) problems(err error) diag.List {
	p, o := a.plan, a.opts
	diags := a.walk.Diagnostics().Extend(unwritten(p)).Extend(a.stopped())
	if len(p.Targets)+len(p.Except) > 0 && len(p.Invoke) == 0 {
		diags = diags.Warnf(nil, "Applied changes may be incomplete",
			"The plan was made with -target or -exclude, so some changes of the configuration may be missing, and "+
				"output values may be out of date. Use these options only in exceptional situations, such as "+
				"recovering from an error.").
			Advise("Run \"%s\" to see the remaining changes.", diag.Run("plan"))
	}
	if lost := o.lost(); lost != nil {
		diags = o.remaining(diags.AppendError("State lock lost", fmt.Errorf("%w. No new operation was started after "+
			"that. The next run recovers the results of this one", lost)))
	} else if err != nil && (!diags.HasErrors() || a.asked.Err() != nil) {
		diags = o.remaining(diags.Errorf(nil, "Apply was interrupted",
			"Running operations were finished and recorded in the state; no new operation was started.").Because(err))
	}
	return a.withUninvoked(diags)
}

// withUninvoked adds to the last error which actions were left out for good.
func (a *applier) withUninvoked(diags diag.List) diag.List {
	var names []string
	for _, i := range a.uninvoked() {
		if !taints(i) {
			names = append(names, fmt.Sprintf("%s (triggered by %s)", i.Action, i.Trigger.Resource))
		}
	}
	last := len(diags) - 1
	for last >= 0 && diags[last].Severity != diag.Error {
		last--
	}
	if len(names) == 0 || last < 0 {
		return diags
	}
	const most = 10
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	d := *diags[last]
	d.Detail = strings.TrimSpace(d.Detail + "\n\nThese actions were not invoked, and the next apply does not invoke " +
		"them, because the changes that trigger them are done: " + strings.Join(names, ", ") + ".")
	if d.Advice == nil {
		d.Advice = diag.Advise("Invoke them with %s if necessary.", diag.Means("-invoke"))
	}
	diags = slices.Clone(diags)
	diags[last] = &d
	return diags
}

// remaining adds advice about the remaining changes to the last problem of a list.
func (o Options) remaining(diags diag.List) diag.List {
	if o.Rest != "" {
		return diags.Advise("%s", o.Rest)
	}
	return diags.Advise("Run \"%s\" again for the remaining changes.", diag.Run("apply"))
}

// unwritten reports changes that depend on generated configuration: the objects have been imported, but their blocks
// have to be reviewed and added to the configuration before the changes are made.
func unwritten(p *plan.Plan) (diags diag.List) {
	for _, c := range p.Changes {
		if c.GeneratedConfig != "" && c.Action != plan.NoOp {
			diags = diags.Append(&diag.Diagnostic{
				Severity: diag.Error, Summary: "Generated configuration is not in use yet", Address: c.Object.String(),
				Detail: "The object has been imported, but it differs from the block that was generated for it (for " +
					"example, sensitive values are left out). Review the block, and make it part of the " +
					"configuration.",
				Advice: diag.Advise("Then run \"%s\" again.", diag.Run("plan"))})
		}
	}
	return diags
}
