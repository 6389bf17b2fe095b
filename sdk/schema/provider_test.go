package schema_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/wiretest"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/providertest"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// shelf is the remote system of the tests' provider: things with ids.
type shelf struct {
	mu     sync.Mutex
	last   int
	things map[string]map[string]interface{}
	rung   []string
}

func newShelf() *shelf { return &shelf{things: map[string]map[string]interface{}{}} }

func (s *shelf) put(id string, thing map[string]interface{}) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" {
		s.last++
		id = fmt.Sprintf("thing-%d", s.last)
	}
	s.things[id] = thing
	return id
}

func (s *shelf) get(id string) map[string]interface{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.things[id]
}

func (s *shelf) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.things, id)
}

var thingFields = []string{"name", "size", "ratio", "on", "note", "tags", "labels", "words", "rule", "port", "etag",
	"greeting", "given"}

func thing() *schema.Resource {
	write := func(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.Diagnostics {
		if pause, ok := d.GetOk("delay"); ok {
			t, _ := time.ParseDuration(pause.(string))
			select {
			case <-time.After(t):
			case <-ctx.Done():
				return diag.Errorf("interrupted: %s", context.Cause(ctx))
			}
		}
		thing := map[string]interface{}{}
		for _, k := range thingFields {
			thing[k] = d.Get(k)
		}
		thing["etag"] = fmt.Sprintf("%s/%d/%d", d.Get("name"), d.Get("size"), len(d.Get("password").(string)))
		if _, ok := d.GetOk("given"); !ok {
			thing["given"] = "by the system"
		}
		d.SetId(meta.(*shelf).put(d.Id(), thing))
		return nil
	}
	read := func(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.Diagnostics {
		thing := meta.(*shelf).get(d.Id())
		if thing == nil {
			d.SetId("")
			return nil
		}
		for k, v := range thing {
			if err := d.Set(k, v); err != nil {
				return diag.FromErr(err)
			}
		}
		return nil
	}
	both := func(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.Diagnostics {
		if diags := write(ctx, d, meta); diags.HasErrors() {
			return diags
		}
		return read(ctx, d, meta)
	}
	return &schema.Resource{
		Description: "A thing on a shelf.",
		Schema: map[string]*schema.Schema{
			"name":     {Type: schema.TypeString, Required: true, ForceNew: true, ValidateFunc: notEmpty},
			"size":     {Type: schema.TypeInt, Optional: true, Default: 3},
			"ratio":    {Type: schema.TypeFloat, Optional: true},
			"on":       {Type: schema.TypeBool, Optional: true},
			"note":     {Type: schema.TypeString, Optional: true, Sensitive: true},
			"delay":    {Type: schema.TypeString, Optional: true},
			"password": {Type: schema.TypeString, Optional: true, WriteOnly: true},
			"tags":     {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
			"labels": {Type: schema.TypeSet, Optional: true, Elem: &schema.Schema{Type: schema.TypeString},
				Set: schema.HashString},
			"words": {Type: schema.TypeList, Optional: true, Elem: &schema.Schema{Type: schema.TypeString},
				MaxItems: 3},
			"rule": {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"text": {Type: schema.TypeString, Required: true},
				"kind": {Type: schema.TypeString, Optional: true, Default: "plain"},
			}}},
			"port": {Type: schema.TypeSet, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"number": {Type: schema.TypeInt, Required: true},
				"proto":  {Type: schema.TypeString, Optional: true, Default: "tcp"},
			}}},
			"given":    {Type: schema.TypeString, Optional: true, Computed: true},
			"etag":     {Type: schema.TypeString, Computed: true},
			"greeting": {Type: schema.TypeString, Computed: true},
		},
		CreateContext: both, ReadContext: read, UpdateContext: both,
		DeleteContext: func(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.Diagnostics {
			meta.(*shelf).remove(d.Id())
			return nil
		},
		Importer: &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
		Timeouts: &schema.ResourceTimeout{Create: schema.DefaultTimeout(time.Minute), Default: schema.DefaultTimeout(
			time.Minute)},
		CustomizeDiff: func(ctx context.Context, d *schema.ResourceDiff, meta interface{}) error {
			if name, ok := d.GetKnown("name"); ok && d.HasChange("name") {
				return d.SetNew("greeting", "Hello, "+name.(string))
			}
			return nil
		},
		Identity: &schema.ResourceIdentity{SchemaFunc: func() map[string]*schema.Schema {
			return map[string]*schema.Schema{"id": {Type: schema.TypeString, RequiredForImport: true}}
		}},
	}
}

func notEmpty(v interface{}, key string) ([]string, []error) {
	if v.(string) == "" {
		return nil, []error{fmt.Errorf("%s is empty", key)}
	}
	return nil, nil
}

func shelfProvider(world *shelf) func() *schema.Provider {
	return func() *schema.Provider {
		return &schema.Provider{
			Address: "registry.terraform.io/example/shelf",
			Schema: map[string]*schema.Schema{
				"room": {Type: schema.TypeString, Required: true, ValidateFunc: notEmpty}},
			ResourcesMap: map[string]*schema.Resource{"shelf_thing": thing()},
			DataSourcesMap: map[string]*schema.Resource{"shelf_count": {
				Schema: map[string]*schema.Schema{
					"prefix": {Type: schema.TypeString, Optional: true, Default: "thing-"},
					"things": {Type: schema.TypeInt, Computed: true},
				},
				Read: func(d *schema.ResourceData, meta interface{}) error {
					n := 0
					meta.(*shelf).mu.Lock()
					defer meta.(*shelf).mu.Unlock()
					for id := range meta.(*shelf).things {
						if strings.HasPrefix(id, d.Get("prefix").(string)) {
							n++
						}
					}
					return d.Set("things", n)
				},
			}},
			EphemeralResourcesMap: map[string]*schema.EphemeralResource{"shelf_key": {
				Schema: map[string]*schema.Schema{
					"holder": {Type: schema.TypeString, Required: true},
					"secret": {Type: schema.TypeString, Computed: true, Sensitive: true},
				},
				Open: func(ctx context.Context, d *schema.EphemeralData, meta interface{}) diag.Diagnostics {
					d.SetPrivate([]byte("of " + d.Get("holder").(string)))
					d.SetRenewAt(time.Now().Add(time.Hour))
					return diag.FromErr(d.Set("secret", "s3cret"))
				},
				Renew: func(ctx context.Context, d *schema.EphemeralData, meta interface{}) diag.Diagnostics {
					if string(d.Private()) != "of eve" {
						return diag.Errorf("private data %q", d.Private())
					}
					return nil
				},
			}},
			ListResourcesMap: map[string]*schema.ListResource{"shelf_thing": listOfThings(true)},
			ActionsMap:       map[string]*schema.Action{"shelf_bell": bell()},
			Functions: map[string]*schema.Function{"shout": {
				Parameters: []schema.Parameter{{Name: "text", Type: schema.TypeString}},
				Return:     &schema.Schema{Type: schema.TypeString},
				Call: func(ctx context.Context, args []interface{}) (interface{}, error) {
					if args[0].(string) == "" {
						return nil, schema.ArgumentError(0, "nothing to shout")
					}
					return strings.ToUpper(args[0].(string)), nil
				},
			}},
			ConfigureFunc: func(d *schema.ResourceData) (interface{}, error) { return world, nil },
		}
	}
}

// listOfThings finds the things whose names have a prefix. If it is not complete, Read has to complete the results.
func listOfThings(complete bool) *schema.ListResource {
	return &schema.ListResource{
		Schema: map[string]*schema.Schema{
			"prefix": {Type: schema.TypeString, Optional: true, Default: "", ValidateFunc: notQuestion}},
		Complete: complete,
		List: func(ctx context.Context, d *schema.ListData, meta interface{}) diag.Diagnostics {
			world := meta.(*shelf)
			world.mu.Lock()
			defer world.mu.Unlock()
			for _, id := range slices.Sorted(maps.Keys(world.things)) {
				thing := world.things[id]
				if !strings.HasPrefix(thing["name"].(string), d.Get("prefix").(string)) {
					continue
				}
				o := d.Object()
				o.SetId(id)
				for k, v := range thing {
					if d.IncludeResource() && complete {
						if err := o.Set(k, v); err != nil {
							return diag.FromErr(err)
						}
					}
				}
				if !d.Found("the thing "+id, o) {
					break
				}
			}
			return nil
		},
	}
}

func notQuestion(v interface{}, key string) ([]string, []error) {
	if v.(string) == "?" {
		return nil, []error{fmt.Errorf("%s is a question", key)}
	}
	return nil, nil
}

// bell returns an action that records how it was invoked.
func bell() *schema.Action {
	return &schema.Action{
		Description: "Rings.",
		Schema: map[string]*schema.Schema{
			"tone":  {Type: schema.TypeString, Required: true},
			"times": {Type: schema.TypeInt, Optional: true, Default: 2},
		},
		Plan: func(ctx context.Context, d *schema.ActionData, meta interface{}) diag.Diagnostics {
			if n, known := d.GetKnown("times"); known && n.(int) < 1 {
				return diag.Diagnostics{{Severity: diag.Error, Summary: "Never", Path: cty.GetAttrPath("times")}}
			}
			d.Progress("nobody hears this")
			return nil
		},
		Invoke: func(ctx context.Context, d *schema.ActionData, meta interface{}) diag.Diagnostics {
			world := meta.(*shelf)
			world.mu.Lock()
			defer world.mu.Unlock()
			for i := range d.Get("times").(int) {
				world.rung = append(world.rung, d.Get("tone").(string))
				d.Progress("%s, %d", d.Get("tone"), i+1)
			}
			return nil
		},
	}
}

// transports are the ways to call a provider.
var transports = map[string]func(provider.Factory) provider.Factory{
	"in process": func(f provider.Factory) provider.Factory { return f },
	"protocol 5": func(f provider.Factory) provider.Factory { return wiretest.Over(f, 5) },
	"protocol 6": func(f provider.Factory) provider.Factory { return wiretest.Over(f, 6) },
}

func TestProviderPassesTheSuiteOverEveryTransport(t *testing.T) {
	for name, over := range transports {
		t.Run(name, func(t *testing.T) {
			world := newShelf()
			providertest.Run(t, providertest.Options{
				New:    over(schema.Factory(shelfProvider(world))),
				Config: providertest.Attrs{"room": cty.StringVal("hall")},
				InvalidConfigs: []providertest.Invalid{
					{Name: "room", Change: providertest.Attrs{"room": cty.StringVal("")},
						Path: cty.GetAttrPath("room")}},
				Patience:  time.Second,
				Resources: []providertest.Resource{thingCase(world)},
				Data: []providertest.Data{
					{Type: "shelf_count", Config: providertest.Attrs{"prefix": cty.StringVal("nothing-")},
						Want: providertest.Attrs{"things": cty.NumberIntVal(0), "id": cty.StringVal("-")}}},
				Ephemeral: []providertest.Ephemeral{
					{Type: "shelf_key", Config: providertest.Attrs{"holder": cty.StringVal("eve")},
						Want: providertest.Attrs{"secret": cty.StringVal("s3cret")}}},
				Lists: []providertest.List{{Type: "shelf_thing", Config: providertest.Attrs{
					"prefix": cty.StringVal("n")}, Invalid: []providertest.Invalid{{Name: "question",
					Change: providertest.Attrs{"prefix": cty.StringVal("?")}, Path: cty.GetAttrPath("prefix")}}}},
				Actions: []providertest.Action{{Type: "shelf_bell", Config: providertest.Attrs{
					"tone": cty.StringVal("e")}, Invalid: []providertest.Invalid{{Name: "never",
					Change: providertest.Attrs{"times": cty.Zero}, Path: cty.GetAttrPath("times")}},
					Invoked: func() error {
						if got := strings.Join(world.rung, ""); got != "eeee" {
							return fmt.Errorf("it rang %q", got)
						}
						return nil
					}}},
				Functions: []providertest.Function{
					{Name: "shout", Args: []cty.Value{cty.StringVal("hey")}, Want: cty.StringVal("HEY")},
					{Name: "shout", Args: []cty.Value{cty.StringVal("")}},
				},
			})
		})
	}
}

func thingCase(world *shelf) providertest.Resource {
	text := cty.StringVal
	block := func(attrs map[string]cty.Value) cty.Value { return cty.ObjectVal(attrs) }
	return providertest.Resource{
		Type: "shelf_thing",
		Config: func(n int) providertest.Attrs {
			return providertest.Attrs{
				"name": text(fmt.Sprintf("n%d", n)), "ratio": cty.MustParseNumberVal("0.1"), "password": text("hush"),
				"tags":   cty.MapVal(map[string]cty.Value{"a.b": text("c"), "e": text("")}),
				"labels": cty.SetVal([]cty.Value{text("x"), text("")}),
				"rule": cty.TupleVal([]cty.Value{block(map[string]cty.Value{"text": text("one")}),
					block(map[string]cty.Value{"text": text(""), "kind": text("odd")})}),
				"port": cty.TupleVal([]cty.Value{block(map[string]cty.Value{"number": cty.NumberIntVal(80)}),
					block(map[string]cty.Value{"number": cty.NumberIntVal(0), "proto": text("")})}),
			}
		},
		Updates: []providertest.Update{
			{Name: "size", Change: providertest.Attrs{"size": cty.NumberIntVal(4)}},
			{Name: "zero values", Change: providertest.Attrs{"size": cty.NumberIntVal(0), "on": cty.False,
				"note": text(""), "words": cty.ListValEmpty(cty.String)}},
			{Name: "nothing left", Change: providertest.Attrs{"ratio": cty.NullVal(cty.Number),
				"tags": cty.NullVal(cty.Map(cty.String)), "labels": cty.NullVal(cty.Set(cty.String)),
				"rule": cty.EmptyTupleVal, "port": cty.EmptyTupleVal}},
			{Name: "given", Change: providertest.Attrs{"given": text("by me")}},
			{Name: "name", Change: providertest.Attrs{"name": text("other")}, Replaces: true},
			{Name: "timeouts", Change: providertest.Attrs{
				"timeouts": block(map[string]cty.Value{"create": text("2m")})}},
		},
		Invalid: []providertest.Invalid{
			{Name: "empty name", Change: providertest.Attrs{"name": text("")}, Path: cty.GetAttrPath("name")},
			{Name: "half a size", Change: providertest.Attrs{"size": cty.NumberFloatVal(1.5)},
				Path: cty.GetAttrPath("size")},
			{Name: "too many words", Change: providertest.Attrs{
				"words": cty.ListVal([]cty.Value{text("a"), text("b"), text("c"), text("d")})},
				Path: cty.GetAttrPath("words")},
		},
		Import: &providertest.Import{
			ID: func(v cty.Value) string { return v.GetAttr("id").AsString() }, Missing: "thing-0",
			Want: func(v cty.Value) cty.Value { return v },
		},
		Remove: func(v cty.Value) error { world.remove(v.GetAttr("id").AsString()); return nil },
		Slow:   providertest.Attrs{"delay": text("1m")},
	}
}
