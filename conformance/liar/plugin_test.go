//go:build unix

package liar

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/handshake"
	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
	"github.com/tombolo-iac/tombolo/provider"
)

// The environment configures the plugin: which lie, in which response, and whether it claims the legacy type system.
const (
	lieEnv    = "LIAR"
	fieldEnv  = "LIAR_FIELD"
	sceneEnv  = "LIAR_SCENE"
	legacyEnv = "LIAR_LEGACY"
)

const pluginPrefix = "terraform-provider-liar"

func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	switch {
	case name == "tombolo":
		os.Exit(cli.Main())
	case strings.HasPrefix(name, pluginPrefix):
		protocol := 6
		if kind, _, _ := strings.Cut(name, "_"); strings.HasSuffix(kind, "5") {
			protocol = 5
		}
		servePlugin(protocol, strings.HasPrefix(name, pluginPrefix+"full"))
	default:
		os.Exit(m.Run())
	}
}

func servePlugin(protocol int, full bool) {
	new := func(context.Context) (provider.Provider, error) {
		if full {
			return complete{honest{nested: protocol == 6}}, nil
		}
		return honest{nested: protocol == 6}, nil
	}
	server, err := wire.NewServer(new, protocol)
	if err != nil {
		panic(err)
	}
	if err := handshake.Serve(context.Background(), &handshake.Options{
		Servers: map[int]*wire.Server{protocol: server},
		Server:  rpc.Server{Around: lying(protocol), Passing: passing(full)},
	}); err != nil {
		panic(err)
	}
}

// honest is the provider behind the lies, which behaves correctly.
type honest struct {
	provider.Base
	nested bool // version 5 of the protocol has no nested attributes
}

func attribute(change func(*provider.Attribute)) *provider.Attribute {
	a := &provider.Attribute{Type: cty.String}
	change(a)
	return a
}

func optional(a *provider.Attribute)  { a.Optional = true }
func computed(a *provider.Attribute)  { a.Computed = true }
func required(a *provider.Attribute)  { a.Required = true }
func defaulted(a *provider.Attribute) { a.Optional, a.Computed = true, true }
func writeOnly(a *provider.Attribute) { a.Optional, a.WriteOnly = true, true }
func secret(a *provider.Attribute)    { a.Optional, a.Sensitive = true, true }

// thing is the schema of managed objects.
func thing(nested bool) *provider.Block {
	b := &provider.Block{
		Attributes: map[string]*provider.Attribute{
			"name": attribute(required), "opt": attribute(optional), "note": attribute(defaulted),
			"id": attribute(computed),
			"wo": attribute(writeOnly), "secret": attribute(secret),
		},
		Blocks: map[string]*provider.NestedBlock{
			"item": {Nesting: provider.NestingList, Block: provider.Block{Attributes: map[string]*provider.Attribute{
				"key": attribute(optional), "made": attribute(computed), "wo": attribute(writeOnly),
			}}},
			"tag": {Nesting: provider.NestingSet, Block: provider.Block{Attributes: map[string]*provider.Attribute{
				"key": attribute(optional)}}},
		},
	}
	if nested {
		b.Attributes["nest"] = &provider.Attribute{Optional: true, Nested: &provider.NestedObject{
			Nesting: provider.NestingList, Attributes: map[string]*provider.Attribute{"key": attribute(optional),
				"wo": attribute(writeOnly)},
		}}
	}
	return b
}

// schemaOf returns the schema. All of it except for the identity is supported by terraform 1.11, which ignores that.
func schemaOf(nested bool) *provider.Schema {
	look := &provider.Block{Attributes: map[string]*provider.Attribute{"name": attribute(required),
		"opt": attribute(optional), "id": attribute(computed)}}
	lease := &provider.Block{Attributes: map[string]*provider.Attribute{"name": attribute(required),
		"opt": attribute(optional), "id": attribute(computed)}}
	return &provider.Schema{
		Provider: &provider.Block{Attributes: map[string]*provider.Attribute{"name": attribute(optional)}},
		Resources: map[string]*provider.ResourceType{"liar_thing": {Block: thing(nested)}, "liar_other": {
			Block: thing(nested)}},
		Data:      map[string]*provider.ResourceType{"liar_look": {Block: look}},
		Ephemeral: map[string]*provider.ResourceType{"liar_lease": {Block: lease}},
		Functions: map[string]*provider.Function{"echo": {
			Params: []provider.FunctionParam{{Name: "text", Type: cty.String}}, Return: cty.Object(map[string]cty.Type{
				"text": cty.String}),
		}},
		PlanDestroy: true, MoveResourceState: true,
	}
}

func (h honest) Schema(context.Context) (*provider.Schema, diags) { return schemaOf(h.nested), nil }

func (h honest) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return provider.DecodeStored(schemaOf(h.nested).Resources[req.Type], req)
}

func (h honest) MoveState(_ context.Context, req provider.MoveStateRequest) provider.MoveStateResponse {
	return provider.MoveStateResponse{State: object(h.nested, "moved")}
}

func (h honest) Import(_ context.Context, req provider.ImportRequest) provider.ImportResponse {
	return provider.ImportResponse{Imported: []provider.ImportedObject{
		{Type: req.Type, State: object(h.nested, req.ID)}}}
}

func (h honest) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	resp := provider.PlanResponse{Planned: value.NullWriteOnly(schemaOf(h.nested).Resources[req.Type].Block,
		req.Proposed), LegacyTypeSystem: os.Getenv(legacyEnv) != ""}
	if req.Proposed.IsNull() {
		return resp
	}
	unknown := cty.UnknownVal(cty.String)
	if req.Prior.IsNull() {
		resp.Planned = with(resp.Planned, "id", unknown)
	}
	if resp.Planned.GetAttr("note").IsNull() {
		resp.Planned = with(resp.Planned, "note", unknown)
	}
	resp.Planned = items(resp.Planned, unknown)
	return resp
}

func (h honest) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	resp := provider.ApplyResponse{State: req.Planned, LegacyTypeSystem: os.Getenv(legacyEnv) != ""}
	if req.Planned.IsNull() {
		return resp
	}
	if !resp.State.GetAttr("id").IsKnown() {
		resp.State = with(resp.State, "id", cty.StringVal("id of "+resp.State.GetAttr("name").AsString()))
	}
	if !resp.State.GetAttr("note").IsKnown() {
		resp.State = with(resp.State, "note", cty.StringVal("noted"))
	}
	resp.State = items(resp.State, cty.StringVal("made"))
	return resp
}

func (h honest) ReadData(_ context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	return provider.ReadDataResponse{State: with(req.Config, "id", cty.StringVal("found"))}
}

func (h honest) OpenEphemeral(_ context.Context, req provider.OpenEphemeralRequest) provider.OpenEphemeralResponse {
	return provider.OpenEphemeralResponse{Result: with(req.Config, "id", cty.StringVal("opened"))}
}

func (h honest) CallFunction(_ context.Context, _ string, args []cty.Value) (cty.Value, error) {
	return cty.ObjectVal(map[string]cty.Value{"text": args[0]}), nil
}

// items fills in the computed parts of each item that are not set yet.
func items(v, made cty.Value) cty.Value {
	list := v.GetAttr("item")
	if list.IsNull() || !list.IsKnown() || list.LengthInt() == 0 {
		return v
	}
	var out []cty.Value
	for _, e := range list.AsValueSlice() {
		if at := e.GetAttr("made"); at.IsNull() || !at.IsKnown() {
			e = with(e, "made", made)
		}
		out = append(out, e)
	}
	return with(v, "item", cty.ListVal(out))
}

// with returns an object with another value for an attribute.
func with(v cty.Value, name string, to cty.Value) cty.Value {
	vals := v.AsValueMap()
	vals[name] = to
	return cty.ObjectVal(vals)
}

// object returns a complete object as it is read, with an item and a tag.
func object(nested bool, name string) cty.Value {
	null := cty.NullVal(cty.String)
	vals := map[string]cty.Value{
		"name": cty.StringVal(name), "opt": cty.StringVal("o"), "note": cty.StringVal("noted"),
		"id": cty.StringVal("id of " + name),
		"wo": null, "secret": cty.StringVal("hush"),
		"item": cty.ListVal([]cty.Value{
			cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal("k"), "made": cty.StringVal("made"), "wo": null})}),
		"tag": cty.SetVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal("k")})}),
	}
	if nested {
		vals["nest"] = cty.ListVal([]cty.Value{
			cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal("k"), "wo": null})})
	}
	return cty.ObjectVal(vals)
}
