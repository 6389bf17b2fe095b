package projectfile

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/diag"
)

// Policy is a policy block, of which there may be several.
type Policy struct {
	Name    string   `hcl:"name,label"`
	Command []string `hcl:"command" doc:"the program and its arguments"`
	Timeout string   `hcl:"timeout,optional" doc:"its time limit, 1m unless set"`

	NameRange    hcl.Range `hcl:"name,label_range"`
	CommandRange hcl.Range `hcl:"command,attr_value_range"`
	TimeoutRange hcl.Range `hcl:"timeout,attr_value_range"`
}

// Limit returns the time limit of the program, or 0 if the block sets none.
func (p Policy) Limit() time.Duration {
	d, _ := time.ParseDuration(p.Timeout) // already validated
	return d
}

func (f File) checkPolicies() (diags diag.List) {
	for i, p := range f.Policies {
		diags = diags.Extend(checkDuration("timeout", p.Timeout, p.TimeoutRange))
		switch {
		case strings.TrimSpace(p.Name) == "":
			diags = diags.Errorf(&p.NameRange, "Invalid policy", "A policy needs a name, which messages use to "+
				"identify it.")
		case slices.ContainsFunc(f.Policies[:i], func(other Policy) bool { return other.Name == p.Name }):
			diags = diags.Errorf(&p.NameRange, "Invalid policy", "There is another policy %q above. The names of "+
				"policies must be unique, because messages use them.", p.Name)
		case len(p.Command) == 0 || p.Command[0] == "":
			diags = diags.Errorf(&p.CommandRange, "Invalid policy", "The command of the policy %q is empty. Expected "+
				"a program with its arguments, such as [\"python3\", \"policies/names.py\"].", p.Name)
		}
	}
	return diags
}
