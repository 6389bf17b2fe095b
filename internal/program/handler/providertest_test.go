package handler_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/wiretest"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/providertest"
)

func factoryOf(m *manifest.Manifest, dir string, opts handler.Options, env ...string) provider.Factory {
	s := handler.Surroundings{Env: append(append(os.Environ(), "TOY_DIR="+dir), env...), Grace: time.Second}
	return func(context.Context) (provider.Provider, error) {
		return handler.New(m, handler.NewOneShot(m, s), opts), nil
	}
}

// newToyWith is newToy with a wrapper around its caller.
func newToyWith(t *testing.T, wrap func(handler.Caller) handler.Caller) (provider.Factory, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m, diags := manifest.Parse([]byte(sprintManifest(fmt.Sprintf("[%q]", filepath.ToSlash(exe)))), "m.json",
		t.TempDir())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	dir := t.TempDir()
	s := handler.Surroundings{Env: append(os.Environ(), "TOY_DIR="+dir), Grace: time.Second}
	return func(context.Context) (provider.Provider, error) {
		return handler.New(m, wrap(handler.NewOneShot(m, s)), handler.Options{}), nil
	}, dir
}

func TestConformance(t *testing.T) {
	conformance(t, func(f provider.Factory) provider.Factory { return f })
}

func TestConformanceOverTheWire(t *testing.T) {
	for _, protocol := range wire.Versions() {
		if protocol != 6 {
			continue // protocol 5 has no nested attributes
		}
		t.Run(fmt.Sprintf("protocol %d", protocol), func(t *testing.T) {
			conformance(t, func(f provider.Factory) provider.Factory { return wiretest.Over(f, protocol) })
		})
	}
}

func conformance(t *testing.T, wrap func(provider.Factory) provider.Factory) {
	calls := checked{t: t, mu: &sync.Mutex{}, seen: map[string]bool{}}
	f, dir := newToyWith(t, func(c handler.Caller) handler.Caller { calls := calls; calls.Caller = c; return calls })
	t.Cleanup(func() {
		if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
			return // a part of the suite performs only a part of the calls
		}
		for _, action := range []string{"validate", "configure", "plan", "create", "read", "update", "delete", "import",
			"data", "open", "close", "call", "list", "invoke"} {
			if !calls.seen[action] {
				t.Errorf("the action %s was never called", action)
			}
		}
	})
	suite(t, wrap(f), dir)
}

// suite runs the conformance suite with the toy; dir is the folder of its objects.
func suite(t *testing.T, f provider.Factory, dir string) {
	id := func(v cty.Value) string { return v.GetAttr("id").AsString() }
	str := cty.StringVal
	rules := func(cidrs ...string) cty.Value {
		var list []cty.Value
		for _, c := range cidrs {
			list = append(list, cty.ObjectVal(map[string]cty.Value{"cidr": str(c), "note": cty.NullVal(cty.String)}))
		}
		return cty.SetVal(list)
	}
	ports := func(numbers ...int64) cty.Value {
		var list []cty.Value
		for _, n := range numbers {
			list = append(list, cty.ObjectVal(map[string]cty.Value{"number": cty.NumberIntVal(n),
				"url": cty.NullVal(cty.String)}))
		}
		return cty.ListVal(list)
	}
	huge, _ := cty.ParseNumberVal("12345678901234567890123.5")
	providertest.Run(t, providertest.Options{
		New:    f,
		Config: providertest.Attrs{"password": str("correct horse")},
		InvalidConfigs: []providertest.Invalid{
			{Name: "forbidden", Change: providertest.Attrs{"password": str("forbidden")},
				Path: cty.GetAttrPath("password")}},
		Goroutines: 3,
		Resources: []providertest.Resource{{
			Type: "toy_thing",
			Config: func(n int) providertest.Attrs {
				return providertest.Attrs{
					"name": str(fmt.Sprint("thing-", n)), "tags": cty.MapVal(map[string]cty.Value{"é": str("e\u0301")}),
					"exact":  huge,
					"labels": cty.SetVal([]cty.Value{str("b"), str("a")}), "secret": str("hush hush"),
					"token": str("write only"),
					"any":   cty.TupleVal([]cty.Value{cty.True, huge, str("x")}), "ports": ports(80, 443),
					"rule": rules("10.0.0.0/8", "::/0"),
				}
			},
			Updates: []providertest.Update{
				{Name: "size", Change: providertest.Attrs{"size": huge}},
				{Name: "nested", Change: providertest.Attrs{"ports": ports(80, 8080, 443), "rule": rules("::/0")}},
				{Name: "removals", Change: providertest.Attrs{"tags": cty.NullVal(cty.Map(cty.String)),
					"any": cty.NullVal(cty.DynamicPseudoType), "labels": cty.SetValEmpty(cty.String)}},
				{Name: "name", Change: providertest.Attrs{"name": str("another")}, Replaces: true},
			},
			Invalid: []providertest.Invalid{{Name: "name", Change: providertest.Attrs{"name": str("Big")},
				Path: cty.GetAttrPath("name")}},
			Import: &providertest.Import{ID: id, Missing: "nothing"},
			Remove: func(v cty.Value) error { return os.Remove(filepath.Join(dir, id(v)+".json")) },
			Slow:   providertest.Attrs{"do": str("create: sleep")},
		}, {
			Type:   "toy_fixed",
			Config: func(n int) providertest.Attrs { return providertest.Attrs{"text": str(fmt.Sprint("text-", n))} },
			Updates: []providertest.Update{{Name: "text", Change: providertest.Attrs{"text": str("other")},
				Replaces: true}},
			Invalid: []providertest.Invalid{{Name: "text", Change: providertest.Attrs{"text": str("forbidden")},
				Path: cty.GetAttrPath("text")}},
			Import: &providertest.Import{ID: id, Missing: "nothing"},
			Remove: func(v cty.Value) error { return os.Remove(filepath.Join(dir, id(v)+".json")) },
		}},
		Data: []providertest.Data{{
			Type: "toy_echo", Config: providertest.Attrs{"text": str("hi")},
			Want: providertest.Attrs{"times": cty.NumberIntVal(2),
				"out": cty.ListVal([]cty.Value{str("hi"), str("hi")})},
		}},
		Ephemeral: []providertest.Ephemeral{{Type: "toy_lease", Config: providertest.Attrs{"name": str("n")},
			Want: providertest.Attrs{"key": str("key-of-n")}}},
		Lists: []providertest.List{{Type: "toy_thing", Config: providertest.Attrs{"prefix": str("thing-")},
			Invalid: []providertest.Invalid{{Name: "keyword", Change: providertest.Attrs{"answer": str("x")},
				Path: cty.GetAttrPath("answer")}}}},
		Actions: []providertest.Action{{Type: "toy_ring", Config: providertest.Attrs{"text": str("hey"),
			"key": str("open sesame")},
			Invalid: []providertest.Invalid{{Name: "never", Change: providertest.Attrs{"times": cty.Zero},
				Path: cty.GetAttrPath("times")}},
			Invoked: func() error {
				text, err := os.ReadFile(filepath.Join(dir, "rung"))
				if err == nil && string(text) != "hey 2\nhey 2\n" {
					err = fmt.Errorf("it did %q", text)
				}
				return err
			}}},
		Functions: []providertest.Function{
			{Name: "slug", Args: []cty.Value{str("A b")}, Want: str("a-b")},
			{Name: "slug", Args: []cty.Value{str("")}, Want: cty.NilVal},
			{Name: "sum", Args: []cty.Value{cty.NumberIntVal(1), cty.NumberIntVal(2)}, Want: cty.NumberIntVal(3)},
		},
	})
}
