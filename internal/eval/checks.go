package eval

import (
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/state"
)

// outcome combines the results of all conditions of one object.
type outcome struct {
	status   string
	failures []string
}

var statusRank = map[string]int{"": 0, statusPass: 1, statusUnknown: 2, statusFail: 3, statusError: 4}

func (o *outcome) add(r result) {
	if r.status == statusFail && r.message != "" && !r.secret {
		o.failures = append(o.failures, r.message)
	}
	if statusRank[r.status] > statusRank[o.status] {
		o.status = r.status
	}
}

// checkResults collects the outcomes of a walk.
type checkResults struct {
	walk *Walk
	mu   sync.Mutex
	by   map[[2]string]map[string]*outcome // kind and configuration address; object address
}

// report adds an outcome of a checkable object, whose configuration object may have no instances yet. Later outcomes of
// an object are combined with earlier ones.
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
	slices.Sort(have.failures)
	if statusRank[o.status] > statusRank[have.status] {
		have.status = o.status
	}
}

// CheckResults returns the outcomes of all conditions of the walk in a stable order. Objects that were not reached are
// unknown.
func (w *Walk) CheckResults() []state.CheckResult {
	w.checks.mu.Lock()
	defer w.checks.mu.Unlock()
	var out []state.CheckResult
	reached := reached{by: map[*linking.Unit][]*Instance{}}
	for _, i := range w.instances {
		reached.by[i.Unit] = append(reached.by[i.Unit], i)
	}
	destroying := w.Inputs.Only != nil && !w.Inputs.Partial
	for _, u := range w.Program.Units() {
		for _, s := range u.Slots() {
			if kind, ok := s.Checkable(); ok && (destroying || w.checks.by[[2]string{kind, s.Addr()}] == nil) {
				out = append(out, w.unchecked(kind, s, reached))
			}
		}
	}
	for key, objects := range w.checks.by {
		if destroying {
			break // a destroy has no check results
		}
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

// reached holds the instances that a walk created, by module.
type reached struct{ by map[*linking.Unit][]*Instance }

// expanded reports whether all instances of a module are known: all calls on its path were expanded.
func (r reached) expanded(u *linking.Unit) bool {
	for ; u.Parent != nil; u = u.Parent {
		for name, unit := range u.Parent.Calls {
			for _, i := range r.by[u.Parent] {
				if unit == u && !i.calls[name].expanded {
					return false
				}
			}
		}
	}
	return true
}

// empty reports whether it is known that a block has no instances.
func (r reached) empty(s *linking.Slot) bool {
	u := s.Unit()
	if !r.expanded(u) {
		return false
	}
	for _, i := range r.by[u] {
		if s.Kind != linking.SlotResource || i.resources[s.Index].byKey == nil {
			return false
		}
	}
	return true
}

// unchecked returns the result of an object without outcomes: it passes if it has no instances, unless the walk did not
// reach it.
func (w *Walk) unchecked(kind string, s *linking.Slot, reached reached) state.CheckResult {
	r := state.CheckResult{Kind: kind, ConfigAddr: s.Addr(), Status: statusPass}
	if w.Inputs.Partial && !w.Inputs.Only[s] || w.heldSlots[s] {
		r.Status = statusUnknown
		return r
	}
	if w.Inputs.Only != nil && !w.Inputs.Partial || w.Diagnostics().HasErrors() && !reached.empty(s) {
		r.Status = statusUnknown
		if kind == "output" && s.Unit().Parent == nil {
			r.Objects = []state.CheckedObject{{Addr: s.Addr(), Status: statusUnknown}}
		}
	}
	return r
}

// status returns the status of an object from the outcomes so far.
func (c *checkResults) status(kind, config, object string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.by[[2]string{kind, config}][object]; o != nil {
		return o.status
	}
	return ""
}

// Checked marks a diagnostic as a failed condition, with the kind and address of the checked object.
type Checked struct {
	Kind   string // "resource", "output", "var" or "check"
	Object string // the address, with all keys
}

// Condition returns the mark of a diagnostic, which may have others; ok is false for other diagnostics.
func Condition(d *diag.Diagnostic) (c Checked, ok bool) {
	switch extra := d.Extra.(type) {
	case Checked:
		return extra, true
	case OfCheck:
		return extra.Checked, true
	}
	return c, false
}

// OfCheck marks the diagnostics of check blocks: each is shown separately, and those of a plan are outdated after its
// apply.
type OfCheck struct{ Checked }

// DoNotConsolidateDiagnostic prevents views from grouping them.
func (OfCheck) DoNotConsolidateDiagnostic() bool { return true }

// CheckFailed reports that the data source in a check block cannot be read: this is the result of the check.
func (b *Block) CheckFailed(problems diag.List) {
	i := b.Instance
	check := b.Config().Check
	o := outcome{status: statusFail}
	warnings := make(diag.List, 0, len(problems))
	for _, d := range problems {
		if d.Severity == diag.Error {
			o.failures = append(o.failures, d.Summary+": "+d.Detail)
		}
		w := *d
		w.Severity, w.Extra = diag.Warning, OfCheck{Checked{"check", instanceAddr(i, "check."+check.Name)}}
		warnings = append(warnings, &w)
	}
	i.walk.checks.report("check", instanceConfig(i, "check."+check.Name), instanceAddr(i, "check."+check.Name), o)
	_ = i.report(warnings) // there are no errors among them
}

// instanceConfig returns the configuration address of an object in a module instance.
func instanceConfig(i *Instance, local string) string {
	if i.Addr.IsRoot() {
		return local
	}
	return i.Addr.Config().String() + "." + local
}
