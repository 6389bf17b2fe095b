package tfjson

import (
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Plan writes the plan document on one line: the output of `show -json PLANFILE`. prior is p.Prior(), which the caller
// may already have; cfg is the configuration of the plan, or nil if there is none (the document then has no
// configuration member).
func Plan(w io.Writer, p *plan.Plan, prior *state.State, cfg *config.Config, schemas Schemas) error {
	s := newStream(w)
	s.open('{')
	s.member("format_version", planFormat)
	s.member("terraform_version", state.LanguageVersion)
	s.variables(p, cfg)
	changes := SortedChanges(p.Changes)
	if p.Mode == plan.RefreshOnly {
		changes = nil // such a plan only changes the state
	}
	if err := s.plannedValues(p, changes, cfg, schemas); err != nil {
		return err
	}
	s.changes("resource_drift", SortedChanges(p.Drift), schemas)
	s.changes("resource_changes", changes, schemas)
	s.deferredChanges(p, prior)
	s.outputChanges(p.Outputs)
	s.invocations(p.Invocations, schemas)
	if !prior.IsEmpty() {
		s.key("prior_state")
		if err := s.state(prior, schemas, false); err != nil {
			return err
		}
	}
	if cfg != nil {
		s.key("configuration")
		s.configuration(cfg, schemas)
	}
	s.relevant(p.Relevant)
	s.leftOut(p.LeftOut)
	s.deferred(p.Deferred)
	s.unread("unread", p.Unread)
	s.unread("unread_by_setting", p.UnreadBySetting)
	if len(p.Checks) > 0 {
		s.key("checks")
		s.checks(p.Checks)
	}
	s.member("timestamp", p.Created.UTC().Format(time.RFC3339))
	s.memberBool("applyable", p.Applyable())
	s.memberBool("complete", p.Complete)
	s.memberBool("errored", p.Errored)
	s.close('}')
	return s.end()
}

// leftOut writes the objects that the plan leaves out. Only Tombolo writes this member; other readers ignore it.
func (s *stream) leftOut(list []plan.LeftOut) {
	if len(list) == 0 {
		return
	}
	s.key("left_out")
	s.open('[')
	for _, l := range list {
		s.open('{')
		s.member("address", l.Address)
		s.member("reason", string(l.Reason))
		s.member("because", l.Because.String())
		s.close('}')
	}
	s.close(']')
}

// unread writes instances whose real objects were not read. Only Tombolo writes these members.
func (s *stream) unread(member string, list []addr.AbsResourceInstance) {
	if len(list) == 0 {
		return
	}
	s.key(member)
	s.open('[')
	for _, a := range list {
		s.str(a.String())
	}
	s.close(']')
}

// SortedChanges returns changes in the order in which documents and texts list them: by address, current objects before
// deposed ones.
func SortedChanges(changes []*plan.Change) []*plan.Change {
	compare := func(a, b *plan.Change) int {
		if c := a.Object.Instance.Compare(b.Object.Instance); c != 0 {
			return c
		}
		switch {
		case a.Object.Deposed < b.Object.Deposed:
			return -1
		case a.Object.Deposed > b.Object.Deposed:
			return 1
		}
		return 0
	}
	if slices.IsSortedFunc(changes, compare) {
		return changes
	}
	sorted := slices.Clone(changes)
	slices.SortStableFunc(sorted, compare)
	return sorted
}

// variables writes the values of root input variables: those of the plan, and the defaults of the others.
func (s *stream) variables(p *plan.Plan, cfg *config.Config) {
	values := map[string]cty.Value{}
	if cfg != nil && cfg.Root != nil {
		for name, v := range cfg.Root.Variables {
			if v.Default != cty.NilVal {
				values[name] = v.Default
			}
		}
	}
	for name, v := range p.Variables {
		if v.Value != cty.NilVal {
			values[name] = v.Value
		}
	}
	if len(values) == 0 {
		return
	}
	s.key("variables")
	s.open('{')
	for _, name := range slices.Sorted(maps.Keys(values)) {
		s.key(name)
		s.open('{')
		s.key("value")
		s.value(values[name])
		s.close('}')
	}
	s.close('}')
}

// plannedValues writes the planned state, as far as it is known. OpenTofu includes objects that the plan forgets.
func (s *stream) plannedValues(p *plan.Plan, changes []*plan.Change, cfg *config.Config, schemas Schemas) error {
	s.key("planned_values")
	s.open('{')
	s.plannedOutputs(p.Outputs)
	var kept []*plan.Change
	for _, c := range changes {
		gone := c.Action == plan.Delete || c.Action == plan.Forget && !cfg.Root.PlansForgotten()
		if !gone && c.Object.Deposed == "" {
			kept = append(kept, c)
		}
	}
	// Terraform sorts this document's resources by the text of their address.
	slices.SortStableFunc(kept, func(a, b *plan.Change) int {
		return strings.Compare(a.Object.Instance.String(), b.Object.Instance.String())
	})
	s.key("root_module")
	tree := moduleTree(kept, func(c *plan.Change) addr.ModuleInstance { return c.Object.Instance.Module })
	err := writeModule(s, tree, func(c *plan.Change) error {
		s.open('{')
		s.resourceHead(c.Object.Instance, c.Provider.Provider)
		s.memberInt("schema_version", c.SchemaVersion)
		s.objectValues(c.After.Value, secretsOfSide(c, c.After, schemas))
		if rt := schemas.ResourceType(c.Provider.Provider, c.Object.Instance.Resource); identified(c.AfterIdentity()) &&
			rt != nil && rt.Identity != nil {
			s.memberInt("identity_schema_version", rt.Identity.Version)
			s.key("identity")
			s.value(c.AfterIdentity())
		}
		s.close('}')
		return nil
	})
	s.close('}')
	return err
}

func (s *stream) plannedOutputs(outputs []*plan.OutputChange) {
	some := false
	for _, o := range sortedOutputs(outputs) {
		if o.Action == plan.Delete {
			continue
		}
		if !some {
			s.key("outputs")
			s.open('{')
			some = true
		}
		s.key(o.Name)
		s.open('{')
		s.memberBool("sensitive", o.Sensitive || o.BeforeSensitive)
		if present(o.After) && ctyfast.WhollyKnown(o.After) {
			s.key("type")
			s.typ(o.After.Type())
			s.key("value")
			s.value(o.After)
		}
		s.close('}')
	}
	if some {
		s.close('}')
	}
}

func sortedOutputs(outputs []*plan.OutputChange) []*plan.OutputChange {
	sorted := slices.Clone(outputs)
	slices.SortStableFunc(sorted, func(a, b *plan.OutputChange) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	return sorted
}

// present reports whether a value is set, even to null.
func present(v cty.Value) bool { return v != cty.NilVal }

// absent reports whether a side of a change has no object.
func absent(v plan.Value) bool { return v.Value == cty.NilVal || v.Value.IsNull() }

// secretsOfSide returns the sensitive parts of one side of a change.
func secretsOfSide(c *plan.Change, v plan.Value, schemas Schemas) *Secrets {
	if absent(v) {
		return nil
	}
	if rt := schemas.ResourceType(c.Provider.Provider, c.Object.Instance.Resource); rt != nil {
		return SecretsOf(v.Value, v.Sensitive, rt.Block)
	}
	return SecretsOf(v.Value, v.Sensitive, nil)
}

func (s *stream) changes(name string, changes []*plan.Change, schemas Schemas) {
	if len(changes) == 0 {
		return
	}
	s.key(name)
	s.open('[')
	for _, c := range changes {
		s.resourceChange(c, schemas)
	}
	s.close(']')
}

func (s *stream) resourceChange(c *plan.Change, schemas Schemas) {
	a := c.Object.Instance
	s.open('{')
	s.member("address", a.String())
	if c.PrevAddr != nil {
		s.member("previous_address", c.PrevAddr.String())
	}
	s.optional("module_address", a.Module.String())
	s.resourceParts(a)
	s.optional("deposed", string(c.Object.Deposed))
	s.member("provider_name", c.Provider.Provider.String())
	s.key("change")
	s.open('{')
	s.actions(c.Action)
	s.side("before", c.Before.Value)
	s.side("after", c.After.Value)
	s.key("after_unknown")
	if c.After.Value == cty.NilVal || ctyfast.WhollyKnown(c.After.Value) {
		s.raw("{}")
	} else {
		s.unknowns(c.After.Value)
	}
	s.sideSecrets("before_sensitive", c.Before, secretsOfSide(c, c.Before, schemas))
	s.sideSecrets("after_sensitive", c.After, secretsOfSide(c, c.After, schemas))
	if len(c.ReplacePaths) > 0 {
		s.key("replace_paths")
		s.open('[')
		for _, p := range c.ReplacePaths {
			s.path(p)
		}
		s.close(']')
	}
	s.importing("importing", c.Importing)
	s.importing("not_imported", c.NotImported)
	s.optional("generated_config", c.GeneratedConfig)
	s.identity("before_identity", c.BeforeIdentity())
	s.identity("after_identity", c.AfterIdentity())
	s.close('}')
	s.optional("action_reason", string(c.Reason))
	s.close('}')
}

// identified reports whether an identity is set and wholly known.
func identified(v cty.Value) bool { return present(v) && !v.IsNull() && ctyfast.WhollyKnown(v) }

// identity writes the identity of one side of a change, if it is set and wholly known.
func (s *stream) identity(name string, v cty.Value) {
	if identified(v) {
		s.key(name)
		s.value(v)
	}
}

// side writes before or after; a value that is unknown as a whole is left out.
func (s *stream) side(name string, v cty.Value) {
	switch {
	case v == cty.NilVal:
		s.key(name)
		s.raw("null")
	case v.IsKnown():
		s.key(name)
		s.value(v)
	}
}

func (s *stream) sideSecrets(name string, v plan.Value, secrets *Secrets) {
	s.key(name)
	if absent(v) {
		s.raw("false")
		return
	}
	s.secrets(v.Value, secrets)
}

func (s *stream) actions(a plan.Action) {
	s.key("actions")
	switch a {
	case plan.DeleteThenCreate:
		s.raw(`["delete","create"]`)
	case plan.CreateThenDelete:
		s.raw(`["create","delete"]`)
	case plan.ForgetThenCreate:
		s.raw(`["forget","create"]`)
	default:
		s.raw(`["` + a.String() + `"]`)
	}
}

// importing writes the object that an import found or, in a member that only Tombolo writes, did not find.
func (s *stream) importing(name string, i *plan.Importing) {
	if i == nil {
		return
	}
	s.key(name)
	s.open('{')
	s.optional("id", i.ID)
	if i.Unknown {
		s.memberBool("unknown", true)
	}
	if present(i.Identity) && !i.Identity.IsNull() {
		s.key("identity")
		s.value(i.Identity)
	}
	s.close('}')
}

func (s *stream) outputChanges(outputs []*plan.OutputChange) {
	if len(outputs) == 0 {
		return
	}
	s.key("output_changes")
	s.open('{')
	for _, o := range sortedOutputs(outputs) {
		s.key(o.Name)
		s.open('{')
		s.actions(o.Action)
		s.side("before", o.Before)
		s.side("after", o.After)
		s.key("after_unknown")
		if present(o.After) && !ctyfast.WhollyKnown(o.After) {
			s.unknowns(o.After)
		} else {
			s.raw("false")
		}
		// The format has one sensitivity for both sides: sensitive if either is.
		sensitive := o.Sensitive || o.BeforeSensitive
		s.memberBool("before_sensitive", sensitive)
		s.memberBool("after_sensitive", sensitive)
		s.close('}')
	}
	s.close('}')
}

func (s *stream) relevant(attributes []plan.RelevantAttribute) {
	if len(attributes) == 0 {
		return
	}
	s.key("relevant_attributes")
	s.open('[')
	for _, a := range attributes {
		s.open('{')
		s.member("resource", a.Resource.String())
		s.key("attribute")
		s.path(a.Path)
		s.close('}')
	}
	s.close(']')
}
