package web_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/wire/wiretest"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/providertest"
)

// TestConformance runs the conformance suite with a provider that consists of a manifest.
func TestConformance(t *testing.T) {
	for _, method := range []string{"PUT", "PATCH"} {
		t.Run(method, func(t *testing.T) { suite(t, method, func(f provider.Factory) provider.Factory { return f }) })
	}
}

func TestConformanceOverTheWire(t *testing.T) {
	suite(t, "PATCH", func(f provider.Factory) provider.Factory { return wiretest.Over(f, 6) })
}

func suite(t *testing.T, method string, wrap func(provider.Factory) provider.Factory) {
	s := newThings(t)
	m := parsed(t, strings.Replace(thingsManifest, "METHOD", method, 1))
	str := cty.StringVal
	id := func(v cty.Value) string { return v.GetAttr("id").AsString() }
	ports := func(numbers ...int64) cty.Value {
		var list []cty.Value
		for _, n := range numbers {
			list = append(list, cty.ObjectVal(map[string]cty.Value{"number": cty.NumberIntVal(n), "label": str("p")}))
		}
		return cty.ListVal(list)
	}
	rules := func(cidrs ...string) cty.Value {
		var list []cty.Value
		for _, c := range cidrs {
			list = append(list, cty.ObjectVal(map[string]cty.Value{"cidr": str(c), "note": cty.NullVal(cty.String)}))
		}
		return cty.SetVal(list)
	}
	huge, _ := cty.ParseNumberVal("12345678901234567890123.5")
	providertest.Run(t, providertest.Options{
		New: wrap(factory(m, "INV_URL="+s.URL, "INV_TOKEN="+bearer)), Goroutines: 3,
		Config: providertest.Attrs{"url": str(s.URL), "token": str(bearer)},
		Resources: []providertest.Resource{{
			Type: "inv_thing",
			Config: func(n int) providertest.Attrs {
				return providertest.Attrs{
					"name": str(fmt.Sprint("thing ", n)), "size": huge,
					"labels": cty.SetVal([]cty.Value{str("b"), str("a")}),
					"tags":   cty.MapVal(map[string]cty.Value{"é": str("e\u0301")}),
					"any":    cty.TupleVal([]cty.Value{cty.True, huge, str("x")}),
					"note":   str("mine"), "secret": str("write only"), "ports": ports(80, 443),
					"rule": rules("10.0.0.0/8", "::/0"),
				}
			},
			Updates: []providertest.Update{
				{Name: "size", Change: providertest.Attrs{"size": cty.NumberIntVal(7)}},
				{Name: "once", Change: providertest.Attrs{"password": str("given later")}},
				{Name: "nested", Change: providertest.Attrs{"ports": ports(80, 8080, 443), "rule": rules("::/0")}},
				{Name: "removals", Change: providertest.Attrs{"tags": cty.NullVal(cty.Map(cty.String)),
					"any": cty.NullVal(cty.DynamicPseudoType), "labels": cty.SetValEmpty(cty.String)}},
				{Name: "region", Change: providertest.Attrs{"region": str("north")}, Replaces: true},
			},
			Invalid: []providertest.Invalid{{Name: "name", Change: providertest.Attrs{"name": str("n")},
				Path: cty.GetAttrPath("name")}},
			Import: &providertest.Import{ID: id, Missing: "4711", Want: func(v cty.Value) cty.Value {
				vals := v.AsValueMap()
				vals["password"] = cty.NullVal(cty.String) // the server does not return it
				return cty.ObjectVal(vals)
			}},
			Remove: func(v cty.Value) error {
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.objects[id(v)] == nil {
					return errors.New("it was not there")
				}
				delete(s.objects, id(v))
				return nil
			},
		}},
		Lists:     []providertest.List{{Type: "inv_thing"}},
		Functions: []providertest.Function{{Name: "count", Args: []cty.Value{str("nothing")}, Want: cty.Zero}},
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.objects) > 0 {
		t.Errorf("%d objects are left", len(s.objects))
	}
	for _, request := range s.seen {
		if strings.HasPrefix(request, method) && strings.Contains(request, "initial") {
			t.Errorf("a value that is given once was sent again: %s", request)
		}
	}
}
