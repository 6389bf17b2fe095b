package schema_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/sdk/schema"
	"github.com/tombolo-iac/tombolo/sdk/schema/schematest"
)

// newerPrograms are those that support list and action blocks: the variable names a Terraform of version 1.14 or newer.
func newerPrograms() []string {
	if path := os.Getenv("TOMBOLO_TERRAFORM_NEW"); path != "" {
		return []string{path}
	}
	return nil
}

// TestListsAndActionsUnderEngines uses a provider with a list and an action through the library, and through programs
// that support them.
func TestListsAndActionsUnderEngines(t *testing.T) {
	for _, complete := range []bool{true, false} {
		world := newShelf()
		describe := func() *schema.Provider {
			p := shelfProvider(world)()
			p.ListResourcesMap["shelf_thing"] = listOfThings(complete)
			return p
		}
		config := func(size, tone string) string {
			return `
provider "shelf" {
  room = "hall"
}
action "shelf_bell" "done" {
  config {
    tone = "` + tone + `"
  }
}
resource "shelf_thing" "all" {
  for_each = toset(["a", "b"])
  name     = "n-${each.key}"
  size     = ` + size + `
  lifecycle {
    action_trigger {
      events  = [after_create, after_update]
      actions = [action.shelf_bell.done]
    }
  }
}
`
		}
		rung := func(want string) schematest.Check {
			return func(*schematest.State) error {
				world.mu.Lock()
				defer world.mu.Unlock()
				got := strings.Join(world.rung, "")
				world.rung = nil
				if got != want {
					t.Errorf("it rang %q, expected %q", got, want)
				}
				return nil
			}
		}
		schematest.Run(t, schematest.Case{
			Provider: describe, Programs: newerPrograms(),
			Steps: []schematest.Step{{
				Before: func() error { world.last, world.things = 0, map[string]map[string]interface{}{}; return nil },
				Config: config("1", "e"),
				Plan: schematest.Actions{`shelf_thing.all["a"]`: schematest.Create,
					`shelf_thing.all["b"]`: schematest.Create},
				Check: rung("eeee"),
			}, {
				Query: `
list "shelf_thing" "each" {
  provider         = shelf
  include_resource = true
  config {
    prefix = "n-"
  }
}
list "shelf_thing" "one" {
  provider = shelf
  limit    = 1
}
list "shelf_thing" "none" {
  provider = shelf
  config {
    prefix = "m"
  }
}
`,
				Finds: map[string][]string{"list.shelf_thing.each": {"the thing thing-1", "the thing thing-2"},
					"list.shelf_thing.one": {"the thing thing-1"}},
			}, {
				Query: "list \"shelf_thing\" \"bad\" {\n  provider = shelf\n  config {\n    prefix = \"?\"\n  }\n}\n",
				Error: "prefix is a question",
			}, {
				Config: config("2", "g"),
				Plan: schematest.Actions{`shelf_thing.all["a"]`: schematest.Update,
					`shelf_thing.all["b"]`: schematest.Update},
				Check: rung("gggg"),
			}},
		})
	}
}

// asked calls a list of a provider with one resource type.
func asked(t *testing.T, list schema.ListFunc, whole bool) provider.ListResponse {
	t.Helper()
	world := newShelf()
	world.put("one", map[string]interface{}{"name": "n1"})
	describe := shelfProvider(world)()
	describe.ListResourcesMap = map[string]*schema.ListResource{"shelf_thing": {List: list, Complete: true}}
	if err := describe.InternalValidate(); err != nil {
		t.Fatal(err)
	}
	p := schema.New(describe)
	room := cty.ObjectVal(map[string]cty.Value{"room": cty.StringVal("hall")})
	if diags := p.Configure(t.Context(), provider.ConfigureRequest{Config: room}).Diagnostics; diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return p.List(t.Context(), provider.ListRequest{Type: "shelf_thing", Config: cty.EmptyObjectVal, Limit: 2,
		IncludeObject: whole})
}

func TestListsThatCannotBeUsedAreProblems(t *testing.T) {
	type data = schema.ListData
	for want, list := range map[string]func(d *data){
		"without an id":                       func(d *data) { d.Found("x", d.Object()) },
		"that ListData.Object did not create": func(d *data) { d.Found("x", nil) },
		`no such attribute`: func(d *data) {
			o := d.Object()
			o.SetId("one")
			id, _ := o.Identity()
			_ = id.Set("nme", "x")
			d.Found("x", o)
		},
		`set "size"`: func(d *data) {
			o := d.Object()
			o.SetId("one")
			_ = o.Set("size", "many")
			d.Found("x", o)
		},
		"The provider crashed": func(d *data) { panic("no") },
		"prefix":               func(d *data) { d.Get("prefix") },
	} {
		for _, whole := range []bool{false, true} {
			resp := asked(t, func(_ context.Context, d *data, _ interface{}) diag.List { list(d); return nil }, whole)
			if got := resp.Diagnostics.Err(); got == nil || !strings.Contains(got.Error(), want) {
				t.Errorf("%s: got %v", want, got)
			}
			for _, d := range resp.Diagnostics {
				if len(d.Path) > 0 {
					t.Errorf("%s: there is a path", want)
				}
			}
		}
	}
	resp := asked(t, func(_ context.Context, d *data, _ interface{}) diag.List {
		more := []bool{}
		for _, id := range []string{"a", "b", "c"} {
			o := d.Object()
			o.SetId(id)
			more = append(more, d.Found(id, o))
		}
		if d.Limit() != 2 || !slices.Equal(more, []bool{true, false, false}) {
			t.Errorf("limit %d, more %v", d.Limit(), more)
		}
		return nil
	}, false)
	if resp.Diagnostics.HasErrors() || len(resp.Results) != 2 ||
		resp.Results[1].Identity.GetAttr("id").AsString() != "b" {
		t.Errorf("got %v %v", resp.Results, resp.Diagnostics.Err())
	}
}

func TestActionsSeeUnknownValues(t *testing.T) {
	world := newShelf()
	p := schema.New(shelfProvider(world)())
	room := cty.ObjectVal(map[string]cty.Value{"room": cty.StringVal("hall")})
	p.Configure(t.Context(), provider.ConfigureRequest{Config: room})
	config := func(tone cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"tone": tone, "times": cty.NullVal(cty.Number)})
	}
	planned := p.PlanAction(t.Context(), provider.PlanActionRequest{Type: "shelf_bell",
		Config: config(cty.UnknownVal(cty.String))})
	if planned.Diagnostics.HasErrors() {
		t.Errorf("plan: %v", planned.Diagnostics.Err())
	}
	var events []string
	invoked := p.InvokeAction(t.Context(), provider.InvokeActionRequest{Type: "shelf_bell",
		Config: config(cty.StringVal("a")), Progress: func(message string) { events = append(events, message) }})
	if invoked.Diagnostics.HasErrors() || invoked.Lost || !slices.Equal(events, []string{"a, 1", "a, 2"}) {
		t.Errorf("invoke: %v, %q", invoked.Diagnostics.Err(), events)
	}
	invoked = p.InvokeAction(t.Context(), provider.InvokeActionRequest{Type: "shelf_bel"})
	if got := invoked.Diagnostics.Err(); got == nil || !strings.Contains(got.Error(), `Did you mean "shelf_bell"?`) {
		t.Errorf("got %v", got)
	}
}

// TestGeneratedConfigurationsAreMinimal generates the configuration of an object.
func TestGeneratedConfigurationsAreMinimal(t *testing.T) {
	text, number := schema.TypeString, schema.TypeInt
	rule := &schema.Resource{Schema: map[string]*schema.Schema{
		"port": {Type: number, Required: true}, "proto": {Type: text, Optional: true, Default: "tcp"},
		"seen": {Type: number, Computed: true}}}
	r := &schema.Resource{
		Schema: map[string]*schema.Schema{
			"name": {Type: text, Required: true}, "kind": {Type: text, Optional: true, Default: "plain"},
			"size": {Type: number, Optional: true, Computed: true}, "etag": {Type: text, Computed: true},
			"old":   {Type: text, Optional: true, Deprecated: "use name"},
			"zone":  {Type: text, Optional: true, ConflictsWith: []string{"zones"}},
			"zones": {Type: schema.TypeList, Optional: true, Elem: &schema.Schema{Type: text}},
			"rule":  {Type: schema.TypeList, Optional: true, Elem: rule},
			"extra": {Type: schema.TypeSet, Optional: true, Elem: rule},
			"twin":  {Type: schema.TypeList, Optional: true, Elem: rule, ConflictsWith: []string{"rule"}},
		},
		Create: func(*schema.ResourceData, interface{}) error { return nil }, Delete: schema.Noop, Read: schema.Noop,
		Update:   schema.Noop,
		Timeouts: &schema.ResourceTimeout{Create: schema.DefaultTimeout(1)},
	}
	p := schema.New(&schema.Provider{ResourcesMap: map[string]*schema.Resource{"x_y": r}})
	s, _ := p.Schema(t.Context())
	block := s.Resources["x_y"].Block
	one := func(port int64, proto string, seen cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"port": cty.NumberIntVal(port), "seen": seen,
			"proto": cty.StringVal(proto)})
	}
	vals := block.EmptyValue().AsValueMap()
	for name, v := range map[string]cty.Value{"id": cty.StringVal("1"), "name": cty.StringVal("n"),
		"kind": cty.StringVal("plain"), "size": cty.Zero, "etag": cty.StringVal("e"), "old": cty.StringVal("n"),
		"zone": cty.StringVal("a"), "zones": cty.ListVal([]cty.Value{cty.StringVal("a")}),
		"rule":     cty.ListVal([]cty.Value{one(80, "tcp", cty.NumberIntVal(9)), one(53, "udp", cty.NumberIntVal(9))}),
		"extra":    cty.SetVal([]cty.Value{one(80, "tcp", cty.NumberIntVal(9))}),
		"twin":     cty.ListVal([]cty.Value{one(80, "tcp", cty.NumberIntVal(9))}),
		"timeouts": cty.ObjectVal(map[string]cty.Value{"create": cty.StringVal("1m")})} {
		vals[name] = v
	}
	resp := p.GenerateConfig(t.Context(), provider.GenerateConfigRequest{Type: "x_y", State: cty.ObjectVal(vals)})
	if resp.Diagnostics.HasErrors() {
		t.Fatal(resp.Diagnostics.Err())
	}
	want := block.EmptyValue().AsValueMap()
	want["name"], want["zone"] = vals["name"], vals["zone"]
	null := cty.NullVal(cty.Number)
	plain := cty.ObjectVal(map[string]cty.Value{"port": cty.NumberIntVal(80), "seen": null,
		"proto": cty.NullVal(cty.String)})
	want["extra"] = cty.SetVal([]cty.Value{plain})
	want["rule"] = cty.ListVal([]cty.Value{plain, one(53, "udp", null)})
	for name, v := range want {
		if got := resp.Config.GetAttr(name); !got.RawEquals(v) {
			t.Errorf("%s: got %#v, want %#v", name, got, v)
		}
	}
	diags := p.ValidateResource(t.Context(), provider.ValidateResourceRequest{Kind: provider.ManagedResource,
		Type: "x_y", Config: resp.Config})
	if len(diags) > 0 {
		t.Errorf("the configuration is not valid: %v", diags.Err())
	}
}
