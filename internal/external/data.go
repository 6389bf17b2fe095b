package external

import (
	"context"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/provider"
)

func (p *external) ReadData(ctx context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	if p.schema.Data[req.Type] == nil {
		return p.Base.ReadData(ctx, req)
	}
	ctx, done := p.interruptible(ctx)
	defer done()
	result, problem := p.readData(ctx, req.Type, req.Config)
	if problem != nil {
		return provider.ReadDataResponse{Diagnostics: diag.List{problem}}
	}
	state := req.Config.AsValueMap()
	state["result"] = result
	state["id"] = cty.StringVal("-")
	return provider.ReadDataResponse{State: cty.ObjectVal(state)}
}

func (p *external) readData(ctx context.Context, typ string, config cty.Value) (cty.Value, *diag.Diagnostic) {
	var c *command
	var problem *diag.Diagnostic
	if typ == typeData {
		c, problem = newCommand(config.GetAttr("program"))
	} else {
		c, problem = newCommand(config.GetAttr("interpreter"), config.GetAttr("program"))
	}
	if problem != nil {
		return cty.NilVal, problem
	}
	if typ == typeData {
		if dir := config.GetAttr("working_dir"); !dir.IsNull() {
			c.dir = dir.AsString()
		}
	}
	c.stdin = program.WriteStrings(stringMap(config.GetAttr("query")))
	res, problem := p.run(ctx, typ, c)
	if problem != nil {
		return cty.NilVal, problem
	}
	result, err := program.ReadStrings(res.Stdout)
	if err != nil {
		return cty.NilVal, c.badResults(res, err)
	}
	return stringsValue(result), nil
}

// stringsValue makes a map value; nil gives null. Names that are equal once normalised collapse to the last in byte order.
func stringsValue(values map[string]string) cty.Value {
	if values == nil {
		return cty.NullVal(cty.Map(cty.String))
	}
	if len(values) == 0 {
		return cty.MapValEmpty(cty.String)
	}
	elements := make(map[string]cty.Value, len(values))
	for _, k := range slices.Sorted(maps.Keys(values)) {
		elements[cty.NormalizeString(k)] = cty.StringVal(values[k])
	}
	return cty.MapVal(elements)
}
