package access

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/tracing"
	"github.com/tombolo-iac/tombolo/provider"
)

// Object starts the span of an operation on an instance; call the result at its end. Until then, calls of the provider
// that Traced returns for the instance are recorded within it.
func (a *Access) Object(what string, inst addr.AbsResourceInstance) (end func(error)) {
	if !tracing.Recording(a.Calls) {
		return func(error) {}
	}
	ctx, span := tracing.Start(a.Calls, what, tracing.Attr{Key: "tombolo.instance", Value: inst.String()})
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.objects == nil {
		a.objects = map[addr.AbsResourceInstance]context.Context{}
	}
	a.objects[inst] = ctx
	return func(err error) {
		a.mu.Lock()
		delete(a.objects, inst)
		a.mu.Unlock()
		span.End(err == nil)
	}
}

// Traced returns a provider whose calls for an instance are recorded if tracing is on. It returns nil for nil.
func (a *Access) Traced(inst addr.AbsResourceInstance, cfg addr.AbsProviderConfig,
	p provider.Provider) provider.Provider {
	if p == nil || !tracing.Recording(a.Calls) {
		return p
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if span := a.objects[inst]; span != nil {
		return trace(p, cfg, span)
	}
	return trace(p, cfg, a.Calls)
}

// Untraced returns the provider within the wrapper of Configured, for callers that wrap it themselves.
func Untraced(p provider.Provider) provider.Provider {
	if t, ok := p.(*traced); ok {
		return t.Provider
	}
	return p
}

func trace(p provider.Provider, cfg addr.AbsProviderConfig, span context.Context) *traced {
	return &traced{Provider: p, span: span, attr: tracing.Attr{Key: "tombolo.provider", Value: cfg.String()}}
}

// traced is a provider whose calls are recorded.
type traced struct {
	provider.Provider
	span context.Context // holds the span that contains the calls
	attr tracing.Attr
}

// call starts the span of a call.
func (t *traced) call(ctx context.Context, name string) (context.Context, *tracing.Span) {
	return tracing.Start(tracing.Carry(ctx, t.span), name, t.attr)
}

// ValidateConfig implements provider.Provider.
func (t *traced) ValidateConfig(ctx context.Context, r provider.ValidateConfigRequest) provider.ValidateConfigResponse {
	ctx, span := t.call(ctx, "provider ValidateConfig")
	resp := t.Provider.ValidateConfig(ctx, r)
	span.End(!resp.Diagnostics.HasErrors())
	return resp
}

// ValidateResource implements provider.Provider.
func (t *traced) ValidateResource(ctx context.Context, r provider.ValidateResourceRequest) diag.List {
	ctx, span := t.call(ctx, "provider ValidateResource")
	diags := t.Provider.ValidateResource(ctx, r)
	span.End(!diags.HasErrors())
	return diags
}

// UpgradeState implements provider.Provider.
func (t *traced) UpgradeState(ctx context.Context, r provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	ctx, span := t.call(ctx, "provider UpgradeState")
	resp := t.Provider.UpgradeState(ctx, r)
	span.End(!resp.Diagnostics.HasErrors())
	return resp
}

// Import implements provider.Provider.
func (t *traced) Import(ctx context.Context, r provider.ImportRequest) provider.ImportResponse {
	ctx, span := t.call(ctx, "provider Import")
	resp := t.Provider.Import(ctx, r)
	span.End(!resp.Diagnostics.HasErrors())
	return resp
}

// Read implements provider.Provider.
func (t *traced) Read(ctx context.Context, r provider.ReadRequest) provider.ReadResponse {
	ctx, span := t.call(ctx, "provider Read")
	resp := t.Provider.Read(ctx, r)
	span.End(!resp.Diagnostics.HasErrors())
	return resp
}

// Plan implements provider.Provider.
func (t *traced) Plan(ctx context.Context, r provider.PlanRequest) provider.PlanResponse {
	ctx, span := t.call(ctx, "provider Plan")
	resp := t.Provider.Plan(ctx, r)
	span.End(!resp.Diagnostics.HasErrors())
	return resp
}

// Apply implements provider.Provider.
func (t *traced) Apply(ctx context.Context, r provider.ApplyRequest) provider.ApplyResponse {
	ctx, span := t.call(ctx, "provider Apply")
	resp := t.Provider.Apply(ctx, r)
	span.End(!resp.Diagnostics.HasErrors())
	return resp
}

// ReadData implements provider.Provider.
func (t *traced) ReadData(ctx context.Context, r provider.ReadDataRequest) provider.ReadDataResponse {
	ctx, span := t.call(ctx, "provider ReadData")
	resp := t.Provider.ReadData(ctx, r)
	span.End(!resp.Diagnostics.HasErrors())
	return resp
}

// OpenEphemeral implements provider.Provider.
func (t *traced) OpenEphemeral(ctx context.Context, r provider.OpenEphemeralRequest) provider.OpenEphemeralResponse {
	ctx, span := t.call(ctx, "provider OpenEphemeral")
	resp := t.Provider.OpenEphemeral(ctx, r)
	span.End(!resp.Diagnostics.HasErrors())
	return resp
}

// CloseEphemeral implements provider.Provider.
func (t *traced) CloseEphemeral(ctx context.Context, r provider.CloseEphemeralRequest) diag.List {
	ctx, span := t.call(ctx, "provider CloseEphemeral")
	diags := t.Provider.CloseEphemeral(ctx, r)
	span.End(!diags.HasErrors())
	return diags
}

// PlanAction implements provider.Provider.
func (t *traced) PlanAction(ctx context.Context, r provider.PlanActionRequest) provider.PlanActionResponse {
	ctx, span := t.call(ctx, "provider PlanAction")
	resp := t.Provider.PlanAction(ctx, r)
	span.End(!resp.Diagnostics.HasErrors())
	return resp
}

// InvokeAction implements provider.Provider.
func (t *traced) InvokeAction(ctx context.Context, r provider.InvokeActionRequest) provider.InvokeActionResponse {
	ctx, span := t.call(ctx, "provider InvokeAction")
	resp := t.Provider.InvokeAction(ctx, r)
	span.End(!resp.Diagnostics.HasErrors())
	return resp
}

// CallFunction implements provider.Provider.
func (t *traced) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error) {
	ctx, span := t.call(ctx, "provider CallFunction")
	v, err := t.Provider.CallFunction(ctx, name, args)
	span.End(err == nil)
	return v, err
}

// UpgradeIdentity implements provider.Provider.
func (t *traced) UpgradeIdentity(ctx context.Context,
	r provider.UpgradeIdentityRequest) provider.UpgradeIdentityResponse {
	ctx, span := t.call(ctx, "provider UpgradeIdentity")
	resp := t.Provider.UpgradeIdentity(ctx, r)
	span.End(!resp.Diagnostics.HasErrors())
	return resp
}

// MoveState implements provider.Provider.
func (t *traced) MoveState(ctx context.Context, r provider.MoveStateRequest) provider.MoveStateResponse {
	ctx, span := t.call(ctx, "provider MoveState")
	resp := t.Provider.MoveState(ctx, r)
	span.End(!resp.Diagnostics.HasErrors())
	return resp
}

// List implements provider.Provider.
func (t *traced) List(ctx context.Context, r provider.ListRequest) provider.ListResponse {
	ctx, span := t.call(ctx, "provider List")
	resp := t.Provider.List(ctx, r)
	span.End(!resp.Diagnostics.HasErrors())
	return resp
}

// GenerateConfig implements provider.Provider.
func (t *traced) GenerateConfig(ctx context.Context, r provider.GenerateConfigRequest) provider.GenerateConfigResponse {
	ctx, span := t.call(ctx, "provider GenerateConfig")
	resp := t.Provider.GenerateConfig(ctx, r)
	span.End(!resp.Diagnostics.HasErrors())
	return resp
}
