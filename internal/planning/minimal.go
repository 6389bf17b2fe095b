package planning

import (
	"bytes"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// planAsNeeded plans an instance. With a minimal refresh its object is only loaded first. It is read if it changes, if
// it cannot be planned with the stored object, if a dependency changes, or if an operation on it was interrupted; and
// planned again if the real object differs from the stored one.
func (m *managed) planAsNeeded(minimal bool) (*plan.Change, error) {
	if !minimal {
		return m.plan()
	}
	stored := m.prior
	var change *plan.Change
	if !m.p.needsReading(m) {
		m.trial = true
		tried, err := m.plan()
		m.trial = false
		switch {
		case err != nil && !m.warnings.HasErrors():
			return nil, err
		case err == nil:
			change = tried
		}
	}
	read := change == nil || change.Action != plan.NoOp
	var err error
	if m.prior, err = m.p.refreshStored(m.obj, m.cfg, m.rt, m.prov, stored, m.b.Slot, read); err != nil {
		return nil, err
	}
	if !read {
		m.p.leaveUnread(m.inst, false)
	}
	if change != nil && sameObject(stored, m.prior) {
		return change, m.report(m.warnings)
	}
	var ignored diag.List
	m.effective, m.kept, ignored = m.b.IgnoreChanges(m.key, m.prior.value, m.prior.sensitive, m.config, m.marks)
	if err := m.report(ignored); err != nil {
		return nil, err
	}
	return m.plan()
}

// report reports problems of the instance; in a trial only if its result is used.
func (m *managed) report(diags diag.List) error {
	if !m.trial {
		return m.p.walk.Report(diags)
	}
	m.warnings = m.warnings.Extend(diags)
	if diags.HasErrors() {
		return eval.ErrReported
	}
	return nil
}

// sameObject reports whether reading an object returned the stored object.
func sameObject(stored, read known) bool {
	identity := func(v cty.Value) cty.Value {
		if v == cty.NilVal {
			return cty.DynamicVal
		}
		return v
	}
	return !read.null() && ctyfast.RawEquals(stored.value, read.value) && bytes.Equal(stored.private, read.private) &&
		value.EqualPaths(stored.sensitive, read.sensitive) &&
		ctyfast.RawEquals(identity(stored.identity), identity(read.identity))
}

// needsReading reports whether an object has to be read before it is planned.
func (p *planner) needsReading(m *managed) bool {
	if p.replace[m.inst] || m.prior.tainted || slices.Contains(p.opts.InFlight, m.obj) || p.outdated(m.prior.object) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pendingBehind(m.inst.Module, m.b.Slot)
}

// outdated reports whether the last read of an object is older than the maximum age. An unknown or future time counts
// as outdated.
func (p *planner) outdated(o *state.Object) bool {
	if p.opts.MaxAge <= 0 {
		return false
	}
	at, now := time.Unix(o.ReadAt, 0), p.opts.Now
	return o.ReadAt <= 0 || at.After(now) || now.Sub(at) > p.opts.MaxAge
}

// reads reports whether a plan may read an object, and records one that a setting excludes.
func (p *planner) reads(o addr.Object) bool {
	switch {
	case p.opts.SkipRefresh:
		return false
	case p.opts.Mode == plan.RefreshOnly, !p.opts.Unrefreshed.Contains(o.Instance), slices.Contains(p.opts.InFlight, o):
		return true
	case p.prior.Object(o) != nil:
		p.leaveUnread(o.Instance, true)
	}
	return false
}

// leaveUnread records that the plan relies on the stored object of an instance, perhaps because of a setting.
func (p *planner) leaveUnread(inst addr.AbsResourceInstance, setting bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unread = append(p.unread, inst)
	if setting {
		p.unrefreshed = append(p.unrefreshed, inst)
	}
}

// sortedUnread returns instances sorted and unique: several objects of one may be unread.
func sortedUnread(list *[]addr.AbsResourceInstance) []addr.AbsResourceInstance {
	slices.SortFunc(*list, addr.AbsResourceInstance.Compare)
	return slices.Compact(*list)
}
