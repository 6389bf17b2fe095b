package conformance

import (
	"context"
	"os"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// fills is a provider with nested blocks that it fills in if none are configured. If how is "known" it does so in the
// plan, if it is "partly" the plan has their number, and otherwise nothing. With "none" there are no blocks. With
// "null" the plan is wrong, and with "lost" the result; "ignored" plans other blocks than the configured ones.
type fills struct{ provider.Base }

func fillsBlock() *provider.Block {
	part := func(blocks map[string]*provider.NestedBlock) provider.Block {
		return provider.Block{Computed: true, Blocks: blocks, Attributes: map[string]*provider.Attribute{
			"wish": {Type: cty.String, Optional: true, Computed: true}, "got": {Type: cty.String, Computed: true}}}
	}
	of := func(n provider.Nesting) *provider.NestedBlock {
		return &provider.NestedBlock{Block: part(nil), Nesting: n}
	}
	return &provider.Block{
		Attributes: map[string]*provider.Attribute{"name": {Type: cty.String, Optional: true},
			"how": {Type: cty.String, Optional: true}},
		Blocks: map[string]*provider.NestedBlock{
			"single": of(provider.NestingSingle), "list": of(provider.NestingList), "set": of(provider.NestingSet),
			"map": of(provider.NestingMap),
			"deep": {Nesting: provider.NestingList, Block: part(map[string]*provider.NestedBlock{
				"in": of(provider.NestingList)})},
			"outer": {Nesting: provider.NestingList, Block: provider.Block{
				Attributes: map[string]*provider.Attribute{"name": {Type: cty.String, Optional: true}},
				Blocks:     map[string]*provider.NestedBlock{"in": of(provider.NestingList)}}},
		},
	}
}

// Schema implements provider.Provider.
func (fills) Schema(context.Context) (*provider.Schema, diag.List) {
	filled := &provider.ResourceType{Block: fillsBlock()}
	illFormed(os.Getenv("FILLS_ILL"), filled.Block)
	return &provider.Schema{Resources: map[string]*provider.ResourceType{"fills_thing": filled},
		Data: map[string]*provider.ResourceType{"fills_thing": filled}}, nil
}

// illFormed returns an invalid schema, with the mistake that word names.
func illFormed(word string, b *provider.Block) {
	list := b.Blocks["list"]
	switch word {
	case "root":
		b.Computed = true
	case "required":
		list.Attributes["wish"] = &provider.Attribute{Type: cty.String, Required: true}
	case "optional":
		list.Attributes["wish"] = &provider.Attribute{Type: cty.String, Optional: true}
	case "minimum":
		list.MinItems = 1
	case "maximum":
		list.MaxItems = 2
	case "group":
		list.Nesting = provider.NestingGroup
	case "inner":
		b.Blocks["deep"].Blocks["in"].Computed = false
	case "written":
		list.Attributes["wish"] = &provider.Attribute{Type: cty.String, Optional: true, WriteOnly: true}
	}
}

// UpgradeState implements provider.Provider.
func (fills) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return provider.DecodeStored(&provider.ResourceType{Block: fillsBlock()}, req)
}

// Import implements provider.Provider.
func (fills) Import(_ context.Context, req provider.ImportRequest) provider.ImportResponse {
	vals := fillsBlock().EmptyValue().AsValueMap()
	vals["name"] = cty.StringVal(req.ID)
	for name, nb := range fillsBlock().Blocks {
		if name != "outer" {
			vals[name] = fillsOne(nb, func(ty cty.Type) cty.Value { return cty.StringVal("found") })
		}
	}
	return provider.ImportResponse{Imported: []provider.ImportedObject{{Type: req.Type, State: cty.ObjectVal(vals)}}}
}

// Plan implements provider.Provider.
func (fills) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	if req.Proposed.IsNull() {
		return provider.PlanResponse{Planned: req.Proposed}
	}
	how := known(req.Config.GetAttr("how"))
	kept := !req.Prior.IsNull() && req.Config.GetAttr("name").RawEquals(req.Prior.GetAttr("name"))
	fill := func(nb *provider.NestedBlock, prior cty.Value) cty.Value {
		switch {
		case kept && prior != cty.NilVal && !prior.IsNull():
			return prior
		case how == "known":
			return fillsOne(nb, func(cty.Type) cty.Value { return cty.StringVal("planned") })
		case how == "partly":
			return fillsOne(nb, cty.UnknownVal)
		case how == "null":
			return cty.NullVal(nb.ImpliedType())
		case how == "none", how == "lost":
			return nb.EmptyValue()
		}
		return cty.UnknownVal(nb.ImpliedType())
	}
	planned := fillsObject(fillsBlock(), req.Prior, req.Proposed, fill)
	if how == "ignored" {
		vals := planned.AsValueMap()
		vals["list"] = cty.UnknownVal(vals["list"].Type())
		planned = cty.ObjectVal(vals)
	}
	resp := provider.PlanResponse{Planned: planned}
	if !req.Client.ComputedBlocksAllowed {
		resp.Diagnostics = resp.Diagnostics.Errorf(nil, "Cannot fill in", "Computed blocks are not allowed.")
	}
	return resp
}

// Apply implements provider.Provider.
func (fills) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if req.Planned.IsNull() {
		return provider.ApplyResponse{State: req.Planned}
	}
	made := func(ty cty.Type) cty.Value {
		if ty == cty.String {
			return cty.StringVal("made")
		}
		return cty.NullVal(ty)
	}
	block := fillsBlock()
	vals := req.Planned.AsValueMap()
	for name, nb := range block.Blocks {
		if !vals[name].IsKnown() {
			vals[name] = fillsOne(nb, made)
		}
	}
	state, _ := cty.Transform(cty.ObjectVal(vals), func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if v.IsKnown() {
			return v, nil
		}
		if ty := v.Type(); ty.IsListType() {
			return cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"wish": made(cty.String),
				"got": made(cty.String)})}), nil
		}
		return made(v.Type()), nil
	})
	if known(vals["how"]) == "lost" {
		vals := state.AsValueMap()
		vals["set"] = cty.NullVal(vals["set"].Type())
		state = cty.ObjectVal(vals)
	}
	return provider.ApplyResponse{State: state}
}

// ReadData implements provider.Provider.
func (fills) ReadData(_ context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	state := fillsObject(fillsBlock(), cty.NilVal, req.Config, func(nb *provider.NestedBlock, _ cty.Value) cty.Value {
		return nb.EmptyValue()
	})
	vals := state.AsValueMap()
	for name, nb := range fillsBlock().Blocks {
		if name != "outer" && (vals[name].IsNull() || vals[name].CanIterateElements() && vals[name].LengthInt() == 0) {
			vals[name] = fillsOne(nb, func(cty.Type) cty.Value { return cty.StringVal("read") })
		}
	}
	return provider.ReadDataResponse{State: cty.ObjectVal(vals)}
}

// fillsOne returns one computed block of a name, whose attribute values a function returns.
func fillsOne(nb *provider.NestedBlock, attribute func(cty.Type) cty.Value) cty.Value {
	vals := map[string]cty.Value{}
	for name, a := range nb.Attributes {
		vals[name] = attribute(a.Type)
	}
	for name, inner := range nb.Blocks {
		vals[name] = fillsOne(inner, attribute)
	}
	one := cty.ObjectVal(vals)
	switch nb.Nesting {
	case provider.NestingList:
		return cty.ListVal([]cty.Value{one})
	case provider.NestingSet:
		return cty.SetVal([]cty.Value{one})
	case provider.NestingMap:
		return cty.MapVal(map[string]cty.Value{"key": one})
	}
	return one
}

// fillsObject returns a proposed object in which null computed blocks are filled in, and computed attributes are
// unknown.
func fillsObject(b *provider.Block, prior, proposed cty.Value,
	fill func(nb *provider.NestedBlock, prior cty.Value) cty.Value) cty.Value {
	vals := proposed.AsValueMap()
	was := func(name string) cty.Value {
		if prior == cty.NilVal || prior.IsNull() {
			return cty.NilVal
		}
		return prior.GetAttr(name)
	}
	for name, a := range b.Attributes {
		if a.Computed && vals[name].IsNull() {
			vals[name] = cty.StringVal("here")
		}
	}
	for name, nb := range b.Blocks {
		v := vals[name]
		switch {
		case nb.Computed && v.IsNull():
			vals[name] = fill(nb, was(name))
		case v.IsNull() || !v.IsKnown():
		case nb.Nesting == provider.NestingSingle:
			vals[name] = fillsObject(&nb.Block, was(name), v, fill)
		case nb.Nesting == provider.NestingList && v.LengthInt() > 0:
			before := was(name)
			list := v.AsValueSlice()
			for i := range list {
				one := cty.NilVal
				if before != cty.NilVal && !before.IsNull() && i < before.LengthInt() {
					one = before.AsValueSlice()[i]
				}
				list[i] = fillsObject(&nb.Block, one, list[i], fill)
			}
			vals[name] = cty.ListVal(list)
		case v.LengthInt() > 0:
			v, _ = cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
				if v.IsNull() && v.Type() == cty.String {
					return cty.StringVal("here"), nil
				}
				return v, nil
			})
			vals[name] = v
		}
	}
	return cty.ObjectVal(vals)
}
