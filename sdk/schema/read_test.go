package schema_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
	. "github.com/tombolo-iac/tombolo/sdk/schema"
)

func TestImportersFindObjects(t *testing.T) {
	other := keeper(map[string]*Schema{"other": {Type: TypeString, Optional: true}}, nil)
	for name, test := range map[string]struct {
		find  func(d *ResourceData) ([]*ResourceData, error)
		want  []string // type and id of each
		words string
	}{
		"by the id": {func(d *ResourceData) ([]*ResourceData, error) { return []*ResourceData{d}, nil }, []string{
			"demo_thing x"}, ""},
		"by parts of it": {func(d *ResourceData) ([]*ResourceData, error) {
			d.SetId(d.Id() + "y")
			return []*ResourceData{d}, d.Set("name", "n")
		}, []string{"demo_thing xy"}, ""},
		"several": {func(d *ResourceData) ([]*ResourceData, error) {
			o := other.Data(nil)
			o.SetType("demo_other")
			o.SetId("o")
			return []*ResourceData{d, o}, nil
		}, []string{"demo_thing x", "demo_other o"}, ""},
		"one with a mistake": {func(d *ResourceData) ([]*ResourceData, error) {
			o := other.Data(map[string]interface{}{"othr": 1})
			o.SetType("demo_other")
			o.SetId("o")
			return []*ResourceData{o}, nil
		}, nil, `Did you mean "other"?`},
		"one without type": {func(d *ResourceData) ([]*ResourceData, error) {
			o := other.Data(nil)
			o.SetId("o")
			return []*ResourceData{o}, nil
		}, nil, "must call SetType"},
		"nothing": {func(d *ResourceData) ([]*ResourceData, error) { return nil, nil }, nil, "found no object"},
		"nil": {func(d *ResourceData) ([]*ResourceData, error) { return []*ResourceData{nil}, nil }, nil,
			"returned nil"},
		"one without id": {func(d *ResourceData) ([]*ResourceData, error) {
			d.SetId("")
			return []*ResourceData{d},
				nil
		}, nil, "without an id"},
		"an error": {func(d *ResourceData) ([]*ResourceData, error) { return nil, errHalfWay }, nil, "half way"},
		"a panic":  {func(d *ResourceData) ([]*ResourceData, error) { panic("oh no") }, nil, "oh no"},
		"a mistake": {func(d *ResourceData) ([]*ResourceData, error) {
			_ = d.Set("nam", 1)
			return []*ResourceData{
				d}, nil
		}, nil, `Did you mean "name"?`},
	} {
		t.Run(name, func(t *testing.T) {
			r := keeper(map[string]*Schema{"name": {Type: TypeString, Optional: true}}, nil)
			r.Importer = &ResourceImporter{State: func(d *ResourceData, _ interface{}) ([]*ResourceData, error) {
				return test.find(d)
			}}
			e := startProvider(t, &Provider{ResourcesMap: map[string]*Resource{typ: r, "demo_other": other}})
			resp := e.p.Import(t.Context(), provider.ImportRequest{Type: typ, ID: "x"})
			if test.words != "" {
				refused(t, resp.Diagnostics, "", test.words)
				if len(resp.Imported) > 0 {
					t.Error("something was imported")
				}
				return
			}
			var got []string
			for _, o := range resp.Imported {
				got = append(got, o.Type+" "+o.State.GetAttr("id").AsString())
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) || resp.Diagnostics.HasErrors() {
				t.Errorf("got %v (%v), want %v", got, resp.Diagnostics.Err(), test.want)
			}
		})
	}
}

func TestIdentitiesNameObjects(t *testing.T) {
	mistake := false
	r := keeper(map[string]*Schema{"name": {Type: TypeString, Optional: true}}, func(op string, d *ResourceData) error {
		id, err := d.Identity()
		if op == "delete" {
			return nil
		}
		if mistake {
			_ = id.Set("rgion", "x")
		}
		if op == "read" {
			if v, ok := id.GetOk("region"); !ok || v != "north" || id.Get("id") != d.Id() {
				return fmt.Errorf("the identity is %v", v)
			}
			return nil
		}
		return errors.Join(err, id.Set("region", "north"))
	})
	r.Importer = &ResourceImporter{StateContext: ImportStatePassthroughContext}
	r.Identity = &ResourceIdentity{Version: 2, SchemaFunc: func() map[string]*Schema {
		return map[string]*Schema{"id": {Type: TypeString, RequiredForImport: true}, "region": {
			Type: TypeString, OptionalForImport: true}}
	}, IdentityUpgraders: []IdentityUpgrader{
		{Version: 1, Upgrade: func(_ context.Context, raw map[string]interface{}, _ interface{}) (
			map[string]interface{}, error) {
			raw["region"] = "upgraded"
			return raw, nil
		}}}}
	e := start(t, r)
	e.apply(attrs{})
	want := obj(attrs{"id": str("1"), "region": str("north")})
	if !e.id.RawEquals(want) {
		t.Errorf("the identity is %#v", e.id)
	}
	if diags := e.read(); diags.HasErrors() || !e.id.RawEquals(want) {
		t.Errorf("read: %#v, %v", e.id, diags.Err())
	}
	imported := e.p.Import(t.Context(), provider.ImportRequest{Type: typ, Identity: want})
	if imported.Diagnostics.HasErrors() || imported.Imported[0].State.GetAttr("id").AsString() != "1" ||
		!imported.Imported[0].Identity.RawEquals(want) {
		t.Errorf("imported %#v, %v", imported.Imported, imported.Diagnostics.Err())
	}
	up := e.p.UpgradeIdentity(t.Context(), provider.UpgradeIdentityRequest{
		Type: typ, Version: 1, JSON: []byte(`{"id":"1"}`)})
	if up.Diagnostics.HasErrors() || !up.Identity.RawEquals(obj(attrs{"id": str("1"), "region": str("upgraded")})) {
		t.Errorf("upgraded to %#v, %v", up.Identity, up.Diagnostics.Err())
	}
	for _, req := range []provider.UpgradeIdentityRequest{{Version: 3, JSON: []byte(`{}`)},
		{Version: 1, JSON: []byte(`[]`)}, {Version: 2, JSON: []byte(`{"id":[]}`)}} {
		req.Type = typ
		if up := e.p.UpgradeIdentity(t.Context(), req); !up.Diagnostics.HasErrors() {
			t.Errorf("version %d of %s was taken", req.Version, req.JSON)
		}
	}
	mistake = true
	refused(t, e.tryApply(attrs{"name": str("b")}), "", `Did you mean "region"?`)
}

func upgradable() *Resource {
	r := keeper(map[string]*Schema{
		"name": {Type: TypeString, Optional: true}, "size": {Type: TypeInt, Optional: true}, "new": {
			Type: TypeString, Computed: true},
		"rule": {Type: TypeList, Optional: true, Elem: &Resource{
			Schema: map[string]*Schema{"port": {Type: TypeInt, Required: true}, "text": {
				Type: TypeString, Optional: true}}}},
	}, nil)
	r.SchemaVersion = 3
	r.StateUpgraders = []StateUpgrader{
		{Version: 1, Upgrade: func(_ context.Context, raw map[string]interface{}, _ interface{}) (
			map[string]interface{}, error) {
			raw["name"] = raw["title"]
			delete(raw, "title")
			return raw, nil
		}},
		{Version: 2, Upgrade: func(_ context.Context, raw map[string]interface{}, _ interface{}) (
			map[string]interface{}, error) {
			switch size := raw["size"].(type) {
			case float64:
				raw["size"] = size + 1
			case string:
				return nil, errHalfWay
			case bool:
				panic("oh no")
			case []interface{}:
				return nil, nil
			}
			return raw, nil
		}},
	}
	return r
}

func TestStoredObjectsAreUpgraded(t *testing.T) {
	e := start(t, upgradable())
	empty := attrs{"name": null, "size": null, "new": null,
		"rule": cty.ListValEmpty(cty.Object(map[string]cty.Type{"port": cty.Number, "text": cty.String}))}
	for name, test := range map[string]struct {
		version int64
		stored  string
		want    attrs
		words   string
	}{
		"two versions": {1, `{"id":"1","title":"a","size":1}`, attrs{"id": str("1"), "name": str("a"),
			"size": num(2), "new": null}, ""},
		"from before": {0, `{"id":"1","title":"a"}`, attrs{"name": str("a")}, ""},
		"one version": {2, `{"id":"1","name":"a","size":1}`, attrs{"name": str("a"), "size": num(2)}, ""},
		"a long number": {2, `{"id":"1","size":12345678901234567890123}`, attrs{
			"size": cty.MustParseNumberVal("12345678901234567890123")}, ""},
		"the current one": {3, `{"id":"1","size":1,"gone":true,"rule":[{"port":1,"gone":1}]}`, attrs{
			"size": num(1),
			"rule": cty.ListVal([]cty.Value{obj(attrs{"port": num(1), "text": cty.NullVal(cty.String)})})}, ""},
		"nothing in it":      {3, `{}`, empty, ""},
		"a later one":        {4, `{}`, nil, "newer provider"},
		"an upgrade fails":   {2, `{"size":"x"}`, nil, "half way"},
		"an upgrade panics":  {2, `{"size":true}`, nil, "oh no"},
		"an upgrade drops":   {2, `{"size":[]}`, nil, "returned nil"},
		"null":               {3, `null`, nil, "is null"},
		"null of old":        {1, `null`, nil, "is null"},
		"no object":          {1, `[]`, nil, "not a JSON object"},
		"two objects":        {1, `{} {}`, nil, "there is text after"},
		"half an object":     {3, `{"name":`, nil, "not valid JSON"},
		"a value of no type": {3, `{"name":[1]}`, nil, "does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			resp := e.p.UpgradeState(t.Context(), provider.UpgradeStateRequest{Type: typ, Version: test.version,
				Stored: provider.StoredObject{JSON: []byte(test.stored)}})
			if test.want == nil {
				refused(t, resp.Diagnostics, "", test.words)
				return
			}
			if resp.Diagnostics.HasErrors() {
				t.Fatal(resp.Diagnostics.Err())
			}
			has(t, resp.State, test.want)
		})
	}
	refused(t, e.p.UpgradeState(t.Context(), provider.UpgradeStateRequest{
		Type: typ, Version: 1, Stored: provider.StoredObject{Flat: map[string]string{"id": "1"}}}).Diagnostics, "",
		"flat format")
	refused(t, e.p.UpgradeState(t.Context(), provider.UpgradeStateRequest{Type: "demo_thin"}).Diagnostics, "",
		`Did you mean "demo_thing"?`)
}

// FuzzStoredObjects upgrades arbitrary stored objects: the result is an object of the schema, or an error.
func FuzzStoredObjects(f *testing.F) {
	for _, seed := range []string{`{"id":"1","title":"a","size":1e2}`, `{"rule":[{"port":0.1},null]}`,
		`{"size":123456789012345678901234567890}`, `{"id":{}}`, `[`, `null`} {
		f.Add(int64(1), []byte(seed))
		f.Add(int64(3), []byte(seed))
	}
	p := New(resources(upgradable()))
	schema, _ := p.Schema(context.Background())
	block := schema.Resources[typ].Block
	f.Fuzz(func(t *testing.T, version int64, stored []byte) {
		resp := p.UpgradeState(t.Context(), provider.UpgradeStateRequest{Type: typ, Version: version % 5,
			Stored: provider.StoredObject{JSON: stored}})
		if resp.Diagnostics.HasErrors() {
			return
		}
		if !resp.State.Type().Equals(block.ImpliedType()) || resp.State.IsNull() || !resp.State.IsWhollyKnown() {
			t.Fatalf("%s became %#v", stored, resp.State)
		}
		if !json.Valid(stored) {
			t.Fatalf("%q is not JSON, but was taken", stored)
		}
	})
}

func TestDataSourcesAreReadStrictly(t *testing.T) {
	var on func(d *ResourceData) error
	e := startProvider(t, &Provider{
		ResourcesMap: map[string]*Resource{typ: keeper(map[string]*Schema{}, nil)},
		DataSourcesMap: map[string]*Resource{typ: {
			Schema: map[string]*Schema{
				"name":   {Type: TypeString, Required: true},
				"limit":  {Type: TypeInt, Optional: true, Default: 10},
				"region": {Type: TypeString, Optional: true, Computed: true},
				"found": {Type: TypeList, Computed: true, Elem: &Resource{
					Schema: map[string]*Schema{"key": {Type: TypeString, Computed: true}}}},
				"filter": {Type: TypeSet, Optional: true, Elem: &Resource{
					Schema: map[string]*Schema{"key": {Type: TypeString, Required: true}, "exact": {
						Type: TypeBool, Optional: true, Default: true}}}},
			},
			Read: func(d *ResourceData, _ interface{}) error { return on(d) },
		}},
	})
	schema, _ := e.p.Schema(t.Context())
	block := schema.Data[typ].Block
	read := func(config attrs) (cty.Value, diag.List) {
		resp := e.p.ReadData(t.Context(), provider.ReadDataRequest{Type: typ, Config: object(t, block, config)})
		return resp.State, resp.Diagnostics
	}
	on = func(d *ResourceData) error {
		return errors.Join(d.Set("region", "north"),
			d.Set("found", []map[string]string{{"key": fmt.Sprint(d.Get("limit"), d.Get("filter.#"))}}))
	}
	got, diags := read(attrs{"name": str("a"), "filter": tup(obj(attrs{"key": str("k")}))})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	has(t, got, attrs{"id": str("-"), "limit": num(10), "region": str("north"),
		"found":  cty.ListVal([]cty.Value{obj(attrs{"key": str("10 1")})}),
		"filter": cty.SetVal([]cty.Value{obj(attrs{"key": str("k"), "exact": cty.True})})})
	for name, test := range map[string]struct {
		on          func(d *ResourceData) error
		path, words string
	}{
		"an error": {func(d *ResourceData) error { return errHalfWay }, "", "half way"},
		"what is configured": {func(d *ResourceData) error { return d.Set("name", "b") }, ".name",
			"but the configuration has"},
		"what cannot be": {
			func(d *ResourceData) error { return d.Set("filter", []interface{}{map[string]interface{}{"kee": 1}}) },
			".filter", `there is no "kee". Did you mean "key"?`},
		"a nested type": {
			func(d *ResourceData) error { return d.Set("found", []interface{}{map[string]interface{}{"key": 1}}) },
			".found[0].key", "TypeString needs a string"},
		"a key that is not its": {func(d *ResourceData) error { d.Get("found.0.kee"); return nil }, "",
			`there is no "found.0.kee"`},
		"an index that is none": {func(d *ResourceData) error { d.Get("found.x"); return nil }, "",
			`"x" in "found.x" is not an index`},
		"a part of a string": {func(d *ResourceData) error { d.Get("name.x"); return nil }, "",
			"which has no parts"},
		"a part of what has one": {func(d *ResourceData) error { return d.Set("found.0.key", "x") }, "", `set "found"`},
	} {
		t.Run(name, func(t *testing.T) {
			on = test.on
			_, diags := read(attrs{"name": str("a")})
			refused(t, diags, test.path, test.words)
		})
	}
}

func TestValidationFindsAllMistakesAtTheirPlaces(t *testing.T) {
	odd := func(v interface{}, path cty.Path) diag.Diagnostics {
		if v.(int)%2 == 0 {
			return diag.Errorf("%v is even", v)
		}
		return nil
	}
	r := keeper(map[string]*Schema{
		"a":     {Type: TypeString, Optional: true, ConflictsWith: []string{"b"}},
		"b":     {Type: TypeString, Optional: true, RequiredWith: []string{"c"}},
		"c":     {Type: TypeInt, Optional: true, ValidateDiagFunc: odd, Deprecated: "Use d."},
		"x":     {Type: TypeString, Optional: true, ExactlyOneOf: []string{"x", "y"}},
		"y":     {Type: TypeString, Optional: true, ExactlyOneOf: []string{"x", "y"}},
		"words": {Type: TypeSet, Optional: true, MinItems: 2, Elem: &Schema{Type: TypeString, ValidateFunc: notEmpty}},
		"tags":  {Type: TypeMap, Optional: true, Elem: &Schema{Type: TypeInt}},
		"rule": {Type: TypeList, Optional: true, MinItems: 2, Elem: &Resource{Schema: map[string]*Schema{
			"port": {Type: TypeInt, Required: true, ValidateDiagFunc: odd},
		}}},
		"one": {Type: TypeList, Optional: true, MaxItems: 1, Elem: &Resource{Schema: map[string]*Schema{
			"p": {Type: TypeString, Optional: true, AtLeastOneOf: []string{"one.0.p", "one.0.q"}}, "q": {
				Type: TypeString, Optional: true},
		}}},
		"items": {Type: TypeList, Optional: true, ConfigMode: SchemaConfigModeAttr, Elem: &Resource{
			Schema: map[string]*Schema{"key": {Type: TypeString, Required: true}}}},
	}, nil)
	r.DeprecationMessage = "Use demo_other."
	r.ValidateRawResourceConfigFuncs = []ValidateRawResourceConfigFunc{
		func(_ context.Context, req ValidateResourceConfigFuncRequest, resp *ValidateResourceConfigFuncResponse) {
			if !req.RawConfig.GetAttr("tags").IsKnown() {
				resp.Diagnostics = resp.Diagnostics.Append(&diag.Diagnostic{
					Severity: diag.Error, Summary: "Unknown tags",
					Path: cty.GetAttrPath("tags")})
			}
		}}
	e := start(t, r)
	port := func(n cty.Value) cty.Value { return obj(attrs{"port": n}) }
	for name, test := range map[string]struct {
		config attrs
		want   string // path and severity of each problem, in order
	}{
		"all is well":         {attrs{"x": str("")}, ""},
		"none of two":         {attrs{}, ".x error, .y error"},
		"both":                {attrs{"x": str(""), "y": str("")}, ".x error, .y error"},
		"one that may be":     {attrs{"x": unknownText}, ""},
		"a conflict":          {attrs{"x": str(""), "a": str(""), "b": str(""), "c": num(1)}, ".a error, .c warning"},
		"a conflict, perhaps": {attrs{"x": str(""), "a": unknownText, "b": str(""), "c": num(1)}, ".c warning"},
		"one alone":           {attrs{"x": str(""), "b": str("")}, ".b error"},
		"a bad number":        {attrs{"x": str(""), "c": num(2)}, ".c warning, .c error"},
		"an unknown number":   {attrs{"x": str(""), "c": unknownNumber}, ".c warning"},
		"a bad element": {attrs{"x": str(""), "words": cty.SetVal([]cty.Value{str(""), str("a")})},
			".words error"},
		"too few":         {attrs{"x": str(""), "words": cty.SetVal([]cty.Value{str("a")})}, ".words error"},
		"perhaps too few": {attrs{"x": str(""), "words": cty.SetVal([]cty.Value{unknownText, str("a")})}, ""},
		"half in a map": {
			attrs{"x": str(""), "tags": cty.MapVal(attrs{"k": cty.NumberFloatVal(.5), "l": num(1)})},
			`.tags["k"] error`},
		"a raw check": {attrs{"x": str(""), "tags": cty.UnknownVal(cty.Map(cty.Number))}, ".tags error"},
		"blocks": {attrs{"x": str(""), "rule": tup(port(num(1)), port(num(2)), port(unknownNumber))},
			".rule[1].port error"},
		"too few blocks":  {attrs{"x": str(""), "rule": tup(port(num(1)))}, ".rule error"},
		"none of a block": {attrs{"x": str(""), "one": tup(obj(attrs{}))}, ".one[0].p error"},
		"one of a block":  {attrs{"x": str(""), "one": tup(obj(attrs{"q": str("a")}))}, ""},
		"a member that is null": {attrs{"x": str(""), "items": tup(obj(attrs{"key": cty.NullVal(cty.String)}))},
			".items[0].key error"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range e.validate(test.config) {
				if d.Detail != "Use demo_other." {
					got = append(got, value.FormatPath(d.Path)+" "+d.Severity.String())
				}
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), test.want)
			}
		})
	}
}

// TestUpgradersUseTheTypeOfAnOldResource uses the way in which authors describe old stored objects.
func TestUpgradersUseTheTypeOfAnOldResource(t *testing.T) {
	earlier := &Resource{Schema: map[string]*Schema{
		"size": {Type: TypeString, Optional: true},
		"rule": {Type: TypeList, Optional: true, Elem: &Resource{
			Schema: map[string]*Schema{"port": {Type: TypeInt, Required: true}}}},
	}}
	want := cty.Object(attrsOf{"id": cty.String, "size": cty.String,
		"rule": cty.List(cty.Object(attrsOf{"port": cty.Number}))})
	if got := earlier.CoreConfigSchema().ImpliedType(); !got.Equals(want) {
		t.Errorf("the type is %#v", got)
	}
	r := keeper(map[string]*Schema{"size": {Type: TypeInt, Optional: true}}, nil)
	r.SchemaVersion = 1
	r.StateUpgraders = []StateUpgrader{{Version: 0, Type: earlier.CoreConfigSchema().ImpliedType(),
		Upgrade: func(_ context.Context, raw map[string]interface{}, _ interface{}) (map[string]interface{}, error) {
			return map[string]interface{}{"id": raw["id"], "size": len(raw["size"].(string))}, nil
		}}}
	e := startProvider(t, &Provider{ResourcesMap: map[string]*Resource{typ: r}})
	resp := e.p.UpgradeState(t.Context(), provider.UpgradeStateRequest{
		Type: typ, Version: 0, Stored: provider.StoredObject{
			JSON: []byte(`{"id":"x","size":"big","rule":[{"port":1}]}`)}})
	if resp.Diagnostics.HasErrors() || !resp.State.GetAttr("size").RawEquals(num(3)) {
		t.Errorf("got %#v (%v)", resp.State, resp.Diagnostics.Err())
	}
}

type attrsOf = map[string]cty.Type
