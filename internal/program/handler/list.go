package handler

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

const listAnswer = `{"results": [{"identity": {…}, "display_name": "…"}]}`

// List implements provider.Provider.
func (h *handler) List(ctx context.Context, req provider.ListRequest) provider.ListResponse {
	rt, _ := h.typeOf(provider.ManagedResource, req.Type)
	list, t := h.typeOf(provider.ListResource, req.Type)
	if rt == nil || list == nil {
		return provider.ListResponse{Diagnostics: diag.List{}.Errorf(nil, "Objects cannot be listed",
			`Provider %s cannot list the objects of %s. Its author can add an "identity" to the type, and "list" `+
				`to its "implements".`, h.m().Name, req.Type)}
	}
	config := req.Config
	if config == cty.NilVal || config.IsNull() {
		config = list.Block.EmptyValue()
	}
	config = h.withDefaults(list.Block, config)
	if diags := h.check(list.Block, config); diags.HasErrors() {
		return provider.ListResponse{Diagnostics: diags}
	}
	r := h.requestFor(ctx, "list", list, t, req.Type, addr.Object{})
	r.reads, r.hidden = true, rt.Block
	r.object("config", list.Block, config, false)
	r.raw("limit", json.RawMessage(strconv.Itoa(req.Limit)))
	r.raw("include_object", json.RawMessage(strconv.FormatBool(req.IncludeObject)))
	a, diags := r.call(listAnswer)
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
			break // more than requested
		}
		listed, problems := r.listed(a, rt, fmt.Sprintf("results[%d]", i), item, req.IncludeObject)
		if resp.Diagnostics = resp.Diagnostics.Extend(problems); problems.HasErrors() {
			break // report a mistake only once
		}
		if listed.Identity != cty.NilVal {
			resp.Results = append(resp.Results, listed)
		}
	}
	return resp
}

// listed decodes one object of a list. If its identity is null, the object has been deleted in the meantime.
func (r *request) listed(a *answer, rt *provider.ResourceType, where string, item *strictjson.Value,
	whole bool) (provider.Listed, diag.List) {
	if item.Kind != strictjson.Object || item.Get("identity") == nil || item.Get("identity").Kind != strictjson.Object {
		return provider.Listed{}, diag.List{
			r.badAnswer(a, where+` must be an object with an object "identity". Expected: `+listAnswer)}
	}
	null := cty.NullVal(rt.Block.ImpliedType())
	one := &answer{root: item, text: a.text, program: a.program, started: a.started}
	identity, diags := r.identified(one, rt, cty.NilVal, null)
	if !diags.HasErrors() && identity.IsNull() {
		diags = diags.Append(
			r.badAnswer(a, where+".identity is incomplete: a value that imports require is missing"))
	}
	listed := provider.Listed{Identity: identity}
	if name := item.Get("display_name"); name != nil && name.Kind == strictjson.String {
		listed.DisplayName = r.redact(name.Text)
	}
	if !whole || diags.HasErrors() {
		return listed, diags
	}
	if object := item.Get("object"); object == nil || object.Kind == strictjson.Null {
		found, problems := r.h.found(r.ctx, r.typ, identity)
		if listed.Object = found; found == cty.NilVal {
			return provider.Listed{}, problems
		}
		return listed, diags.Extend(problems)
	}
	object, problems := r.merge(one, "object", rt.Block, null)
	problems = problems.Extend(r.problems(one, "object", value.CheckRefreshed(rt.Block, object)))
	for _, d := range problems {
		d.Path = nil // it points into the object, and not into the configuration of the list
	}
	listed.Object = object
	return listed, diags.Extend(problems)
}

// found imports and reads an object that a list only identifies. It returns cty.NilVal if the object does not exist any
// more.
func (h *handler) found(ctx context.Context, typ string, identity cty.Value) (cty.Value, diag.List) {
	imported := h.Import(ctx, provider.ImportRequest{Type: typ, Identity: identity})
	diags := imported.Diagnostics
	if diags.HasErrors() || len(imported.Imported) == 0 {
		return cty.NilVal, diags
	}
	one := imported.Imported[0]
	read := h.Read(ctx, provider.ReadRequest{Type: typ, Prior: one.State, Private: one.Private, Identity: one.Identity})
	if diags = diags.Extend(read.Diagnostics); diags.HasErrors() || read.State.IsNull() {
		return cty.NilVal, diags
	}
	return read.State, diags
}
