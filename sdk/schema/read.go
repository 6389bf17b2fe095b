package schema

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// Read calls Exists and then Read for the current object.
func (s *server) Read(ctx context.Context, req provider.ReadRequest) provider.ReadResponse {
	t := s.managed[req.Type]
	if t == nil {
		return provider.ReadResponse{State: req.Prior, Diagnostics: noSuchType("resource", req.Type, s.managed)}
	}
	resp := provider.ReadResponse{State: req.Prior, Private: req.Private, Identity: req.Identity}
	if req.Prior.IsNull() {
		return resp
	}
	d := newData(t, reader{object: t.object, old: req.Prior, now: req.Prior})
	d.identity, d.reading = t.identityData(req.Identity), true
	exists := true
	diags := s.run(ctx, s.withMeta(d, req.Meta), TimeoutRead, func(ctx context.Context, d *ResourceData,
		meta interface{}) diag.List {
		if ask := t.resource.Exists; ask != nil {
			var err error
			if exists, err = ask(d, meta); err != nil || !exists {
				return diag.FromErr(err)
			}
		}
		return t.resource.read()(ctx, d, meta)
	})
	resp.Diagnostics = diags
	switch {
	case diags.HasErrors():
	case !exists || d.id == "":
		resp.State, resp.Identity = cty.NullVal(t.object.ty), cty.NilVal
	default:
		var problems diag.List
		resp.State = d.State()
		resp.Identity, problems = d.identity.result(resp.State)
		resp.Diagnostics = diags.Extend(problems).Extend(invalidResponse("Invalid object from the provider",
			value.CheckRefreshed(t.block(), resp.State)))
	}
	return resp
}

func noSuchType[T any](what, name string, all map[string]T) diag.List {
	return diag.List{}.Errorf(nil, "Not supported by this provider", "The provider has no %s %q.%s", what, name,
		diag.DidYouMean(name, slices.Sorted(maps.Keys(all))))
}

// ReadData reads a data source.
func (s *server) ReadData(ctx context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	t := s.data[req.Type]
	if t == nil {
		return s.Base.ReadData(ctx, req)
	}
	config, err := t.withDefaults(req.Config)
	if err != nil {
		return provider.ReadDataResponse{Diagnostics: diag.List{setProblem(err)}}
	}
	null := cty.NullVal(t.object.ty)
	open := value.SetUnknownsWhere(t.block(), config, func(a *provider.Attribute) bool {
		return t.fields[a] != nil &&
			t.fields[a].schema.Computed
	})
	d := newData(t, reader{object: t.object, old: null, now: config, unknown: open, config: req.Config})
	diags := s.run(ctx, s.withMeta(d, req.Meta), TimeoutRead, t.resource.read())
	if diags.HasErrors() {
		return provider.ReadDataResponse{Diagnostics: diags}
	}
	if d.id == "" {
		d.id = "-" // a data source need not have an id, but some callbacks read it
	}
	state := value.NullWriteOnly(t.block(), d.State())
	errs := value.CheckPlan(t.block(), null, value.ForPlan(t.block(), req.Config), state, everything)
	return provider.ReadDataResponse{
		State: state, Diagnostics: diags.Extend(invalidResponse("Invalid object from the provider", errs))}
}

// Import calls the type's Importer.
func (s *server) Import(ctx context.Context, req provider.ImportRequest) provider.ImportResponse {
	t := s.managed[req.Type]
	if t == nil || t.resource.Importer == nil {
		return s.Base.Import(ctx, req)
	}
	d := newData(t, reader{object: t.object, old: cty.NullVal(t.object.ty), now: t.block().EmptyValue()})
	d.id = req.ID
	d.identity = t.identityData(req.Identity)
	if d.id == "" && d.identity != nil {
		d.id = d.identity.text(idField)
	}
	var resp provider.ImportResponse
	resp.Diagnostics = s.run(ctx, d, TimeoutRead, func(ctx context.Context, d *ResourceData,
		meta interface{}) diag.List {
		found, err := t.resource.Importer.find(ctx, d, meta)
		if err != nil {
			return diag.FromErr(err)
		}
		var diags diag.List
		for _, one := range found {
			imported, problems := s.imported(one)
			diags = diags.Extend(problems)
			resp.Imported = append(resp.Imported, imported)
		}
		if len(found) == 0 {
			diags = diags.Errorf(nil, provider.NoSuchObject, "The provider found no object of type %s with the id %q.",
				t.name, req.ID)
		}
		return diags
	})
	if resp.Diagnostics.HasErrors() {
		resp.Imported = nil
	}
	return resp
}

func (i *ResourceImporter) find(ctx context.Context, d *ResourceData, meta interface{}) ([]*ResourceData, error) {
	switch {
	case i.StateContext != nil:
		return i.StateContext(ctx, d, meta)
	case i.State != nil:
		return i.State(d, meta)
	}
	return []*ResourceData{d}, nil
}

// imported converts an object that an importer returned.
func (s *server) imported(d *ResourceData) (provider.ImportedObject, diag.List) {
	switch {
	case d == nil:
		return provider.ImportedObject{}, diag.List{}.Errorf(nil, "Invalid import",
			"The provider's importer returned nil for an object. %s", value.ProviderBug)
	case d.id == "":
		return provider.ImportedObject{}, diag.List{}.Errorf(nil, "Nothing to import",
			"The provider's importer returned an object without an id: it does not exist, or the id must be given.")
	}
	t := s.managed[d.kind]
	if t == nil {
		t = d.typ // created by Resource.Data, without SetType
	}
	if t.name == "" || !t.object.ty.Equals(d.object.ty) {
		return provider.ImportedObject{}, diag.List{}.Errorf(nil, "Invalid import",
			"The provider's importer returned an object whose type is ambiguous (%q): it must call SetType. %s",
			d.kind,
			value.ProviderBug)
	}
	o := provider.ImportedObject{Type: t.name, State: d.State(), Identity: cty.NilVal}
	if d.identity.complete() {
		o.Identity = d.identity.now
	}
	if errs := value.CheckRefreshed(t.block(), o.State); len(errs) > 0 {
		return o, invalidResponse("Invalid import", errs)
	}
	return o, dropped(d.mistakes, nil)
}

// UpgradeState upgrades a stored object to the current version of its schema.
func (s *server) UpgradeState(ctx context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	t := s.managed[req.Type]
	if t == nil {
		return provider.UpgradeStateResponse{State: cty.DynamicVal, Diagnostics: noSuchType("resource", req.Type,
			s.managed)}
	}
	current := int64(t.resource.SchemaVersion)
	switch {
	case req.Version > current:
		return provider.UpgradeStateResponse{State: cty.DynamicVal, Diagnostics: diag.List{}.Errorf(nil,
			"Object of a newer provider",
			"The stored object has version %d of the schema of %s, but this version of the provider supports "+
				"versions up to %d. Use the newer provider.", req.Version, t.name, current)}
	case req.Version < current && req.Stored.JSON != nil:
		var upgraded []byte
		diags := s.guard(ctx, t, "upgrade the stored state of", func(ctx context.Context) diag.List {
			var err error
			upgraded, err = t.upgrade(ctx, req, s.meta())
			return diag.FromError("Stored object cannot be upgraded", err)
		})
		if diags.HasErrors() {
			return provider.UpgradeStateResponse{State: cty.DynamicVal, Diagnostics: diags}
		}
		req.Stored.JSON = upgraded
	}
	resp := provider.DecodeStored(t.wire, req)
	if !resp.Diagnostics.HasErrors() {
		if resp.State.IsNull() {
			return provider.UpgradeStateResponse{State: cty.DynamicVal, Diagnostics: diag.List{}.Errorf(nil,
				"Invalid stored object", "The stored object of type %q is null.", t.name)}
		}
		resp.State = value.NullWriteOnly(t.block(), value.NormalizeRead(t.block(), resp.State))
	}
	return resp
}

// upgrade runs the upgraders one after the other.
func (t *resourceType) upgrade(ctx context.Context, req provider.UpgradeStateRequest, meta interface{}) ([]byte,
	error) {
	members, err := readStored(req.Stored.JSON)
	if err != nil {
		return nil, fmt.Errorf("the stored object of type %s is not a JSON object: %w", t.name, err)
	}
	for v := int(req.Version); v < t.resource.SchemaVersion; v++ {
		i := slices.IndexFunc(t.resource.StateUpgraders, func(u StateUpgrader) bool { return u.Version == v })
		if i < 0 {
			continue // versions without an upgrade
		}
		if members, err = t.resource.StateUpgraders[i].Upgrade(ctx, members, meta); err != nil {
			return nil, fmt.Errorf("the stored object of type %s cannot be upgraded from version %d to %d: %w", t.name,
				v, v+1, err)
		}
	}
	return writeStored(members)
}
