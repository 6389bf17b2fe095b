package schematest_test

import (
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/tombolo-iac/tombolo/sdk/schema"
	. "github.com/tombolo-iac/tombolo/sdk/schema/schematest"
)

// shop is a remote system in the memory of the test.
type shop struct {
	mu    sync.Mutex // guards the fields below
	name  string
	tags  map[string]interface{}
	shut  bool // names cannot be changed
	calls []string
}

func (s *shop) updateTags(d *schema.ResourceData) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.tags = append(s.calls, "tags"), maps.Clone(d.Get("tags").(map[string]interface{}))
	return nil
}

func (s *shop) updateName(d *schema.ResourceData) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls = append(s.calls, "name"); s.shut {
		return errors.New("the name cannot be changed now")
	}
	s.name = d.Get("name").(string)
	return nil
}

// provider describes a provider whose update does two things, one after the other.
func (s *shop) provider() *schema.Provider {
	both := func(d *schema.ResourceData, _ interface{}) error {
		if err := errors.Join(s.updateTags(d), s.updateName(d)); err != nil {
			return err
		}
		d.SetId("shop")
		return nil
	}
	update := func(d *schema.ResourceData, _ interface{}) error {
		d.Partial(true)
		if d.HasChange("tags") {
			if err := s.updateTags(d); err != nil {
				return err
			}
			d.SetPartial("tags")
		}
		if d.HasChange("name") {
			if err := s.updateName(d); err != nil {
				return err
			}
			d.SetPartial("name")
		}
		d.Partial(false)
		return nil
	}
	return &schema.Provider{Address: "registry.terraform.io/example/shop", ResourcesMap: map[string]*schema.Resource{
		"shop_shop": {
			Schema: map[string]*schema.Schema{
				"name": {Type: schema.TypeString, Required: true},
				"tags": {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
			},
			Create: both, Update: update,
			// Read does nothing, so that the recorded changes are only in the state.
			Read:   func(*schema.ResourceData, interface{}) error { return nil },
			Delete: func(*schema.ResourceData, interface{}) error { return nil },
		}}}
}

// The tags are changed, then changing the name fails: only the tags are recorded, and the next apply only changes the
// name.
func TestPartialStateIsRepairedByTheNextApply(t *testing.T) {
	t.Parallel()
	const at = "shop_shop.main"
	shop := &shop{}
	config := func(name, tag string) string {
		return "resource \"shop_shop\" \"main\" {\n  name = \"" + name + "\"\n  tags = { owner = \"" + tag + "\" }\n}\n"
	}
	set := func(shut bool) func() error {
		return func() error {
			shop.mu.Lock()
			defer shop.mu.Unlock()
			shop.shut, shop.calls = shut, nil
			return nil
		}
	}
	did := func(want ...string) Check {
		return func(*State) error {
			shop.mu.Lock()
			defer shop.mu.Unlock()
			if len(want) != len(shop.calls) || len(want) == 1 && want[0] != shop.calls[0] {
				return errors.New("not the expected calls")
			}
			return nil
		}
	}
	Run(t, Case{Provider: shop.provider, Programs: []string{"terraform"}, Steps: []Step{
		{Before: set(false), Config: config("old", "ann"), Check: Exists(at)},
		{
			Name: "half", Before: set(true), Config: config("new", "bob"), Plan: Actions{at: Update},
			Error: "the name cannot be changed now",
			Check: All(Exists(at), Attr(at, "tags.owner", "bob"), Attr(at, "name", "old"), did("tags", "name")),
		},
		{
			Name: "repair", Before: set(false), Plan: Actions{at: Update},
			CheckPlan: AllPlanned(Planned(at, "name", "new"), Planned(at, "tags.owner", "bob")),
			Check:     All(Attr(at, "name", "new"), Attr(at, "tags.owner", "bob"), did("name")),
		},
	}})
}
