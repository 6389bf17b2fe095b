package run

import (
	"fmt"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
)

// planning are the flags that say what to plan.
type planning struct {
	command.Variables
	command.Locking
	command.StateFiles

	destroy, refreshOnly, refresh bool
	targets, replace              []string
	parallelism                   int
	input                         bool
	generate                      string
	dir                           string // of the configuration; empty: the working directory
	// like the commands that edit states it takes -state for good; to others that option is an old one
	editing bool
}

func (p *planning) flags(c *command.Call) {
	p.Variables.VariableFlags(c)
	p.Locking.LockFlags(c)
	c.Flags.BoolVar(&p.destroy, "destroy", false,
		"Plan to destroy all objects instead of making them what the configuration says.")
	c.Flags.BoolVar(&p.refreshOnly, "refresh-only", false,
		"Only look at what has changed outside of ~~, and record it.")
	c.Flags.BoolVar(&p.refresh, "refresh", true, "Do not look at the real objects: plan with what the state says.")
	c.StringsFlag(&p.targets, "target", "Plan only for the module, resource or instance at `ADDRESS` and what it "+
		"depends on. May be given more than once.")
	c.StringsFlag(&p.replace, "replace",
		"Replace the instance at `ADDRESS` even if nothing of it changed. May be given more than once.")
	p.limits(c)
}

// limits are the flags that have nothing to do with what is planned.
func (p *planning) limits(c *command.Call) {
	c.Flags.IntVar(&p.parallelism, "parallelism", 10, "Run at most `N` operations of providers at the same time.")
	c.Flags.BoolVar(&p.input, "input", true, "Ask nothing: what is missing is an error.")
	c.Flags.BoolVar(&c.JSON, "json", false, "Print one JSON object a line instead of text for people.")
}

// options makes options of the flags; problems are reported.
func (p *planning) options(c *command.Call) (engine.PlanOptions, bool) {
	o := engine.PlanOptions{SkipRefresh: !p.refresh}
	switch {
	case p.parallelism < 0:
		c.Report(diag.List{}.Errorf(nil, "Invalid parallelism value",
			"The parallelism must be a positive number, and %d is none.", p.parallelism))
		return o, false
	case p.destroy && p.refreshOnly:
		c.Misuse("Incompatible plan mode options",
			"The options -destroy and -refresh-only ask for different things: leave one of them out.")
		return o, false
	case p.refreshOnly && !p.refresh:
		c.Misuse("Incompatible refresh options",
			"With -refresh-only and -refresh=false there would be nothing left to do: leave one of them out.")
		return o, false
	case p.destroy:
		o.Mode = plan.Destroy
	case p.refreshOnly:
		o.Mode = plan.RefreshOnly
	}
	for _, text := range p.targets {
		t, diags := addr.ParseTarget(text)
		if diags.HasErrors() {
			c.Misuse(fmt.Sprintf("Invalid target %q", text), "%s", diags[0].Detail)
			return o, false
		}
		o.Targets = append(o.Targets, t)
	}
	for _, text := range p.replace {
		a, diags := addr.ParseInstance(text)
		switch {
		case diags.HasErrors():
			c.Misuse(fmt.Sprintf("Invalid force-replace address %q", text), "%s", diags[0].Detail)
			return o, false
		case a.Resource.Mode != addr.Managed:
			c.Misuse(fmt.Sprintf("Invalid force-replace address %q", text),
				"Only managed resources can be replaced, and this is a %s resource.", a.Resource.Mode)
			return o, false
		}
		o.ForceReplace = append(o.ForceReplace, a)
	}
	return o, true
}
