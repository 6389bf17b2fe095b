package handler

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// Read implements provider.Provider.
func (h *handler) Read(ctx context.Context, req provider.ReadRequest) provider.ReadResponse {
	rt, t := h.typeOf(provider.ManagedResource, req.Type)
	if rt == nil || !t.Does("read") || req.Prior.IsNull() {
		return h.Base.Read(ctx, req)
	}
	resp := provider.ReadResponse{State: req.Prior, Private: req.Private, Identity: req.Identity}
	r := h.requestFor(ctx, "read", rt, t, req.Type, req.Object)
	r.reads = true
	r.object("state", rt.Block, req.Prior, false)
	r.private(req.Private)
	r.identity(rt, req.Identity)
	a, diags := r.call(stateAnswer + ", or null if the object no longer exists")
	resp.Diagnostics = diags
	lost := r.lacksKey(rt, req.Prior, req.Identity)
	switch {
	case diags.HasErrors() && lost:
		resp.Diagnostics = diag.List{r.withoutKey(rt, "it failed: "+firstError(diags))}
		return resp
	case diags.HasErrors():
		return resp
	case a.gone() && lost:
		resp.Diagnostics = diags.Append(r.withoutKey(rt, "answered that there is no such object"))
		return resp
	case a.gone():
		resp.State, resp.Identity = cty.NullVal(rt.Block.ImpliedType()), cty.NilVal
		return resp
	}
	v, problems := r.merge(a, "state", rt.Block, req.Prior)
	if resp.Diagnostics = resp.Diagnostics.Extend(problems); problems.HasErrors() {
		return resp
	}
	identity, problems := r.identified(a, rt, req.Identity, v)
	if resp.Diagnostics = resp.Diagnostics.Extend(problems); problems.HasErrors() {
		return resp
	}
	if !lost && r.lacksKey(rt, v, identity) {
		resp.Diagnostics = resp.Diagnostics.Append(
			r.badAnswer(a, fmt.Sprintf("state.%s is not set, but it is needed to find the object again. If the "+
				"object no longer exists, answer null", keyOf(rt, t))))
		return resp
	}
	resp.State, resp.Identity, resp.Private = v, identity, a.remembered(req.Private)
	return resp
}

// Import implements provider.Provider. The engine reads the object afterwards.
func (h *handler) Import(ctx context.Context, req provider.ImportRequest) provider.ImportResponse {
	rt, t := h.typeOf(provider.ManagedResource, req.Type)
	if rt == nil {
		return h.Base.Import(ctx, req)
	}
	byIdentity := req.Identity != cty.NilVal && !req.Identity.IsNull()
	found := provider.ImportedObject{Type: req.Type}
	switch {
	case t.Does("import"):
		return h.askImport(ctx, rt, req, byIdentity)
	case t.Import == "":
		return provider.ImportResponse{Diagnostics: diag.List{}.Errorf(nil, "Resource cannot be imported",
			`Provider %s cannot import %s. Its author can set the attribute that is the id, as "import": "id", or `+
				`implement the action import.`, h.m().Name, req.Type)}
	case byIdentity:
		vals := rt.Block.EmptyValue().AsValueMap()
		for name, v := range req.Identity.AsValueMap() {
			if at, ok := vals[name]; ok && at.Type().Equals(v.Type()) {
				vals[name] = v
			}
		}
		found.State, found.Identity = cty.ObjectVal(vals), req.Identity
	case req.ID == "":
		return provider.ImportResponse{Diagnostics: diag.List{}.Errorf(nil, "Invalid import id",
			"The id is empty. It is the value of the attribute %q.", t.Import)}
	default:
		vals := rt.Block.EmptyValue().AsValueMap()
		vals[t.Import] = cty.StringVal(req.ID)
		found.State = cty.ObjectVal(vals)
	}
	return provider.ImportResponse{Imported: []provider.ImportedObject{found}}
}

func (h *handler) askImport(ctx context.Context, rt *provider.ResourceType, req provider.ImportRequest,
	byIdentity bool) provider.ImportResponse {
	r := h.requestFor(ctx, "import", rt, h.m().Type(provider.ManagedResource, req.Type), req.Type, req.Object)
	r.reads = true
	if byIdentity {
		r.identity(rt, req.Identity)
	} else {
		r.raw("id", message.Text(req.ID))
	}
	a, diags := r.call(stateAnswer)
	for _, d := range diags {
		d.Path = nil // there is no configuration for a path
	}
	switch {
	case diags.HasErrors():
		return provider.ImportResponse{Diagnostics: diags}
	case a.gone() || a.get("state") == nil:
		return provider.ImportResponse{Diagnostics: diags.Errorf(nil, provider.NoSuchObject,
			"Provider %s found no %s with that id.", h.m().Name, req.Type)}
	}
	state, problems := r.merge(a, "state", rt.Block, cty.NullVal(rt.Block.ImpliedType()))
	found := provider.ImportedObject{Type: req.Type, State: state, Private: a.remembered(nil)}
	if byIdentity {
		found.Identity = req.Identity
	}
	if a.get("identity") != nil {
		var more diag.List
		found.Identity, more = r.identified(a, rt, found.Identity, state)
		problems = problems.Extend(more)
	}
	if !problems.HasErrors() && r.lacksKey(rt, state, found.Identity) {
		problems = problems.Append(r.badAnswer(a, fmt.Sprintf("state.%s is not set, but it is needed to find the "+
			"object again. If there is no such object, answer null", keyOf(rt, r.t))))
	}
	return provider.ImportResponse{Imported: []provider.ImportedObject{found}, Diagnostics: diags.Extend(problems)}
}

// UpgradeState implements provider.Provider.
func (h *handler) UpgradeState(ctx context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	rt, t := h.typeOf(provider.ManagedResource, req.Type)
	if rt == nil || req.Version >= rt.Version || !t.Does("upgrade") || req.Stored.JSON == nil {
		return provider.DecodeStored(rt, req)
	}
	r := h.requestFor(ctx, "upgrade", rt, t, req.Type, addr.Object{})
	r.reads = true
	r.raw("from", json.RawMessage(fmt.Sprint(req.Version)))
	r.raw("to", json.RawMessage(fmt.Sprint(rt.Version)))
	r.raw("state", req.Stored.JSON)
	a, diags := r.call(stateAnswer)
	if !diags.HasErrors() && (a.gone() || a.get("state") == nil) {
		diags = diags.Append(r.badAnswer(a, "there is no \"state\" in the new form. Expected: "+stateAnswer))
	}
	if diags.HasErrors() {
		return provider.UpgradeStateResponse{State: cty.DynamicVal, Diagnostics: diags}
	}
	v, problems := r.merge(a, "state", rt.Block, cty.NullVal(rt.Block.ImpliedType()))
	key := keyOf(rt, t)
	if !problems.HasErrors() && key != "" && blank(v.GetAttr(key)) && hasKey(req.Stored.JSON, key) {
		problems = problems.Append(r.badAnswer(a, fmt.Sprintf("state.%s is not set, but it is needed to find the "+
			"object again, and the stored object has it", key)))
	}
	return provider.UpgradeStateResponse{State: v, Diagnostics: diags.Extend(problems)}
}

// hasKey reports whether a stored object has its key.
func hasKey(stored []byte, key string) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(stored, &members) != nil {
		return false
	}
	text := string(members[key])
	return text != "" && text != "null" && text != `""`
}

// UpgradeIdentity implements provider.Provider. It omits attributes that the newer schema does not have; the object is
// read after an upgrade.
func (h *handler) UpgradeIdentity(ctx context.Context,
	req provider.UpgradeIdentityRequest) provider.UpgradeIdentityResponse {
	rt, _ := h.typeOf(provider.ManagedResource, req.Type)
	if rt == nil || rt.Identity == nil {
		return h.Base.UpgradeIdentity(ctx, req)
	}
	v, err := value.DecodeIdentity(rt.Identity, req.JSON)
	if err != nil {
		return provider.UpgradeIdentityResponse{Diagnostics: diag.List{}.Errorf(nil, "Invalid stored identity",
			"The stored identity of a %s does not fit the provider's schema: %s.", req.Type, err)}
	}
	return provider.UpgradeIdentityResponse{Identity: v}
}

// ReadData implements provider.Provider.
func (h *handler) ReadData(ctx context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	rt, t := h.typeOf(provider.DataSource, req.Type)
	if rt == nil {
		return h.Base.ReadData(ctx, req)
	}
	v, _, diags := h.fetch(ctx, dataSource, subject{rt, t, req.Type, req.Object}, req.Config)
	return provider.ReadDataResponse{State: v, Diagnostics: diags}
}

// fetching describes a kind of call that sends a configuration and whose answer is the entire object.
type fetching struct {
	action, member string
	reads          bool // the call changes nothing, so it may be cancelled, and its answer may be stored
}

var (
	dataSource = fetching{action: "data", member: "state", reads: true}
	opening    = fetching{action: "open", member: "result"} // an opened resource must be closed
)

// subject is the type and the address that a call concerns.
type subject struct {
	rt    *provider.ResourceType
	t     typ
	name  string
	about addr.Object
}

// fetch is the common part of data sources and ephemeral resources: it sends a configuration and returns it with
// computed attributes.
func (h *handler) fetch(ctx context.Context, f fetching, of subject, config cty.Value) (cty.Value, *answer,
	diag.List) {
	rt, member := of.rt, f.member
	if diags := h.check(rt.Block, config); diags.HasErrors() {
		return cty.NilVal, nil, diags
	}
	r := h.requestFor(ctx, f.action, rt, of.t, of.name, of.about)
	if r.reads = f.reads; f.reads && !hasSecrets(rt.Block) {
		r.cache = of.t.Cache
	}
	r.object("config", rt.Block, h.withDefaults(rt.Block, config), false)
	expected := fmt.Sprintf(`{"%s": {…}}`, member)
	a, diags := r.call(expected)
	if !diags.HasErrors() {
		if given := a.get(member); given != nil && given.Kind == strictjson.Null {
			diags = diags.Append(
				r.badAnswer(a, fmt.Sprintf("%q is null. Expected: %s, or a diagnostic that says what is missing",
					member, expected)))
		}
	}
	if diags.HasErrors() {
		return cty.NilVal, a, diags
	}
	planned := value.ProposeUnset(rt.Block, cty.NullVal(rt.Block.ImpliedType()), config, h.unset(true))
	v, problems := r.merge(a, member, rt.Block, planned)
	v = value.UnknownAsNull(v)
	if diags = diags.Extend(problems); !problems.HasErrors() {
		diags = diags.Extend(r.problems(a, member, value.CheckApplied(rt.Block, planned, v)))
	}
	if diags.HasErrors() {
		return cty.NilVal, a, diags
	}
	return v, a, diags
}
