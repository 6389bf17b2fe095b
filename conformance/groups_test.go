package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// groups is a provider of files that represent security groups, implemented with sdk/schema. Operations on attributes
// that the file refuse names fail, so that updates can fail after the first half. GROUPS_PANIC names a callback that
// panics.
func groups() *schema.Provider {
	return &schema.Provider{
		Address:      "registry.terraform.io/tombolo/groups",
		ResourcesMap: map[string]*schema.Resource{"groups_group": group(), "groups_fixed": fixedGroup()},
		DataSourcesMap: map[string]*schema.Resource{"groups_count": {
			Schema: map[string]*schema.Schema{"ids": {Type: schema.TypeSet, Optional: true, Elem: &schema.Schema{
				Type: schema.TypeString}}, "found": {Type: schema.TypeInt, Computed: true}},
			Read: func(d *schema.ResourceData, _ interface{}) error {
				n := 0
				for _, id := range d.Get("ids").(*schema.Set).List() {
					if _, err := os.Stat(id.(string) + ".json"); err == nil {
						n++
					}
				}
				return d.Set("found", n)
			},
		}},
		Functions: map[string]*schema.Function{"tagged": {
			Parameters: []schema.Parameter{{Name: "tags", Type: schema.TypeMap},
				{Name: "key", Type: schema.TypeString}},
			Return: &schema.Schema{Type: schema.TypeBool},
			Call: func(_ context.Context, args []interface{}) (interface{}, error) {
				if args[1] == "" {
					return nil, schema.ArgumentError(1, "the key is empty")
				}
				_, ok := args[0].(map[string]interface{})[args[1].(string)]
				return ok, nil
			},
		}},
	}
}

func group() *schema.Resource {
	return &schema.Resource{
		Schema: map[string]*schema.Schema{
			"name": {Type: schema.TypeString, Required: true},
			"tags": {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
			"rule": {Type: schema.TypeSet, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"port":  {Type: schema.TypeInt, Required: true},
				"proto": {Type: schema.TypeString, Optional: true, Default: "tcp"},
			}}},
			"vpc": {Type: schema.TypeString, Optional: true, ForceNew: true, Default: "main"},
			"note": {Type: schema.TypeString, Optional: true, DiffSuppressFunc: func(_, was, is string,
				_ *schema.ResourceData) bool {
				return strings.EqualFold(was, is)
			}},
			"secret":   {Type: schema.TypeString, Optional: true, WriteOnly: true},
			"revision": {Type: schema.TypeInt, Computed: true},
		},
		Create:   groupCreate,
		Read:     groupRead,
		Update:   groupUpdate,
		Delete:   groupDelete,
		Importer: &schema.ResourceImporter{State: schema.ImportStatePassthrough},
	}
}

// fixedGroup has no Update: every change replaces it.
func fixedGroup() *schema.Resource {
	return &schema.Resource{
		Schema: map[string]*schema.Schema{"name": {Type: schema.TypeString, Required: true}, "size": {
			Type: schema.TypeInt, Optional: true}},
		CreateContext: func(_ context.Context, d *schema.ResourceData, _ interface{}) diag.Diagnostics {
			d.SetId(d.Get("name").(string))
			return nil
		},
		ReadContext:   func(context.Context, *schema.ResourceData, interface{}) diag.Diagnostics { return nil },
		DeleteContext: func(context.Context, *schema.ResourceData, interface{}) diag.Diagnostics { return nil },
		Importer: &schema.ResourceImporter{StateContext: func(_ context.Context, d *schema.ResourceData,
			_ interface{}) ([]*schema.ResourceData, error) {
			return []*schema.ResourceData{d}, d.Set("name", d.Id())
		}},
	}
}

// groupWrite writes one attribute of a group to its file, unless that is refused.
func groupWrite(d *schema.ResourceData, key string) error {
	if refused, _ := os.ReadFile("refuse"); strings.Contains(string(refused), key) {
		return fmt.Errorf("the system refuses to set %q", key)
	}
	stored, err := groupStored(d.Id())
	if err != nil {
		return err
	}
	stored[key] = d.Get(key)
	if s, ok := stored[key].(*schema.Set); ok {
		stored[key] = s.List()
	}
	revision, _ := stored["revision"].(float64)
	stored["revision"] = revision + 1
	data, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	return os.WriteFile(d.Id()+".json", data, 0o666)
}

// groupStored reads the file of a group. A missing file has no attributes.
func groupStored(id string) (map[string]interface{}, error) {
	data, err := os.ReadFile(id + ".json")
	if errors.Is(err, os.ErrNotExist) {
		return map[string]interface{}{}, nil
	}
	var stored map[string]interface{}
	if err == nil {
		err = json.Unmarshal(data, &stored)
	}
	return stored, err
}

var groupKeys = []string{"tags", "rule", "note", "vpc", "name"}

func groupCreate(d *schema.ResourceData, meta interface{}) error {
	d.SetId("g-" + d.Get("vpc").(string))
	if os.Getenv("GROUPS_PANIC") == "create" {
		panic("the provider has a bad day")
	}
	for _, key := range groupKeys {
		if err := groupWrite(d, key); err != nil {
			return err
		}
	}
	return groupRead(d, meta)
}

func groupRead(d *schema.ResourceData, _ interface{}) error {
	stored, err := groupStored(d.Id())
	if err != nil {
		return err
	}
	if len(stored) == 0 {
		d.SetId("")
		return nil
	}
	for key, v := range stored {
		if err := d.Set(key, v); err != nil {
			return err
		}
	}
	return nil
}

// groupUpdate records the completed part of an update that fails.
func groupUpdate(d *schema.ResourceData, meta interface{}) error {
	d.Partial(true)
	for _, key := range groupKeys {
		if !d.HasChange(key) {
			continue
		}
		if err := groupWrite(d, key); err != nil {
			return err
		}
		d.SetPartial(key)
	}
	if os.Getenv("GROUPS_PANIC") == "update" {
		panic("the provider has a bad day")
	}
	d.Partial(false)
	return groupRead(d, meta)
}

func groupDelete(d *schema.ResourceData, _ interface{}) error { return os.Remove(d.Id() + ".json") }
