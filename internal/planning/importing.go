package planning

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Adopt imports the object of an interrupted creation by its id and returns the edit that stores it. Only provider
// configurations are evaluated for that, with the prior state. Values that the import does not return are taken from
// the planned value of the intent before the object is read.
func Adopt(ctx, calls context.Context, prog *linking.Program, prior *state.State, providers Providers, o Options,
	a Adoption) (state.Edit, diag.List) {
	o.Mode = plan.Destroy // evaluates only provider configurations
	p := newPlanner(calls, prog, prior, providers, o)
	in := p.inputs()
	in.InUse[a.Intent.Provider.Block()] = true
	p.begin(ctx, in)
	if err := p.walk.Run(ctx); err != nil {
		return state.Edit{}, p.walk.Diagnostics().AppendError("Operation canceled", err)
	}
	defer p.CloseAll()
	edit, err := p.adopt(a.Intent, a.ID)
	_ = err // reported
	return edit, p.walk.Diagnostics()
}

func (p *planner) adopt(intent state.Intent, id string) (state.Edit, error) {
	none, target, cfg := state.Edit{}, intent.Object.Instance, intent.Provider
	schema, err := p.Schema(cfg.Provider)
	if err != nil {
		return none, err
	}
	rt := schema.Resources[target.Resource.Type]
	if rt == nil {
		return none, p.walk.Report(diag.List{}.Errorf(nil, "Invalid resource type",
			"Provider %s has no resource type %q.", cfg.Provider.ForDisplay(), target.Resource.Type))
	}
	inst, err := p.provider(cfg)
	if err != nil {
		return none, err
	}
	k, err := p.imported(addr.Object{Instance: target}, cfg, rt, inst,
		wanted{ImportID: eval.ImportID{ID: id}, planned: intent.Planned})
	if err != nil {
		return none, err
	}
	if p.prog.ResourceSlot(target.Config()) == nil { // its block was removed
		k.object.Dependencies = intent.Dependencies
	}
	return state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: target}, Provider: cfg, Object: k.object}}, nil
}

// Adoption is the result of an interrupted creation: the object with an id.
type Adoption struct {
	Intent state.Intent
	ID     string
}

// Import is one object to import.
type Import struct {
	Target addr.AbsResourceInstance
	ID     string
	// Found, if set, is called after the provider has found the object, before it is read.
	Found func()
}

// takeOver imports the object of an import block, unless the instance already has one.
func (m *managed) takeOver() error {
	if asked := m.p.opts.Import; asked != nil && asked.Target == m.inst {
		return m.importOne(asked)
	}
	found := m.p.walk.ImportOf(m.inst)
	if found == nil || !m.prior.null() {
		return nil
	}
	importing := m.p.announce(m.obj, found)
	// An interrupted creation is not repeated automatically, so its object must exist.
	optional := found.Block.Optional && m.p.unsettled[m.inst] == nil
	var invalid error
	config := func() cty.Value {
		var config cty.Value
		if config, _, invalid = m.p.configuration(m.b, m.key, m.prov); invalid != nil {
			return cty.NilVal
		}
		return config
	}
	k, err := m.p.imported(m.obj, m.cfg, m.rt, m.prov,
		wanted{ImportID: found.Wanted, optional: optional, config: config})
	switch {
	case invalid != nil:
		return invalid
	case err != nil:
		return err
	case k.null():
		m.missing = importing
		return nil
	}
	m.importing = importing
	m.importing.Found(k.identity)
	m.found(k)
	return nil
}

// announce sends the event for the import of an import block.
func (p *planner) announce(o addr.Object, found *eval.Import) *plan.Importing {
	i := &plan.Importing{ID: found.Wanted.ID, Identity: found.Wanted.Identity, Sensitive: found.Sensitive}
	p.opts.Events.Send(event.ImportPrepare{Object: o, ID: event.ID{Key: i.Argument(), Value: i.Shown()}})
	return i
}

// found sets the imported object of this instance. It was not created from the configuration, so it has no dependencies
// until the first plan that keeps or changes it.
func (m *managed) found(k known) {
	stored := *k.object
	stored.Dependencies = nil
	k.object = &stored
	m.prior = k
	m.p.edit(state.Edit{Put: &state.PutObject{Addr: m.obj, Provider: m.cfg, Object: k.object}})
}

// importOne imports the object of the command "import".
func (m *managed) importOne(asked *Import) error {
	m.p.mu.Lock()
	m.p.tookOver = true
	m.p.mu.Unlock()
	k, err := m.p.imported(m.obj, m.cfg, m.rt, m.prov, wanted{ImportID: eval.ImportID{ID: asked.ID}})
	if err != nil {
		return err
	}
	m.found(k)
	return nil
}

// wanted is the object to import.
type wanted struct {
	eval.ImportID
	// optional means that it may not exist.
	optional bool
	// planned is the planned value of its interrupted creation, if any.
	planned []byte
	// config evaluates its configuration, for mocks, or nil if there is none.
	config func() cty.Value
}

// imported asks a provider for an existing object and reads it. If there is no error, the result is only null if an
// optional object does not exist.
func (p *planner) imported(o addr.Object, cfg addr.AbsProviderConfig, rt *provider.ResourceType, inst provider.Provider,
	sought wanted) (known, error) {
	none := known{value: cty.NullVal(rt.Block.ImpliedType())}
	p.mu.Lock()
	unsettled := p.evaluated[cfg]
	p.mu.Unlock()
	if unsettled && p.defers() {
		return none, postponed{plan.DeferredProvider}
	}
	if unsettled {
		return none, p.walk.Report(diag.List{}.Errorf(nil, "Invalid provider configuration",
			"To import %s the configuration of %s must be known, but it depends on values that are known only after "+
				"apply. Plan and apply in rounds with -allow-deferral, or write the values into the configuration.",
			o, cfg))
	}
	k, err := p.lookedUp(o, cfg, rt, inst, sought)
	if err != nil || k.object == nil {
		return none, err
	}
	if asked := p.opts.Import; asked != nil && asked.Target == o.Instance {
		if asked.Found != nil {
			asked.Found()
		}
		if p.prior.Object(o) != nil {
			return none,
				p.walk.Report(diag.List{}.Errorf(nil, "Resource already managed by "+cmp.Or(p.opts.Title, "Tombolo"),
					"The state already has an object for %s.", o).
					Advise("First remove it from the state with %s, or choose another address.",
						diag.Means("state rm")))
		}
	}
	k.value = withPlanned(rt.Block, k.value, sought.planned)
	k, err = p.refresh(o, cfg, rt, inst, k, cty.NilVal) // it is not part of the module yet
	if err != nil {
		return none, err
	}
	if k.null() {
		return none, p.notThere(o, sought)
	}
	if k.object, err = p.storable(o, rt, k); err != nil {
		return none, err
	}
	return k, nil
}

// lookedUp asks a provider for the object with an id and checks the response. The result has no object if an optional
// one does not exist.
func (p *planner) lookedUp(o addr.Object, cfg addr.AbsProviderConfig, rt *provider.ResourceType,
	inst provider.Provider, sought wanted) (k known, err error) {
	var resp provider.ImportResponse
	if err := p.Ask(access.Of{Provider: cfg.Provider, Object: o}, func(int) diag.List {
		resp = inst.Import(p.calls, provider.ImportRequest{Object: o, Type: o.Instance.Resource.Type, ID: sought.ID,
			Identity: sought.Identity, Client: p.client(), Config: sought.config})
		return resp.Diagnostics
	}); err != nil {
		return k, err
	}
	if err := p.postpones(cfg, resp.Deferred, resp.Diagnostics); err != nil {
		return k, err
	}
	if sought.optional && resp.Diagnostics.HasErrors() && !p.CutOff(resp.Diagnostics) {
		there, err := p.exists(o, cfg, rt, inst, sought.ImportID, resp.Diagnostics)
		switch {
		case err != nil:
			return k, err
		case there == absent:
			return k, nil
		case there == untold:
			resp.Diagnostics = undecided(resp.Diagnostics)
		}
	}
	if err := p.walk.Report(resp.Diagnostics.InAddress(o.String()).Extend(
		value.Undeferred(o, cfg, resp.Deferred))); err != nil {
		return k, err
	}
	if len(resp.Imported) > 1 {
		return k, p.walk.Report(diag.List{}.Errorf(nil, "Multiple import states not supported",
			"Provider %s found %d objects for %s (%s), but %s can have only one. The next apply would destroy those "+
				"that have no block.",
			cfg.Provider.ForDisplay(), len(resp.Imported), sought, typesOf(resp.Imported), o))
	}
	k.object = &state.Object{}
	for _, found := range resp.Imported {
		if found.Type != o.Instance.Resource.Type {
			return k, p.walk.Report(diag.List{}.Errorf(nil, "Imported object has another type",
				"Provider %s found a %s for %s, which cannot be imported as %s. Import it with its own type.",
				cfg.Provider.ForDisplay(), found.Type, sought, o))
		}
		k.value, k.private, k.identity = found.State, found.Private, found.Identity
	}
	if k.value == cty.NilVal || k.value.IsNull() {
		return known{}, p.notThere(o, sought)
	}
	if errs := value.CheckRefreshed(rt.Block, k.value); len(errs) > 0 {
		return k, p.walk.Report(value.BadAnswer(o, cfg, "Provider produced invalid object", errs))
	}
	if errs := value.CheckIdentity(rt.Identity, k.identity, true); len(errs) > 0 {
		return k, p.walk.Report(value.BadAnswer(o, cfg, "Provider produced invalid identity", errs))
	}
	return k, nil
}

// storable returns an imported object in the form of the state.
func (p *planner) storable(o addr.Object, rt *provider.ResourceType, k known) (*state.Object, error) {
	stored := state.Object{SchemaVersion: rt.Version, Sensitive: k.sensitive, Private: k.private}
	if slot := p.prog.ResourceSlot(o.Instance.Config()); slot != nil {
		stored.Dependencies, stored.CreateBeforeDestroy = slot.ResourceDeps(), slot.CreateBeforeDestroy
	}
	var err error
	if stored.Identity, stored.IdentityVersion, err = storedIdentity(rt, k, &stored); err != nil {
		return nil, p.walk.Report(diag.FromError("Cannot store the identity of "+o.String(), err))
	}
	object, err := state.NewObject(k.value, rt.Block.ImpliedType(), stored, rt.Newer...)
	if err != nil {
		return nil, p.walk.Report(diag.FromError("Cannot store "+o.String(), err))
	}
	return object, nil
}

// typesOf returns the types of the first objects of a list, and counts the others.
func typesOf(list []provider.ImportedObject) string {
	const most = 10
	var types []string
	for _, o := range list[:min(len(list), most)] {
		types = append(types, o.Type)
	}
	text := strings.Join(types, ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// notThere returns an error for an object that does not exist, unless it is optional.
func (p *planner) notThere(o addr.Object, sought wanted) error {
	if sought.optional {
		return nil
	}
	return p.walk.Report(diag.List{}.Errorf(nil, provider.NoSuchObject,
		"No object with %s was found for %s. Check the value, and the region, account or endpoint in the provider's "+
			"configuration.", sought, o))
}

// generate generates configuration for the imported objects that have none, if the plan allows it.
func (p *planner) generate() error {
	var failed error
	for _, found := range p.walk.UnseenImports() {
		if p.prog.ResourceSlot(found.Target.Config()) != nil && (!p.targets.Contains(found.Target) ||
			p.heldBack(found.Target.AbsResource(), addr.AbsProviderConfig{}) != nil) {
			continue // the walk did not reach it
		}
		if err := p.generateOne(found); err != nil {
			failed = err
		}
	}
	return failed
}

func (p *planner) generateOne(found *eval.Import) error {
	o := addr.Object{Instance: found.Target}
	at := found.Block.ToExpr.Range().Ptr()
	const summary = "Configuration for import target does not exist"
	switch {
	case p.prog.ResourceSlot(found.Target.Config()) != nil:
		exp, ok := p.walk.Expansion(found.Target.AbsResource())
		if ok && exp.Has(found.Target.Key) || !ok && p.walk.Instance(found.Target.Module) != nil {
			return nil // it was not reached because of a reported problem
		}
		return p.walk.Report(diag.List{}.Errorf(nil, summary, "The block of %s has no such instance: its count or "+
			"for_each does not include it. Every imported object needs a configuration.", o))
	case !p.opts.Generate:
		return p.walk.Report(diag.List{}.Errorf(at, summary, "There is no block for %s.", o).
			Advise("Write one, or use %s, which writes a resource block for each imported object that has none to a "+
				"new file.", diag.Means("-generate-config-out=FILE with plan")))
	case p.prior.Object(o) != nil:
		return nil // it is planned as an object without a block
	}
	cfg := addr.AbsProviderConfig{Provider: found.Block.Provider}
	if found.Block.ProviderRef != nil {
		if abs, ok := p.prog.Config.Root.ResolveProvider(*found.Block.ProviderRef); ok {
			cfg = abs
			cfg.Key = found.ProviderKey
		}
	}
	return p.planGenerated(o, cfg, found)
}

// planGenerated imports an object and plans it with its generated configuration.
func (p *planner) planGenerated(o addr.Object, cfg addr.AbsProviderConfig, found *eval.Import) error {
	inst, schema, rt, err := p.managerOf(o, cfg)
	if err != nil {
		return err
	}
	importing := p.announce(o, found)
	k, err := p.imported(o, cfg, rt, inst, wanted{ImportID: found.Wanted})
	if err != nil {
		return err
	}
	importing.Found(k.identity)
	config, diags := p.configOf(inst, schema, rt, o, cfg, k.value)
	if err := p.walk.Report(diags.InAddress(o.String())); err != nil {
		return err
	}
	m := &managed{
		p: p, inst: found.Target, obj: o, cfg: cfg, rt: rt, block: rt.Block, prov: inst, prior: k,
		config: generatedValue(rt.Block, config), importing: importing,
	}
	m.effective, m.kept = m.config, m.marks
	p.edit(state.Edit{Put: &state.PutObject{Addr: o, Provider: cfg, Object: k.object}})
	change := m.change(plan.NoOp, plan.NoReason, k.value, nil)
	if err = p.walk.Report(m.inConfig(p.validate(m.inst, m.prov, m.config))); err == nil {
		var planned *plan.Change
		if planned, err = m.plan(); err == nil {
			change = planned
		}
	}
	// Values that the provider rejects are included, so that the user can correct them.
	change.GeneratedConfig = generated(found.Target.Resource, rt.Block, config,
		unlessImplied(found.Target.Resource, found.Block.ProviderRef), cfg.Key)
	p.add(change)
	if change.Action == plan.NoOp {
		p.settle(o, cfg, k.object, found.Deps, k.object.SkipDestroy, k.object.Protected)
	}
	return err
}

// withPlanned replaces null attributes of an imported object by the planned values of its creation.
func withPlanned(b *provider.Block, imported cty.Value, planned []byte) cty.Value {
	if len(planned) == 0 || imported.IsNull() || !imported.IsKnown() {
		return imported
	}
	v, err := ctyjson.Unmarshal(planned, b.ImpliedType())
	if err != nil || v.IsNull() {
		return imported
	}
	vals := imported.AsValueMap()
	for name := range b.Attributes {
		if vals[name].IsNull() {
			vals[name] = v.GetAttr(name)
		}
	}
	return cty.ObjectVal(vals)
}
