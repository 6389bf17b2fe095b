package projectfile

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
)

// Hook is a hook block, of which there may be several.
type Hook struct {
	Name        string   `hcl:"name,label"`
	Events      []string `hcl:"events" doc:"before_ or after_ with init, plan, apply or object, such as after_apply"`
	Command     []string `hcl:"command" doc:"the program and its arguments"`
	Objects     []string `hcl:"objects,optional" doc:"addresses and patterns of objects, all unless set"`
	Actions     []string `hcl:"actions,optional" doc:"create, update, replace, delete, read; all but read unless set"`
	OnFailure   string   `hcl:"on_failure,optional" doc:"stop, or continue with a warning; stop unless set"`
	Environment []string `hcl:"environment,optional" doc:"variables for it besides PATH, as [\"HOME\", \"CI_*\"]"`
	Timeout     string   `hcl:"timeout,optional" doc:"its time limit, 5m unless set"`

	NameRange        hcl.Range `hcl:"name,label_range"`
	EventsRange      hcl.Range `hcl:"events,attr_value_range"`
	CommandRange     hcl.Range `hcl:"command,attr_value_range"`
	ObjectsRange     hcl.Range `hcl:"objects,attr_value_range"`
	ActionsRange     hcl.Range `hcl:"actions,attr_value_range"`
	OnFailureRange   hcl.Range `hcl:"on_failure,attr_value_range"`
	EnvironmentRange hcl.Range `hcl:"environment,attr_value_range"`
	TimeoutRange     hcl.Range `hcl:"timeout,attr_value_range"`
}

// The keywords of hooks.
var (
	HookEvents = []string{"before_init", "after_init", "before_plan", "after_plan", "before_apply", "after_apply",
		"before_object", "after_object"}
	HookActions = []string{"create", "update", "replace", "delete", "read"}
	hookEnds    = []string{"stop", "continue"}
)

// Limit returns the time limit of the program, or 0 if the block sets none.
func (h Hook) Limit() time.Duration {
	d, _ := time.ParseDuration(h.Timeout) // already validated
	return d
}

// Targets returns the objects of the hook; none means all.
func (h Hook) Targets() (list []addr.Target) {
	for _, text := range h.Objects {
		if t, diags := addr.ParseSelector(text); !diags.HasErrors() {
			list = append(list, t)
		}
	}
	return list
}

func (f File) checkHooks() (diags diag.List) {
	for i, h := range f.Hooks {
		diags = diags.Extend(checkDuration("timeout", h.Timeout, h.TimeoutRange)).Extend(h.checkWords())
		switch {
		case strings.TrimSpace(h.Name) == "":
			diags = diags.Errorf(&h.NameRange, "Invalid hook", "A hook needs a name, which messages use to identify "+
				"it.")
		case slices.ContainsFunc(f.Hooks[:i], func(other Hook) bool { return other.Name == h.Name }):
			diags = diags.Errorf(&h.NameRange, "Invalid hook", "There is another hook %q above. The names of hooks "+
				"must be unique, because messages use them.", h.Name)
		case len(h.Command) == 0 || h.Command[0] == "":
			diags = diags.Errorf(&h.CommandRange, "Invalid hook", "The command of the hook %q is empty. Expected a "+
				"program with its arguments, such as [\"python3\", \"hooks/notify.py\"].", h.Name)
		case len(h.Events) == 0:
			diags = diags.Errorf(&h.EventsRange, "Invalid hook", "The hook %q has no event, so it would never run. "+
				"The events are %s.", h.Name, strings.Join(HookEvents, ", "))
		}
	}
	return diags
}

// checkWords reports invalid keywords of a hook, with the valid ones.
func (h Hook) checkWords() (diags diag.List) {
	word := func(name, text string, at hcl.Range, words []string) {
		if !slices.Contains(words, text) {
			diags = diags.Errorf(&at, "Invalid hook", "%s of the hook %q has %q. Expected one of %s.%s", name,
				h.Name, text, strings.Join(words, ", "), diag.DidYouMean(text, words))
		}
	}
	ofObjects := false
	for _, e := range h.Events {
		word("events", e, h.EventsRange, HookEvents)
		ofObjects = ofObjects || strings.HasSuffix(e, "_object")
	}
	for _, a := range h.Actions {
		word("actions", a, h.ActionsRange, HookActions)
	}
	if h.OnFailureRange != (hcl.Range{}) {
		word("on_failure", h.OnFailure, h.OnFailureRange, hookEnds)
	}
	for _, o := range h.Objects {
		if _, problems := addr.ParseSelector(o); problems.HasErrors() {
			diags = diags.Errorf(&h.ObjectsRange, "Invalid address", "%s", problems[0].Detail)
		}
	}
	for _, e := range h.Environment {
		if _, err := path.Match(e, ""); err != nil || strings.TrimSpace(e) == "" || strings.Contains(e, "=") {
			diags = diags.Errorf(&h.EnvironmentRange, "Invalid hook", "environment of the hook %q has %q. Expected "+
				"the name of a variable, or a pattern such as CI_*. Values come from the environment of the run.",
				h.Name, e)
		}
	}
	unused := map[string]hcl.Range{"objects": h.ObjectsRange, "actions": h.ActionsRange}
	for _, name := range []string{"actions", "objects"} {
		if at := unused[name]; at != (hcl.Range{}) && !ofObjects {
			diags = diags.Errorf(&at, "Invalid hook", "%s is only for the events before_object and after_object, "+
				"which the hook %q does not have.", name, h.Name)
		} else if at != (hcl.Range{}) && (name == "objects" && len(h.Objects) == 0 ||
			name == "actions" && len(h.Actions) == 0) {
			diags = diags.Errorf(&at, "Invalid hook", "%s of the hook %q is empty, so it would never run. To run it "+
				"for all, leave the argument out.", name, h.Name)
		}
	}
	return diags
}
