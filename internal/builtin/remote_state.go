package builtin

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// ValidateResource implements provider.Provider.
func (t *terraform) ValidateResource(_ context.Context, req provider.ValidateResourceRequest) diag.List {
	if req.Type != typeData && req.Type != typeRemoteState {
		return nil // the engine says so itself
	}
	var diags diag.List
	if req.Kind != provider.DataSource {
		for _, name := range []string{"id", "output"} {
			if !req.Config.GetAttr(name).IsNull() {
				diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: `"` + name + `" attribute is read-only`, Path: cty.GetAttrPath(name),
					Detail: "Its value is decided by the provider. Remove the argument."})
			}
		}
		return diags
	}
	for _, name := range []string{"config", "defaults"} {
		v := req.Config.GetAttr(name)
		if !v.IsKnown() || v.IsNull() || v.Type().IsObjectType() || v.Type().IsMapType() {
			continue
		}
		diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Invalid " + name + " value", Path: cty.GetAttrPath(name),
			Detail: "The " + name + " argument must be an object or a map, not " + v.Type().FriendlyName() + "."})
	}
	return diags
}

// ReadData implements provider.Provider: it reads the root output values of another state.
func (t *terraform) ReadData(ctx context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	if req.Type != typeRemoteState {
		return t.Base.ReadData(ctx, req)
	}
	config := req.Config
	workspace := state.DefaultWorkspace
	if w := config.GetAttr("workspace"); !w.IsNull() {
		workspace = w.AsString()
	}
	if t.opts.RemoteState == nil {
		return provider.ReadDataResponse{Diagnostics: diag.List{}.Errorf(nil, "Remote states are not available", "The engine was embedded without access to other states.")}
	}
	s, diags := t.opts.RemoteState(ctx, config.GetAttr("backend").AsString(), workspace, config.GetAttr("config"))
	if diags.HasErrors() {
		return provider.ReadDataResponse{Diagnostics: diags}
	}
	outputs := map[string]cty.Value{}
	if d := config.GetAttr("defaults"); !d.IsNull() {
		for it := d.ElementIterator(); it.Next(); {
			k, v := it.Element()
			outputs[k.AsString()] = v
		}
	}
	if s == nil { // defaults are for outputs that a state does not have
		return provider.ReadDataResponse{Diagnostics: diags.Errorf(nil, "Unable to find remote state",
			"No stored state was found for the given workspace in the given backend.")}
	}
	for _, name := range s.OutputNames() {
		outputs[name] = s.Output(name).Value
	}
	vals := config.AsValueMap()
	vals["outputs"] = cty.ObjectVal(outputs)
	return provider.ReadDataResponse{State: cty.ObjectVal(vals), Diagnostics: diags}
}
