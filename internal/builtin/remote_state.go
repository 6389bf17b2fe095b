package builtin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// ValidateResource implements provider.Provider.
func (t *terraform) ValidateResource(_ context.Context, req provider.ValidateResourceRequest) diag.List {
	if req.Type != typeData && req.Type != typeRemoteState {
		return nil // the engine reports it
	}
	var diags diag.List
	if req.Kind != provider.DataSource {
		for _, name := range []string{"id", "output"} {
			if !req.Config.GetAttr(name).IsNull() {
				diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: `"` + name +
					`" attribute is read-only`, Path: cty.GetAttrPath(name),
					Detail: "The provider sets its value. Remove the argument."})
			}
		}
		return diags
	}
	if v := req.Config.GetAttr("defaults"); !isObject(v) {
		diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Invalid default values",
			Path:   cty.GetAttrPath("defaults"),
			Detail: "The defaults must be an object or a map, not " + v.Type().FriendlyName() + "."})
	}
	return append(diags, t.checkBackend(req.Config.GetAttr("backend"), req.Config.GetAttr("config"))...)
}

// isObject reports whether v has named members, or may have them when it is known.
func isObject(v cty.Value) bool {
	ty := v.Type()
	return v.IsNull() || ty.IsObjectType() || ty.IsMapType() || ty == cty.DynamicPseudoType
}

// checkBackend checks the configuration of a backend against its arguments, if both are known.
func (t *terraform) checkBackend(backend, config cty.Value) diag.List {
	if t.opts.Backends == nil || !backend.IsKnown() || backend.IsNull() {
		return nil
	}
	name := backend.AsString()
	invalid := func(argument, format string, args ...any) *diag.Diagnostic {
		return &diag.Diagnostic{Severity: diag.Error, Summary: "Invalid backend configuration",
			Path: cty.GetAttrPath(argument), Detail: fmt.Sprintf(format, args...)}
	}
	takes, ok := t.opts.Backends[name]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(t.opts.Backends)), ", ")
		return diag.List{invalid("backend", "This version cannot read states of the backend %q. It can read those "+
			"of: %s.",
			name, known)}
	}
	if !isObject(config) {
		return diag.List{invalid("config", "The configuration of the backend %q must be an object, not %s.", name,
			config.Type().FriendlyName())}
	}
	if !config.IsWhollyKnown() || config.IsNull() {
		return nil
	}
	var diags diag.List
	for it := config.ElementIterator(); it.Next(); {
		k, v := it.Element()
		if argument := k.AsString(); !takes.HasAttribute(argument) {
			names := slices.Sorted(maps.Keys(takes.AttributeTypes()))
			diags = append(diags, invalid("config", "The backend %q has no argument %q. It takes: %s.", name, argument,
				strings.Join(names, ", ")))
		} else if _, err := convert.Convert(v, takes.AttributeType(argument)); err != nil {
			diags = append(diags, invalid("config", "The argument %q of the backend %q cannot be used: %s.", argument,
				name, err))
		}
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
		return provider.ReadDataResponse{Diagnostics: diag.List{}.Errorf(nil, "Remote states are not available",
			"The embedding program does not allow access to other states.")}
	}
	s, diags := t.opts.RemoteState(ctx, req.Object, config.GetAttr("backend").AsString(), workspace,
		config.GetAttr("config"))
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
		return provider.ReadDataResponse{
			Diagnostics: append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Unable to find remote state",
				Path: cty.GetAttrPath("workspace"),
				Detail: "The backend keeps no state for this workspace. Check \"config\" and \"workspace\", or apply " +
					"the configuration that creates the state."})}
	}
	for _, name := range s.OutputNames() {
		outputs[name] = s.Output(name).Value
	}
	vals := config.AsValueMap()
	vals["outputs"] = cty.ObjectVal(outputs)
	return provider.ReadDataResponse{State: cty.ObjectVal(vals), Diagnostics: diags}
}
