package funcs

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// jsonExpression is the type of the library's JSON expressions, whose content it does not export.
var jsonExpression = func() reflect.Type {
	e, _ := json.ParseExpression([]byte("0"), "")
	return reflect.TypeOf(e)
}()

// meteredJSON returns an expression in JSON with its templates parsed and metered. The library parses them at each
// evaluation.
func meteredJSON(e hcl.Expression) hcl.Expression {
	if reflect.TypeOf(e) != jsonExpression {
		return e
	}
	if list, diags := hcl.ExprList(e); !diags.HasErrors() {
		items := make([]hcl.Expression, len(list))
		for i, item := range list {
			items[i] = meteredJSON(item)
		}
		return &jsonArray{e, items}
	}
	if pairs, diags := hcl.ExprMap(e); !diags.HasErrors() {
		o := &jsonObject{Expression: e}
		for _, p := range pairs {
			o.members = append(o.members, jsonMember{key: meteredJSON(p.Key), value: meteredJSON(p.Value), of: p.Value,
				at: p.Key.Range()})
		}
		return o
	}
	v, diags := e.Value(nil) // a text as it is written
	if diags.HasErrors() || v.IsNull() || v.Type() != cty.String {
		return e
	}
	at := e.Range()
	begin := hcl.Pos{Line: at.Start.Line, Column: at.Start.Column + 1, Byte: at.Start.Byte + 1} // after the quote
	template, diags := hclsyntax.ParseTemplate([]byte(v.AsString()), at.Filename, begin)
	if len(diags) > 0 {
		return e // which reports it
	}
	return &jsonText{e, metered(template)}
}

// jsonText is a template in JSON.
type jsonText struct {
	hcl.Expression
	template hclsyntax.Expression
}

func (e *jsonText) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	return e.template.Value(ctx)
}

// jsonArray is an array in JSON.
type jsonArray struct {
	hcl.Expression
	items []hcl.Expression
}

func (e *jsonArray) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	values := make([]cty.Value, len(e.items))
	for i, item := range e.items {
		v, problems := item.Value(ctx)
		values[i], diags = v, append(diags, problems...)
	}
	return cty.TupleVal(values), diags
}

// jsonObject is an object in JSON. Its keys are templates, too.
type jsonObject struct {
	hcl.Expression
	members []jsonMember
}

type jsonMember struct {
	key, value hcl.Expression
	of         hcl.Expression // the value as the library returns it
	at         hcl.Range      // of the key
}

// Value behaves as the library's, including its messages.
func (e *jsonObject) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	values, places := map[string]cty.Value{}, map[string]hcl.Range{}
	wrong := func(m jsonMember, about hcl.Expression, summary, format string, args ...any) {
		diags = append(diags, &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: m.at.Ptr(),
			Expression: about, EvalContext: ctx,
		})
	}
	known := true
	for _, m := range e.members {
		key, keyDiags := m.key.Value(ctx)
		v, valueDiags := m.value.Value(ctx)
		diags = append(append(diags, keyDiags...), valueDiags...)
		key, err := convert.Convert(key, cty.String)
		switch {
		case err != nil:
			wrong(m, m.of, "Invalid object key expression", "Cannot use this expression as an object key: %s.", err)
		case key.IsNull():
			wrong(m, m.of, "Invalid object key expression", "Cannot use null value as an object key.")
		case !key.IsKnown():
			known = false
		default:
			name := key.AsString()
			if _, defined := values[name]; defined {
				wrong(m, e.Expression, "Duplicate object attribute", "An attribute named %q was already defined at %s.",
					name, places[name])
				continue
			}
			values[name], places[name] = v, m.at
		}
	}
	if !known {
		return cty.DynamicVal, diags
	}
	return cty.ObjectVal(values), diags
}
