package applying

import (
	"cmp"
	"fmt"

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
				"output values may be out of date. Run plan again to see the remaining changes.\n\nUse these options "+
				"only in exceptional situations, such as recovering from an error.")
	}
	if lost := o.lost(); lost != nil {
		diags = diags.AppendError("State lock lost",
			fmt.Errorf("%w. No new operation was started after that. The next run recovers the results of this one. "+
				"%s", lost, cmp.Or(o.Rest, "Run apply again for the remaining changes.")))
	} else if err != nil && !diags.HasErrors() {
		diags = diags.Errorf(nil, "Apply was interrupted",
			"Running operations were finished and recorded in the state; no new operation was started. %s",
			cmp.Or(o.Rest, "Run apply again for the remaining changes.")).Because(err)
	}
	return diags
}

// unwritten reports changes that depend on generated configuration: the objects have been imported, but their blocks
// have to be reviewed and added to the configuration before the changes are made.
func unwritten(p *plan.Plan) (diags diag.List) {
	for _, c := range p.Changes {
		if c.GeneratedConfig != "" && c.Action != plan.NoOp {
			diags = diags.Append(&diag.Diagnostic{
				Severity: diag.Error, Summary: "Generated configuration is not in use yet", Address: c.Object.String(),
				Detail: "The object has been imported, but it differs from the block that was generated for it (for " +
					"example, sensitive values are left out). Review the block, make it part of the configuration, " +
					"and run plan again."})
		}
	}
	return diags
}
