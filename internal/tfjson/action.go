package tfjson

import (
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/plan"
)

// invocations writes the invocations of actions.
func (s *stream) invocations(list []*plan.Invocation, schemas Schemas) {
	if len(list) == 0 {
		return
	}
	s.key("action_invocations")
	s.open('[')
	for _, i := range slices.SortedStableFunc(slices.Values(list), plan.CompareInvocations) {
		s.open('{')
		s.member("address", i.Action.String())
		s.member("type", i.Action.Resource.Type)
		s.member("name", i.Action.Resource.Name)
		s.side("config_values", i.Config.Value)
		s.key("config_sensitive")
		s.secrets(i.Config.Value, InvocationSecrets(i, schemas))
		s.key("config_unknown")
		s.unknowns(i.Config.Value)
		s.member("provider_name", i.Provider.Provider.String())
		if t := i.Trigger; t != nil {
			s.key("lifecycle_action_trigger")
			s.open('{')
			s.member("triggering_resource_address", t.Resource.String())
			s.member("action_trigger_event", string(t.Event))
			s.memberInt("action_trigger_block_index", int64(t.Block))
			s.memberInt("actions_list_index", int64(t.Index))
			if t.OnFailure != "" {
				s.member("on_failure", t.OnFailure)
			}
		} else {
			s.key("invoke_action_trigger")
			s.open('{')
			if i.Caller != (addr.AbsResourceInstance{}) {
				s.member("calling_resource_address", i.Caller.String())
			}
		}
		s.close('}')
		s.close('}')
	}
	s.close(']')
}

// InvocationSecrets returns the sensitive parts of an invocation's configuration.
func InvocationSecrets(i *plan.Invocation, schemas Schemas) *Secrets {
	if rt := schemas.ResourceType(i.Provider.Provider, i.Action.Resource); rt != nil {
		return SecretsOf(i.Config.Value, i.Config.Sensitive, rt.Block)
	}
	return SecretsOf(i.Config.Value, i.Config.Sensitive, nil)
}
