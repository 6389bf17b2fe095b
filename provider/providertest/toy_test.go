package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// toys is the remote system of the toy provider, which has every feature of a provider.
type toys struct {
	mu   sync.Mutex
	last int
	all  map[string]cty.Value
	rung int
}

type toy struct {
	provider.Base
	world *toys

	stopped  chan struct{}
	stopOnce *sync.Once
}

func newToys() *toys { return &toys{all: map[string]cty.Value{}} }

func newToy(w *toys) *toy {
	return &toy{world: w, stopped: make(chan struct{}), stopOnce: &sync.Once{}}
}

func toyBlock() *provider.Block {
	return &provider.Block{
		Attributes: map[string]*provider.Attribute{
			"name":     {Type: cty.String, Required: true},
			"size":     {Type: cty.Number, Optional: true, Computed: true},
			"password": {Type: cty.String, Optional: true, WriteOnly: true},
			"note":     {Type: cty.DynamicPseudoType, Optional: true},
			"delay":    {Type: cty.String, Optional: true},
			"id":       {Type: cty.String, Computed: true},
			"settings": {Optional: true, Nested: &provider.NestedObject{Nesting: provider.NestingSingle,
				Attributes: map[string]*provider.Attribute{
					"mode": {Type: cty.String, Optional: true},
					"tags": {Type: cty.Set(cty.String), Optional: true, Sensitive: true},
				}}},
		},
		Blocks: map[string]*provider.NestedBlock{
			"rule": {Nesting: provider.NestingList, MaxItems: 3, Block: provider.Block{
				Attributes: map[string]*provider.Attribute{
					"port": {Type: cty.Number, Required: true},
					"text": {Type: cty.String, Optional: true},
				}}},
		},
	}
}

var toySchema = &provider.Schema{
	Provider: &provider.Block{Attributes: map[string]*provider.Attribute{"region": {Type: cty.String, Required: true}}},
	Resources: map[string]*provider.ResourceType{
		"toy_thing": {Version: 3, Block: toyBlock(), Identity: &provider.IdentitySchema{
			Attributes: map[string]*provider.IdentityAttribute{"id": {Type: cty.String, RequiredForImport: true}},
		}}},
	Data: map[string]*provider.ResourceType{
		"toy_count": {Block: &provider.Block{Attributes: map[string]*provider.Attribute{
			"prefix": {Type: cty.String, Required: true}, "count_of": {Type: cty.Number, Computed: true},
		}}}},
	Ephemeral: map[string]*provider.ResourceType{
		"toy_token": {Block: &provider.Block{Attributes: map[string]*provider.Attribute{
			"user": {Type: cty.String, Required: true}, "token": {Type: cty.String, Computed: true, Sensitive: true},
		}}}},
	Lists: map[string]*provider.ResourceType{
		"toy_thing": {Block: &provider.Block{Attributes: map[string]*provider.Attribute{
			"prefix": {Type: cty.String, Optional: true}}}}},
	Actions: map[string]*provider.ResourceType{
		"toy_bell": {Block: &provider.Block{Attributes: map[string]*provider.Attribute{
			"times": {Type: cty.Number, Required: true}}}}},
	Functions: map[string]*provider.Function{
		"shout": {Params: []provider.FunctionParam{{Name: "text", Type: cty.String}}, Return: cty.String}},
	PlanDestroy: true,
}

func thing() *provider.ResourceType { return toySchema.Resources["toy_thing"] }

func fail(path cty.Path, format string, args ...any) diag.List {
	return diag.List{{Severity: diag.Error, Summary: "Toy trouble", Detail: fmt.Sprintf(format, args...), Path: path}}
}

func (t *toy) Schema(context.Context) (*provider.Schema, diag.List) { return toySchema, nil }

func (t *toy) ValidateConfig(_ context.Context, req provider.ValidateConfigRequest) provider.ValidateConfigResponse {
	resp := provider.ValidateConfigResponse{Prepared: req.Config}
	if r := req.Config.GetAttr("region"); r.IsKnown() && r.AsString() == "nowhere" {
		resp.Diagnostics = fail(cty.GetAttrPath("region"), "no such region")
	}
	return resp
}

func (t *toy) ValidateResource(_ context.Context, req provider.ValidateResourceRequest) diag.List {
	if req.Type != "toy_thing" || req.Kind != provider.ManagedResource {
		return nil
	}
	if n := req.Config.GetAttr("name"); n.IsKnown() && n.AsString() == "" {
		return fail(cty.GetAttrPath("name"), "the name is empty")
	}
	return nil
}

func (t *toy) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return provider.DecodeStored(toySchema.Resources[req.Type], req)
}

func (t *toy) UpgradeIdentity(ctx context.Context,
	req provider.UpgradeIdentityRequest) provider.UpgradeIdentityResponse {
	if req.Type != "toy_thing" {
		return t.Base.UpgradeIdentity(ctx, req)
	}
	v, err := ctyjson.Unmarshal(req.JSON, thing().Identity.ImpliedType())
	return provider.UpgradeIdentityResponse{Identity: v, Diagnostics: diag.FromError("identity", err)}
}

func identityOf(v cty.Value) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"id": v.GetAttr("id")})
}

func (t *toy) Import(ctx context.Context, req provider.ImportRequest) provider.ImportResponse {
	if req.Type != "toy_thing" {
		return t.Base.Import(ctx, req)
	}
	id := req.ID
	if req.Identity != cty.NilVal {
		id = req.Identity.GetAttr("id").AsString()
	}
	vals := thing().Block.EmptyValue().AsValueMap()
	vals["id"] = cty.StringVal(id)
	return provider.ImportResponse{Imported: []provider.ImportedObject{{Type: req.Type, State: cty.ObjectVal(vals)}}}
}

func (t *toy) Read(ctx context.Context, req provider.ReadRequest) provider.ReadResponse {
	if req.Type != "toy_thing" {
		return provider.ReadResponse{Diagnostics: fail(nil, "no such type")}
	}
	t.world.mu.Lock()
	defer t.world.mu.Unlock()
	v, ok := t.world.all[req.Prior.GetAttr("id").AsString()]
	if !ok {
		return provider.ReadResponse{State: cty.NullVal(thing().Block.ImpliedType())}
	}
	return provider.ReadResponse{State: v, Private: req.Private, Identity: identityOf(v)}
}

func (t *toy) Plan(ctx context.Context, req provider.PlanRequest) provider.PlanResponse {
	if req.Type != "toy_thing" {
		return t.Base.Plan(ctx, req)
	}
	resp := provider.PlanResponse{Planned: req.Proposed, Private: req.PriorPrivate, Identity: req.PriorIdentity}
	if req.Proposed.IsNull() {
		return resp
	}
	vals := req.Proposed.AsValueMap()
	if vals["size"].IsNull() {
		vals["size"] = cty.NumberIntVal(1)
	}
	if req.Prior.IsNull() {
		vals["id"] = cty.UnknownVal(cty.String)
	} else if !vals["name"].RawEquals(req.Prior.GetAttr("name")) {
		vals["id"] = cty.UnknownVal(cty.String)
		resp.RequiresReplace = []cty.Path{cty.GetAttrPath("name")}
	}
	resp.Planned = cty.ObjectVal(vals)
	return resp
}

func (t *toy) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if req.Type != "toy_thing" {
		return t.Base.Apply(ctx, req)
	}
	w := t.world
	if req.Planned.IsNull() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, req.Prior.GetAttr("id").AsString())
		return provider.ApplyResponse{State: req.Planned}
	}
	vals := req.Planned.AsValueMap()
	if d := vals["delay"]; !d.IsNull() && req.Prior.IsNull() {
		pause, _ := time.ParseDuration(d.AsString())
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return provider.ApplyResponse{State: req.Prior, Diagnostics: fail(nil, "interrupted")}
		case <-t.stopped:
			return provider.ApplyResponse{State: req.Prior, Diagnostics: fail(nil, "stopped")}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !vals["id"].IsKnown() {
		w.last++
		vals["id"] = cty.StringVal(fmt.Sprintf("toy-%d", w.last))
	}
	v := cty.ObjectVal(vals)
	w.all[v.GetAttr("id").AsString()] = v
	if req.Partial != nil {
		req.Partial(v, nil)
	}
	return provider.ApplyResponse{State: v, Private: req.PlannedPrivate, Identity: identityOf(v)}
}

func (t *toy) ReadData(ctx context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	if req.Type != "toy_count" {
		return t.Base.ReadData(ctx, req)
	}
	t.world.mu.Lock()
	defer t.world.mu.Unlock()
	n := 0
	for _, v := range t.world.all {
		if strings.HasPrefix(v.GetAttr("name").AsString(), req.Config.GetAttr("prefix").AsString()) {
			n++
		}
	}
	vals := req.Config.AsValueMap()
	vals["count_of"] = cty.NumberIntVal(int64(n))
	return provider.ReadDataResponse{State: cty.ObjectVal(vals)}
}

func (t *toy) OpenEphemeral(ctx context.Context, req provider.OpenEphemeralRequest) provider.OpenEphemeralResponse {
	if req.Type != "toy_token" {
		return t.Base.OpenEphemeral(ctx, req)
	}
	vals := req.Config.AsValueMap()
	vals["token"] = cty.StringVal("secret")
	return provider.OpenEphemeralResponse{Result: cty.ObjectVal(vals), Private: []byte("p"),
		RenewAt: time.Now().Add(time.Hour)}
}

func (t *toy) RenewEphemeral(_ context.Context, req provider.RenewEphemeralRequest) provider.RenewEphemeralResponse {
	return provider.RenewEphemeralResponse{Private: req.Private}
}

func (t *toy) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error) {
	if name != "shout" {
		return t.Base.CallFunction(ctx, name, args)
	}
	if args[0].AsString() == "" {
		return cty.DynamicVal, function.NewArgErrorf(0, "nothing to shout")
	}
	return cty.StringVal(strings.ToUpper(args[0].AsString())), nil
}

func (t *toy) List(ctx context.Context, req provider.ListRequest) provider.ListResponse {
	if req.Type != "toy_thing" {
		return t.Base.List(ctx, req)
	}
	prefix := ""
	if v := req.Config.GetAttr("prefix"); !v.IsNull() {
		prefix = v.AsString()
	}
	var resp provider.ListResponse
	if prefix == "?" {
		resp.Diagnostics = fail(cty.GetAttrPath("prefix"), "no name begins with this")
	}
	t.world.mu.Lock()
	defer t.world.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(t.world.all)) {
		v := t.world.all[id]
		if !strings.HasPrefix(v.GetAttr("name").AsString(), prefix) || len(resp.Results) == req.Limit {
			continue
		}
		one := provider.Listed{Identity: identityOf(v), DisplayName: v.GetAttr("name").AsString()}
		if req.IncludeObject {
			one.Object = v
		}
		resp.Results = append(resp.Results, one)
	}
	return resp
}

func (t *toy) PlanAction(_ context.Context, req provider.PlanActionRequest) provider.PlanActionResponse {
	if n := req.Config.GetAttr("times"); n.IsKnown() && n.LessThan(cty.Zero).True() {
		return provider.PlanActionResponse{Diagnostics: fail(cty.GetAttrPath("times"), "less than never")}
	}
	return provider.PlanActionResponse{}
}

func (t *toy) InvokeAction(ctx context.Context, req provider.InvokeActionRequest) provider.InvokeActionResponse {
	if req.Type != "toy_bell" {
		return t.Base.InvokeAction(ctx, req)
	}
	if req.Progress != nil {
		req.Progress("ding")
	}
	t.world.mu.Lock()
	defer t.world.mu.Unlock()
	t.world.rung++
	return provider.InvokeActionResponse{}
}

func (t *toy) Stop(context.Context) error {
	t.stopOnce.Do(func() { close(t.stopped) })
	return nil
}

var errRefused = errors.New("refused")

// toyOptions returns options that run the whole suite on the toy provider; wrap may add faults.
func toyOptions(wrap func(*toy) provider.Provider) Options {
	w := newToys()
	return Options{
		New:    func(context.Context) (provider.Provider, error) { return wrap(newToy(w)), nil },
		Config: Attrs{"region": cty.StringVal("here")},
		InvalidConfigs: []Invalid{{Name: "region", Change: Attrs{"region": cty.StringVal("nowhere")},
			Path: cty.GetAttrPath("region")}},
		Resources: []Resource{{
			Type: "toy_thing",
			Config: func(n int) Attrs {
				return Attrs{
					"name": cty.StringVal(fmt.Sprintf("thing-%d", n)), "password": cty.StringVal("hush"),
					"note":     cty.TupleVal([]cty.Value{cty.True}),
					"settings": cty.ObjectVal(map[string]cty.Value{"mode": cty.StringVal("fast")}),
					"rule": cty.TupleVal([]cty.Value{
						cty.ObjectVal(map[string]cty.Value{"port": cty.NumberIntVal(80)})}),
				}
			},
			Updates: []Update{
				{Name: "size", Change: Attrs{"size": cty.NumberIntVal(4)}},
				{Name: "rules", Change: Attrs{"rule": cty.EmptyTupleVal}},
				{Name: "name", Change: Attrs{"name": cty.StringVal("other")}, Replaces: true},
			},
			Invalid: []Invalid{{Name: "empty name", Change: Attrs{"name": cty.StringVal("")},
				Path: cty.GetAttrPath("name")}},
			Import: &Import{ID: func(v cty.Value) string { return v.GetAttr("id").AsString() }, Missing: "toy-0"},
			Remove: func(v cty.Value) error {
				w.mu.Lock()
				defer w.mu.Unlock()
				delete(w.all, v.GetAttr("id").AsString())
				return nil
			},
			Slow:    Attrs{"delay": cty.StringVal("1m")},
			Numbers: []string{"size"},
		}},
		Data: []Data{{Type: "toy_count", Config: Attrs{"prefix": cty.StringVal("nothing-")}, Want: Attrs{
			"count_of": cty.NumberIntVal(0)}}},
		Ephemeral: []Ephemeral{{Type: "toy_token", Config: Attrs{"user": cty.StringVal("eve")}, Want: Attrs{
			"token": cty.StringVal("secret")}}},
		Lists: []List{{Type: "toy_thing", Config: Attrs{"prefix": cty.StringVal("thing-")},
			Invalid: []Invalid{{Name: "prefix", Change: Attrs{"prefix": cty.StringVal("?")},
				Path: cty.GetAttrPath("prefix")}}}},
		Actions: []Action{{Type: "toy_bell", Config: Attrs{"times": cty.NumberIntVal(2)},
			Invalid: []Invalid{{Name: "times", Change: Attrs{"times": cty.NumberIntVal(-1)},
				Path: cty.GetAttrPath("times")}},
			Invoked: func() error {
				w.mu.Lock()
				defer w.mu.Unlock()
				if w.rung != 2 {
					return fmt.Errorf("the bell was rung %d times", w.rung)
				}
				return nil
			}}},
		Functions: []Function{
			{Name: "shout", Args: []cty.Value{cty.StringVal("hey")}, Want: cty.StringVal("HEY")},
			{Name: "shout", Args: []cty.Value{cty.StringVal("")}},
		},
	}
}

// spoiled is a toy provider with some calls replaced.
type spoiled struct {
	*toy
	schema   func() *provider.Schema
	validate func(diag.List) diag.List
	upgrade  func(provider.UpgradeStateRequest, provider.UpgradeStateResponse) provider.UpgradeStateResponse
	imports  func(provider.ImportResponse) provider.ImportResponse
	read     func(provider.ReadResponse) provider.ReadResponse
	plan     func(provider.PlanRequest, provider.PlanResponse) provider.PlanResponse
	apply    func(context.Context, provider.ApplyRequest, provider.ApplyResponse) provider.ApplyResponse
	list     func(provider.ListRequest, provider.ListResponse) provider.ListResponse
	invoke   func(provider.InvokeActionResponse) provider.InvokeActionResponse
	data     func(provider.ReadDataResponse) provider.ReadDataResponse
	before   func(provider.ApplyRequest)
	close    func() error
}

func (p *spoiled) Schema(ctx context.Context) (*provider.Schema, diag.List) {
	if p.schema != nil {
		return p.schema(), nil
	}
	return p.toy.Schema(ctx)
}

func (p *spoiled) ValidateResource(ctx context.Context, req provider.ValidateResourceRequest) diag.List {
	diags := p.toy.ValidateResource(ctx, req)
	if p.validate != nil {
		return p.validate(diags)
	}
	return diags
}

func (p *spoiled) UpgradeState(ctx context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	resp := p.toy.UpgradeState(ctx, req)
	if p.upgrade != nil {
		return p.upgrade(req, resp)
	}
	return resp
}

func (p *spoiled) Import(ctx context.Context, req provider.ImportRequest) provider.ImportResponse {
	resp := p.toy.Import(ctx, req)
	if p.imports != nil {
		return p.imports(resp)
	}
	return resp
}

func (p *spoiled) Read(ctx context.Context, req provider.ReadRequest) provider.ReadResponse {
	resp := p.toy.Read(ctx, req)
	if p.read != nil && !resp.Diagnostics.HasErrors() {
		return p.read(resp)
	}
	return resp
}

func (p *spoiled) Plan(ctx context.Context, req provider.PlanRequest) provider.PlanResponse {
	resp := p.toy.Plan(ctx, req)
	if p.plan != nil && !resp.Diagnostics.HasErrors() && !resp.Planned.IsNull() {
		return p.plan(req, resp)
	}
	return resp
}

func (p *spoiled) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if p.before != nil {
		p.before(req)
	}
	resp := p.toy.Apply(ctx, req)
	if p.apply != nil {
		return p.apply(ctx, req, resp)
	}
	return resp
}

func (p *spoiled) ReadData(ctx context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	resp := p.toy.ReadData(ctx, req)
	if p.data != nil && !resp.Diagnostics.HasErrors() {
		return p.data(resp)
	}
	return resp
}

func (p *spoiled) List(ctx context.Context, req provider.ListRequest) provider.ListResponse {
	resp := p.toy.List(ctx, req)
	if p.list != nil && !resp.Diagnostics.HasErrors() {
		return p.list(req, resp)
	}
	return resp
}

func (p *spoiled) InvokeAction(ctx context.Context, req provider.InvokeActionRequest) provider.InvokeActionResponse {
	if p.invoke != nil {
		return p.invoke(provider.InvokeActionResponse{})
	}
	return p.toy.InvokeAction(ctx, req)
}

func (p *spoiled) Close() error {
	if p.close != nil {
		return p.close()
	}
	return p.toy.Close()
}

// with returns a non-null object with one changed attribute.
func with(v cty.Value, name string, attr cty.Value) cty.Value {
	if v == cty.NilVal || v.IsNull() {
		return v
	}
	vals := v.AsValueMap()
	vals[name] = attr
	return cty.ObjectVal(vals)
}
