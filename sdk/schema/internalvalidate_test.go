package schema_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	. "github.com/tombolo-iac/tombolo/sdk/schema"
)

func nop(*ResourceData, interface{}) error { return nil }

func nopContext(context.Context, *ResourceData, interface{}) diag.Diagnostics { return nil }

// with returns a valid resource with other attributes.
func with(fields map[string]*Schema) *Resource {
	fields["anchor"] = &Schema{Type: TypeString, Optional: true} // so that Update has something to do
	return &Resource{Schema: fields, Create: nop, Read: nop, Update: nop, Delete: nop}
}

// one returns a valid resource with one more attribute, "x".
func one(s *Schema) *Resource { return with(map[string]*Schema{"x": s}) }

func changed(change func(*Resource)) *Resource {
	r := one(&Schema{Type: TypeString, Optional: true})
	change(r)
	return r
}

func resources(r *Resource) *Provider {
	return &Provider{ResourcesMap: map[string]*Resource{"demo_thing": r}}
}
func dataSource(r *Resource) *Provider {
	return &Provider{DataSourcesMap: map[string]*Resource{"demo_thing": r}}
}
func readable(fields map[string]*Schema) *Provider {
	return dataSource(&Resource{Schema: fields, Read: nop})
}
func listNothing(context.Context, *ListData, interface{}) diag.List { return nil }

func actNothing(context.Context, *ActionData, interface{}) diag.List { return nil }

// listed returns a valid provider with a list.
func listed(l *ListResource) *Provider {
	p := identity(&Schema{Type: TypeString, RequiredForImport: true})
	p.ListResourcesMap = map[string]*ListResource{"demo_thing": l}
	return p
}

func functions(f *Function) *Provider { return &Provider{Functions: map[string]*Function{"f": f}} }

func sane() *Function {
	return &Function{Return: &Schema{Type: TypeString}, Call: func(context.Context, []interface{}) (interface{},
		error) {
		return "", nil
	}}
}

func block(fields map[string]*Schema) *Schema {
	return &Schema{Type: TypeList, Optional: true, Elem: &Resource{Schema: fields}}
}

func text() *Schema { return &Schema{Type: TypeString, Optional: true} }

func identity(s *Schema) *Provider {
	return resources(changed(func(r *Resource) {
		r.Identity = &ResourceIdentity{SchemaFunc: func() map[string]*Schema { return map[string]*Schema{"id": s} }}
	}))
}

// wrong are descriptions with one mistake each, with a part of the message.
func wrong() map[string]struct {
	p    *Provider
	want string
} {
	type mistake = struct {
		p    *Provider
		want string
	}
	always := func(interface{}, string) ([]string, []error) { return nil, nil }
	never := func(_, _, _ string, _ *ResourceData) bool { return false }
	self := block(map[string]*Schema{"a": text()})
	self.Elem.(*Resource).Schema["again"] = self
	required := &Schema{Type: TypeString, Required: true}
	env := EnvDefaultFunc("NO_SUCH_VARIABLE", nil)
	upgrade := func(context.Context, map[string]interface{}, interface{}) (map[string]interface{}, error) {
		return nil, nil
	}
	withMeta := func(s *Schema) *Provider { return &Provider{ProviderMetaSchema: map[string]*Schema{"x": s}} }
	endless := func() *Resource { return nil }
	endless = func() *Resource {
		return &Resource{SchemaFunc: func() map[string]*Schema {
			return map[string]*Schema{"again": {Type: TypeList, Optional: true, Elem: endless()}}
		}}
	}
	return map[string]mistake{
		"blocks in provider_meta": {withMeta(block(map[string]*Schema{"a": text()})),
			"provider_meta, x: it would be a block"},
		"computed in provider_meta": {withMeta(&Schema{Type: TypeString, Computed: true}),
			"Computed is for attributes of resources"},
		"no type in provider_meta": {withMeta(&Schema{Optional: true}), "there is no Type"},
		"two forms of a callback": {
			resources(changed(func(r *Resource) { r.DeleteWithoutTimeout = nopContext })),
			"Delete and DeleteWithoutTimeout are both set"},
		"a schema and a function for it": {
			resources(changed(func(r *Resource) { r.SchemaFunc = func() map[string]*Schema { return r.Schema } })),
			"Schema and SchemaFunc are both set"},
		"a schema without end": {
			resources(with(map[string]*Schema{"x": {Type: TypeList, Optional: true, Elem: endless()}})),
			"contains itself"},
		"suppress nothing on refresh": {
			resources(one(&Schema{Type: TypeString, Optional: true, DiffSuppressOnRefresh: true})),
			"DiffSuppressOnRefresh"},
		"no type":                    {resources(one(&Schema{Optional: true})), "demo_thing, x: there is no Type"},
		"a type that does not exist": {resources(one(&Schema{Type: 99, Optional: true})), "no Type"},
		"nobody sets it": {resources(one(&Schema{Type: TypeString})),
			"one of Required, Optional and Computed"},
		"required and optional": {resources(one(&Schema{Type: TypeString, Required: true, Optional: true})),
			"both Required and Optional"},
		"required and computed": {resources(one(&Schema{Type: TypeString, Required: true, Computed: true})),
			"both Required and Computed"},
		"stable but not computed": {resources(one(&Schema{Type: TypeString, Optional: true, Stable: true})),
			"Stable"},
		"required and deprecated": {resources(one(&Schema{Type: TypeString, Required: true, Deprecated: "x"})),
			"cannot be Deprecated"},
		"nil schema":         {resources(one(nil)), "the schema is nil"},
		"name in upper case": {resources(with(map[string]*Schema{"Name": text()})), "not in lower case"},
		"reserved name": {resources(with(map[string]*Schema{"count": text()})),
			"reserved by the language"},
		"reserved name of a provider": {&Provider{Schema: map[string]*Schema{"alias": text()}},
			"reserved by the language"},
		"id of another kind": {resources(with(map[string]*Schema{"id": required})),
			"id: the id is set with SetId"},
		"default of what is required": {resources(one(&Schema{Type: TypeString, Required: true, Default: "a"})),
			"Required attribute cannot have a Default"},
		"default of what is computed": {resources(one(&Schema{Type: TypeString, Computed: true, Default: "a"})),
			"only Computed cannot have a Default"},
		"default or computed": {
			resources(one(&Schema{Type: TypeString, Optional: true, Computed: true, Default: "a"})),
			"cannot be Computed and have a Default"},
		"default of a list": {
			resources(one(&Schema{Type: TypeList, Optional: true, Elem: &Schema{Type: TypeString},
				Default: []interface{}{"a"}})), "only simple types"},
		"default of a wrong type": {resources(one(&Schema{Type: TypeInt, Optional: true, Default: "1"})),
			"TypeInt needs an integer, not string"},
		"default that is half": {resources(one(&Schema{Type: TypeInt, Optional: true, Default: 1.5})),
			"needs an integer"},
		"two defaults": {
			resources(one(&Schema{Type: TypeString, Optional: true, Default: "a", DefaultFunc: env})), "both set"},
		"default inside of an attribute": {
			resources(one(&Schema{Type: TypeList, Optional: true, ConfigMode: SchemaConfigModeAttr, Elem: &Resource{
				Schema: map[string]*Schema{"a": {Type: TypeString, Optional: true, Default: "x"}}}})),
			"values inside of an attribute cannot have a Default"},

		"list of nothing": {resources(one(&Schema{Type: TypeList, Optional: true})),
			"TypeList needs an Elem"},
		"set of nothing": {resources(one(&Schema{Type: TypeSet, Optional: true})),
			"TypeSet needs an Elem"},
		"string of something": {
			resources(one(&Schema{Type: TypeString, Optional: true, Elem: &Schema{Type: TypeString}})),
			"TypeString has no Elem"},
		"elem of a wrong kind": {
			resources(one(&Schema{Type: TypeList, Optional: true, Elem: Schema{Type: TypeString}})),
			"a *Schema or *Resource is needed"},
		"elem that is nil": {resources(one(&Schema{Type: TypeList, Optional: true, Elem: (*Schema)(nil)})),
			"the Elem is nil"},
		"nested resource that is nil": {
			resources(one(&Schema{Type: TypeList, Optional: true, Elem: (*Resource)(nil)})), "the Elem is nil"},
		"elem that is optional": {resources(one(&Schema{Type: TypeList, Optional: true, Elem: text()})),
			"everything else belongs to the attribute"},
		"elem that is a list type": {resources(one(&Schema{Type: TypeList, Optional: true, Elem: TypeList})),
			"must be a simple one"},
		"elem of an elem": {
			resources(one(&Schema{Type: TypeList, Optional: true, Elem: &Schema{Type: TypeList}})),
			"x, Elem: TypeList needs an Elem"},
		"map of resources": {
			resources(
				one(&Schema{Type: TypeMap, Optional: true, Elem: &Resource{Schema: map[string]*Schema{"a": text()}}})),
			"a map has no nested resources"},
		"list of lists of resources": {
			resources(
				one(&Schema{Type: TypeList, Optional: true, Elem: &Schema{Type: TypeList, Elem: &Resource{
					Schema: map[string]*Schema{"a": text()}}}})), "collections of collections"},
		"set of anything": {
			resources(one(&Schema{Type: TypeSet, Optional: true, Elem: &Schema{Type: TypeAny}})),
			"TypeAny is for attributes"},
		"limits of a string": {resources(one(&Schema{Type: TypeString, Optional: true, MaxItems: 1})),
			"are for lists and sets"},
		"limits that exclude": {
			resources(one(&Schema{Type: TypeList, Optional: true, Elem: &Schema{Type: TypeString}, MinItems: 3,
				MaxItems: 2})), "is greater than MaxItems"},
		"limit below zero": {
			resources(one(&Schema{Type: TypeList, Optional: true, Elem: &Schema{Type: TypeString}, MaxItems: -1})),
			"is greater than MaxItems"},
		"limits of what is computed": {
			resources(one(&Schema{Type: TypeList, Computed: true, Elem: &Schema{Type: TypeString}, MaxItems: 1})),
			"for configured values"},
		"set function of a list": {
			resources(one(&Schema{Type: TypeList, Optional: true, Elem: &Schema{Type: TypeString}, Set: HashString})),
			"for sets"},
		"mode of a list of values": {
			resources(one(&Schema{Type: TypeList, Optional: true, Elem: &Schema{Type: TypeString},
				ConfigMode: SchemaConfigModeAttr})), "ConfigMode is for nested resources"},
		"computed blocks with what is not": {
			resources(one(&Schema{Type: TypeList, Optional: true, Computed: true, ConfigMode: SchemaConfigModeBlock,
				Elem: &Resource{Schema: map[string]*Schema{"a": text()}}})), "everything in Computed blocks"},
		"computed blocks that cannot be written": {
			resources(one(&Schema{Type: TypeList, Computed: true, ConfigMode: SchemaConfigModeBlock,
				Elem: &Resource{Schema: map[string]*Schema{"a": {Type: TypeString, Computed: true}}}})),
			"Computed blocks must also be Optional"},
		"computed blocks that must be written": {
			resources(one(&Schema{Type: TypeList, Optional: true, Computed: true, ConfigMode: SchemaConfigModeBlock,
				MinItems: 1, Elem: &Resource{Schema: map[string]*Schema{"a": {Type: TypeString, Computed: true}}}})),
			"Computed blocks cannot have MinItems"},
		"sensitive blocks": {
			resources(one(&Schema{Type: TypeList, Optional: true, Sensitive: true, Elem: &Resource{
				Schema: map[string]*Schema{"a": text()}}})), "blocks cannot be Sensitive"},
		"nested resource without form": {resources(one(block(nil))), "has no Schema"},
		"nested resource with a life": {
			resources(one(&Schema{Type: TypeList, Optional: true, Elem: &Resource{Read: nop, Schema: map[string]*Schema{
				"a": text()}}})), "can only have a Schema"},
		"resource inside of itself": {resources(one(self)), "contains itself"},
		"mistake in a block": {resources(one(block(map[string]*Schema{"port": {Type: TypeInt}}))),
			"demo_thing, x.port: one of Required"},
		"computed inside of an attribute": {
			resources(one(&Schema{Type: TypeList, Optional: true, Computed: true, Elem: &Resource{
				Schema: map[string]*Schema{"a": {Type: TypeString, Computed: true}}}})),
			"x.a: values inside of an attribute cannot be Computed"},

		"two checks": {
			resources(one(&Schema{Type: TypeString, Optional: true, ValidateFunc: always,
				ValidateDiagFunc: ToDiagFunc(always)})), "use one of them"},
		"check of what is computed": {resources(one(&Schema{Type: TypeString, Computed: true, ValidateFunc: always})),
			"never validated"},
		"suppression of what is not": {
			resources(one(&Schema{Type: TypeString, Computed: true, DiffSuppressFunc: never})),
			"no changes to suppress"},
		"suppression in blocks": {
			resources(one(&Schema{Type: TypeList, Optional: true, DiffSuppressFunc: never, Elem: &Resource{
				Schema: map[string]*Schema{"a": text()}}})), "DiffSuppressFunc is for simple types"},
		"state function of a list": {
			resources(one(&Schema{Type: TypeList, Optional: true, Elem: &Schema{Type: TypeString},
				StateFunc: func(interface{}) string { return "" }})), "StateFunc is for simple types"},
		"conflict with nobody": {
			resources(one(&Schema{Type: TypeString, Optional: true, ConflictsWith: []string{"anchr"}})),
			`there is no "anchr". Did you mean "anchor"?`},
		"conflict with itself": {
			resources(one(&Schema{Type: TypeString, Optional: true, ConflictsWith: []string{"x"}})),
			"the attribute itself"},
		"conflict with what must be": {
			resources(with(map[string]*Schema{"x": {Type: TypeString, Optional: true, ConflictsWith: []string{"y"}},
				"y": required})), `names "y", which is Required`},
		"conflict of what must be": {
			resources(one(&Schema{Type: TypeString, Required: true, ConflictsWith: []string{"anchor"}})),
			"a Required attribute cannot have ConflictsWith"},
		"conflict with what is computed": {
			resources(with(map[string]*Schema{"x": {Type: TypeString, Optional: true, ConflictsWith: []string{"y"}},
				"y": {Type: TypeString, Computed: true}})),
			"which cannot be configured"},
		"one of nobody": {
			resources(one(&Schema{Type: TypeString, Optional: true, ExactlyOneOf: []string{"x", "z"}})),
			`ExactlyOneOf names "z"`},
		"at least one of nobody": {
			resources(one(&Schema{Type: TypeString, Optional: true, AtLeastOneOf: []string{"z"}})),
			`AtLeastOneOf names "z"`},
		"required with nobody": {
			resources(one(&Schema{Type: TypeString, Optional: true, RequiredWith: []string{"z"}})),
			`RequiredWith names "z"`},
		"key into many blocks": {
			resources(with(map[string]*Schema{"x": {Type: TypeString, Optional: true, ConflictsWith: []string{"b.0.a"}},
				"b": block(map[string]*Schema{"a": text()})})), "lists of one block"},
		"group in many blocks": {
			resources(
				one(block(map[string]*Schema{"a": {Type: TypeString, Optional: true, ConflictsWith: []string{
					"anchor"}}}))), "there may be several blocks"},
		"write-only and computed": {
			resources(one(&Schema{Type: TypeString, Optional: true, Computed: true, WriteOnly: true})),
			"WriteOnly attribute cannot be Computed"},
		"write-only with a default": {
			resources(one(&Schema{Type: TypeString, Optional: true, WriteOnly: true, Default: "a"})),
			"WriteOnly attribute cannot have a Default"},
		"write-only and force new": {
			resources(one(&Schema{Type: TypeString, Optional: true, WriteOnly: true, ForceNew: true})),
			"WriteOnly attribute cannot be ForceNew"},
		"write-only set": {
			resources(one(&Schema{Type: TypeSet, Optional: true, WriteOnly: true, Elem: &Schema{Type: TypeString}})),
			"WriteOnly attribute cannot be a set"},
		"write-only in a set": {
			resources(
				one(&Schema{Type: TypeSet, Optional: true, Elem: &Resource{
					Schema: map[string]*Schema{"a": {Type: TypeString, Optional: true, WriteOnly: true}}}})),
			"WriteOnly attribute cannot be in a set"},
		"import flags of an attribute": {
			resources(one(&Schema{Type: TypeString, Optional: true, RequiredForImport: true})), "are for identities"},
		"identity without attributes": {resources(changed(func(r *Resource) { r.Identity = &ResourceIdentity{} })),
			"has no attributes"},
		"identity without import flags": {identity(&Schema{Type: TypeString}),
			"RequiredForImport and OptionalForImport"},
		"identity of blocks": {identity(&Schema{Type: TypeMap, RequiredForImport: true}),
			"must be simple"},
		"identity that is required": {identity(&Schema{Type: TypeString, RequiredForImport: true, Required: true}),
			"attributes of an identity only"},

		"nil resource": {resources(nil), "the resource is nil"},
		"type in upper case": {&Provider{ResourcesMap: map[string]*Resource{"demo_Thing": one(text())}},
			"not in lower case"},
		"no create": {resources(changed(func(r *Resource) { r.Create = nil })), "there is no Create"},
		"no read":   {resources(changed(func(r *Resource) { r.Read = nil })), "there is no Read"},
		"no delete": {resources(changed(func(r *Resource) { r.Delete = nil })), "there is no Delete"},
		"two ways to create": {resources(changed(func(r *Resource) { r.CreateContext = nopContext })),
			"Create and CreateContext"},
		"update without need": {
			resources(&Resource{Schema: map[string]*Schema{"x": {Type: TypeString, Optional: true, ForceNew: true}},
				Create: nop, Read: nop, Update: nop, Delete: nop}), "Update is never called"},
		"two importers": {resources(changed(func(r *Resource) {
			r.Importer = &ResourceImporter{ImportStatePassthrough, ImportStatePassthroughContext}
		})), "State and StateContext"},
		"version below zero": {resources(changed(func(r *Resource) { r.SchemaVersion = -1 })), "below zero"},
		"upgrader that leads nowhere": {
			resources(
				changed(func(r *Resource) { r.StateUpgraders = []StateUpgrader{{Version: 0, Upgrade: upgrade}} })),
			"does not lead to the SchemaVersion 0"},
		"upgrader without function": {
			resources(changed(func(r *Resource) {
				r.SchemaVersion, r.StateUpgraders = 1, []StateUpgrader{
					{Version: 0}}
			})), "has no Upgrade"},
		"two upgraders": {resources(changed(func(r *Resource) {
			r.SchemaVersion, r.StateUpgraders = 1, []StateUpgrader{{Upgrade: upgrade}, {Upgrade: upgrade}}
		})), "two StateUpgraders"},
		"a gap between upgraders": {
			resources(changed(func(r *Resource) {
				r.SchemaVersion, r.StateUpgraders = 2, []StateUpgrader{
					{Upgrade: upgrade}}
			})), "none for that version"},
		"no time": {
			resources(
				changed(func(r *Resource) { r.Timeouts = &ResourceTimeout{Create: DefaultTimeout(time.Duration(0))} })),
			"must be greater than zero"},
		"time for updates without one": {
			resources(changed(func(r *Resource) {
				r.Update, r.Timeouts = nil, &ResourceTimeout{
					Update: DefaultTimeout(time.Second)}
			})), "no Update"},
		"timeouts twice": {resources(changed(func(r *Resource) {
			r.Schema["timeouts"], r.Timeouts = text(), &ResourceTimeout{Create: DefaultTimeout(time.Second)}
		})), "that Timeouts adds"},
		"data source that writes":    {dataSource(&Resource{Read: nop, Create: nop}), "it has no Create"},
		"data source that is unread": {dataSource(&Resource{}), "there is no Read"},
		"data source with an importer": {dataSource(&Resource{Read: nop, Importer: &ResourceImporter{}}),
			"has no Importer"},
		"data source that is replaced": {
			readable(map[string]*Schema{"x": {Type: TypeString, Optional: true, ForceNew: true}}),
			"ForceNew is for attributes of resources"},
		"data source that writes only": {
			readable(map[string]*Schema{"x": {Type: TypeString, Optional: true, WriteOnly: true}}),
			"WriteOnly is for attributes of resources"},
		"computed configuration": {
			&Provider{Schema: map[string]*Schema{"x": {Type: TypeString, Optional: true, Computed: true}}},
			"Computed is for attributes of resources"},
		"two ways to configure": {&Provider{ConfigureFunc: func(*ResourceData) (interface{}, error) {
			return nil, nil
		}, ConfigureContextFunc: func(context.Context, *ResourceData) (interface{}, diag.Diagnostics) {
			return nil, nil
		}}, "use one of them"},
		"an address that is none": {&Provider{Address: "example/demo"}, "host/namespace/type"},
		"list of no resource type": {&Provider{ListResourcesMap: map[string]*ListResource{
			"demo_thing": {List: listNothing}}}, "there is no resource type of this name"},
		"list without identities": {&Provider{ResourcesMap: resources(one(text())).ResourcesMap,
			ListResourcesMap: map[string]*ListResource{"demo_thing": {List: listNothing}}}, "has no Identity"},
		"list without a callback": {listed(&ListResource{}), "there is no List"},
		"list that is computed": {listed(&ListResource{List: listNothing, Schema: map[string]*Schema{
			"x": {Type: TypeString, Computed: true}}}), "list demo_thing, x: Computed is for attributes of resources"},
		"list that is nil":   {listed(nil), "the list is nil"},
		"action uninvoked":   {&Provider{ActionsMap: map[string]*Action{"demo_act": {}}}, "there is no Invoke"},
		"action that is nil": {&Provider{ActionsMap: map[string]*Action{"demo_act": nil}}, "the action is nil"},
		"action with a bad name": {&Provider{ActionsMap: map[string]*Action{"Demo": {Invoke: actNothing}}},
			"not in lower case"},
		"action that is write-only": {&Provider{ActionsMap: map[string]*Action{"demo_act": {Invoke: actNothing,
			Schema: map[string]*Schema{"x": {Type: TypeString, Optional: true, WriteOnly: true}}}}},
			"WriteOnly is for attributes of resources"},
		"ephemeral resource unopened": {&Provider{EphemeralResourcesMap: map[string]*EphemeralResource{
			"demo_key": {}}}, "there is no Open"},
		"function without a result": {functions(&Function{Call: sane().Call}), "there is no Return"},
		"function without a body":   {functions(&Function{Return: &Schema{Type: TypeString}}), "there is no Call"},
		"parameter without a type": {
			functions(&Function{Call: sane().Call, Return: sane().Return, Parameters: []Parameter{{Name: "a"}}}),
			"parameter 0: there is no Type"},
		"two parameters of one name": {
			functions(&Function{Call: sane().Call, Return: sane().Return, Parameters: []Parameter{
				{Name: "a", Type: TypeInt}, {Name: "a", Type: TypeInt}}}), "two parameters"},
		"parameter without a name": {
			functions(&Function{Call: sane().Call, Return: sane().Return, Variadic: &Parameter{Type: TypeInt}}),
			`the name ""`},
		"function with a name of letter": {&Provider{Functions: map[string]*Function{"Shout": sane()}},
			"not in lower case"},
	}
}

func TestInternalValidateReportsEachMistake(t *testing.T) {
	all := wrong()
	if len(all) < 40 {
		t.Errorf("only %d wrong schemas", len(all))
	}
	for name, m := range all {
		t.Run(name, func(t *testing.T) {
			err := m.p.InternalValidate()
			if err == nil {
				t.Fatalf("nothing was found; want %q", m.want)
			}
			if lines := strings.Split(err.Error(), "\n"); len(lines) != 1 || !strings.Contains(lines[0], m.want) {
				t.Errorf("got\n%s\nwant one line with %q", err, m.want)
			}
			if _, diags := New(m.p).Schema(t.Context()); !diags.HasErrors() {
				t.Error("the provider starts all the same")
			}
		})
	}
}

func TestInternalValidateAcceptsValidSchemas(t *testing.T) {
	for name, p := range map[string]*Provider{
		"the provider of the tests": shelfProvider(newShelf())(),
		"an empty one":              {},
		"without update":            resources(changed(func(r *Resource) { r.Update = nil })),
		"defaults and checks": {Schema: map[string]*Schema{
			"token": {Type: TypeString, Required: true, DefaultFunc: EnvDefaultFunc("X", nil), Sensitive: true},
			"tries": {Type: TypeInt, Optional: true, DefaultFunc: MultiEnvDefaultFunc([]string{"X", "Y"}, 3)},
		}},
		"groups in one block": resources(one(&Schema{Type: TypeList, Optional: true, MaxItems: 1, Elem: &Resource{
			Schema: map[string]*Schema{
				"a": {Type: TypeString, Optional: true, ExactlyOneOf: []string{"x.0.a", "x.0.b"}},
				"b": {Type: TypeString, Optional: true, ConflictsWith: []string{"anchor", "x.0.a"}},
			}}})),
		"computed blocks": resources(
			one(&Schema{Type: TypeList, Computed: true, Elem: &Resource{Schema: map[string]*Schema{
				"a": {Type: TypeString, Computed: true},
				"b": {Type: TypeList, Computed: true, Elem: &Resource{
					Schema: map[string]*Schema{"c": {Type: TypeInt, Computed: true}}}},
			}}})),
	} {
		if err := p.InternalValidate(); err != nil {
			t.Errorf("%s: %s", name, err)
		}
	}
}

func TestInternalValidateListsMistakesInTheSameOrderEveryTime(t *testing.T) {
	p := &Provider{
		Schema: map[string]*Schema{"x": {Type: TypeString, Optional: true, ForceNew: true, WriteOnly: true,
			Stable: true, StateFunc: func(v interface{}) string { return "" }}},
		ResourcesMap: map[string]*Resource{"demo_thing": with(map[string]*Schema{
			"y": {Type: TypeSet, Optional: true, Computed: true, ForceNew: true, WriteOnly: true, Default: "z",
				Elem: &Schema{Type: TypeString}},
		})},
		DataSourcesMap: map[string]*Resource{"demo_thing": {Read: nop, SchemaVersion: 1, Importer: &ResourceImporter{},
			Exists: func(*ResourceData, interface{}) (bool, error) { return true, nil }}},
	}
	want := p.InternalValidate().Error()
	if lines := strings.Split(want, "\n"); len(lines) < 8 {
		t.Fatalf("only %d mistakes:\n%s", len(lines), want)
	}
	for range 20 {
		if got := p.InternalValidate().Error(); got != want {
			t.Fatalf("another order:\n%s\nbefore:\n%s", got, want)
		}
	}
}
