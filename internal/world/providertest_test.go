package world

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/wiretest"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/providertest"
)

func TestConformance(t *testing.T) {
	conformance(t, Factory(Options{}), false)
}

func TestConformanceOverTheWire(t *testing.T) {
	for _, protocol := range wire.Versions() {
		t.Run(fmt.Sprintf("protocol %d", protocol), func(t *testing.T) {
			five := protocol == 5
			conformance(t, wiretest.Over(Factory(Options{Five: five}), protocol), five)
		})
	}
}

func conformance(t *testing.T, factory provider.Factory, five bool) {
	dir := t.TempDir()
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Create(Object{Name: "old", Size: "2.5"}); err != nil {
		t.Fatal(err)
	}
	str := cty.StringVal
	behave := func(key, value string) providertest.Attrs {
		return providertest.Attrs{"behave": cty.MapVal(map[string]cty.Value{key: str(value)})}
	}
	shapes := []providertest.Resource{blocksCase(w)}
	if !five {
		shapes = append(shapes, nestedCase(w))
	}
	providertest.Run(t, providertest.Options{
		New:    factory,
		Config: providertest.Attrs{"dir": str(dir), "delay": str("2ms"), "seed": cty.NumberIntVal(3)},
		InvalidConfigs: []providertest.Invalid{
			{Name: "no dir", Change: providertest.Attrs{"dir": cty.NullVal(cty.String)}, Path: cty.GetAttrPath("dir")},
			{Name: "delay", Change: providertest.Attrs{"delay": str("soon")}, Path: cty.GetAttrPath("delay")},
		},
		Resources: append(shapes, []providertest.Resource{{
			Type: typeName,
			Config: func(n int) providertest.Attrs {
				return providertest.Attrs{
					"name": str(fmt.Sprintf("object %d", n)), "value": str("v"), "secret": str("hush"),
					"tags": cty.MapVal(map[string]cty.Value{"a": str("b")}),
				}
			},
			Updates: []providertest.Update{
				{Name: "value", Change: providertest.Attrs{"value": str("w"), "size": cty.MustParseNumberVal("0.1")}},
				{Name: "to nothing", Change: providertest.Attrs{"value": cty.NullVal(cty.String),
					"tags": cty.MapValEmpty(cty.String)}},
				{Name: "name", Change: providertest.Attrs{"name": str("renamed")}, Replaces: true},
			},
			Invalid: []providertest.Invalid{
				{Name: "empty name", Change: providertest.Attrs{"name": str("")}, Path: cty.GetAttrPath("name")},
				{Name: "unknown directive", Change: behave("dance", "yes"), Path: cty.GetAttrPath("behave").IndexString(
					"dance")},
				{Name: "unknown failure", Change: behave("fail", "sometimes"),
					Path: cty.GetAttrPath("behave").IndexString("fail")},
			},
			Import: &providertest.Import{ID: func(v cty.Value) string { return v.GetAttr("id").AsString() },
				Missing: "nothing"},
			Remove: func(v cty.Value) error { return w.Remove(v.GetAttr("id").AsString()) },
			Slow:   behave("delay", "1m"),
		}, {
			Name: "slow at the end",
			Type: typeName,
			Config: func(n int) providertest.Attrs {
				return providertest.Attrs{"name": str(fmt.Sprintf("early %d", n))}
			},
			Import: &providertest.Import{ID: func(v cty.Value) string { return v.GetAttr("id").AsString() }},
			Slow: providertest.Attrs{
				"behave": cty.MapVal(map[string]cty.Value{"delay": str("500ms"), "half": str("early")})},
		}}...),
		Ephemeral: []providertest.Ephemeral{
			{Type: leaseName, Config: providertest.Attrs{"name": str("l"), "renew": str("1s")},
				Want: providertest.Attrs{"token": str("token-of-l")}},
		},
		Functions: []providertest.Function{
			{Name: "join", Args: []cty.Value{str("-"), str("a"), str("b")}, Want: str("a-b")},
			{Name: "join", Args: []cty.Value{str("-"), cty.NullVal(cty.String)}},
			{Name: "describe", Args: []cty.Value{cty.TupleVal([]cty.Value{cty.MustParseNumberVal("0.1"), str("é")})},
				Want: cty.ObjectVal(map[string]cty.Value{
					"type": str("tuple"), "json": str(`[0.1,"é"]`),
					"value": cty.TupleVal([]cty.Value{cty.MustParseNumberVal("0.1"), str("é")}),
				})},
		},
		Data: []providertest.Data{{
			Type: typeName, Config: providertest.Attrs{"name": str("old")}, Want: providertest.Attrs{
				"id": str("old-1"), "size": cty.NumberFloatVal(2.5)},
			Invalid: []providertest.Invalid{{Name: "missing", Change: providertest.Attrs{"name": str("new")},
				Path: cty.GetAttrPath("name")}},
		}},
	})
	left, err := w.Exists()
	if err != nil {
		t.Fatal(err)
	}
	// A cancelled creation may have created its object although there was no response: that is the purpose of "early".
	left = slices.DeleteFunc(left, func(o Object) bool { return strings.HasPrefix(o.Name, "early ") })
	if len(left) != 1 || left[0].Name != "old" {
		t.Errorf("the suite left objects behind: %+v", left)
	}
}

// blocksCase has a block of every nesting mode, two in each mode that allows several.
func blocksCase(w *World) providertest.Resource {
	str, obj, num := cty.StringVal, cty.ObjectVal, cty.NumberIntVal
	type m = map[string]cty.Value
	rule := func(port int64, key string) cty.Value {
		return obj(
			m{"port": num(port),
				"match": cty.SetVal([]cty.Value{
					obj(m{"key": str(key), "values": cty.SetVal([]cty.Value{str("x"), str("y")})}),
					obj(m{"key": str("z"), "values": cty.SetValEmpty(cty.String)})})})
	}
	zones := func(tier string) cty.Value {
		return obj(m{"a": obj(m{"size": cty.MustParseNumberVal("1e30"), "tier": str(tier)}), "b": obj(m{})})
	}
	return providertest.Resource{
		Type: blocksName,
		Config: func(n int) providertest.Attrs {
			return providertest.Attrs{
				"name": str(fmt.Sprintf("blocks %d", n)), "rule": cty.TupleVal([]cty.Value{rule(1, "k"), rule(2, "l")}),
				"zone": zones("small"),
				"label": cty.TupleVal([]cty.Value{obj(m{"key": str("a"), "value": str("1")}),
					obj(m{"key": str("b")})}),
				"limits": obj(m{"cpu": num(2)}), "options": obj(m{"fast": cty.True}),
				"legacy": cty.TupleVal([]cty.Value{obj(m{"text": str("t")})}),
			}
		},
		Updates: []providertest.Update{
			{Name: "rules in another order", Change: providertest.Attrs{
				"rule": cty.TupleVal([]cty.Value{rule(2, "l"), rule(1, "k"), rule(3, "m")})}},
			{Name: "no blocks", Change: providertest.Attrs{
				"rule": cty.EmptyTupleVal, "label": cty.EmptyTupleVal, "zone": cty.EmptyObjectVal,
				"limits": cty.NullVal(blocksType.Block.Blocks["limits"].ImpliedType()), "options": obj(m{}),
			}},
			{Name: "tier of a zone", Change: providertest.Attrs{"zone": zones("large")}, Replaces: true},
		},
		Invalid: []providertest.Invalid{
			{Name: "port", Change: providertest.Attrs{"rule": cty.TupleVal([]cty.Value{rule(1, "k"), rule(-1, "k")})},
				Path: cty.GetAttrPath("rule").IndexInt(1).GetAttr("port")},
			{Name: "size", Change: providertest.Attrs{"zone": obj(m{"a": obj(m{"size": num(-1)})})},
				Path: cty.GetAttrPath("zone").IndexString("a").GetAttr("size")},
		},
		Import: &providertest.Import{ID: func(v cty.Value) string { return v.GetAttr("id").AsString() },
			Missing: "nothing"},
		Remove: func(v cty.Value) error { return w.Remove(v.GetAttr("id").AsString()) },
	}
}

// nestedCase has nested attributes of every mode.
func nestedCase(w *World) providertest.Resource {
	str, obj := cty.StringVal, cty.ObjectVal
	type m = map[string]cty.Value
	step := func(run string) cty.Value { return obj(m{"run": str(run), "env": cty.MapVal(m{"A": str("1")})}) }
	return providertest.Resource{
		Type: nestedName,
		Config: func(n int) providertest.Attrs {
			return providertest.Attrs{
				"name":  str(fmt.Sprintf("nested %d", n)),
				"loose": obj(m{"a": cty.TupleVal([]cty.Value{cty.True, cty.NullVal(cty.DynamicPseudoType)})}),
				"owner": obj(m{"name": str("o"), "token": str("t"), "password": str("p")}),
				"steps": cty.TupleVal([]cty.Value{step("a"), step("b")}),
				"tags": cty.TupleVal([]cty.Value{obj(m{"key": str("a"), "value": str("1")}),
					obj(m{"key": str("b")})}),
				"regions": obj(
					m{"r": obj(
						m{"replicas": cty.TupleVal([]cty.Value{
							obj(m{"zone": str("z"),
								"pair": cty.TupleVal([]cty.Value{str("x"), cty.NumberIntVal(1)})})})})}),
			}
		},
		Updates: []providertest.Update{
			{Name: "loose", Change: providertest.Attrs{"loose": str("text")}},
			{Name: "steps", Change: providertest.Attrs{"steps": cty.TupleVal([]cty.Value{step("b")})}},
			{Name: "nothing", Change: providertest.Attrs{
				"loose": cty.NullVal(cty.DynamicPseudoType), "owner": cty.NullVal(cty.DynamicPseudoType),
				"steps": cty.NullVal(cty.DynamicPseudoType), "regions": cty.EmptyObjectVal, "tags": cty.EmptyTupleVal,
			}},
		},
		Invalid: []providertest.Invalid{
			{Name: "run", Change: providertest.Attrs{"steps": cty.TupleVal([]cty.Value{step("")})},
				Path: cty.GetAttrPath("steps").IndexInt(0).GetAttr("run")}},
		Import: &providertest.Import{ID: func(v cty.Value) string { return v.GetAttr("id").AsString() }},
		Remove: func(v cty.Value) error { return w.Remove(v.GetAttr("id").AsString()) },
	}
}
