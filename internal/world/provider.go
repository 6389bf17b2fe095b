package world

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// Source is the source address under which tests register the provider.
const Source = "tombolo/world"

// typeName is the name of the resource type and of the data source.
const typeName = "world_object"

// Options holds the defaults of a provider block.
type Options struct {
	// Dir is the world's folder.
	Dir string
	// Base is the base of relative folders in provider blocks; "" means the working directory.
	Base string
	// Five omits world_nested, which version 5 of the plugin protocol cannot express.
	Five bool
}

// New returns a provider.
func New(o Options) provider.Provider {
	return &world{opts: o, stopped: make(chan struct{})}
}

// Factory returns a factory of providers with the same options, for the provider table of an engine.
func Factory(o Options) provider.Factory {
	return func(context.Context) (provider.Provider, error) { return New(o), nil }
}

// Addr returns the parsed Source.
func Addr() addr.Provider {
	a, err := addr.ParseProvider(Source)
	if err != nil {
		panic("world: " + err.Error())
	}
	return a
}

type world struct {
	provider.Base
	opts  Options
	rates rates
	world *World

	stopOnce, closeOnce sync.Once
	stopped             chan struct{}
}

func attr(ty cty.Type, change func(*provider.Attribute)) *provider.Attribute {
	a := &provider.Attribute{Type: ty}
	change(a)
	return a
}

func required(a *provider.Attribute)  { a.Required = true }
func optional(a *provider.Attribute)  { a.Optional = true }
func computed(a *provider.Attribute)  { a.Computed = true }
func defaulted(a *provider.Attribute) { a.Optional, a.Computed = true, true }
func secret(a *provider.Attribute)    { a.Optional, a.Sensitive = true, true }

var identityOf = &provider.IdentitySchema{Attributes: map[string]*provider.IdentityAttribute{
	"id": {Type: cty.String, RequiredForImport: true, Description: "The id."}}}

var schema = &provider.Schema{
	Provider: &provider.Block{Attributes: map[string]*provider.Attribute{
		"dir": attr(cty.String, optional), "seed": attr(cty.Number, optional), "delay": attr(cty.String, optional),
		"fail_rate": attr(cty.Number, optional), "half_rate": attr(cty.Number, optional), "drift_rate": attr(cty.Number,
			optional),
	}},
	Resources: map[string]*provider.ResourceType{
		typeName: {Block: &provider.Block{Attributes: map[string]*provider.Attribute{
			"name": attr(cty.String, required), "value": attr(cty.String, optional),
			"size": attr(cty.Number, defaulted),
			"tags": attr(cty.Map(cty.String), optional), "secret": attr(cty.String, secret),
			"behave":   attr(cty.Map(cty.String), optional),
			"password": attr(cty.String, func(a *provider.Attribute) { a.Optional, a.WriteOnly = true, true }),
			"id":       attr(cty.String, computed), "revision": attr(cty.Number, computed),
		}}, Identity: identityOf}, blocksName: blocksType, nestedName: nestedType},
	Functions: functions,
	Ephemeral: map[string]*provider.ResourceType{leaseName: leaseType},
	Data: map[string]*provider.ResourceType{
		typeName: {Block: &provider.Block{Attributes: map[string]*provider.Attribute{
			"name": attr(cty.String, required), "id": attr(cty.String, computed), "value": attr(cty.String, computed),
			"size": attr(cty.Number, computed),
			"tags": attr(cty.Map(cty.String), computed), "revision": attr(cty.Number, computed),
			"secret": attr(cty.String, func(a *provider.Attribute) { a.Computed, a.Sensitive = true, true }),
		}}}},
	MoveResourceState: true,
}

var schemaOfFive = func() *provider.Schema {
	s := *schema
	s.Resources = map[string]*provider.ResourceType{typeName: schema.Resources[typeName], blocksName: blocksType}
	return &s
}()

func objectType() cty.Type { return schema.Resources[typeName].Block.ImpliedType() }

func problem(path cty.Path, summary, format string, args ...any) diag.List {
	return diag.List{{Severity: diag.Error, Summary: summary, Detail: fmt.Sprintf(format, args...), Path: path}}
}

// Schema implements provider.Provider.
func (p *world) Schema(context.Context) (*provider.Schema, diag.List) {
	if p.opts.Five {
		return schemaOfFive, nil
	}
	return schema, nil
}

// shaped returns a resource type whose objects are stored as entire values, or nil.
func shaped(name string) *provider.ResourceType {
	if name == typeName {
		return nil
	}
	return schema.Resources[name]
}

// ValidateConfig implements provider.Provider.
func (p *world) ValidateConfig(_ context.Context, req provider.ValidateConfigRequest) provider.ValidateConfigResponse {
	resp := provider.ValidateConfigResponse{Prepared: req.Config}
	if dir := req.Config.GetAttr("dir"); dir.IsNull() && p.opts.Dir == "" {
		resp.Diagnostics = problem(cty.GetAttrPath("dir"), "No world",
			"The provider needs to know the folder of its world: set dir.")
	}
	if d := req.Config.GetAttr("delay"); d.IsKnown() && !d.IsNull() {
		if _, err := time.ParseDuration(d.AsString()); err != nil {
			resp.Diagnostics = append(resp.Diagnostics, problem(cty.GetAttrPath("delay"), "Invalid delay",
				"Expected a duration such as 50ms: %s.", err)...)
		}
	}
	return resp
}

// Configure implements provider.Provider.
func (p *world) Configure(_ context.Context, req provider.ConfigureRequest) provider.ConfigureResponse {
	dir := p.opts.Dir
	if v := req.Config.GetAttr("dir"); !v.IsNull() {
		if !v.IsKnown() {
			return provider.ConfigureResponse{Diagnostics: problem(cty.GetAttrPath("dir"), "No world",
				"The folder of the world must be known.")}
		}
		if dir = v.AsString(); !filepath.IsAbs(dir) {
			dir = filepath.Join(p.opts.Base, dir)
		}
	}
	number := func(name string) float64 {
		v := req.Config.GetAttr(name)
		if v.IsNull() || !v.IsKnown() {
			return 0
		}
		f, _ := v.AsBigFloat().Float64()
		return f
	}
	p.rates = rates{seed: int64(number("seed")), fail: number("fail_rate"), half: number("half_rate"),
		drift: number("drift_rate")}
	if d := req.Config.GetAttr("delay"); !d.IsNull() && d.IsKnown() {
		p.rates.delay, _ = time.ParseDuration(d.AsString())
	}
	var err error
	if p.world, err = Open(dir); err != nil {
		return provider.ConfigureResponse{Diagnostics: problem(cty.GetAttrPath("dir"), "No world",
			"The world cannot be opened: %s.", err)}
	}
	return provider.ConfigureResponse{}
}

// ValidateResource implements provider.Provider.
func (p *world) ValidateResource(_ context.Context, req provider.ValidateResourceRequest) diag.List {
	if schema.Type(req.Kind, req.Type) == nil {
		return problem(nil, "No such type", "The world has no %q.", req.Type)
	}
	if name := req.Config.GetAttr("name"); name.IsKnown() && !name.IsNull() && name.AsString() == "" {
		return problem(cty.GetAttrPath("name"), "Invalid name", "The name must not be empty.")
	}
	if req.Kind != provider.ManagedResource {
		return nil
	}
	if rt := shaped(req.Type); rt != nil {
		return validateShaped(rt, req.Config)
	}
	behave := req.Config.GetAttr("behave")
	if !behave.IsWhollyKnown() {
		return nil
	}
	if _, key, err := readDirectives(stringMap(behave), "", 0); err != nil {
		return problem(cty.GetAttrPath("behave").IndexString(key), "Invalid directive", "%s.", sentence(err))
	}
	return nil
}

func sentence(err error) string { return "The object cannot be told to behave so: " + err.Error() }

// UpgradeState implements provider.Provider. There is one schema version.
func (p *world) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return provider.DecodeStored(schema.Resources[req.Type], req)
}

// UpgradeIdentity implements provider.Provider. There is one version.
func (p *world) UpgradeIdentity(ctx context.Context,
	req provider.UpgradeIdentityRequest) provider.UpgradeIdentityResponse {
	if schema.Resources[req.Type] == nil {
		return p.Base.UpgradeIdentity(ctx, req)
	}
	v, err := ctyjson.Unmarshal(req.JSON, identityOf.ImpliedType())
	if err != nil {
		return provider.UpgradeIdentityResponse{Diagnostics: problem(nil, "Invalid identity", "%s.", err)}
	}
	return provider.UpgradeIdentityResponse{Identity: v}
}

// Plan implements provider.Provider.
func (p *world) Plan(ctx context.Context, req provider.PlanRequest) provider.PlanResponse {
	if rt := shaped(req.Type); rt != nil {
		return p.planShaped(rt, req)
	}
	if req.Type != typeName {
		return p.Base.Plan(ctx, req)
	}
	resp := provider.PlanResponse{Planned: req.Proposed, Private: req.PriorPrivate}
	if req.Proposed.IsNull() {
		return resp
	}
	vals := req.Proposed.AsValueMap()
	vals["password"] = cty.NullVal(cty.String) // write-only
	if vals["size"].IsNull() {
		vals["size"] = cty.NumberIntVal(1)
	}
	switch {
	case req.Prior.IsNull():
		vals["id"], vals["revision"] = cty.UnknownVal(cty.String).RefineNotNull(),
			cty.UnknownVal(cty.Number).RefineNotNull()
	case !vals["name"].RawEquals(req.Prior.GetAttr("name")):
		vals["id"], vals["revision"] = cty.UnknownVal(cty.String).RefineNotNull(),
			cty.UnknownVal(cty.Number).RefineNotNull()
		resp.RequiresReplace = []cty.Path{cty.GetAttrPath("name")}
	case !cty.ObjectVal(vals).RawEquals(req.Prior):
		vals["revision"] = cty.UnknownVal(cty.Number).RefineNotNull()
	}
	resp.Planned, resp.Identity = cty.ObjectVal(vals), cty.ObjectVal(map[string]cty.Value{"id": vals["id"]})
	return resp
}

// Read implements provider.Provider.
func (p *world) Read(ctx context.Context, req provider.ReadRequest) provider.ReadResponse {
	rt := schema.Resources[req.Type]
	if rt == nil {
		return provider.ReadResponse{State: req.Prior, Diagnostics: problem(nil, "No such type", "The world has no %q.",
			req.Type)}
	}
	resp := provider.ReadResponse{State: req.Prior, Private: req.Private}
	id := text(req.Prior.GetAttr("id"))
	o, err := p.world.Object(id)
	if err != nil {
		resp.Diagnostics = problem(nil, "The world is broken", "%s.", err)
		return resp
	}
	if o != nil {
		b, _, _ := readDirectives(o.Behave, "read", 1)
		b = p.rates.of(b, "read", o.Name, o.Revision)
		if b.fail {
			resp.Diagnostics = problem(nil, "Reading failed", "The object %q was told to fail.", id)
			return resp
		}
		if o, err = p.drift(o, b); err != nil {
			resp.Diagnostics = problem(nil, "The world is broken", "%s.", err)
			return resp
		}
	}
	if o == nil {
		resp.State = cty.NullVal(rt.Block.ImpliedType())
		return resp
	}
	if resp.State, err = o.valueOf(req.Type, rt); err != nil {
		return provider.ReadResponse{State: req.Prior, Private: req.Private,
			Diagnostics: problem(nil, "The world is broken", "%s.", err)}
	}
	resp.Identity = o.identity()
	return resp
}

// valueOf returns an object as a value of a resource type.
func (o *Object) valueOf(typ string, rt *provider.ResourceType) (cty.Value, error) {
	if typ == typeName {
		return o.value(), nil
	}
	return o.readShaped(typ, rt)
}

// drift changes an object outside of the engine, once.
func (p *world) drift(o *Object, b behaviour) (*Object, error) {
	var err error
	switch {
	case o.Drifted:
	case b.drift == "removed":
		err = p.world.Remove(o.ID)
	case b.drift == "value":
		err = p.world.Change(o.ID, func(o *Object) {
			other := "drifted"
			o.Value, o.Drifted = &other, true
		})
	default:
		return o, nil
	}
	if err != nil {
		return nil, err
	}
	return p.world.Object(o.ID)
}

// Import implements provider.Provider. Objects are found by ID, or by identity, which contains the same ID.
func (p *world) Import(ctx context.Context, req provider.ImportRequest) provider.ImportResponse {
	rt := schema.Resources[req.Type]
	if rt == nil {
		return p.Base.Import(ctx, req)
	}
	if req.Identity != cty.NilVal && !req.Identity.IsNull() {
		req.ID = text(req.Identity.GetAttr("id"))
	}
	o, err := p.world.Object(req.ID)
	if err != nil {
		return provider.ImportResponse{Diagnostics: problem(nil, "The world is broken", "%s.", err)}
	}
	if o == nil {
		return provider.ImportResponse{
			Diagnostics: problem(nil, provider.NoSuchObject, "The world has no object with the id %q.", req.ID)}
	}
	state, err := o.valueOf(req.Type, rt)
	if err != nil {
		return provider.ImportResponse{Diagnostics: problem(nil, "The world is broken", "%s.", err)}
	}
	return provider.ImportResponse{Imported: []provider.ImportedObject{
		{Type: req.Type, State: state, Identity: o.identity()}}}
}

// ReadData implements provider.Provider. It finds the newest object with a name.
func (p *world) ReadData(ctx context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	if req.Type != typeName {
		return p.Base.ReadData(ctx, req)
	}
	name := text(req.Config.GetAttr("name"))
	all, err := p.world.Events()
	if err != nil {
		return provider.ReadDataResponse{Diagnostics: problem(nil, "The world is broken", "%s.", err)}
	}
	for _, e := range slices.Backward(all) {
		if e.Kind != Created || e.Name != name {
			continue
		}
		if o, err := p.world.Object(e.ID); err == nil && o != nil {
			vals := o.value().AsValueMap()
			maps.DeleteFunc(vals, func(k string, _ cty.Value) bool {
				return schema.Data[typeName].Block.Attributes[k] == nil
			})
			return provider.ReadDataResponse{State: cty.ObjectVal(vals)}
		}
	}
	return provider.ReadDataResponse{Diagnostics: problem(cty.GetAttrPath("name"), "No such object",
		"The world has no object with the name %q.", name)}
}

// Stop implements provider.Provider.
func (p *world) Stop(context.Context) error {
	p.stopOnce.Do(func() { close(p.stopped) })
	return nil
}

// Close implements provider.Provider.
func (p *world) Close() (err error) {
	p.closeOnce.Do(func() {
		if p.world != nil {
			err = p.world.Close()
		}
	})
	return err
}
