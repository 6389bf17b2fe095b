package planning

import (
	"bytes"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
)

// planAsNeeded plans an instance. With a minimal refresh its object has only been loaded so far. It is read if it
// changes, or cannot be planned as it is stored, if something that it depends on changes, or if an operation on it was
// interrupted; and planned again if the real object differs from the stored one.
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
		case err != nil && !m.told.HasErrors():
			return nil, err
		case err == nil:
			change = tried
		}
	}
	read := change == nil || change.Action != plan.NoOp
	var err error
	if m.prior, err = m.p.look(m.obj, m.cfg, m.rt, m.prov, stored, m.b.Slot, read); err != nil {
		return nil, err
	}
	if !read {
		m.p.leaveUnread(m.inst)
	}
	if change != nil && sameObject(stored, m.prior) {
		return change, m.report(m.told)
	}
	var ignored diag.List
	m.effective, m.kept, ignored = m.b.IgnoreChanges(m.key, m.prior.value, m.prior.sensitive, m.config, m.marks)
	if err := m.report(ignored); err != nil {
		return nil, err
	}
	return m.plan()
}

// report reports what is wrong with the instance; in a trial only if its result is used.
func (m *managed) report(diags diag.List) error {
	if !m.trial {
		return m.p.walk.Report(diags)
	}
	m.told = m.told.Extend(diags)
	if diags.HasErrors() {
		return eval.ErrReported
	}
	return nil
}

// sameObject reports whether reading an object found what is stored.
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
	if p.replace[m.inst] || m.prior.tainted || slices.Contains(p.opts.InFlight, m.obj) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pendingBehind(m.inst.Module, m.b.Slot)
}

// leaveUnread notes that the plan relies on what is stored of an instance.
func (p *planner) leaveUnread(inst addr.AbsResourceInstance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unread = append(p.unread, inst)
}

// sortedUnread returns the instances whose objects were not read.
func (p *planner) sortedUnread() []addr.AbsResourceInstance {
	slices.SortFunc(p.unread, addr.AbsResourceInstance.Compare)
	return p.unread
}
