package planning

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// generated returns the resource block for an imported object: all configurable arguments, with the values of the
// object. Sensitive values are omitted, with a comment. key is that of one of several instances of the provider block.
func generated(r addr.Resource, b *provider.Block, v cty.Value, ref *addr.LocalProviderConfig, key addr.Key) string {
	g := &generator{}
	g.WriteString("resource " + quotedHCL(r.Type) + " " + quotedHCL(r.Name) + " {\n")
	if ref != nil {
		g.WriteString("provider = " + ref.String() + key.String() + "\n")
	}
	g.block(b, v)
	g.WriteString("}\n")
	return strings.TrimSuffix(string(hclwrite.Format([]byte(g.String()))), "\n")
}

// unlessImplied returns the provider for the provider argument of a block, or nil if it is the default.
func unlessImplied(r addr.Resource, ref *addr.LocalProviderConfig) *addr.LocalProviderConfig {
	if ref != nil && *ref == (&config.Resource{Addr: r}).ProviderConfig() {
		return nil
	}
	return ref
}

// configOf returns the values of a generated resource block for an object: those from the provider if it generates
// configuration, otherwise those of the object.
func (p *planner) configOf(prov provider.Provider, schema *provider.Schema, rt *provider.ResourceType, o addr.Object,
	cfg addr.AbsProviderConfig, object cty.Value) (cty.Value, diag.List) {
	if !schema.GenerateConfig {
		return object, nil
	}
	var resp provider.GenerateConfigResponse
	if err := p.Call(func() {
		resp = prov.GenerateConfig(p.calls, provider.GenerateConfigRequest{Type: o.Instance.Resource.Type,
			State: object})
	}); err != nil {
		return object, diag.FromError("Operation canceled", err)
	}
	if resp.Diagnostics.HasErrors() {
		return object, resp.Diagnostics
	}
	if resp.Config == cty.NilVal || resp.Config.IsNull() {
		resp.Config = rt.Block.EmptyValue() // as in Terraform: nothing is configured
	}
	bad := value.BadAnswer(o, cfg, "Provider produced invalid configuration",
		value.CheckRefreshed(rt.Block, resp.Config))
	return resp.Config, resp.Diagnostics.Extend(bad)
}

// generatedImport returns the import block that imports an object by its identity.
func generatedImport(r addr.Resource, identity cty.Value, ref *addr.LocalProviderConfig, key addr.Key) string {
	var b strings.Builder
	fmt.Fprintf(&b, "import {\nto = %s\n", r)
	if ref != nil {
		fmt.Fprintf(&b, "provider = %s%s\n", ref, key)
	}
	b.WriteString("identity = {\n")
	for _, name := range sortedKeys(identity.AsValueMap()) {
		if v := identity.GetAttr(name); !v.IsNull() {
			fmt.Fprintf(&b, "%s = %s\n", name, hclwrite.TokensForValue(v).Bytes())
		}
	}
	b.WriteString("}\n}\n")
	return strings.TrimSuffix(string(hclwrite.Format([]byte(b.String()))), "\n")
}

type generator struct{ strings.Builder }

func (g *generator) block(b *provider.Block, v cty.Value) {
	for _, name := range sortedKeys(b.Attributes) {
		a := b.Attributes[name]
		if !written(a) {
			continue
		}
		g.attribute(name, a, child(v, name))
	}
	for _, name := range sortedKeys(b.Blocks) {
		g.nested(name, b.Blocks[name], child(v, name))
	}
}

func writable(a *provider.Attribute) bool { return a.Required || a.Optional }

// written reports whether an argument is generated.
func written(a *provider.Attribute) bool { return writable(a) && !a.Deprecated }

// generatedValue returns the value for the generated block.
func generatedValue(b *provider.Block, v cty.Value) cty.Value {
	if v.IsNull() {
		return v
	}
	vals := v.AsValueMap()
	for name, a := range b.Attributes {
		if !written(a) {
			vals[name] = cty.NullVal(a.ImpliedType())
			continue
		}
		vals[name] = generatedAttribute(a, vals[name])
	}
	for name, n := range b.Blocks {
		vals[name] = eachObject(vals[name], func(v cty.Value) cty.Value { return generatedValue(&n.Block, v) })
	}
	return cty.ObjectVal(vals)
}

func generatedAttribute(a *provider.Attribute, v cty.Value) cty.Value {
	switch {
	case a.Sensitive:
		return cty.NullVal(a.ImpliedType())
	case v.IsNull():
		return v
	case a.Nested != nil:
		return eachObject(v, func(v cty.Value) cty.Value {
			if v.IsNull() {
				return v
			}
			vals := v.AsValueMap()
			for name, inner := range a.Nested.Attributes {
				if writable(inner) {
					vals[name] = generatedAttribute(inner, vals[name])
				} else {
					vals[name] = cty.NullVal(inner.ImpliedType())
				}
			}
			return cty.ObjectVal(vals)
		})
	case a.Type == cty.String:
		if decoded, ok := document(v.AsString()); ok {
			if text, err := stdlib.JSONEncode(decoded); err == nil {
				return text
			}
		}
	}
	return v
}

// eachObject applies a function to the objects of a nested block or attribute, which may be one object or a collection.
func eachObject(v cty.Value, change func(cty.Value) cty.Value) cty.Value {
	ty := v.Type()
	if v.IsNull() || ty.IsObjectType() {
		return change(v)
	}
	if v.LengthInt() == 0 {
		return v
	}
	if ty.IsMapType() {
		vals := v.AsValueMap()
		for k, elem := range vals {
			vals[k] = change(elem)
		}
		return cty.MapVal(vals)
	}
	vals := ctyfast.Elements(v)
	for i, elem := range vals {
		vals[i] = change(elem)
	}
	switch {
	case ty.IsListType():
		return cty.ListVal(vals)
	case ty.IsSetType():
		return cty.SetVal(vals)
	}
	return cty.TupleVal(vals)
}

func child(v cty.Value, name string) cty.Value {
	if v.IsNull() || !v.Type().HasAttribute(name) {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return v.GetAttr(name)
}

func (g *generator) attribute(name string, a *provider.Attribute, v cty.Value) {
	g.WriteString(name + " = ")
	switch {
	case a.Sensitive:
		g.WriteString("null # sensitive\n")
		return
	case a.Nested != nil && !v.IsNull():
		g.object(a.Nested, v)
	default:
		g.value(v)
	}
	g.WriteString("\n")
}

// object writes an attribute with its own schema.
func (g *generator) object(n *provider.NestedObject, v cty.Value) {
	one := func(v cty.Value) {
		if v.IsNull() {
			g.WriteString("null")
			return
		}
		g.WriteString("{\n")
		for _, name := range sortedKeys(n.Attributes) {
			if a := n.Attributes[name]; writable(a) {
				g.attribute(name, a, child(v, name))
			}
		}
		g.WriteString("}")
	}
	switch {
	case n.Nesting == provider.NestingSingle:
		one(v)
	case v.Type().IsMapType() || v.Type().IsObjectType():
		g.WriteString("{\n")
		for key, elem := range ctyfast.Each(v) {
			g.value(key)
			g.WriteString(" = ")
			one(elem)
			g.WriteString("\n")
		}
		g.WriteString("}")
	default:
		g.WriteString("[")
		first := true
		for it := v.ElementIterator(); it.Next(); first = false {
			if !first {
				g.WriteString(", ")
			}
			_, elem := it.Element()
			one(elem)
		}
		g.WriteString("]")
	}
}

// value writes a value as an expression. A string with a JSON document becomes a readable call of jsonencode.
func (g *generator) value(v cty.Value) {
	if !v.IsNull() && v.Type() == cty.String {
		if decoded, ok := document(v.AsString()); ok {
			g.WriteString("jsonencode(")
			g.Write(hclwrite.TokensForValue(decoded).Bytes())
			g.WriteString(")")
			return
		}
	}
	g.Write(hclwrite.TokensForValue(v).Bytes())
}

// document decodes a string that is a JSON object or array.
func document(text string) (cty.Value, bool) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' || !json.Valid([]byte(trimmed)) {
		return cty.NilVal, false
	}
	ty, err := ctyjson.ImpliedType([]byte(trimmed))
	if err != nil || provider.CheckNumbers([]byte(trimmed), ty, ctyjson.Unmarshal) != nil {
		return cty.NilVal, false
	}
	v, err := ctyjson.Unmarshal([]byte(trimmed), ty)
	return v, err == nil
}

func (g *generator) nested(name string, n *provider.NestedBlock, v cty.Value) {
	if v.IsNull() {
		return
	}
	one := func(label string, v cty.Value) {
		if v.IsNull() {
			return
		}
		g.WriteString(name + label + " {\n")
		g.block(&n.Block, v)
		g.WriteString("}\n")
	}
	if n.Nesting == provider.NestingSingle || n.Nesting == provider.NestingGroup {
		one("", v)
		return
	}
	for key, elem := range ctyfast.Each(v) {
		label := ""
		if n.Nesting == provider.NestingMap {
			label = " " + quotedHCL(key.AsString())
		}
		one(label, elem)
	}
}

func quotedHCL(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
