package planning

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// A plan that may defer (Options.Defer) does not fail if it is unknown which instances a block has, or if a provider
// cannot answer yet. It plans everything else; a later plan, after this one was applied, plans the rest. The walk holds
// whatever depends on something deferred, as it does for unsettled creations (unsettled.go), so nothing is planned with
// guessed values.

// postponed is the error of an object that its provider, or the engine, cannot plan yet.
type postponed struct{ reason plan.DeferralReason }

func (postponed) Error() string { return "deferred" }

// client returns the engine's capabilities for requests of this plan.
func (p *planner) client() provider.ClientCapabilities {
	c := access.Client
	c.DeferralAllowed = p.defers()
	return c
}

// postpones returns an error that defers an object, if the plan may defer and the provider asks for it, or fails while
// its configuration has unknown values; otherwise nil.
func (p *planner) postpones(cfg addr.AbsProviderConfig, reason provider.DeferredReason, diags diag.List) error {
	switch {
	case !p.defers():
		return nil
	case reason == provider.DeferredConfigUnknown:
		return postponed{plan.DeferredConfigUnknown}
	case reason == provider.DeferredProviderUnknown:
		return postponed{plan.DeferredProvider}
	case reason == provider.DeferredAbsentPrerequisite:
		return postponed{plan.DeferredAbsent}
	case reason != provider.NotDeferred:
		return postponed{plan.DeferredUnknownReason}
	case diags.HasErrors() && p.uncertain(cfg):
		return postponed{plan.DeferredProvider}
	}
	return nil
}

// uncertain reports whether the configuration of a provider has unknown values.
func (p *planner) uncertain(cfg addr.AbsProviderConfig) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.evaluated[cfg]
}

// configurable returns an error that defers an object, if its provider cannot be configured with unknown values.
func (p *planner) configurable(cfg addr.AbsProviderConfig) error {
	if !p.defers() || !p.uncertain(cfg) {
		return nil
	}
	if inst, _ := p.providers.Get(p.calls, cfg); inst == nil { // its problem may be that values are unknown
		return postponed{plan.DeferredProvider}
	}
	return nil
}

// defers reports whether the plan may defer. A destroy plan needs no expansions, and a plan for one object or action is
// for nothing else.
func (p *planner) defers() bool {
	return p.opts.Defer && p.opts.Mode != plan.Destroy && p.opts.Import == nil && len(p.opts.Invoke) == 0
}

// putOff records that an object is deferred, if err says so, and then returns nil.
func (p *planner) putOff(o addr.Object, cfg addr.AbsProviderConfig, err error) error {
	var why postponed
	if !errors.As(err, &why) {
		return err
	}
	p.addDeferral(plan.Deferral{Address: o.String(), Reason: why.reason, Provider: cfg})
	return nil
}

// isPostponed reports whether an error defers an object.
func isPostponed(err error) bool { return errors.As(err, new(postponed)) }

func (p *planner) addDeferral(d plan.Deferral) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deferrals = append(p.deferrals, d)
}

// deferHeld records a slot that the walk held because of a deferral, or that is deferred itself.
func (p *planner) deferHeld(i *eval.Instance, s *linking.Slot, cause eval.Cause) {
	d := plan.Deferral{Address: i.DeferralOf(s), Because: cause.Deferred, Reason: plan.DeferredPrerequisite}
	switch {
	case d.Address == cause.Deferred && d.Address != "":
		d.Because, d.Reason, d.Whole = "", plan.DeferredInstances, true
		if because, given := p.opts.postponed[d.Address]; given {
			d.Because, d.Reason = because, plan.DeferredPrerequisite
		}
		if s.Kind == linking.SlotImport {
			d.Reason = plan.DeferredConfigUnknown
		}
	case s.Kind == linking.SlotOutput && i.Parent() == nil:
		d.Address = "output." + s.Name
	case p.opts.Mode == plan.RefreshOnly || s.Kind != linking.SlotCall && s.Kind != linking.SlotResource:
		return
	}
	if s.Kind == linking.SlotResource {
		a := addr.AbsResource{Module: i.Addr, Resource: s.Resource.Addr}
		if p.visited[a] || a.Resource.Mode == addr.Ephemeral && !d.Whole {
			return // only its dependents are held, or it is only part of a run
		}
		d.Provider = s.ProviderConfig
	}
	p.addDeferral(d)
}

// sortedDeferrals returns the deferrals, each address once, in the order of the addresses.
func (p *planner) sortedDeferrals() []plan.Deferral {
	slices.SortFunc(p.deferrals, func(a, b plan.Deferral) int {
		return cmp.Or(strings.Compare(a.Address, b.Address), strings.Compare(string(a.Reason), string(b.Reason)))
	})
	p.deferrals = slices.CompactFunc(p.deferrals, func(a, b plan.Deferral) bool { return a.Address == b.Address })
	return p.deferrals
}

// postponeTriggers reports whether objects are planned whose actions cannot be planned, because something that their
// triggers refer to is deferred. Their blocks must be deferred as well: an action is invoked only when its object
// changes. It records them for another planning.
func (p *planner) postponeTriggers() bool {
	for _, c := range p.changes {
		b := p.actions.triggers[c.Object.Instance.AbsResource()]
		if b == nil || c.Action == plan.NoOp {
			continue
		}
		if cause := b.LateCause(); cause != nil && cause.Deferred != "" {
			p.again[b.Instance.DeferralOf(b.Slot)] = cause.Deferred
		}
	}
	return len(p.again) > 0
}

// againWith returns options to plan again, with more deferrals.
func (p *planner) againWith() Options {
	o := p.opts
	o.postponed = maps.Clone(o.postponed)
	if o.postponed == nil {
		o.postponed = map[string]string{}
	}
	maps.Copy(o.postponed, p.again)
	return o
}

// deferredObjects returns the addresses of the instances that are deferred themselves.
func (p *planner) deferredObjects() map[string]bool {
	out := map[string]bool{}
	for _, d := range p.deferrals {
		out[d.Address] = !d.Whole
	}
	return out
}
