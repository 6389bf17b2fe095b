package handler

import (
	"context"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/provider"
)

// PlanAction implements provider.Provider.
func (h *handler) PlanAction(ctx context.Context, req provider.PlanActionRequest) provider.PlanActionResponse {
	rt, t := h.typeOf(provider.Action, req.Type)
	if rt == nil {
		return h.Base.PlanAction(ctx, req)
	}
	config := h.withDefaults(rt.Block, req.Config)
	diags := h.check(rt.Block, config)
	if diags.HasErrors() || !t.Does("plan") {
		return provider.PlanActionResponse{Diagnostics: diags}
	}
	r := h.requestFor(ctx, "plan", rt, t, req.Type, addr.Object{})
	r.reads = true
	r.object("config", rt.Block, config, true)
	_, more := r.call(`{"diagnostics": […]}, or {}`)
	return provider.PlanActionResponse{Diagnostics: diags.Extend(more)}
}

// InvokeAction implements provider.Provider.
func (h *handler) InvokeAction(ctx context.Context, req provider.InvokeActionRequest) provider.InvokeActionResponse {
	rt, t := h.typeOf(provider.Action, req.Type)
	if rt == nil {
		return h.Base.InvokeAction(ctx, req)
	}
	config := h.withDefaults(rt.Block, req.Config)
	if diags := h.check(rt.Block, config); diags.HasErrors() {
		return provider.InvokeActionResponse{Diagnostics: diags}
	}
	r := h.requestFor(ctx, "invoke", rt, t, req.Type, addr.Object{})
	r.silent, r.progress = true, req.Progress
	r.object("config", rt.Block, config, false)
	a, diags := r.call("nothing, or {}")
	return provider.InvokeActionResponse{Lost: a.lost, Diagnostics: diags}
}
