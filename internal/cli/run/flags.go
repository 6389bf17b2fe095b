package run

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/plan"
)

// planning holds the flags that select what to plan.
type planning struct {
	command.Variables
	command.Locking
	command.StateFiles

	destroy, refreshOnly, refresh bool
	minimalRefresh                bool
	allowDeferral                 bool
	targets, except, replace      []string
	targetFiles, exceptFiles      []string
	invoke                        []string
	parallelism                   int
	forgetting                    bool // a destroy that leaves objects behind is not an error
	input                         bool
	generate                      string
	report                        string // the file for a report
	problems                      *command.ProblemFiles
	dir                           string // of the configuration; "" is the working directory
	query                         bool   // query files are part of the configuration
	// -state is not deprecated, as for commands that edit states
	editing bool
}

func (p *planning) flags(c *command.Call) {
	p.Variables.VariableFlags(c)
	p.Locking.LockFlags(c)
	c.Flags.BoolVar(&p.destroy, "destroy", false, "Plan to destroy all objects.")
	c.Flags.BoolVar(&p.refreshOnly, "refresh-only", false,
		"Only detect and record changes that were made outside of ~~.")
	c.Flags.BoolVar(&p.refresh, "refresh", true, "Do not read the real objects before planning; trust the state.")
	c.Flags.BoolVar(&p.minimalRefresh, "minimal-refresh", false,
		"Read only the real objects that change or depend on a change; trust the state for all others.")
	c.Flags.BoolVar(&p.allowDeferral, "allow-deferral", false, "If parts cannot be planned yet, such as a count that "+
		"is known only after apply, plan the others. The command apply then plans and applies in rounds.")
	p.choice(c)
	c.StringsFlag(&p.replace, "replace",
		"Replace the instance at `ADDRESS` even if it has no changes. May be given more than once.")
	c.StringsFlag(&p.invoke, "invoke", "Only invoke the action at `ADDRESS`, such as action.TYPE.NAME. If it refers "+
		"to its caller, -target selects the objects for which it is invoked.")
	p.limits(c)
	c.ProgressFlags()
	c.SecretsFlag()
	c.FullFlag()
	c.DeprecationFlag()
}

// choice declares the flags that select a part of the configuration.
func (p *planning) choice(c *command.Call) {
	c.StringsFlag(&p.targets, "target", "Plan only the module, resource or instance at `ADDRESS` and its "+
		"dependencies, or everything that matches a pattern such as 'aws_*.web[*]'. May be given more than once.")
	c.StringsFlag(&p.targetFiles, "target-file",
		"Read addresses for -target from `FILE`, one per line. Lines that begin with # are comments.")
	c.StringsFlag(&p.except, "exclude", "Leave out the module, resource or instance at `ADDRESS`, or everything that "+
		"matches a pattern, and everything that depends on it. May be given more than once, but not together with "+
		"-target.")
	c.StringsFlag(&p.exceptFiles, "exclude-file", "Read addresses for -exclude from `FILE`, as -target-file does.")
}

// limits declares the flags that do not affect the content of a plan.
func (p *planning) limits(c *command.Call) {
	p.effort(c)
	c.LineFlags()
}

// effort declares those of them that do not affect the output either.
func (p *planning) effort(c *command.Call) {
	c.Flags.IntVar(&p.parallelism, "parallelism", 10, "Run at most `N` provider operations at the same time.")
	c.Flags.BoolVar(&p.input, "input", true, "Do not ask for input. If a value is missing, the command fails.")
}

// maxAddresses is the maximum size of a file with addresses, in bytes.
const maxAddresses = 1 << 20

// addresses parses the addresses of an option and of files.
func addresses(option string, parse func(string) (addr.Target, diag.List), texts, files []string) (list []addr.Target,
	diags diag.List,
) {
	add := func(text string, at *hcl.Range) diag.List {
		t, more := parse(text)
		if more.HasErrors() {
			return diag.List{}.Errorf(at, fmt.Sprintf("Invalid %s %q", option, text), "%s", more[0].Detail)
		}
		list = append(list, t)
		return nil
	}
	for _, text := range texts {
		if diags = add(text, nil); diags.HasErrors() {
			return nil, diags
		}
	}
	for _, name := range files {
		content, err := regular.Read(name, maxAddresses)
		if err != nil {
			return nil, diags.Errorf(nil, "Failed to read a file of addresses", "The file %s cannot be read: %s.", name,
				err)
		}
		at := hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
		for line := range strings.Lines(string(content)) {
			text := strings.TrimSpace(line)
			at.End = hcl.Pos{Line: at.Start.Line, Column: 1 + utf8.RuneCountInString(text),
				Byte: at.Start.Byte + len(text)}
			if text != "" && !strings.HasPrefix(text, "#") {
				if diags = add(text, at.Ptr()); diags.HasErrors() {
					return nil, diags
				}
			}
			at.Start.Line, at.Start.Byte = at.Start.Line+1, at.Start.Byte+len(line)
		}
	}
	return list, nil
}

// invokes sets the options to only invoke an action, or reports why that is not possible.
func (p *planning) invokes(c *command.Call, o *engine.PlanOptions) bool {
	for _, t := range o.Invoke {
		if t.IsModule() || t.Resource.Mode != addr.Action {
			c.Misuse(fmt.Sprintf("Invalid target %q", t.String()),
				"This is not the address of an action: expected action.TYPE.NAME, with a module before it if "+
					"necessary.")
			return false
		}
	}
	switch {
	case len(o.Invoke) > 1:
		c.Misuse("Invalid arguments", "Only one action can be invoked at a time: use -invoke once.")
		return false
	case len(o.Except) > 0:
		c.Misuse("Invalid arguments", "With -invoke, only an action is planned: remove -exclude.")
		return false
	case o.Mode == plan.Destroy:
		instead := "use it with plan or apply instead of destroy"
		if c.FlagGiven("destroy") {
			instead = "remove -destroy"
		}
		c.Report(diag.List{}.Errorf(nil, "Incompatible plan options", "With -invoke, only an action is planned: %s.",
			instead))
		return false
	}
	o.Mode = plan.RefreshOnly
	return true
}

// readsAll reports whether the command line requests a full refresh. It takes precedence over the project file.
func (p *planning) readsAll(c *command.Call) bool {
	return (c.FlagGiven("refresh") || c.FlagGiven("minimal-refresh")) && p.refresh && !p.minimalRefresh
}

// chosen sets the options to the addresses that were given, or reports problems.
func (p *planning) chosen(c *command.Call, o *engine.PlanOptions) bool {
	var diags diag.List
	if o.Targets, diags = addresses("target", addr.ParseSelector, p.targets, p.targetFiles); !diags.HasErrors() {
		o.Except, diags = addresses("exclude", addr.ParseSelector, p.except, p.exceptFiles)
	}
	if !diags.HasErrors() {
		o.Invoke, diags = addresses("invoke", addr.ParseTarget, p.invoke, nil)
	}
	switch {
	case !diags.HasErrors():
		return true
	case diags[0].Subject != nil: // in a file, where hints about options do not help
		c.Report(diags)
	default:
		c.Misuse(diags[0].Summary, "%s", diags[0].Detail)
	}
	return false
}

// options returns the options that the flags set, and reports problems.
func (p *planning) options(c *command.Call) (engine.PlanOptions, bool) {
	o := engine.PlanOptions{SkipRefresh: !p.refresh, MinimalRefresh: p.minimalRefresh, FullRefresh: p.readsAll(c),
		AllowDeferral: p.allowDeferral, ForbidDeferral: c.FlagGiven("allow-deferral") && !p.allowDeferral}
	switch {
	case p.parallelism < 0:
		c.Report(diag.List{}.Errorf(nil, "Invalid parallelism value",
			"The parallelism must be a positive number, not %d.", p.parallelism))
		return o, false
	case p.destroy && p.refreshOnly:
		c.Misuse("Incompatible plan mode options",
			"The options -destroy and -refresh-only conflict: remove one of them.")
		return o, false
	case p.refreshOnly && !p.refresh:
		c.Misuse("Incompatible refresh options",
			"The options -refresh-only and -refresh=false conflict, because together they do nothing: remove one of "+
				"them.")
		return o, false
	case p.minimalRefresh && (!p.refresh || p.refreshOnly || p.destroy):
		c.Misuse("Incompatible refresh options",
			"The option -minimal-refresh conflicts with -refresh=false, -refresh-only and -destroy: remove one of "+
				"them.")
		return o, false
	case p.destroy:
		o.Mode = plan.Destroy
	case p.refreshOnly:
		o.Mode = plan.RefreshOnly
	}
	if !p.chosen(c, &o) || len(o.Invoke) > 0 && !p.invokes(c, &o) {
		return o, false
	}
	if len(o.Targets) > 0 && len(o.Except) > 0 {
		c.Report(diag.List{}.Errorf(nil, "Invalid combination of arguments",
			"The options -target and -exclude conflict: remove one of them."))
		return o, false
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
