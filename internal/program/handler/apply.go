package handler

import (
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program"
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
func (h *handler) write(ctx context.Context, rt *provider.ResourceType, t *manifest.Type,
	req provider.ApplyRequest) provider.ApplyResponse {
	action := "create"
	if !req.Prior.IsNull() {
		action = "update"
	}
	r := h.requestFor(ctx, action, rt, t, req.Type, req.Object)
	r.intent, r.record = req.Intent, req.Record
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
	resp := r.written(a, diags, rt, req)
	if !resp.Diagnostics.HasErrors() {
		resp.Diagnostics = resp.Diagnostics.Extend(r.problems(a, "state", value.CheckApplied(rt.Block, req.Planned,
			resp.State)))
	}
	return resp
}

// written converts an answer to the response to a create or update.
func (r *request) written(a *answer, diags diag.List, rt *provider.ResourceType,
	req provider.ApplyRequest) provider.ApplyResponse {
	action := r.action
	resp := provider.ApplyResponse{State: req.Prior, Private: req.PlannedPrivate, Identity: req.PlannedIdentity,
		Diagnostics: diags}
	state := a.get("state")
	switch {
	case diags.HasErrors() && (state == nil || a.gone()):
		if action == "create" && a.started && !a.failed {
			resp.State = cty.NilVal // its result is unknown
		}
		return resp
	case a.gone():
		resp.Diagnostics = resp.Diagnostics.Append(
			r.badAnswer(a, `"state" is null, but the object should exist afterwards. Expected: `+stateAnswer))
		if action == "create" {
			resp.State = cty.NilVal
		}
		return resp
	}
	base := req.Planned
	if diags.HasErrors() {
		base = req.Prior // it is unknown whether the rest of the plan was applied
	}
	v, problems := r.merge(a, "state", rt.Block, base)
	resp.Diagnostics = resp.Diagnostics.Extend(problems)
	resp.State = value.UnknownAsNull(v)
	resp.Private = a.remembered(req.PlannedPrivate)
	identity, problems := r.identified(a, rt, req.PlannedIdentity, resp.State)
	resp.Identity = identity
	if !resp.Diagnostics.HasErrors() {
		resp.Diagnostics = resp.Diagnostics.Extend(problems)
	}
	r.named(a, rt, req, &resp)
	return resp
}

// delete deletes an object. If the type does not implement delete, the object is only removed from the state.
func (h *handler) delete(ctx context.Context, rt *provider.ResourceType, t *manifest.Type,
	req provider.ApplyRequest) provider.ApplyResponse {
	if !t.Does("delete") {
		return provider.ApplyResponse{State: req.Planned}
	}
	r := h.requestFor(ctx, "delete", rt, t, req.Type, req.Object)
	r.intent, r.record, r.silent = req.Intent, req.Record, true
	r.object("state", rt.Block, req.Prior, false)
	r.private(req.PlannedPrivate)
	r.identity(rt, req.PlannedIdentity)
	a, diags := r.call("nothing, or {}")
	return r.deleted(a, diags, rt, req)
}

// deleted converts an answer to the response to a deletion.
func (r *request) deleted(a *answer, diags diag.List, rt *provider.ResourceType,
	req provider.ApplyRequest) provider.ApplyResponse {
	if !diags.HasErrors() {
		return provider.ApplyResponse{State: req.Planned, Diagnostics: diags}
	}
	resp := provider.ApplyResponse{State: req.Prior, Private: a.remembered(req.PlannedPrivate),
		Identity: req.PlannedIdentity, Diagnostics: diags}
	if a.get("state") != nil && !a.gone() {
		v, problems := r.merge(a, "state", rt.Block, req.Prior)
		resp.State, resp.Diagnostics = v, diags.Extend(problems)
	}
	if r.lacksKey(rt, req.Prior, req.PlannedIdentity) {
		resp.Diagnostics = resp.Diagnostics.Append(r.withoutKey(rt, "it failed"))
	}
	return resp
}

// Answered returns the response to a call of Apply whose program ended after its caller. In the planned value of the
// request, null may mean unknown, so null is not checked. If the end of a program was not observed, it has succeeded if
// its answer is complete and reports success; a state of cty.NilVal means that the result is unknown.
func (h *handler) Answered(ctx context.Context, req provider.ApplyRequest,
	found *program.Spooled) provider.ApplyResponse {
	unknown := provider.ApplyResponse{State: cty.NilVal}
	if _, diags := h.Schema(ctx); diags.HasErrors() {
		unknown.Diagnostics = diags
		return unknown
	}
	rt, t := h.typeOf(provider.ManagedResource, req.Type)
	if rt == nil {
		return unknown
	}
	action := "update"
	switch {
	case req.Planned.IsNull():
		action = "delete"
	case req.Prior.IsNull():
		action = "create"
	}
	r := h.requestFor(ctx, action, rt, t, req.Type, req.Object)
	r.silent = action == "delete"
	addSecrets(r.secrets, rt.Block, req.Prior)
	addSecrets(r.secrets, rt.Block, req.Planned)
	got := &Answer{Result: found.Stdout, Program: h.m().Name}
	if found.Known && found.ExitCode != 0 {
		got.Failure = &Failure{State: fmt.Sprintf("it ended with exit status %d", found.ExitCode),
			Killed: found.ExitCode < 0}
	}
	if r.silent && !found.Known {
		return unknown // no output does not mean success
	}
	a, diags := r.salvage(got), diag.List(nil)
	if found.Refused != nil { // as if the run had waited for it
		diags = diag.List{r.unanswered(found.Refused)}
	} else {
		a, diags = r.read(got, stateAnswer)
	}
	if r.silent {
		return r.deleted(a, diags, rt, req)
	}
	resp := r.written(a, diags, rt, req)
	if !resp.Diagnostics.HasErrors() && resp.State != cty.NilVal {
		planned, err := cty.Transform(req.Planned, func(_ cty.Path, v cty.Value) (cty.Value, error) {
			if v.IsNull() {
				return cty.UnknownVal(v.Type()), nil
			}
			return v, nil
		})
		if err == nil {
			resp.Diagnostics = resp.Diagnostics.Extend(r.problems(a, "state", value.CheckApplied(rt.Block, planned,
				resp.State)))
		}
	}
	return resp
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
