package external

import (
	"context"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// Descriptions of arguments that several types have.
const (
	aboutProgram     = "The program to run: a string, or a list of strings with its first arguments. No shell is used."
	aboutInterpreter = "The interpreter that runs the program, such as \"python3\": a string, or a list of strings " +
		"that also holds options."
)

// dataSources describes the data sources and their arguments.
func (p *external) dataSources() *schema.Provider {
	query := &schema.Schema{Type: schema.TypeMap, Optional: true,
		Description: "The standard input of the program, as a JSON object."}
	result := &schema.Schema{Type: schema.TypeMap, Computed: true, Description: "What the program printed."}
	id := &schema.Schema{Type: schema.TypeString, Computed: true, Description: "Always \"-\"."}
	return &schema.Provider{
		Description: "Programs in any language as data sources and resources.",
		DataSourcesMap: map[string]*schema.Resource{
			typeData: {
				Description: "Runs a program that reads a JSON object of strings and prints another. It must not " +
					"have side effects.",
				Schema: map[string]*schema.Schema{
					"program": {Type: schema.TypeList, Required: true, Elem: &schema.Schema{Type: schema.TypeString},
						Description: "The program to run and its arguments. No shell is used; null and empty " +
							"elements are dropped."},
					"working_dir": {Type: schema.TypeString, Optional: true,
						Description: "Where the program runs; by default in the current directory."},
					"query": query, "result": result, idAttribute: id,
				},
				ReadContext: p.reading(typeData),
				ValidateRawResourceConfigFuncs: checks(func(config cty.Value) diag.List {
					return validateList(config.GetAttr("program"))
				}),
			},
			typeDataSource: {
				Description: "Runs a program that reads a JSON object of strings and prints another. It must not " +
					"have side effects or depend on the directory that it runs in.",
				Schema: map[string]*schema.Schema{
					"program":     {Type: schema.TypeAny, Required: true, Description: aboutProgram},
					"interpreter": {Type: schema.TypeAny, Optional: true, Description: aboutInterpreter},
					"query":       query, "result": result, idAttribute: id,
				},
				ReadContext:                    p.reading(typeDataSource),
				ValidateRawResourceConfigFuncs: checks(validateProgram),
			},
		},
	}
}

const idAttribute = "id"

// checks converts a check of a configuration to one of the framework.
func checks(check func(config cty.Value) diag.List) []schema.ValidateRawResourceConfigFunc {
	return []schema.ValidateRawResourceConfigFunc{
		func(_ context.Context, req schema.ValidateResourceConfigFuncRequest,
			resp *schema.ValidateResourceConfigFuncResponse) {
			resp.Diagnostics = check(req.RawConfig)
		},
	}
}

// reading returns the callback of a data source. It uses the raw configuration: null and empty words are both dropped,
// but messages distinguish them.
func (p *external) reading(typ string) schema.ReadContextFunc {
	return func(ctx context.Context, d *schema.ResourceData, _ interface{}) diag.List {
		result, problem := p.readData(ctx, typ, d.GetRawConfig())
		if problem != nil {
			return diag.List{problem}
		}
		if result == nil {
			return nil // the program returned null, which differs from an empty map
		}
		return diag.FromErr(d.Set("result", result))
	}
}

func (p *external) readData(ctx context.Context, typ string, config cty.Value) (map[string]string, *diag.Diagnostic) {
	var c *command
	var problem *diag.Diagnostic
	if typ == typeData {
		c, problem = newCommand(config.GetAttr("program"))
	} else {
		c, problem = newCommand(config.GetAttr("interpreter"), config.GetAttr("program"))
	}
	if problem != nil {
		return nil, problem
	}
	if typ == typeData {
		if dir := config.GetAttr("working_dir"); !dir.IsNull() {
			c.dir = dir.AsString()
		}
	}
	c.stdin = program.WriteStrings(stringMap(config.GetAttr("query")))
	res, problem := p.run(ctx, typ, c)
	if problem != nil {
		return nil, problem
	}
	result, err := program.ReadStrings(res.Stdout)
	if err != nil {
		return nil, c.badResults(res, err)
	}
	return result, nil
}

// stringsValue returns a map value, or null for nil. Of names that are equal after normalization, the last one in byte
// order is used.
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
