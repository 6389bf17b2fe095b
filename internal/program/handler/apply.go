package handler

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

const stateAnswer = `{"state": {…}}`

// Apply implements provider.Provider.
func (h *handler) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	rt, t := h.typeOf(provider.ManagedResource, req.Type)
	switch {
	case rt == nil:
		return h.Base.Apply(ctx, req)
	case req.Planned.IsNull():
		return h.delete(ctx, rt, t, req)
	}
	return h.write(ctx, rt, t, req)
}

// write creates or updates an object.
func (h *handler) write(ctx context.Context, rt *provider.ResourceType, t *manifest.Type, req provider.ApplyRequest) provider.ApplyResponse {
	action := "create"
	if !req.Prior.IsNull() {
		action = "update"
	}
	r := h.requestFor(ctx, action, rt, t, req.Type)
	r.intent = req.Intent
	r.object("config", rt.Block, req.Config, false)
	if action == "update" {
		r.object("prior", rt.Block, req.Prior, false)
	}
	r.object("planned", rt.Block, req.Planned, true)
	r.private(req.PlannedPrivate)
	if action == "update" {
		r.identity(rt, req.PlannedIdentity)
	}
	a, diags := r.call(stateAnswer)
	resp := provider.ApplyResponse{State: req.Prior, Private: req.PlannedPrivate, Identity: req.PlannedIdentity, Diagnostics: diags}
	state := a.get("state")
	switch {
	case diags.HasErrors() && (state == nil || a.gone()):
		if action == "create" && a.started && !a.failed {
			resp.State = cty.NilVal // nobody knows what became of it
		}
		return resp
	case a.gone():
		resp.Diagnostics = resp.Diagnostics.Append(r.badAnswer(a, `"state" is null, but the object was to be there afterwards. Expected: `+stateAnswer))
		if action == "create" {
			resp.State = cty.NilVal
		}
		return resp
	}
	base := req.Planned
	if diags.HasErrors() {
		base = req.Prior // that the rest of the plan came true is not known
	}
	v, problems := r.merge(a, "state", rt.Block, base)
	resp.Diagnostics = resp.Diagnostics.Extend(problems)
	resp.State = value.UnknownAsNull(v)
	resp.Private = a.remembered(req.PlannedPrivate)
	if !resp.Diagnostics.HasErrors() {
		resp.Diagnostics = resp.Diagnostics.Extend(r.problems(a, "state", value.CheckApplied(rt.Block, req.Planned, resp.State)))
	}
	identity, problems := r.identified(a, rt, req.PlannedIdentity, resp.State)
	resp.Identity = identity
	if !resp.Diagnostics.HasErrors() {
		resp.Diagnostics = resp.Diagnostics.Extend(problems)
	}
	return resp
}

// delete deletes an object. A type that does not implement this is only forgotten.
func (h *handler) delete(ctx context.Context, rt *provider.ResourceType, t *manifest.Type, req provider.ApplyRequest) provider.ApplyResponse {
	if !t.Does("delete") {
		return provider.ApplyResponse{State: req.Planned}
	}
	r := h.requestFor(ctx, "delete", rt, t, req.Type)
	r.intent, r.silent = req.Intent, true
	r.object("state", rt.Block, req.Prior, false)
	r.private(req.PlannedPrivate)
	r.identity(rt, req.PlannedIdentity)
	a, diags := r.call("nothing, or {}")
	if !diags.HasErrors() {
		return provider.ApplyResponse{State: req.Planned, Diagnostics: diags}
	}
	resp := provider.ApplyResponse{State: req.Prior, Private: a.remembered(req.PlannedPrivate), Identity: req.PlannedIdentity, Diagnostics: diags}
	if a.get("state") != nil && !a.gone() {
		v, problems := r.merge(a, "state", rt.Block, req.Prior)
		resp.State, resp.Diagnostics = v, diags.Extend(problems)
	}
	return resp
}
