package handler

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/provider"
)

const listAnswer = `{"results": [{"identity": {…}, "display_name": "…"}]}`

// List implements provider.Provider.
func (h *handler) List(ctx context.Context, req provider.ListRequest) provider.ListResponse {
	rt, t := h.typeOf(provider.ManagedResource, req.Type)
	if rt == nil || !t.Does("list") || rt.Identity == nil {
		return provider.ListResponse{Diagnostics: diag.List{}.Errorf(nil, "Objects cannot be listed",
			`Provider %s does not say how to list the objects of %s. Its author can give the type an "identity", and `+
				`add "list" to what it implements.`, h.m().Name, req.Type)}
	}
	config := json.RawMessage("{}")
	if req.Config != cty.NilVal && !req.Config.IsNull() {
		config, _ = message.EncodeValue(req.Config.Type(), req.Config)
	}
	r := h.requestFor(ctx, "list", rt, t, req.Type, addr.Object{})
	r.reads = true
	r.raw("config", config)
	r.raw("limit", json.RawMessage(strconv.Itoa(req.Limit)))
	a, diags := r.call(listAnswer)
	for _, d := range diags {
		d.Path = nil // there is no configuration that a path could lead into
	}
	if diags.HasErrors() {
		return provider.ListResponse{Diagnostics: diags}
	}
	given := a.get("results")
	if given == nil || given.Kind != strictjson.Array {
		return provider.ListResponse{
			Diagnostics: diags.Append(r.badAnswer(a, `there is no array "results". Expected: `+listAnswer))}
	}
	resp := provider.ListResponse{Diagnostics: diags}
	for i, item := range given.Items {
		if i == req.Limit {
			break // more than was asked for
		}
		listed, problems := r.listed(a, rt, fmt.Sprintf("results[%d]", i), item)
		if resp.Diagnostics = resp.Diagnostics.Extend(problems); problems.HasErrors() {
			break // one mistake is told once
		}
		resp.Results = append(resp.Results, listed)
	}
	return resp
}

// listed reads one object of a list.
func (r *request) listed(a *answer, rt *provider.ResourceType, where string, item *strictjson.Value) (provider.Listed,
	diag.List) {
	if item.Kind != strictjson.Object || item.Get("identity") == nil || item.Get("identity").Kind != strictjson.Object {
		return provider.Listed{}, diag.List{
			r.badAnswer(a, where+` must be an object with an object "identity". Expected: `+listAnswer)}
	}
	one := &answer{root: item, text: a.text, program: a.program, started: a.started}
	identity, diags := r.identified(one, rt, cty.NilVal, cty.NullVal(rt.Block.ImpliedType()))
	if !diags.HasErrors() && identity.IsNull() {
		diags = diags.Append(
			r.badAnswer(a, where+".identity does not name the object: a value is missing that an import requires"))
	}
	listed := provider.Listed{Identity: identity}
	if name := item.Get("display_name"); name != nil && name.Kind == strictjson.String {
		listed.DisplayName = r.redact(name.Text)
	}
	return listed, diags
}
