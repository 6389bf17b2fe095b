package states

import (
	"fmt"
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/state"
)

// An operation that a killed run left open is identified by its address. A command that changes the meaning of that
// address would resolve the operation silently, so it is refused until the operation is resolved.

// stillOpen returns the errors of an edit that would change the meaning of operations in flight.
func stillOpen(s *state.Snapshot, what string, touches func(state.InFlight) bool) (diags diag.List) {
	reported := map[addr.AbsResourceInstance]bool{}
	for _, f := range s.InFlight {
		a := f.Object.Instance
		if reported[a] || !touches(f) {
			continue
		}
		reported[a] = true
		diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Address: a.String(),
			Summary: "Interrupted operation is not resolved",
			Detail: fmt.Sprintf("Cannot %s: a run ended in the middle of the %s of %s, which keeps that address "+
				"until you resolve the operation. Nothing was changed.", what, f.Action, f.Object),
			Advice: resolving(f)})
	}
	return diags
}

// resolving returns the commands that resolve an operation.
func resolving(f state.InFlight) *diag.Advice {
	a := f.Object.Instance
	if f.Action == state.ActionCreate {
		return diag.Advise("Check whether the object exists, run one of these, then try again:\n  %s    (it exists: "+
			"import it)\n  %s       (it does not exist)\n  %s      (leave it unmanaged, and remove it from the state)",
			diag.Recover(a, "--adopt", "ID"), diag.Recover(a, "--retry"), diag.Recover(a, "--forget"))
	}
	return diag.Advise("Check the object, run one of these, then try again:\n  %s       (keep its entry in the "+
		"state)\n  %s      (remove it from the state)", diag.Recover(a, "--retry"),
		diag.Recover(a, "--forget"))
}

// at reports whether an operation is that of an object at or below an address.
func at(t addr.Target) func(state.InFlight) bool {
	return func(f state.InFlight) bool { return matches(t, f.Object.Instance) }
}

// open refuses moves from or to the address of an operation in flight. The dependencies of an interrupted creation
// cannot be moved either: the journal has their former addresses, so nothing would prevent their destruction.
func (m *moving) open(from, to *state.Snapshot) diag.List {
	what := fmt.Sprintf("move %s to %s", m.from, m.to)
	found := named(from.State, m.from)
	diags := stillOpen(from, what, func(f state.InFlight) bool {
		return at(m.from)(f) || f.Action == state.ActionCreate &&
			slices.ContainsFunc(found, func(a addr.AbsResourceInstance) bool {
				return slices.Contains(f.Dependencies, a.Config())
			})
	})
	if from == to && diags.HasErrors() {
		return diags // each operation is named once
	}
	return diags.Extend(stillOpen(to, what, at(m.to)))
}
