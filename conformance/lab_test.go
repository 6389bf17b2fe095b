package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// lab is a provider for special features: versions of a schema, private data, warnings. LAB_VERSION is its own version:
// from version 1 on, label is called name. LAB_WARN names the operations that return a warning. With LAB_META it
// accepts a provider_meta block, and warns with its content in each call; with LAB_TLS it warns whether the connection
// is encrypted.
type lab struct{ provider.Base }

func labVersion() (n int64) {
	_, _ = fmt.Sscan(os.Getenv("LAB_VERSION"), &n)
	return n
}

// labName returns the name of the renamed attribute.
func labName() string {
	if labVersion() > 0 {
		return "name"
	}
	return "label"
}

func labSchema() *provider.Schema {
	block := func() *provider.Block {
		return &provider.Block{Attributes: map[string]*provider.Attribute{
			labName(): {Type: cty.String, Required: true},
			"old":     {Type: cty.String, Optional: true, Deprecated: true},
			"past":    {Type: cty.String, Computed: true, Deprecated: true},
			"history": {Type: cty.String, Computed: true},
		}}
	}
	gone := block()
	gone.Deprecated = true
	return &provider.Schema{
		PlanDestroy: true,
		Meta:        labMeta(),
		Resources: map[string]*provider.ResourceType{"lab_thing": {Block: block(), Version: labVersion()},
			"lab_gone": {Block: gone}},
		Data: map[string]*provider.ResourceType{"lab_thing": {Block: block()}},
	}
}

// labMeta is the schema of provider_meta blocks.
func labMeta() *provider.Block {
	if os.Getenv("LAB_META") == "" {
		return nil
	}
	return &provider.Block{Attributes: map[string]*provider.Attribute{
		"team":  {Type: cty.String, Required: true},
		"count": {Type: cty.Number, Optional: true},
	}}
}

// metaWarning returns a warning with the provider_meta block of a call.
func metaWarning(op string, object, meta cty.Value) diag.List {
	if labMeta() == nil {
		return nil
	}
	return diag.List{
		{Severity: diag.Warning, Summary: fmt.Sprintf("Lab is told %s of %s in %s", labText(meta, "team", "count"),
			labText(object, labName()), op)}}
}

// either returns wanted, or is if wanted is null.
func either(wanted, is cty.Value) cty.Value {
	if wanted.IsNull() {
		return is
	}
	return wanted
}

// labText writes attributes of an object.
func labText(v cty.Value, names ...string) string {
	if v == cty.NilVal || v.IsNull() {
		return "nothing"
	}
	var texts []string
	for _, name := range names {
		texts = append(texts, fmt.Sprintf("%#v", v.GetAttr(name)))
	}
	return strings.Join(texts, " and ")
}

// warn returns the warning of an operation.
func (lab) warn(op string) diag.List {
	if os.Getenv("LAB_WARN") == "" {
		return nil
	}
	return diag.List{
		{Severity: diag.Warning, Summary: "Lab warns of " + op, Detail: "At an argument.",
			Path: cty.GetAttrPath(labName())},
		{Severity: diag.Warning, Summary: "Lab warns of " + op, Detail: "At no argument."},
	}
}

// Schema implements provider.Provider.
func (l lab) Schema(context.Context) (*provider.Schema, diag.List) { return labSchema(), nil }

// Configure implements provider.Provider.
func (l lab) Configure(context.Context, provider.ConfigureRequest) provider.ConfigureResponse {
	switch {
	case os.Getenv("LAB_TLS") != "":
		return provider.ConfigureResponse{
			Diagnostics: diag.List{
				{Severity: diag.Warning, Summary: fmt.Sprintf("Lab is talked to over TLS: %v",
					os.Getenv("PLUGIN_CLIENT_CERT") != "")}}}
	case os.Getenv("LAB_WARN") == "":
		return provider.ConfigureResponse{}
	}
	return provider.ConfigureResponse{
		Diagnostics: diag.List{{Severity: diag.Warning, Summary: "Lab warns of configure"}}}
}

// ValidateResource implements provider.Provider.
func (l lab) ValidateResource(_ context.Context, req provider.ValidateResourceRequest) diag.List {
	return l.warn("validate")
}

// UpgradeState implements provider.Provider.
func (l lab) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	rt := labSchema().Resources[req.Type]
	if req.Type == "lab_thing" && req.Version == 0 && rt.Version > 0 {
		var old map[string]any
		if err := json.Unmarshal(req.Stored.JSON, &old); err != nil {
			return provider.UpgradeStateResponse{State: cty.DynamicVal, Diagnostics: diag.FromError("Cannot upgrade",
				err)}
		}
		old["name"] = old["label"]
		delete(old, "label")
		req.Stored.JSON, _ = json.Marshal(old)
	}
	resp := provider.DecodeStored(rt, req)
	resp.Diagnostics = append(resp.Diagnostics, l.warn("upgrade")...)
	return resp
}

// Import implements provider.Provider: the id is the name of the object. With commas it lists the types of the imported
// objects.
func (l lab) Import(_ context.Context, req provider.ImportRequest) (resp provider.ImportResponse) {
	null := cty.NullVal(cty.String)
	found := provider.ImportedObject{Type: req.Type, State: cty.ObjectVal(map[string]cty.Value{
		labName(): cty.StringVal(req.ID), "old": null, "past": null, "history": null,
	})}
	if !strings.Contains(req.ID, ",") {
		return provider.ImportResponse{Imported: []provider.ImportedObject{found}}
	}
	for _, typ := range strings.Split(req.ID, ",") {
		found.Type = typ
		resp.Imported = append(resp.Imported, found)
	}
	return resp
}

// Read implements provider.Provider.
func (l lab) Read(_ context.Context, req provider.ReadRequest) provider.ReadResponse {
	return provider.ReadResponse{State: req.Prior, Private: req.Private, Identity: req.Identity,
		Diagnostics: append(l.warn("read"), metaWarning("read", req.Prior, req.Meta)...)}
}

// Plan implements provider.Provider. It appends to the private data of the object.
func (l lab) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	resp := provider.PlanResponse{Planned: req.Proposed, Private: append(slices.Clone(req.PriorPrivate), " planned"...),
		Diagnostics: append(l.warn("plan"), metaWarning("plan", either(req.Proposed, req.Prior), req.Meta)...)}
	if req.Proposed.IsNull() {
		return resp
	}
	vals := req.Proposed.AsValueMap()
	if req.Prior.IsNull() || !req.Proposed.RawEquals(req.Prior) {
		vals["history"], vals["past"] = cty.UnknownVal(cty.String), cty.UnknownVal(cty.String)
	}
	if !req.Prior.IsNull() && !vals["old"].RawEquals(req.Prior.GetAttr("old")) {
		resp.RequiresReplace = []cty.Path{cty.GetAttrPath("old")}
	}
	resp.Planned = cty.ObjectVal(vals)
	return resp
}

// Apply implements provider.Provider.
func (l lab) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	resp := provider.ApplyResponse{State: req.Planned, Diagnostics: append(l.warn("apply"),
		metaWarning("apply", either(req.Planned, req.Prior), req.Meta)...)}
	if req.Planned.IsNull() {
		if path := os.Getenv("LAB_LAST"); path != "" { // the request of a deletion
			_ = os.WriteFile(path, req.PlannedPrivate, 0o666)
		}
		return resp
	}
	vals := req.Planned.AsValueMap()
	vals["history"], vals["past"] = cty.StringVal(string(req.PlannedPrivate)), cty.StringVal("p")
	resp.State, resp.Private = cty.ObjectVal(vals), append(slices.Clone(req.PlannedPrivate), " applied"...)
	return resp
}

// ReadData implements provider.Provider.
func (l lab) ReadData(_ context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	vals := req.Config.AsValueMap()
	vals["history"], vals["past"] = cty.StringVal("read"), cty.StringVal("p")
	return provider.ReadDataResponse{State: cty.ObjectVal(vals), Diagnostics: append(l.warn("data"),
		metaWarning("data", req.Config, req.Meta)...)}
}
