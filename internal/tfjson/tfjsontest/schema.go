package tfjsontest

import (
	"encoding/json"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/provider"
)

// Schemas reads the schemas of the providers in the recordings.
func Schemas(t testing.TB) tfjson.Schemas {
	t.Helper()
	doc := Parse(t, string(Read(t, "schema.json")))
	out := tfjson.Schemas{}
	for name, v := range object(doc["provider_schemas"]) {
		p, err := addr.ParseProvider(name)
		if err != nil {
			t.Fatal(err)
		}
		m := object(v)
		out[p] = &provider.Schema{
			Resources: types(t, object(m["resource_schemas"])),
			Data:      types(t, object(m["data_source_schemas"])),
			Functions: functions(t, object(m["functions"])),
		}
		if settings, ok := object(m["provider"])["block"]; ok {
			out[p].Provider = block(t, object(settings))
		}
	}
	return out
}

func types(t testing.TB, m map[string]any) map[string]*provider.ResourceType {
	t.Helper()
	out := map[string]*provider.ResourceType{}
	for name, v := range m {
		version, _ := object(v)["version"].(json.Number).Int64()
		out[name] = &provider.ResourceType{Version: version, Block: block(t, object(object(v)["block"]))}
	}
	return out
}

var nestings = map[string]provider.Nesting{
	"single": provider.NestingSingle, "group": provider.NestingGroup, "list": provider.NestingList,
	"set": provider.NestingSet, "map": provider.NestingMap,
}

func describe(m map[string]any) (string, provider.DescriptionKind) {
	if m["description_kind"] == "markdown" {
		return text(m["description"]), provider.Markdown
	}
	return text(m["description"]), provider.PlainText
}

func block(t testing.TB, m map[string]any) *provider.Block {
	t.Helper()
	b := &provider.Block{Attributes: attributes(t, object(m["attributes"])), Blocks: map[string]*provider.NestedBlock{}}
	b.Description, b.DescriptionKind = describe(m)
	for name, v := range object(m["block_types"]) {
		inner := block(t, object(object(v)["block"]))
		nb := &provider.NestedBlock{Nesting: nestings[text(object(v)["nesting_mode"])]}
		nb.Attributes, nb.Blocks = inner.Attributes, inner.Blocks
		b.Blocks[name] = nb
	}
	return b
}

func attributes(t testing.TB, m map[string]any) map[string]*provider.Attribute {
	t.Helper()
	out := map[string]*provider.Attribute{}
	for name, v := range m {
		m := object(v)
		a := &provider.Attribute{
			Required: m["required"] == true, Optional: m["optional"] == true, Computed: m["computed"] == true,
			Sensitive: m["sensitive"] == true, WriteOnly: m["write_only"] == true, Deprecated: m["deprecated"] == true,
		}
		a.Description, a.DescriptionKind = describe(m)
		if n := object(m["nested_type"]); n != nil {
			a.Nested = &provider.NestedObject{Nesting: nestings[text(n["nesting_mode"])],
				Attributes: attributes(t, object(n["attributes"]))}
		} else {
			a.Type = typ(t, m["type"])
		}
		out[name] = a
	}
	return out
}

func typ(t testing.TB, v any) cty.Type {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	ty, err := ctyjson.UnmarshalType(raw)
	if err != nil {
		t.Fatal(err)
	}
	return ty
}

func functions(t testing.TB, m map[string]any) map[string]*provider.Function {
	t.Helper()
	out := map[string]*provider.Function{}
	for name, v := range m {
		m := object(v)
		f := &provider.Function{Return: typ(t, m["return_type"]), Summary: text(m["summary"]),
			Description: text(m["description"])}
		for _, p := range list(m["parameters"]) {
			f.Params = append(f.Params, param(t, object(p)))
		}
		if v := object(m["variadic_parameter"]); v != nil {
			p := param(t, v)
			f.VarParam = &p
		}
		out[name] = f
	}
	return out
}

func param(t testing.TB, m map[string]any) provider.FunctionParam {
	t.Helper()
	return provider.FunctionParam{Name: text(m["name"]), Type: typ(t, m["type"]), AllowNull: m["is_nullable"] == true,
		Description: text(m["description"])}
}
