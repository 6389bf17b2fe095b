package planning_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// shop is a provider whose items have names; the fields select the behavior of imports and lists.
type shop struct {
	provider.Base
	exists bool
	// imports: "any" accepts each id, "none" returns nothing, "tells" reports a missing item, "fails" returns an error
	// if there is no item, "breaks" always returns an error.
	imports string
	// lists: "" (no lists), "all", "argument" (requires one), "refuses" (its validation fails), "fails", "full" (more
	// than is read), "nameless" (identities without values).
	lists string
}

func itemOf(name string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name)})
}

func (s shop) Schema(context.Context) (*provider.Schema, diag.List) {
	out := &provider.Schema{Provider: &provider.Block{}, Resources: map[string]*provider.ResourceType{"shop_item": {
		Block: &provider.Block{Attributes: map[string]*provider.Attribute{"name": {Type: cty.String, Required: true}}},
		Identity: &provider.IdentitySchema{Attributes: map[string]*provider.IdentityAttribute{
			"name": {Type: cty.String, RequiredForImport: true}}},
	}}, Lists: map[string]*provider.ResourceType{}}
	if s.lists != "" {
		shelf := &provider.Attribute{Type: cty.String, Required: s.lists == "argument", Optional: s.lists != "argument"}
		out.Lists["shop_item"] = &provider.ResourceType{Block: &provider.Block{
			Attributes: map[string]*provider.Attribute{"shelf": shelf}}}
	}
	return out, nil
}

func (s shop) ValidateResource(_ context.Context, req provider.ValidateResourceRequest) diag.List {
	if req.Kind == provider.ListResource && s.lists == "refuses" {
		return diag.List{}.Errorf(nil, "No shelf", "Which shelf?")
	}
	return nil
}

func (s shop) Import(_ context.Context, req provider.ImportRequest) provider.ImportResponse {
	name := req.ID
	if req.Identity != cty.NilVal {
		name = req.Identity.GetAttr("name").AsString()
	}
	switch {
	case s.imports == "breaks", s.imports == "fails" && !s.exists:
		return provider.ImportResponse{Diagnostics: diag.List{}.Errorf(nil, "Shop says no", "Go away.")}
	case s.imports == "tells" && !s.exists:
		return provider.ImportResponse{Diagnostics: diag.List{}.Errorf(nil, provider.NoSuchObject, "Gone.")}
	case s.imports == "none" && !s.exists:
		return provider.ImportResponse{}
	}
	return provider.ImportResponse{Imported: []provider.ImportedObject{
		{Type: "shop_item", State: itemOf(name), Identity: itemOf(name)}}}
}

func (s shop) Read(_ context.Context, req provider.ReadRequest) provider.ReadResponse {
	if !s.exists {
		return provider.ReadResponse{State: cty.NullVal(req.Prior.Type())}
	}
	return provider.ReadResponse{State: req.Prior, Identity: itemOf(req.Prior.GetAttr("name").AsString())}
}

func (s shop) List(_ context.Context, req provider.ListRequest) (out provider.ListResponse) {
	if !req.Config.GetAttr("shelf").IsNull() || s.lists == "argument" || s.lists == "refuses" {
		panic("a list of which nobody could know the arguments")
	}
	identity := itemOf("other")
	if s.lists == "nameless" {
		identity = cty.NullVal(identity.Type())
	}
	out.Results = []provider.Listed{{Identity: identity}}
	if s.exists {
		out.Results = append(out.Results, provider.Listed{Identity: itemOf("lamp")})
	}
	switch s.lists {
	case "fails":
		out.Diagnostics = out.Diagnostics.Errorf(nil, "Shelf fell down", "No list.")
	case "full":
		for len(out.Results) < req.Limit {
			out.Results = append(out.Results, provider.Listed{Identity: itemOf("another")})
		}
	}
	return out
}

func (s shop) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	return provider.PlanResponse{Planned: req.Proposed}
}

// outcome returns the expected result of an import: "import", "create" or an error.
func (s shop) outcome(optional, byIdentity bool) string {
	switch {
	case s.exists && s.imports != "breaks":
		return "import"
	case s.imports != "fails" && s.imports != "breaks":
		if optional {
			return "create"
		}
		return provider.NoSuchObject
	case optional && byIdentity && s.lists == "all" && !s.exists:
		return "create"
	}
	return "Shop says no"
}

func TestOptionalImportsImportOrCreate(t *testing.T) {
	for _, exists := range []bool{true, false} {
		for _, imports := range []string{"any", "none", "tells", "fails", "breaks"} {
			for _, lists := range []string{"", "all", "argument", "refuses", "fails", "full", "nameless"} {
				for _, how := range []string{`id = "lamp"`, `identity = { name = "lamp" }`} {
					for _, optional := range []string{"", "optional = false", "optional = true"} {
						s := shop{exists: exists, imports: imports, lists: lists}
						t.Run(fmt.Sprintf("%v/%s/%s/%s/%s", exists, imports, lists, how, optional), func(t *testing.T) {
							optionalImport(t, s, how, optional)
						})
					}
				}
			}
		}
	}
}

func optionalImport(t *testing.T, s shop, how, optional string) {
	b := &bench{t: t, shop: s}
	p, diags := b.plan(map[string]string{"main.tombolo": `
resource "shop_item" "a" { name = "lamp" }
resource "terraform_data" "after" { input = shop_item.a.name }
import {
  to = shop_item.a
  ` + how + "\n" + optional + `
}
`})
	want := s.outcome(optional == "optional = true", strings.HasPrefix(how, "identity"))
	if want != "import" && want != "create" {
		if !diags.HasErrors() || diags[0].Summary != want || len(diags) != 1 {
			t.Fatalf("got %v, want %s", diags.Err(), want)
		}
		// A listed object exists, but cannot be imported.
		listed := s.exists && s.lists == "all" && strings.HasPrefix(how, "identity")
		undecided := strings.Contains(diags[0].Detail, "The import is optional")
		if undecided != (optional == "optional = true" && !listed) {
			t.Errorf("said %q", diags[0].Detail)
		}
		return
	}
	if diags.HasErrors() {
		t.Fatalf("got %v, want %s", diags.Err(), want)
	}
	c := p.Changes[0]
	if got := c.Action.String(); got != map[string]string{"import": "no-op", "create": "create"}[want] {
		t.Errorf("the action is %s, want %s", got, want)
	}
	if (c.Importing != nil) != (want == "import") || (c.NotImported != nil) != (want == "create") {
		t.Errorf("imported: %v, not imported: %v, want %s", c.Importing, c.NotImported, want)
	}
	if c.NotImported != nil && !strings.Contains(c.NotImported.Shown(), "lamp") {
		t.Errorf("it looked for %q", c.NotImported.Shown())
	}
}

func TestOptionalImportsDoNotRepeatInterruptedCreations(t *testing.T) {
	a, _ := addr.ParseInstance("shop_item.a")
	begun := state.Intent{Object: addr.Object{Instance: a},
		Provider: addr.AbsProviderConfig{Provider: addr.DefaultProvider("shop")}}
	files := map[string]string{"main.tombolo": `
resource "shop_item" "a" { name = "lamp" }
import {
  to       = shop_item.a
  id       = "lamp"
  optional = true
}
`}
	b := &bench{t: t, shop: shop{imports: "any"}}
	b.opts.Interrupted = []state.Intent{begun}
	b.wantError(files, provider.NoSuchObject)
	b.shop.exists = true
	if p := b.want(files); len(p.Changes) != 1 || p.Changes[0].Importing == nil {
		t.Errorf("planned %v", p.Changes)
	}
}

func TestOptionalImportsOfOtherTools(t *testing.T) {
	b := &bench{t: t}
	b.wantError(root(`
resource "shop_item" "a" { name = "lamp" }
import {
  to       = shop_item.a
  id       = "lamp"
  optional = true
}
`), "Unsupported argument", `"optional"`, ".tombolo")
}

func TestOptionalImportsWithoutABlockAreNotOptional(t *testing.T) {
	b := &bench{t: t, shop: shop{imports: "any"}}
	b.opts.Generate = true
	b.wantError(map[string]string{"main.tombolo": `
import {
  to       = shop_item.a
  id       = "lamp"
  optional = true
}
`}, provider.NoSuchObject)
	b.shop.exists = true
	b.opts.Mode = plan.Normal
	if p := b.want(map[string]string{"main.tombolo": `
import {
  to       = shop_item.a
  id       = "lamp"
  optional = true
}
`}); len(p.Changes) != 1 || p.Changes[0].GeneratedConfig == "" {
		t.Errorf("planned %v", p.Changes)
	}
}

func TestGeneratedBlocksNameTheirProviderInstance(t *testing.T) {
	b := &bench{t: t, shop: shop{imports: "any", exists: true}}
	b.opts.Generate = true
	p := b.want(root(`
locals { key = "south" }
provider "shop" {
  alias    = "by"
  for_each = toset(["north", "south"])
}
import {
  to       = shop_item.a
  id       = "lamp"
  provider = shop.by[local.key]
}
`))
	if len(p.Changes) != 1 || !strings.Contains(p.Changes[0].GeneratedConfig, `provider = shop.by["south"]`) ||
		p.Changes[0].Provider.Key != addr.StringKey("south") {
		t.Errorf("planned %v", p.Changes)
	}
	b.wantError(root(`
provider "shop" {
  alias    = "by"
  for_each = toset(["north", "south"])
}
import {
  to       = shop_item.a
  id       = "lamp"
  provider = shop.by["east"]
}
`), "Provider instance not present", `"east"`)
}
