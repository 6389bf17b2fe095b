package wire

import (
	"context"
	"errors"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/provider"
)

// Calls of provider.Provider. Each one looks up its types, encodes the request, performs the call and decodes the
// response.

func (c *client) ValidateConfig(ctx context.Context,
	req provider.ValidateConfigRequest) provider.ValidateConfigResponse {
	resp := provider.ValidateConfigResponse{Prepared: req.Config}
	schema, diags := c.Schema(ctx)
	if schema == nil {
		resp.Diagnostics = diags
		return resp
	}
	ty := schema.Provider.ImpliedType()
	w := &writer{c: c, method: methodValidateConfig}
	in := &plugin6.ConfigRequest{Config: w.value("config", req.Config, ty)}
	if resp.Diagnostics = w.diags; w.diags != nil {
		return resp
	}
	var m plugin6.ValidateProviderResponse
	if resp.Diagnostics = c.call(ctx, w.method, in, &m); resp.Diagnostics != nil {
		return resp
	}
	r := c.reader(w.method, m.GetDiagnostics())
	if c.version.prepares && m.GetPrepared() != nil && !r.diags.HasErrors() {
		resp.Prepared = r.value("prepared config", m.GetPrepared(), ty, req.Config)
	}
	resp.Diagnostics = r.diags
	return resp
}

var validateMethods = map[provider.ResourceKind]string{
	provider.ManagedResource: methodValidateResource, provider.DataSource: methodValidateData,
	provider.EphemeralResource: methodValidateEphemeral, provider.ListResource: methodValidateList,
	provider.Action: methodValidateAction,
}

func (c *client) ValidateResource(ctx context.Context, req provider.ValidateResourceRequest) diag.List {
	rt, diags := c.typeOf(ctx, req.Kind, req.Type)
	if rt == nil {
		return diags
	}
	if req.Kind == provider.ListResource {
		return c.validateList(ctx, req, rt)
	}
	w := &writer{c: c, method: validateMethods[req.Kind]}
	in := &plugin6.ValidateRequest{Type: req.Type, Config: w.value("config", req.Config, rt.Block.ImpliedType())}
	if req.Kind == provider.ManagedResource {
		in.ClientCapabilities = encodeClient(req.Client)
	}
	if w.diags != nil {
		return w.diags
	}
	var m plugin6.DiagnosticsFirst
	if diags := c.call(ctx, w.method, in, &m); diags != nil {
		return diags
	}
	return decodeDiagnostics(m.GetDiagnostics())
}

func (c *client) Configure(ctx context.Context, req provider.ConfigureRequest) provider.ConfigureResponse {
	schema, diags := c.Schema(ctx)
	if schema == nil {
		return provider.ConfigureResponse{Diagnostics: diags}
	}
	w := &writer{c: c, method: methodConfigure}
	in := &plugin6.ConfigureRequest{
		TerraformVersion: req.TerraformVersion, ClientCapabilities: encodeClient(req.Client),
		Config: w.value("config", req.Config, schema.Provider.ImpliedType()),
	}
	if w.diags != nil {
		return provider.ConfigureResponse{Diagnostics: w.diags}
	}
	var m plugin6.DiagnosticsFirst
	if diags := c.call(ctx, w.method, in, &m); diags != nil {
		return provider.ConfigureResponse{Diagnostics: diags}
	}
	return provider.ConfigureResponse{Diagnostics: decodeDiagnostics(m.GetDiagnostics())}
}

func (c *client) UpgradeState(ctx context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	resp := provider.UpgradeStateResponse{State: cty.DynamicVal}
	rt, diags := c.typeOf(ctx, provider.ManagedResource, req.Type)
	if resp.Diagnostics = diags; rt == nil {
		return resp
	}
	in := &plugin6.UpgradeStateRequest{Type: req.Type, Version: req.Version, Stored: encodeStored(req.Stored)}
	var m plugin6.UpgradeStateResponse
	if resp.Diagnostics = c.call(ctx, methodUpgradeState, in, &m); resp.Diagnostics != nil {
		return resp
	}
	r := c.reader(methodUpgradeState, m.GetDiagnostics())
	if !r.diags.HasErrors() {
		resp.State = r.value("upgraded state", m.GetState(), rt.Block.ImpliedType(), cty.DynamicVal)
	}
	resp.Diagnostics = r.diags
	return resp
}

func (c *client) UpgradeIdentity(ctx context.Context,
	req provider.UpgradeIdentityRequest) provider.UpgradeIdentityResponse {
	rt, diags := c.typeOf(ctx, provider.ManagedResource, req.Type)
	if rt == nil {
		return provider.UpgradeIdentityResponse{Diagnostics: diags}
	}
	in := &plugin6.UpgradeIdentityRequest{Type: req.Type, Version: req.Version, Stored: &plugin6.StoredValue{
		Json: req.JSON}}
	var m plugin6.UpgradeIdentityResponse
	if diags := c.call(ctx, methodUpgradeIdentity, in, &m); diags != nil {
		return provider.UpgradeIdentityResponse{Diagnostics: diags}
	}
	r := c.reader(methodUpgradeIdentity, m.GetDiagnostics())
	return provider.UpgradeIdentityResponse{Identity: r.identity(m.GetIdentity(), rt), Diagnostics: r.diags}
}

func (c *client) MoveState(ctx context.Context, req provider.MoveStateRequest) provider.MoveStateResponse {
	rt, diags := c.typeOf(ctx, provider.ManagedResource, req.TargetType)
	if rt == nil {
		return provider.MoveStateResponse{Diagnostics: diags}
	}
	in := &plugin6.MoveRequest{
		SourceProvider: req.SourceProvider, SourceType: req.SourceType, SourceVersion: req.SourceVersion,
		Source:        encodeStored(req.Source),
		SourcePrivate: req.SourcePrivate, TargetType: req.TargetType, SourceIdentityVersion: req.SourceIdentityVersion,
	}
	if req.SourceIdentity != nil {
		in.SourceIdentity = &plugin6.StoredValue{Json: req.SourceIdentity}
	}
	var m plugin6.MoveResponse
	if diags := c.call(ctx, methodMove, in, &m); diags != nil {
		return provider.MoveStateResponse{Diagnostics: diags}
	}
	r := c.reader(methodMove, m.GetDiagnostics())
	resp := provider.MoveStateResponse{
		State: r.value("target state", m.GetState(), rt.Block.ImpliedType(), cty.NilVal), Private: m.GetPrivate(),
		Identity: r.identity(m.GetIdentity(), rt),
	}
	resp.Diagnostics = r.diags
	return resp
}

func (c *client) Import(ctx context.Context, req provider.ImportRequest) provider.ImportResponse {
	rt, diags := c.typeOf(ctx, provider.ManagedResource, req.Type)
	if rt == nil {
		return provider.ImportResponse{Diagnostics: diags}
	}
	w := &writer{c: c, method: methodImport}
	in := &plugin6.ImportRequest{Type: req.Type, Id: text(req.ID), ClientCapabilities: encodeClient(req.Client),
		Identity: w.identity(req.Identity, rt)}
	if w.diags != nil {
		return provider.ImportResponse{Diagnostics: w.diags}
	}
	var m plugin6.ImportResponse
	if diags := c.call(ctx, w.method, in, &m); diags != nil {
		return provider.ImportResponse{Diagnostics: diags}
	}
	r := c.reader(w.method, m.GetDiagnostics())
	resp := provider.ImportResponse{Deferred: decodeDeferred(m.GetDeferred())}
	for _, o := range m.GetImported() {
		rt, diags := c.typeOf(ctx, provider.ManagedResource, o.GetType())
		if rt == nil {
			r.diags = r.diags.Extend(diags)
			continue
		}
		before := len(r.diags)
		found := provider.ImportedObject{Type: o.GetType(), Private: o.GetPrivate(),
			Identity: r.identity(o.GetIdentity(), rt)}
		found.State = r.value("imported state", o.GetState(), rt.Block.ImpliedType(), cty.NilVal)
		if len(r.diags) == before {
			resp.Imported = append(resp.Imported, found)
		}
	}
	resp.Diagnostics = r.diags
	return resp
}

func (c *client) Read(ctx context.Context, req provider.ReadRequest) provider.ReadResponse {
	resp := provider.ReadResponse{State: req.Prior, Private: req.Private, Identity: req.Identity}
	rt, diags := c.typeOf(ctx, provider.ManagedResource, req.Type)
	if resp.Diagnostics = diags; rt == nil {
		return resp
	}
	w := &writer{c: c, method: methodRead}
	in := &plugin6.ReadRequest{
		Type: req.Type, State: w.value("prior state", req.Prior, rt.Block.ImpliedType()), Private: req.Private,
		ProviderMeta:       w.meta(req.Meta),
		ClientCapabilities: encodeClient(req.Client), Identity: w.identity(req.Identity, rt),
	}
	if resp.Diagnostics = w.diags; w.diags != nil {
		return resp
	}
	var m plugin6.ReadResponse
	if resp.Diagnostics = c.call(ctx, w.method, in, &m); resp.Diagnostics != nil {
		return resp
	}
	r := c.reader(w.method, m.GetDiagnostics())
	resp.State = req.Prior
	if empty(m.GetState()) && !r.diags.HasErrors() { // a deleted object is null, not a missing value
		r.diags = r.diags.Append(c.bad(w.method, "new state", errNothing))
	} else if !empty(m.GetState()) {
		resp.State = r.value("new state", m.GetState(), rt.Block.ImpliedType(), req.Prior)
	}
	resp.Private, resp.Identity, resp.Deferred = m.GetPrivate(), r.identity(m.GetIdentity(), rt),
		decodeDeferred(m.GetDeferred())
	resp.Diagnostics = r.diags
	return resp
}

func (c *client) Plan(ctx context.Context, req provider.PlanRequest) provider.PlanResponse {
	resp := provider.PlanResponse{Planned: req.Proposed}
	rt, diags := c.typeOf(ctx, provider.ManagedResource, req.Type)
	if resp.Diagnostics = diags; rt == nil {
		return resp
	}
	ty := rt.Block.ImpliedType()
	w := &writer{c: c, method: methodPlan}
	in := &plugin6.PlanRequest{
		Type: req.Type, Prior: w.value("prior state", req.Prior, ty), Proposed: w.value("proposed state", req.Proposed,
			ty),
		Config: w.value("config", req.Config, ty), Private: req.PriorPrivate, ProviderMeta: w.meta(req.Meta),
		ClientCapabilities: encodeClient(req.Client), Identity: w.identity(req.PriorIdentity, rt),
		PlannedPrivate: req.PlannedPrivate,
	}
	if resp.Diagnostics = w.diags; w.diags != nil {
		return resp
	}
	var m plugin6.PlanResponse
	if resp.Diagnostics = c.call(ctx, w.method, in, &m); resp.Diagnostics != nil {
		return resp
	}
	r := c.reader(w.method, m.GetDiagnostics())
	resp.Planned = r.value("planned state", m.GetPlanned(), ty, req.Proposed)
	resp.RequiresReplace = r.paths(m.GetRequiresReplace())
	resp.Private, resp.Identity, resp.Deferred = m.GetPrivate(), r.identity(m.GetIdentity(), rt),
		decodeDeferred(m.GetDeferred())
	resp.LegacyTypeSystem = m.GetLegacyTypeSystem()
	resp.Diagnostics = r.diags
	return resp
}

// Apply returns cty.NilVal as the state, which means unknown, in two cases: the plugin received the call and there is
// no valid response; or a creation failed without an object after the plugin was asked to stop, because the plugin may
// have cancelled a request that its service received.
func (c *client) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	resp := provider.ApplyResponse{State: req.Prior, Private: req.PlannedPrivate}
	rt, diags := c.typeOf(ctx, provider.ManagedResource, req.Type)
	if resp.Diagnostics = diags; rt == nil {
		return resp
	}
	ty := rt.Block.ImpliedType()
	w := &writer{c: c, method: methodApply}
	in := &plugin6.ApplyRequest{
		Type: req.Type, Prior: w.value("prior state", req.Prior, ty), Planned: w.value("planned state", req.Planned,
			ty),
		Config: w.value("config", req.Config, ty), Private: req.PlannedPrivate, ProviderMeta: w.meta(req.Meta),
		Identity: w.identity(req.PlannedIdentity, rt),
	}
	if resp.Diagnostics = w.diags; w.diags != nil {
		return resp
	}
	var m plugin6.ApplyResponse
	sent, err := c.invoke(ctx, w.method, in, &m)
	if err != nil {
		if sent {
			resp.State = cty.NilVal
		}
		resp.Diagnostics = c.failed(w.method, err)
		return resp
	}
	r := c.reader(w.method, m.GetDiagnostics())
	if empty(m.GetState()) && !req.Planned.IsNull() && !r.diags.HasErrors() {
		r.diags = r.diags.Append(c.bad(w.method, "new state", errNothing))
		resp.State, resp.Diagnostics = cty.NilVal, r.diags
		return resp
	}
	resp.State = r.value("new state", m.GetState(), ty, cty.NilVal)
	if c.stopping.Load() && r.diags.HasErrors() && req.Prior.IsNull() && resp.State != cty.NilVal &&
		resp.State.IsNull() {
		resp.State = cty.NilVal
	}
	resp.Private, resp.Identity, resp.LegacyTypeSystem = m.GetPrivate(), r.identity(m.GetIdentity(), rt),
		m.GetLegacyTypeSystem()
	resp.Diagnostics = r.diags
	return resp
}

func (c *client) ReadData(ctx context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	rt, diags := c.typeOf(ctx, provider.DataSource, req.Type)
	if rt == nil {
		return provider.ReadDataResponse{Diagnostics: diags}
	}
	w := &writer{c: c, method: methodReadData}
	in := &plugin6.ReadDataRequest{
		Type: req.Type, Config: w.value("config", req.Config, rt.Block.ImpliedType()), ProviderMeta: w.meta(req.Meta),
		ClientCapabilities: encodeClient(req.Client),
	}
	if w.diags != nil {
		return provider.ReadDataResponse{Diagnostics: w.diags}
	}
	var m plugin6.ReadDataResponse
	if diags := c.call(ctx, w.method, in, &m); diags != nil {
		return provider.ReadDataResponse{Diagnostics: diags}
	}
	r := c.reader(w.method, m.GetDiagnostics())
	resp := provider.ReadDataResponse{
		State:    r.value("state", m.GetState(), rt.Block.ImpliedType(), cty.NilVal),
		Deferred: decodeDeferred(m.GetDeferred()),
	}
	resp.Diagnostics = r.diags
	return resp
}

func (c *client) OpenEphemeral(ctx context.Context, req provider.OpenEphemeralRequest) provider.OpenEphemeralResponse {
	rt, diags := c.typeOf(ctx, provider.EphemeralResource, req.Type)
	if rt == nil {
		return provider.OpenEphemeralResponse{Diagnostics: diags}
	}
	ty := rt.Block.ImpliedType()
	w := &writer{c: c, method: methodOpen}
	in := &plugin6.OpenRequest{Type: req.Type, Config: w.value("config", req.Config, ty),
		ClientCapabilities: encodeClient(req.Client)}
	if w.diags != nil {
		return provider.OpenEphemeralResponse{Diagnostics: w.diags}
	}
	var m plugin6.OpenResponse
	if diags := c.call(ctx, w.method, in, &m); diags != nil {
		return provider.OpenEphemeralResponse{Diagnostics: diags}
	}
	r := c.reader(w.method, m.GetDiagnostics())
	resp := provider.OpenEphemeralResponse{
		Result: r.value("result", m.GetResult(), ty, cty.NilVal), Private: m.GetPrivate(),
		RenewAt: decodeTime(m.GetRenewAt()), Deferred: decodeDeferred(m.GetDeferred()),
	}
	resp.Diagnostics = r.diags
	return resp
}

func (c *client) RenewEphemeral(ctx context.Context,
	req provider.RenewEphemeralRequest) provider.RenewEphemeralResponse {
	if _, diags := c.Schema(ctx); diags.HasErrors() {
		return provider.RenewEphemeralResponse{Diagnostics: diags}
	}
	var m plugin6.RenewResponse
	if diags := c.call(ctx, methodRenew, &plugin6.RenewRequest{Type: req.Type, Private: req.Private},
		&m); diags != nil {
		return provider.RenewEphemeralResponse{Diagnostics: diags}
	}
	return provider.RenewEphemeralResponse{
		Private: m.GetPrivate(), RenewAt: decodeTime(m.GetRenewAt()), Diagnostics: decodeDiagnostics(
			m.GetDiagnostics()),
	}
}

func (c *client) CloseEphemeral(ctx context.Context, req provider.CloseEphemeralRequest) diag.List {
	if _, diags := c.Schema(ctx); diags.HasErrors() {
		return diags
	}
	var m plugin6.DiagnosticsFirst
	if diags := c.call(ctx, methodClose, &plugin6.CloseRequest{Type: req.Type, Private: req.Private},
		&m); diags != nil {
		return diags
	}
	return decodeDiagnostics(m.GetDiagnostics())
}

func (c *client) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error) {
	schema, diags := c.Schema(ctx)
	if schema == nil {
		return cty.NilVal, diags.Err()
	}
	f := schema.Functions[name]
	if f == nil {
		return cty.NilVal, diag.List{}.Errorf(nil, "No such function", "Provider %s has no function %q.", c.opts.Name,
			name).Err()
	}
	in := &plugin6.CallRequest{Name: name}
	for i, arg := range args {
		p := f.VarParam
		if i < len(f.Params) {
			p = &f.Params[i]
		}
		if p == nil {
			return cty.NilVal, function.NewArgErrorf(i, "the function takes %d arguments", len(f.Params))
		}
		m, err := encodeValue(arg, p.Type)
		if err != nil {
			return cty.NilVal, function.NewArgError(i, err)
		}
		in.Arguments = append(in.Arguments, m)
	}
	var m plugin6.CallResponse
	if diags := c.call(ctx, methodCall, in, &m); diags != nil {
		return cty.NilVal, diags.Err()
	}
	if e := m.GetError(); e != nil {
		err := errors.New(e.GetText())
		if i := e.GetArgument(); e.Argument != nil && i >= 0 && i < int64(len(args)) {
			return cty.NilVal, function.NewArgError(int(i), err)
		}
		return cty.NilVal, err
	}
	v, err := decodeValue(m.GetResult(), f.Return)
	if err != nil {
		return cty.NilVal, c.bad(methodCall, "result of "+name, err)
	}
	return v, nil
}

// decodeTime decodes a time. It returns the zero time if there is none or if it is invalid.
func decodeTime(m *timestamppb.Timestamp) time.Time {
	if m == nil || m.CheckValid() != nil {
		return time.Time{}
	}
	return m.AsTime()
}
