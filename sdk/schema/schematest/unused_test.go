package schematest_test

import (
	"testing"

	"github.com/tombolo-iac/tombolo/sdk/schema"
	. "github.com/tombolo-iac/tombolo/sdk/schema/schematest"
)

// An unused provider block may lack arguments that come from the environment.
func TestUnusedProviderBlockIsNotChecked(t *testing.T) {
	t.Parallel()
	nothing := func() (interface{}, error) { return nil, nil }
	describe := func() *schema.Provider {
		return &schema.Provider{
			Address: "registry.terraform.io/example/shop",
			Schema: map[string]*schema.Schema{
				"token": {Type: schema.TypeString, Required: true, DefaultFunc: nothing}},
			ResourcesMap: map[string]*schema.Resource{"shop_shop": {
				Schema: map[string]*schema.Schema{"name": {Type: schema.TypeString, Required: true, ForceNew: true}},
				Create: func(d *schema.ResourceData, _ interface{}) error { d.SetId("x"); return nil },
				Read:   func(*schema.ResourceData, interface{}) error { return nil },
				Delete: func(*schema.ResourceData, interface{}) error { return nil },
			}},
		}
	}
	const blocks = "provider \"shop\" {\n}\nprovider \"shop\" {\n  alias = \"open\"\n  token = \"x\"\n}\nresource " +
		"\"shop_shop\" \"main\" {\n  name     = \"x\"\n"
	Run(t, Case{Provider: describe, Programs: []string{"terraform"}, Steps: []Step{
		{Config: blocks + "  provider = shop.open\n}\n", Check: Exists("shop_shop.main")},
		{Config: blocks + "}\n", Error: "Missing required argument.*token"},
	}})
}
