package world

import (
	"context"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/provider"
)

// functions are `join`, which takes any number of strings, and `describe`, which takes any value.
var functions = map[string]*provider.Function{
	"join": {
		Summary: "Join texts", Description: "Joins texts with a **separator**.", DescriptionKind: provider.Markdown,
		Params:   []provider.FunctionParam{{Name: "separator", Type: cty.String, Description: "What comes between."}},
		VarParam: &provider.FunctionParam{Name: "texts", Type: cty.String, AllowNull: true}, Return: cty.String,
	},
	"describe": {
		Summary: "Describe a value", Deprecated: "Use jsonencode.",
		Params: []provider.FunctionParam{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true}},
		Return: cty.DynamicPseudoType,
	},
}

// CallFunction implements provider.Provider.
func (p *world) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error) {
	switch name {
	case "join":
		var texts []string
		for i, a := range args[1:] {
			if a.IsNull() {
				return cty.NilVal, function.NewArgErrorf(i+1, "nothing cannot be joined")
			}
			texts = append(texts, a.AsString())
		}
		return cty.StringVal(strings.Join(texts, args[0].AsString())), nil
	case "describe":
		b, err := ctyjson.Marshal(args[0], args[0].Type())
		if err != nil {
			return cty.NilVal, err
		}
		return cty.ObjectVal(map[string]cty.Value{"type": cty.StringVal(args[0].Type().FriendlyName()),
			"json": cty.StringVal(string(b)), "value": args[0]}), nil
	}
	return p.Base.CallFunction(ctx, name, args)
}
