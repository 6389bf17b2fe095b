package tfjson

import (
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// deferredChanges writes the resources that a plan defers, as Terraform does. Nothing is known about these changes: the
// action is the one that is expected from the state, and the values are left out.
func (s *stream) deferredChanges(p *plan.Plan, prior *state.State) {
	begun := false
	for _, d := range p.Deferred {
		a, ok := deferredResource(d)
		if !ok {
			continue
		}
		if !begun {
			begun = true
			s.key("deferred_changes")
			s.open('[')
		}
		reason := d.Reason
		if reason == plan.DeferredNeeded {
			reason = plan.DeferredPrerequisite
		}
		s.open('{')
		s.member("reason", string(reason))
		s.key("resource_change")
		s.open('{')
		s.member("address", d.Address)
		s.optional("module_address", a.Module.String())
		s.resourceParts(a)
		s.member("provider_name", d.Provider.Provider.String())
		s.key("change")
		s.open('{')
		s.actions(expected(d, a, prior))
		for _, name := range []string{"before", "after"} {
			s.key(name)
			s.raw("null")
		}
		s.memberBool("after_unknown", true)
		s.memberBool("before_sensitive", false)
		s.memberBool("after_sensitive", false)
		s.close('}')
		s.close('}')
		s.close('}')
	}
	if begun {
		s.close(']')
	}
}

// deferredResource returns the address of a deferred resource; a block with unknown instances has no key.
func deferredResource(d plan.Deferral) (a addr.AbsResourceInstance, ok bool) {
	if d.Provider == (addr.AbsProviderConfig{}) {
		return a, false
	}
	a, diags := addr.ParseInstance(strings.TrimSuffix(d.Address, "[*]"))
	return a, !diags.HasErrors() && (a.Resource.Mode == addr.Managed || a.Resource.Mode == addr.Data)
}

// expected returns the action that a deferred change will probably have.
func expected(d plan.Deferral, a addr.AbsResourceInstance, prior *state.State) plan.Action {
	switch stored := prior.Resource(a.AbsResource()); {
	case a.Resource.Mode == addr.Data:
		return plan.Read
	case d.Reason == plan.DeferredNeeded:
		return plan.Delete
	case stored == nil || len(stored.Instances) == 0 || !d.Whole && prior.Object(addr.Object{Instance: a}) == nil &&
		!a.Key.IsNone():
		return plan.Create
	}
	return plan.Update
}

// deferred writes everything that a plan defers. Only Tombolo writes this member.
func (s *stream) deferred(list []plan.Deferral) {
	if len(list) == 0 {
		return
	}
	s.key("deferred")
	s.open('[')
	for _, d := range list {
		s.open('{')
		s.member("address", d.Address)
		s.member("reason", string(d.Reason))
		s.optional("because", d.Because)
		s.close('}')
	}
	s.close(']')
}
