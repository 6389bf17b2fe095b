package world

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/wiretest"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/providertest"
)

func TestConformance(t *testing.T) {
	conformance(t, Factory(Options{}))
}

func TestConformanceOverTheWire(t *testing.T) {
	for _, protocol := range wire.Versions() {
		t.Run(fmt.Sprintf("protocol %d", protocol), func(t *testing.T) { conformance(t, wiretest.Over(Factory(Options{}), protocol)) })
	}
}

func conformance(t *testing.T, factory provider.Factory) {
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
	providertest.Run(t, providertest.Options{
		New:      factory,
		Config:   providertest.Attrs{"dir": str(dir), "delay": str("2ms"), "seed": cty.NumberIntVal(3)},
		Patience: 2 * time.Second,
		InvalidConfigs: []providertest.Invalid{
			{Name: "no dir", Change: providertest.Attrs{"dir": cty.NullVal(cty.String)}, Path: cty.GetAttrPath("dir")},
			{Name: "delay", Change: providertest.Attrs{"delay": str("soon")}, Path: cty.GetAttrPath("delay")},
		},
		Resources: []providertest.Resource{{
			Type: typeName,
			Config: func(n int) providertest.Attrs {
				return providertest.Attrs{
					"name": str(fmt.Sprintf("object %d", n)), "value": str("v"), "secret": str("hush"), "tags": cty.MapVal(map[string]cty.Value{"a": str("b")}),
				}
			},
			Updates: []providertest.Update{
				{Name: "value", Change: providertest.Attrs{"value": str("w"), "size": cty.MustParseNumberVal("0.1")}},
				{Name: "to nothing", Change: providertest.Attrs{"value": cty.NullVal(cty.String), "tags": cty.MapValEmpty(cty.String)}},
				{Name: "name", Change: providertest.Attrs{"name": str("renamed")}, Replaces: true},
			},
			Invalid: []providertest.Invalid{
				{Name: "empty name", Change: providertest.Attrs{"name": str("")}, Path: cty.GetAttrPath("name")},
				{Name: "unknown directive", Change: behave("dance", "yes"), Path: cty.GetAttrPath("behave").IndexString("dance")},
				{Name: "unknown failure", Change: behave("fail", "sometimes"), Path: cty.GetAttrPath("behave").IndexString("fail")},
			},
			Import: &providertest.Import{ID: func(v cty.Value) string { return v.GetAttr("id").AsString() }, Missing: "nothing"},
			Remove: func(v cty.Value) error { return w.Remove(v.GetAttr("id").AsString()) },
			Slow:   behave("delay", "1m"),
		}, {
			Name:   "slow at the end",
			Type:   typeName,
			Config: func(n int) providertest.Attrs { return providertest.Attrs{"name": str(fmt.Sprintf("early %d", n))} },
			Import: &providertest.Import{ID: func(v cty.Value) string { return v.GetAttr("id").AsString() }},
			Slow:   providertest.Attrs{"behave": cty.MapVal(map[string]cty.Value{"delay": str("500ms"), "half": str("early")})},
		}},
		Data: []providertest.Data{{
			Type: typeName, Config: providertest.Attrs{"name": str("old")}, Want: providertest.Attrs{"id": str("old-1"), "size": cty.NumberFloatVal(2.5)},
			Invalid: []providertest.Invalid{{Name: "missing", Change: providertest.Attrs{"name": str("new")}, Path: cty.GetAttrPath("name")}},
		}},
	})
	left, err := w.Exists()
	if err != nil {
		t.Fatal(err)
	}
	// A creation that was cancelled on its way may have made its object though no answer arrived: that is what "early" does.
	left = slices.DeleteFunc(left, func(o Object) bool { return strings.HasPrefix(o.Name, "early ") })
	if len(left) != 1 || left[0].Name != "old" {
		t.Errorf("the suite left objects behind: %+v", left)
	}
}
