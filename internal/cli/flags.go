package cli

import (
	"time"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/plan"
)

// list is a flag that may be given more than once.
type list struct{ add func(string) }

func (l list) String() string         { return "" }
func (l list) Set(value string) error { l.add(value); return nil }

// strings declares a flag that may be given more than once.
func (c *call) stringsFlag(to *[]string, name, usage string) {
	c.flags.Var(list{func(v string) { *to = append(*to, v) }}, name, usage)
}

// variables are -var and -var-file, in the order in which they were given.
type variables struct{ options []config.Option }

func (v *variables) flags(c *call) {
	c.flags.Var(list{func(text string) { v.options = append(v.options, config.Option{Text: text}) }}, "var",
		"Give the variable `NAME=VALUE` of the root module. May be given more than once.")
	c.flags.Var(list{func(text string) { v.options = append(v.options, config.Option{File: true, Text: text}) }}, "var-file",
		"Read the values of variables from `FILE`, besides terraform.tfvars and *.auto.tfvars. May be given more than once.")
}

// locking are the flags of commands that take the lock of a state.
type locking struct {
	lock    bool
	timeout time.Duration
}

func (l *locking) flags(c *call) {
	c.flags.BoolVar(&l.lock, "lock", true, "Do not take the lock of the state. Dangerous when others may run at the same time.")
	c.flags.DurationVar(&l.timeout, "lock-timeout", 0, "Wait for another holder of the lock for a `DURATION` such as 60s.")
}

func (l *locking) open(operation string) tombolo.OpenOptions {
	return tombolo.OpenOptions{Operation: operation, NoLock: !l.lock, Timeout: l.timeout}
}

// stateFiles are the flags that say in which files the state is.
type stateFiles struct{ in, out, backup string }

func (s *stateFiles) read(c *call) {
	c.flags.StringVar(&s.in, "state", "", "Read the state from `FILE` instead of terraform.tfstate.")
}

func (s *stateFiles) write(c *call) {
	s.read(c)
	c.flags.StringVar(&s.out, "state-out", "", "Write the state to `FILE` instead of where it was read from.")
	c.flags.StringVar(&s.backup, "backup", "", "Keep the former state in `FILE` instead of one with .backup behind its name; - keeps none.")
}

// deprecated warns of what is kept for compatibility only.
func (s *stateFiles) deprecated() (diags diag.List) {
	if s.in != "" {
		diags = diags.Warnf(nil, "Deprecated flag: -state", "Say in the configuration where the state is, so that every command finds it: terraform { backend \"local\" { path = %q } }", s.in)
	}
	return diags
}

func (s *stateFiles) apply(o *store.Options) {
	o.ReadFrom, o.WriteTo, o.BackupTo = s.in, s.out, s.backup
}

// planning are the flags that say what to plan.
type planning struct {
	variables
	locking
	stateFiles

	destroy, refreshOnly, refresh bool
	targets, replace              []string
	parallelism                   int
	input                         bool
	generate                      string
}

func (p *planning) flags(c *call) {
	p.variables.flags(c)
	p.locking.flags(c)
	c.flags.BoolVar(&p.destroy, "destroy", false, "Plan to destroy all objects instead of making them what the configuration says.")
	c.flags.BoolVar(&p.refreshOnly, "refresh-only", false, "Only look at what has changed outside of ~~, and record it.")
	c.flags.BoolVar(&p.refresh, "refresh", true, "Do not look at the real objects: plan with what the state says.")
	c.stringsFlag(&p.targets, "target", "Plan only for the module, resource or instance at `ADDRESS` and what it depends on. May be given more than once.")
	c.stringsFlag(&p.replace, "replace", "Replace the instance at `ADDRESS` even if nothing of it changed. May be given more than once.")
	c.flags.StringVar(&p.generate, "generate-config-out", "", "Write configuration for imported objects that have none to `FILE`, which must not exist.")
	p.limits(c)
}

// limits are the flags that have nothing to do with what is planned.
func (p *planning) limits(c *call) {
	c.flags.IntVar(&p.parallelism, "parallelism", 10, "Run at most `N` operations of providers at the same time.")
	c.flags.BoolVar(&p.input, "input", true, "Ask nothing: what is missing is an error.")
	c.flags.BoolVar(&c.shown.json, "json", false, "Print one JSON object a line instead of text for people.")
}

// options makes options of the flags; problems are reported.
func (p *planning) options(c *call) (tombolo.PlanOptions, bool) {
	o := tombolo.PlanOptions{SkipRefresh: !p.refresh}
	switch {
	case p.parallelism < 0:
		c.report(diag.List{}.Errorf(nil, "Invalid parallelism value", "The parallelism must be a positive number, and %d is none.", p.parallelism))
		return o, false
	case p.destroy && p.refreshOnly:
		c.misuse("Incompatible plan mode options", "The options -destroy and -refresh-only ask for different things: leave one of them out.")
		return o, false
	case p.refreshOnly && !p.refresh:
		c.misuse("Incompatible refresh options", "With -refresh-only and -refresh=false there would be nothing left to do: leave one of them out.")
		return o, false
	case p.destroy:
		o.Mode = plan.Destroy
	case p.refreshOnly:
		o.Mode = plan.RefreshOnly
	}
	for _, text := range p.targets {
		t, diags := addr.ParseTarget(text)
		if diags.HasErrors() {
			c.misuse("Invalid target \""+text+"\"", "%s", diags[0].Detail)
			return o, false
		}
		o.Targets = append(o.Targets, t)
	}
	for _, text := range p.replace {
		a, diags := addr.ParseInstance(text)
		switch {
		case diags.HasErrors():
			c.misuse("Invalid force-replace address \""+text+"\"", "%s", diags[0].Detail)
			return o, false
		case a.Resource.Mode != addr.Managed:
			c.misuse("Invalid force-replace address \""+text+"\"", "Only managed resources can be replaced, and this is a %s resource.", a.Resource.Mode)
			return o, false
		}
		o.ForceReplace = append(o.ForceReplace, a)
	}
	return o, true
}
