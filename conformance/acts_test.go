package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// acts is a provider with actions, identities and lists. Its objects are files below things. It logs all operations to
// the file done.log, which the data source acts_log reads. Operations on objects named bad fail.
type acts struct{ provider.Base }

func actsSchema() *provider.Schema {
	text := func() *provider.Attribute { return &provider.Attribute{Type: cty.String, Optional: true} }
	needed := func() *provider.Attribute { return &provider.Attribute{Type: cty.String, Required: true} }
	computed := func() *provider.Attribute { return &provider.Attribute{Type: cty.String, Computed: true} }
	secret := text()
	secret.Sensitive = true
	thing := func() *provider.Block {
		return &provider.Block{Attributes: map[string]*provider.Attribute{
			"name": needed(), "size": text(), "kind": text(), "id": computed()}}
	}
	return &provider.Schema{
		Provider: &provider.Block{Attributes: map[string]*provider.Attribute{"prefix": text()}},
		Resources: map[string]*provider.ResourceType{"acts_thing": {Block: thing()}, "acts_named": {
			Block: thing(),
			Identity: &provider.IdentitySchema{Attributes: map[string]*provider.IdentityAttribute{
				"name": {Type: cty.String, RequiredForImport: true}, "zone": {
					Type: cty.String, OptionalForImport: true}}},
		}},
		Data: map[string]*provider.ResourceType{"acts_log": {Block: &provider.Block{
			Attributes: map[string]*provider.Attribute{"lines": {Type: cty.List(cty.String), Computed: true}}}}},
		Lists: map[string]*provider.ResourceType{"acts_named": {Block: &provider.Block{
			Attributes: map[string]*provider.Attribute{"prefix": text()}}}},
		Actions: map[string]*provider.ResourceType{"acts_note": {Block: &provider.Block{
			Attributes: map[string]*provider.Attribute{"text": needed(), "secret": secret,
				"more": {Type: cty.List(cty.String), Optional: true}}}}},
		GenerateConfig: os.Getenv("ACTS_GENERATE") != "",
	}
}

// Schema implements provider.Provider.
func (a *acts) Schema(context.Context) (*provider.Schema, diag.List) { return actsSchema(), nil }

// invocationsByObject sorts the planned invocations of actions by the object that triggers them, because Terraform
// lists objects in random order. The order within an object is kept.
func invocationsByObject(doc Document) {
	if p, ok := doc["plan"].(map[string]any); ok {
		if list, ok := p["action_invocations"].([]any); ok {
			slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(invokedBy(a), invokedBy(b)) })
		}
	}
	events, _ := doc["events"].(map[string]any)
	other, _ := events["other"].([]any)
	var at []int
	var invocations []any
	for i, e := range other {
		if event, ok := e.(map[string]any); ok && event["invocation"] != nil {
			at, invocations = append(at, i), append(invocations, e)
		}
	}
	slices.SortStableFunc(invocations, func(a, b any) int {
		return strings.Compare(invokedBy(a.(map[string]any)["invocation"]), invokedBy(b.(map[string]any)["invocation"]))
	})
	for n, i := range at {
		other[i] = invocations[n]
	}
}

// invocationsInAnyOrder sorts planned invocations of actions, and the events of invocations, by their content:
// Terraform plans and performs those of one object in random order, too.
func invocationsInAnyOrder(doc Document) {
	if p, ok := doc["plan"].(map[string]any); ok {
		sortBy(p["action_invocations"])
	}
	events, _ := doc["events"].(map[string]any)
	other, _ := events["other"].([]any)
	slices.SortStableFunc(other, func(a, b any) int { return strings.Compare(invocationText(a), invocationText(b)) })
}

// invocationText returns the JSON of an event about an invocation, or "" for other events.
func invocationText(event any) string {
	e, _ := event.(map[string]any)
	hook, _ := e["hook"].(map[string]any)
	if e["invocation"] == nil && hook["action"] == nil {
		return ""
	}
	return compact(e)
}

// invokedBy returns the sort key of an invocation: the address of the triggering object, or of the action.
func invokedBy(invocation any) string {
	i, _ := invocation.(map[string]any)
	if t, ok := i["lifecycle_action_trigger"].(map[string]any); ok {
		return fmt.Sprint("0 ", t["triggering_resource_address"])
	}
	if t, ok := i["lifecycle_trigger"].(map[string]any); ok {
		return "0 " + compact(t["triggering_resource"])
	}
	if i["address"] != nil {
		return fmt.Sprint("1 ", i["address"])
	}
	return "1 " + compact(i["action_addr"])
}

func actsLog(what string) {
	f, err := os.OpenFile("done.log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return
	}
	_, _ = f.WriteString(what + "\n")
	_ = f.Close()
}

func actsFile(name string) string { return filepath.Join("things", name+".json") }

func actsIdentity(typ string, thing cty.Value) cty.Value {
	if typ != "acts_named" {
		return cty.NilVal
	}
	return cty.ObjectVal(map[string]cty.Value{"name": thing.GetAttr("name"), "zone": cty.StringVal("here")})
}

// known returns the text of an attribute, or "" if there is none.
func known(v cty.Value) string {
	if v.IsNull() || !v.IsKnown() {
		return ""
	}
	return v.AsString()
}

func actsRead(name string) cty.Value {
	ty := actsSchema().Resources["acts_thing"].Block.ImpliedType()
	data, err := os.ReadFile(actsFile(name))
	if err != nil {
		return cty.NullVal(ty)
	}
	v, err := ctyjson.Unmarshal(data, ty)
	if err != nil {
		return cty.NullVal(ty)
	}
	return v
}

// UpgradeState implements provider.Provider.
func (a *acts) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return provider.DecodeStored(actsSchema().Resources[req.Type], req)
}

// UpgradeIdentity implements provider.Provider.
func (a *acts) UpgradeIdentity(_ context.Context,
	req provider.UpgradeIdentityRequest) provider.UpgradeIdentityResponse {
	v, err := ctyjson.Unmarshal(req.JSON, actsSchema().Resources[req.Type].Identity.ImpliedType())
	return provider.UpgradeIdentityResponse{Identity: v, Diagnostics: diag.FromError("Bad identity", err)}
}

// ValidateResource implements provider.Provider.
func (a *acts) ValidateResource(_ context.Context, req provider.ValidateResourceRequest) (diags diag.List) {
	if req.Kind == provider.Action && known(req.Config.GetAttr("text")) == "invalid" {
		diags = diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: "Invalid text",
			Detail: "The text is invalid.", Path: cty.GetAttrPath("text")})
	}
	return diags
}

// Import implements provider.Provider.
func (a *acts) Import(_ context.Context, req provider.ImportRequest) provider.ImportResponse {
	name := req.ID
	if req.Identity != cty.NilVal && !req.Identity.IsNull() {
		name = known(req.Identity.GetAttr("name"))
	}
	null := cty.NullVal(cty.String)
	thing := cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name), "size": null, "kind": null, "id": null})
	return provider.ImportResponse{Imported: []provider.ImportedObject{{Type: req.Type, State: thing,
		Identity: actsIdentity(req.Type, thing)}}}
}

// Read implements provider.Provider.
func (a *acts) Read(_ context.Context, req provider.ReadRequest) provider.ReadResponse {
	return provider.ReadResponse{State: actsRead(known(req.Prior.GetAttr("name"))), Identity: actsIdentity(req.Type,
		req.Prior)}
}

// Plan implements provider.Provider.
func (a *acts) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	if req.Proposed.IsNull() {
		return provider.PlanResponse{Planned: req.Proposed}
	}
	vals := req.Proposed.AsValueMap()
	resp := provider.PlanResponse{}
	if req.Prior.IsNull() {
		vals["id"] = cty.UnknownVal(cty.String)
	} else {
		resp.Identity = actsIdentity(req.Type, req.Prior)
		for _, name := range []string{"name", "kind"} {
			if !vals[name].RawEquals(req.Prior.GetAttr(name)) {
				resp.RequiresReplace = append(resp.RequiresReplace, cty.GetAttrPath(name))
			}
		}
	}
	resp.Planned = cty.ObjectVal(vals)
	return resp
}

// Apply implements provider.Provider.
func (a *acts) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if req.Planned.IsNull() {
		name := known(req.Prior.GetAttr("name"))
		actsLog("delete " + name)
		_ = os.Remove(actsFile(name))
		return provider.ApplyResponse{State: req.Planned}
	}
	vals := req.Planned.AsValueMap()
	name, what := known(vals["name"]), "update "
	if req.Prior.IsNull() {
		what = "create "
	}
	vals["id"] = cty.StringVal("id-" + name)
	actsLog(what + name)
	if name == "bad" {
		return provider.ApplyResponse{State: req.Prior, Diagnostics: diag.List{}.Errorf(nil, "Bad thing", "It is bad.")}
	}
	state := cty.ObjectVal(vals)
	data, err := ctyjson.Marshal(state, state.Type())
	if err == nil {
		_ = os.MkdirAll("things", 0o777)
		err = os.WriteFile(actsFile(name), data, 0o666)
	}
	return provider.ApplyResponse{State: state, Identity: actsIdentity(req.Type, state),
		Diagnostics: diag.FromError("Write", err)}
}

// ReadData implements provider.Provider.
func (a *acts) ReadData(context.Context, provider.ReadDataRequest) provider.ReadDataResponse {
	data, _ := os.ReadFile("done.log")
	lines := []cty.Value{cty.StringVal("begin")}
	for _, line := range strings.Fields(strings.ReplaceAll(string(data), " ", ":")) {
		lines = append(lines, cty.StringVal(line))
	}
	return provider.ReadDataResponse{State: cty.ObjectVal(map[string]cty.Value{"lines": cty.ListVal(lines)})}
}

// List implements provider.Provider.
func (a *acts) List(_ context.Context, req provider.ListRequest) (resp provider.ListResponse) {
	entries, _ := os.ReadDir("things")
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".json")
		if !strings.HasPrefix(name, known(req.Config.GetAttr("prefix"))) || len(resp.Results) == req.Limit {
			continue
		}
		thing := actsRead(name)
		found := provider.Listed{Identity: actsIdentity(req.Type, thing), DisplayName: "the thing " + name}
		if req.IncludeObject {
			found.Object = thing
		}
		resp.Results = append(resp.Results, found)
	}
	return resp
}

// GenerateConfig implements provider.Provider.
func (a *acts) GenerateConfig(_ context.Context, req provider.GenerateConfigRequest) provider.GenerateConfigResponse {
	vals := req.State.AsValueMap()
	vals["id"], vals["kind"] = cty.NullVal(cty.String), cty.StringVal("generated")
	if known(vals["name"]) == "bad" {
		return provider.GenerateConfigResponse{Diagnostics: diag.List{}.Errorf(nil, "Cannot be said", "It is bad.")}
	}
	if known(vals["name"]) == "silent" {
		return provider.GenerateConfigResponse{}
	}
	return provider.GenerateConfigResponse{Config: cty.ObjectVal(vals)}
}

// PlanAction implements provider.Provider.
func (a *acts) PlanAction(_ context.Context, req provider.PlanActionRequest) (resp provider.PlanActionResponse) {
	if known(req.Config.GetAttr("text")) == "never" {
		resp.Diagnostics = resp.Diagnostics.Errorf(nil, "Cannot note this", "Never is never noted.")
	}
	return resp
}

// InvokeAction implements provider.Provider.
func (a *acts) InvokeAction(_ context.Context, req provider.InvokeActionRequest) (resp provider.InvokeActionResponse) {
	text := known(req.Config.GetAttr("text"))
	req.Progress("noting " + text)
	more, _ := json.Marshal(nil)
	if v := req.Config.GetAttr("more"); !v.IsNull() {
		more, _ = ctyjson.Marshal(v, v.Type())
	}
	actsLog("note " + text + " " + strings.ReplaceAll(string(more), " ", ""))
	if text == "bad" {
		resp.Diagnostics = resp.Diagnostics.Errorf(nil, "Cannot note this", "It is bad.")
	}
	return resp
}
