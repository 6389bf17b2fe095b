package planning

import (
	"context"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Adopt finds an existing object by its id and gives the edit that stores it at an address. Only provider configurations are
// evaluated for that, with what the prior state knows. planned is the planned value of an interrupted creation as JSON, or nil: what the import
// does not tell is taken from it before the object is read.
func Adopt(ctx, calls context.Context, prog *eval.Program, prior *state.State, providers Providers, o Options, target addr.AbsResourceInstance, cfg addr.AbsProviderConfig, id string, planned []byte) (state.Edit, diag.List) {
	o.Mode = plan.Destroy // evaluates provider configurations and nothing else
	p := newPlanner(calls, prog, prior, providers, o)
	p.walk = prog.NewWalk(p.inputs(), p)
	if err := p.walk.Run(ctx); err != nil {
		return state.Edit{}, p.walk.Diagnostics().AppendError("Operation canceled", err)
	}
	defer p.ephemerals.CloseAll()
	edit, err := p.adopt(target, cfg, id, planned)
	_ = err // reported
	return edit, p.walk.Diagnostics()
}

func (p *planner) adopt(target addr.AbsResourceInstance, cfg addr.AbsProviderConfig, id string, planned []byte) (state.Edit, error) {
	none := state.Edit{}
	schema, diags := p.providers.Schema(cfg.Provider)
	if err := p.walk.Report(diags); err != nil {
		return none, err
	}
	rt := schema.Resources[target.Resource.Type]
	if rt == nil {
		return none, p.walk.Report(diag.List{}.Errorf(nil, "Invalid resource type", "Provider %s has no resource type %q.", cfg.Provider.ForDisplay(), target.Resource.Type))
	}
	inst, err := p.provider(cfg)
	if err != nil {
		return none, err
	}
	imported := inst.Import(p.calls, provider.ImportRequest{Type: target.Resource.Type, ID: id, Client: client})
	if err := p.walk.Report(imported.Diagnostics.InAddress(target.String())); err != nil {
		return none, err
	}
	for _, found := range imported.Imported {
		if found.Type != target.Resource.Type {
			continue
		}
		prior := withPlanned(rt.Block, found.State, planned)
		read := inst.Read(p.calls, provider.ReadRequest{Type: found.Type, Prior: prior, Private: found.Private, Client: client})
		if err := p.walk.Report(read.Diagnostics.InAddress(target.String())); err != nil {
			return none, err
		}
		if read.State == cty.NilVal || read.State.IsNull() {
			break
		}
		if errs := value.CheckRefreshed(rt.Block, read.State); len(errs) > 0 {
			return none, p.walk.Report(value.BadAnswer(addr.Object{Instance: target}, cfg, "Provider produced invalid object", errs))
		}
		stored := state.Object{SchemaVersion: rt.Version, Private: read.Private}
		if slot := p.prog.ResourceSlot(target.Config()); slot != nil {
			stored.Dependencies, stored.CreateBeforeDestroy = slot.ResourceDeps(), slot.CreateBeforeDestroy
		}
		object, err := state.NewObject(read.State, rt.Block.ImpliedType(), stored)
		if err != nil {
			return none, p.walk.Report(diag.FromError("Cannot store "+target.String(), err))
		}
		return state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: target}, Provider: cfg, Object: object}}, nil
	}
	return none, p.walk.Report(diag.List{}.Errorf(nil, "Cannot import non-existent remote object",
		"While attempting to import an existing object to %q, the provider detected that no object exists with the given id %q. Only pre-existing objects can be imported; check that the id is correct and that it is associated with the provider's configured region or endpoint.", target, id))
}

// withPlanned fills the attributes that an imported object leaves null from the planned value of its creation.
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
