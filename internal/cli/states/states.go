// Package states has the commands that show and edit the state: state ..., taint, untaint, workspace ... and
// force-unlock. All changes of a state use edit (edit.go), which holds the lock. This file finds the instances of an
// address.
package states

import (
	"encoding/json"
	"fmt"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/state"
)

// State is the command state.
func State() *command.Command {
	return &command.Command{
		Name: "state", Short: "Inspect and edit the state",
		Long: `These commands inspect and edit the state of the selected workspace. They do not change real objects.
Their output is easy to process with tools such as grep.`,
		Members: []*command.Command{cmdStateHistory(), cmdStateIdentities(), cmdStateList(), cmdStateMv(),
			cmdStatePull(), cmdStatePush(), cmdStateReplaceProvider(), cmdStateRm(), cmdStateShow(),
			alias("ls", cmdStateList()), alias("move", cmdStateMv()), alias("remove", cmdStateRm())},
	}
}

// alias returns a command under an alternative name of OpenTofu.
func alias(name string, cmd *command.Command) *command.Command {
	cmd.Name, cmd.Hidden = name, true
	return cmd
}

// noState reports that there is no state.
func noState(c *command.Call) command.Outcome { return c.Say("%s", noStateText(c)) }

func noStateText(c *command.Call) string {
	return fmt.Sprintf("No state file was found!\n\nThis command works on a state. Run it in a directory where %s has "+
		"run, or name the file with -state.", c.Title)
}

// stored returns the state. It is empty, not nil, during a first run, or if its results are only in the journal; the
// open operations have been reported then. It is nil if nothing is stored.
func stored(s *state.Snapshot) *state.State {
	if s.State == nil && (len(s.InFlight) > 0 || len(s.Unfolded) > 0 || s.Running != nil) {
		return &state.State{}
	}
	return s.State
}

// parseTargets parses addresses, each of which must match an instance in the state.
func parseTargets(s *state.State, texts []string) (targets []addr.Target, diags diag.List) {
	for _, text := range texts {
		t, more := addr.ParseTarget(text)
		if diags = diags.Extend(more); more.HasErrors() {
			continue
		}
		if len(matching(s, t)) == 0 {
			diags = diags.Extend(notInState(s, t))
			continue
		}
		targets = append(targets, t)
	}
	return targets, diags
}

func notInState(s *state.State, t addr.Target) diag.List {
	advice := "New configuration appears in the state after the next apply; \"state list\" shows the current " +
		"objects." + didYouMean(s, t.String())
	switch {
	case t.IsModule():
		return diag.List{}.Errorf(nil, "Unknown module", "The state contains no module at %s. %s", t, advice)
	case t.HasKey:
		return diag.List{}.Errorf(nil, "Unknown resource instance", "The state contains no resource instance %s. %s", t,
			advice)
	}
	return diag.List{}.Errorf(nil, "Unknown resource", "The state contains no resource %s. %s", t, advice)
}

// didYouMean suggests an address in the state for one that is missing.
func didYouMean(s *state.State, given string) string {
	return diag.DidYouMean(given, addr.Names(matching(s, addr.Target{})))
}

// matching returns the instances in a state at an address.
func matching(s *state.State, t addr.Target) (out []addr.AbsResourceInstance) {
	for _, r := range s.Resources() {
		for _, key := range r.Keys() {
			if a := r.Addr.Instance(key); matches(t, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// matches reports whether an instance is at or below an address. A module without a key stands for all its instances.
func matches(t addr.Target, a addr.AbsResourceInstance) bool {
	switch {
	case t.IsModule():
		want, have := t.Module.Steps(), a.Module.Steps()
		for i, step := range want {
			if i >= len(have) || step.Call != have[i].Call || !step.Key.IsNone() && step.Key != have[i].Key {
				return false
			}
		}
		return true
	case t.Module != a.Module || t.Resource != a.Resource:
		return false
	}
	return !t.HasKey || t.Key == a.Key
}

// hasID reports whether an object's attribute id has the given value. It needs no schema.
func hasID(i *state.Instance, id string) bool {
	if i.Current == nil {
		return false
	}
	if i.Current.Attributes == nil {
		return i.Current.Flat["id"] == id
	}
	var found struct {
		ID any `json:"id"`
	}
	if json.Unmarshal(i.Current.Attributes, &found) != nil {
		return false
	}
	text, ok := found.ID.(string)
	return ok && text == id
}
