package world

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// Shaped objects contain every form of value that a schema can describe: blocks of each nesting mode in world_blocks;
// nested attributes of each mode, a dynamic and a write-only attribute in world_nested. They do not support faults:
// world_object is for that. The world stores their entire value.
const (
	blocksName = "world_blocks"
	nestedName = "world_nested"
)

func deprecated(message string) func(*provider.Attribute) {
	return func(a *provider.Attribute) { a.Optional, a.Deprecated, a.DeprecationMessage = true, true, message }
}

func nested(n provider.Nesting, change func(*provider.Attribute), attrs attributes) *provider.Attribute {
	a := &provider.Attribute{Nested: &provider.NestedObject{Nesting: n, Attributes: attrs}}
	change(a)
	return a
}

type (
	attributes = map[string]*provider.Attribute
	blocks     = map[string]*provider.NestedBlock
)

var blocksType = &provider.ResourceType{Version: 1, Identity: identityOf, Block: &provider.Block{
	Description: "An object with *blocks*.", DescriptionKind: provider.Markdown,
	Attributes: attributes{
		"name": attr(cty.String, required), "id": attr(cty.String, computed),
		"note": attr(cty.String, deprecated("Write a label instead.")),
	},
	Blocks: blocks{
		"rule": {Nesting: provider.NestingList, MaxItems: 4, Block: provider.Block{
			Attributes: attributes{
				"port": attr(cty.Number, required), "comment": attr(cty.String, optional),
				"protocol": attr(cty.String, defaulted), "address": attr(cty.String, computed),
			},
			Blocks: blocks{"match": {Nesting: provider.NestingSet, Block: provider.Block{
				Attributes: attributes{"key": attr(cty.String, required), "values": attr(cty.Set(cty.String),
					optional)}}}},
		}},
		"label": {Nesting: provider.NestingSet, Block: provider.Block{
			Attributes: attributes{"key": attr(cty.String, required), "value": attr(cty.String, secret)}}},
		"zone": {Nesting: provider.NestingMap, Block: provider.Block{
			Description: "A zone.", Attributes: attributes{"size": attr(cty.Number, optional),
				"tier": attr(cty.String, defaulted), "address": attr(cty.String, computed)},
		}},
		"limits": {Nesting: provider.NestingSingle, Block: provider.Block{
			Attributes: attributes{"cpu": attr(cty.Number, optional), "memory": attr(cty.String, defaulted)}}},
		"options": {Nesting: provider.NestingGroup, Block: provider.Block{
			Attributes: attributes{"fast": attr(cty.Bool, optional), "mode": attr(cty.String, optional)}}},
		"legacy": {Nesting: provider.NestingList, MaxItems: 1, Block: provider.Block{
			Attributes: attributes{"text": attr(cty.String, optional)}, Deprecated: true,
			DeprecationMessage: "Nobody reads it.",
		}},
	},
}}

var nestedType = &provider.ResourceType{Identity: identityOf, Block: &provider.Block{Attributes: attributes{
	"name": attr(cty.String, required), "id": attr(cty.String, computed), "loose": attr(cty.DynamicPseudoType,
		optional),
	"owner": nested(provider.NestingSingle, optional, attributes{
		"name": attr(cty.String, required), "email": attr(cty.String, defaulted), "token": attr(cty.String, secret),
		"password": attr(cty.String, func(a *provider.Attribute) { a.Optional, a.WriteOnly = true, true }),
	}),
	"steps": nested(provider.NestingList, optional, attributes{"run": attr(cty.String, required),
		"env": attr(cty.Map(cty.String), optional), "address": attr(cty.String, computed)}),
	"tags": nested(provider.NestingSet, optional, attributes{"key": attr(cty.String, required),
		"value": attr(cty.String, optional)}),
	"regions": nested(provider.NestingMap, optional, attributes{
		"size": attr(cty.Number, optional), "tier": attr(cty.String, defaulted),
		"replicas": nested(provider.NestingList, optional, attributes{"zone": attr(cty.String, required),
			"pair": attr(cty.Tuple([]cty.Type{cty.String, cty.Number}), optional)}),
	}),
	"status": nested(provider.NestingSingle, computed, attributes{"address": attr(cty.String, computed),
		"history": attr(cty.List(cty.String), computed)}),
}}}

// defaults maps attributes to their default values.
var defaults = map[string]string{"protocol": "tcp", "tier": "small", "memory": "1G", "email": "nobody@example.org"}

// walk calls f for each attribute in a value, at any depth. For nested attributes, it calls f for the inner ones first.
func walk(b *provider.Block, v cty.Value, f func(a *provider.Attribute, at cty.Path, v cty.Value) cty.Value) cty.Value {
	out, _ := cty.Transform(v, func(at cty.Path, v cty.Value) (cty.Value, error) {
		if len(at) == 0 {
			return v, nil
		}
		_, isAttr := at[len(at)-1].(cty.GetAttrStep)
		a := b.AttributeAt(at)
		if !isAttr || a == nil || a == b.AttributeAt(at[:len(at)-1]) {
			return v, nil
		}
		return f(a, at, v), nil
	})
	return out
}

func nameOf(at cty.Path) string { return at[len(at)-1].(cty.GetAttrStep).Name }

// planShaped fills in defaults; values that only the world can determine become unknown.
func (p *world) planShaped(rt *provider.ResourceType, req provider.PlanRequest) provider.PlanResponse {
	resp := provider.PlanResponse{Planned: req.Proposed, Private: req.PriorPrivate}
	if req.Proposed.IsNull() {
		return resp
	}
	renamed := !req.Prior.IsNull() && !req.Prior.GetAttr("name").RawEquals(req.Proposed.GetAttr("name"))
	if renamed {
		resp.RequiresReplace = []cty.Path{cty.GetAttrPath("name")}
	}
	resp.Planned = walk(rt.Block, req.Proposed, func(a *provider.Attribute, at cty.Path, v cty.Value) cty.Value {
		fresh := v.IsNull() || renamed && len(at) == 1 && nameOf(at) == "id"
		switch {
		case a.WriteOnly:
			return cty.NullVal(a.Type)
		case !a.Computed || !fresh:
			return v
		case a.Optional:
			return cty.StringVal(defaults[nameOf(at)])
		}
		return cty.UnknownVal(a.ImpliedType()).RefineNotNull()
	})
	if rt == blocksType && !req.Prior.IsNull() {
		resp.RequiresReplace = append(resp.RequiresReplace, changedTiers(req.Prior.GetAttr("zone"),
			resp.Planned.GetAttr("zone"))...)
	}
	resp.Identity = cty.ObjectVal(map[string]cty.Value{"id": resp.Planned.GetAttr("id")})
	return resp
}

// changedTiers returns the paths of zones that must be replaced.
func changedTiers(before, after cty.Value) (paths []cty.Path) {
	if !after.IsKnown() {
		return nil
	}
	now := after.AsValueMap()
	for key, was := range before.AsValueMap() {
		if is, ok := now[key]; ok && is.IsKnown() && !is.GetAttr("tier").RawEquals(was.GetAttr("tier")) {
			paths = append(paths, cty.GetAttrPath("zone").IndexString(key).GetAttr("tier"))
		}
	}
	return paths
}

// applyShaped returns the planned object with the attributes that the world determines.
func (p *world) applyShaped(rt *provider.ResourceType, req provider.ApplyRequest) provider.ApplyResponse {
	resp := provider.ApplyResponse{State: req.Prior, Private: req.PlannedPrivate}
	event := Event{Kind: Updated, Op: "update", Token: req.Intent}
	switch {
	case req.Planned.IsNull():
		event.Kind, event.Op = Deleted, "delete"
	case req.Prior.IsNull():
		event.Kind, event.Op = Created, "create"
	}
	from := req.Planned
	if from.IsNull() {
		from = req.Prior
	}
	event.Name, event.ID = text(from.GetAttr("name")), text(from.GetAttr("id"))
	try, err := p.world.begin(event.Op, event.Name, event.ID, req.Intent)
	if err == nil && event.Kind != Deleted {
		if event.Kind == Created {
			event.ID = fmt.Sprintf("%s-%d", event.Name, try)
		}
		resp.State = walk(rt.Block, req.Planned, determined(event.ID))
		event.Object = &Object{ID: event.ID, Name: event.Name, Size: "0", Token: req.Intent, Type: req.Type,
			Password: writeOnly(rt.Block, req.Config)}
		event.Object.Body, err = ctyjson.Marshal(resp.State, rt.Block.ImpliedType())
	} else {
		resp.State = req.Planned
	}
	if err == nil {
		err = p.world.append(event)
	}
	if err != nil {
		return provider.ApplyResponse{State: req.Prior, Diagnostics: problem(nil, "The world refused",
			"The %s of %q failed: %s.", event.Op, event.Name, err)}
	}
	if event.Object != nil {
		resp.Identity = event.Object.identity()
	}
	return resp
}

// determined returns a function that fills in the attributes that the world determines, for an object with an ID.
func determined(id string) func(*provider.Attribute, cty.Path, cty.Value) cty.Value {
	return func(a *provider.Attribute, at cty.Path, v cty.Value) cty.Value {
		switch {
		case v.IsKnown():
			return v
		case nameOf(at) == "id":
			return cty.StringVal(id)
		case nameOf(at) == "status":
			return cty.ObjectVal(map[string]cty.Value{"address": cty.StringVal("status of " + id),
				"history": cty.ListVal([]cty.Value{cty.StringVal("created")})})
		}
		return cty.StringVal("address of " + id)
	}
}

// writeOnly returns the write-only text in a configuration.
func writeOnly(b *provider.Block, config cty.Value) (found string) {
	walk(b, config, func(a *provider.Attribute, _ cty.Path, v cty.Value) cty.Value {
		if a.WriteOnly && !v.IsNull() {
			found = text(v)
		}
		return v
	})
	return found
}

// readShaped returns an object as a value of one of the shaped types. For an object of another type, only name and ID
// are set.
func (o *Object) readShaped(typ string, rt *provider.ResourceType) (cty.Value, error) {
	if o.Type == typ {
		return ctyjson.Unmarshal(o.Body, rt.Block.ImpliedType())
	}
	vals := rt.Block.EmptyValue().AsValueMap()
	vals["id"], vals["name"] = cty.StringVal(o.ID), cty.StringVal(o.Name)
	return cty.ObjectVal(vals), nil
}

// validateShaped refuses invalid ports, at any depth.
func validateShaped(rt *provider.ResourceType, config cty.Value) (diags diag.List) {
	walk(rt.Block, config, func(_ *provider.Attribute, at cty.Path, v cty.Value) cty.Value {
		if v.IsNull() || !v.IsKnown() {
			return v
		}
		switch nameOf(at) {
		case "port", "size":
			if v.LessThan(cty.Zero).True() {
				diags = append(diags, problem(at.Copy(), "Negative number", "A %s cannot be less than zero.",
					nameOf(at))...)
			}
		case "key", "run":
			if v.AsString() == "" {
				diags = append(diags, problem(at.Copy(), "Empty text", "A %s must not be empty.", nameOf(at))...)
			}
		}
		return v
	})
	return diags
}

// MoveState implements provider.Provider. world_blocks accepts any object of this world.
func (p *world) MoveState(ctx context.Context, req provider.MoveStateRequest) provider.MoveStateResponse {
	var stored struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	if req.TargetType != blocksName || (req.SourceType != typeName && req.SourceType != nestedName) {
		return p.Base.MoveState(ctx, req)
	}
	if err := json.Unmarshal(req.Source.JSON, &stored); err != nil {
		return provider.MoveStateResponse{Diagnostics: problem(nil, "Invalid stored object", "%s.", err)}
	}
	o := Object{ID: stored.ID, Name: stored.Name}
	state, err := o.readShaped(blocksName, blocksType)
	if err != nil {
		return provider.MoveStateResponse{Diagnostics: problem(nil, "Invalid stored object", "%s.", err)}
	}
	return provider.MoveStateResponse{State: state, Private: req.SourcePrivate, Identity: o.identity()}
}
