package schema_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
	. "github.com/tombolo-iac/tombolo/sdk/schema"
	"github.com/tombolo-iac/tombolo/sdk/schema/schematest"
)

// module is the schema of the provider_meta block.
type module struct {
	Name  string `cty:"name"`
	Level *int   `tombolo:"level"`
	Shade string `cty:"shade"`
}

func (m module) String() string {
	if m.Level == nil {
		return m.Name + m.Shade
	}
	return fmt.Sprint(m.Name, *m.Level, m.Shade)
}

// notes collects the arguments of callbacks. Callbacks of several objects run concurrently.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

// listening has a resource and a data source that record the provider_meta values that they get.
func listening(received *notes) *Provider {
	listen := func(op string) func(*ResourceData, interface{}) error {
		return func(d *ResourceData, _ interface{}) error {
			m := module{Name: "nobody"}
			if err := d.GetProviderMeta(&m); err != nil {
				return err
			}
			received.add(op + " " + m.String())
			if op == "create" || op == "data" {
				d.SetId("x")
			}
			return nil
		}
	}
	return &Provider{
		Address: "registry.terraform.io/example/demo",
		ProviderMetaSchema: map[string]*Schema{
			"name":  {Type: TypeString, Required: true},
			"level": {Type: TypeInt, Optional: true},
			"shade": {Type: TypeString, Optional: true, Default: "!"},
		},
		ResourcesMap: map[string]*Resource{typ: {
			Schema: map[string]*Schema{"v": {Type: TypeInt, Optional: true}},
			Create: listen("create"), Read: listen("read"), Update: listen("update"), Delete: listen("delete"),
			Importer: &ResourceImporter{State: ImportStatePassthrough},
		}},
		DataSourcesMap: map[string]*Resource{typ: {Read: listen("data")}},
	}
}

func TestCallbacksGetProviderMeta(t *testing.T) {
	var received notes
	config := func(v int) string {
		return fmt.Sprintf(`
terraform {
  provider_meta "demo" {
    name  = "mine"
    level = "3"
  }
}
resource "demo_thing" "a" { v = %d }
data "demo_thing" "b" {}
`, v)
	}
	schematest.Run(t, schematest.Case{
		Provider: func() *Provider { return listening(&received) },
		Steps: []schematest.Step{{Config: config(1)}, {Config: config(2)},
			{Config: "resource \"demo_thing\" \"a\" { v = 3 }"}, {Config: config(3)}},
	})
	for _, want := range []string{"create mine3!", "read mine3!", "update mine3!", "data mine3!", "read nobody",
		"update nobody", "delete mine3!"} {
		if !slices.Contains(received.lines, want) {
			t.Errorf("nobody heard %q; got %q", want, received.lines)
		}
	}
	for _, wrong := range []string{"create nobody", "delete nobody", "data nobody"} {
		if slices.Contains(received.lines, wrong) {
			t.Errorf("somebody heard %q; got %q", wrong, received.lines)
		}
	}
}

func TestProviderMetaIsDecodedStrictly(t *testing.T) {
	for name, into := range map[string]func(*ResourceData) error{
		"no pointer": func(d *ResourceData) error { return d.GetProviderMeta(module{}) },
		"no such attribute": func(d *ResourceData) error {
			return d.GetProviderMeta(&struct {
				X string `cty:"nam"`
			}{})
		},
		"another type": func(d *ResourceData) error {
			return d.GetProviderMeta(&struct {
				X bool `cty:"name"`
			}{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := listening(new(notes))
			p.ResourcesMap[typ].Read = func(d *ResourceData, _ interface{}) error { return into(d) }
			e := startProvider(t, p)
			meta := cty.ObjectVal(map[string]cty.Value{"name": str("x"), "level": cty.NullVal(cty.Number),
				"shade": cty.NullVal(cty.String)})
			prior := object(t, e.rt.Block, attrs{"id": str("x")})
			if resp := e.p.Read(t.Context(), provider.ReadRequest{
				Type: typ, Prior: prior, Meta: meta}); !resp.Diagnostics.HasErrors() {
				t.Error("no error")
			}
			if resp := e.p.Read(t.Context(), provider.ReadRequest{
				Type: typ, Prior: prior}); resp.Diagnostics.HasErrors() {
				t.Errorf("without a block: %s", resp.Diagnostics.Err())
			}
		})
	}
}

func TestCallbacksWithoutTimeoutHaveNoLimit(t *testing.T) {
	unlimited := func(ctx context.Context, d *ResourceData, _ interface{}) diag.Diagnostics {
		if _, limited := ctx.Deadline(); limited {
			return diag.Errorf("there is a deadline")
		}
		d.SetId(d.Timeout(TimeoutCreate).String())
		return nil
	}
	quiet := func(ctx context.Context, d *ResourceData, _ interface{}) diag.Diagnostics {
		if _, limited := ctx.Deadline(); limited {
			return diag.Errorf("there is a deadline")
		}
		return nil
	}
	e := start(t, &Resource{
		Schema:               map[string]*Schema{"name": {Type: TypeString, Optional: true}},
		CreateWithoutTimeout: unlimited, ReadWithoutTimeout: quiet, UpdateWithoutTimeout: quiet,
		DeleteWithoutTimeout: quiet,
		Timeouts: &ResourceTimeout{Create: DefaultTimeout(time.Nanosecond),
			Default: DefaultTimeout(time.Nanosecond)},
	})
	e.apply(attrs{"name": str("a")})
	has(t, e.state, attrs{"id": str("1ns")})
	e.apply(attrs{"name": str("b")})
	for op, diags := range map[string]diag.List{"read": e.read(), "delete": e.destroy()} {
		if diags.HasErrors() {
			t.Errorf("%s: %s", op, diags.Err())
		}
	}
}

func TestReadKeepsEquivalentValues(t *testing.T) {
	now := "A"
	r := keeper(map[string]*Schema{
		"kept":  {Type: TypeString, Optional: true, DiffSuppressFunc: fold, DiffSuppressOnRefresh: true},
		"other": {Type: TypeString, Optional: true, DiffSuppressFunc: fold},
	}, func(op string, d *ResourceData) error {
		if op != "read" {
			return nil
		}
		_ = d.Set("kept", now)
		return d.Set("other", now)
	})
	e := start(t, r)
	e.apply(attrs{"kept": str("a"), "other": str("a")})
	if diags := e.read(); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	has(t, e.state, attrs{"kept": str("a"), "other": str("A")})
	now = "B"
	if diags := e.read(); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	has(t, e.state, attrs{"kept": str("B"), "other": str("B")})
}

func fold(_, was, is string, _ *ResourceData) bool {
	return len(was) == len(is) && was[0]|32 == is[0]|32
}

func TestSchemaFuncReplacesSchema(t *testing.T) {
	r := keeper(nil, nil)
	r.Schema, r.SchemaFunc = nil, func() map[string]*Schema {
		return map[string]*Schema{
			"rule": {Type: TypeList, Optional: true, Elem: &Resource{SchemaFunc: func() map[string]*Schema {
				return map[string]*Schema{"port": {Type: TypeInt, Required: true}}
			}}}}
	}
	e := start(t, r)
	e.apply(attrs{"rule": tup(obj(attrs{"port": num(80)}))})
	if got := e.state.GetAttr("rule").LengthInt(); got != 1 {
		t.Errorf("got %d rules", got)
	}
}

func TestImportByAnAttributeOfTheIdentity(t *testing.T) {
	r := keeper(map[string]*Schema{"name": {Type: TypeString, Optional: true}}, nil)
	r.Identity = &ResourceIdentity{SchemaFunc: func() map[string]*Schema {
		return map[string]*Schema{"arn": {Type: TypeString, RequiredForImport: true}}
	}}
	r.Importer = &ResourceImporter{StateContext: ImportStatePassthroughWithIdentity("arn")}
	e := start(t, r)
	for want, req := range map[string]provider.ImportRequest{
		"by-id":  {Type: typ, ID: "by-id"},
		"by-arn": {Type: typ, Identity: cty.ObjectVal(map[string]cty.Value{"arn": str("by-arn")})},
	} {
		resp := e.p.Import(t.Context(), req)
		if resp.Diagnostics.HasErrors() || len(resp.Imported) != 1 || resp.Imported[0].State.GetAttr(
			"id").AsString() != want {
			t.Errorf("%s: got %v, %v", want, resp.Imported, resp.Diagnostics.Err())
		}
	}
	resp := e.p.Import(t.Context(), provider.ImportRequest{
		Type: typ, Identity: cty.ObjectVal(map[string]cty.Value{"arn": str("")})})
	refused(t, resp.Diagnostics, "", `"arn" of the identity`)
}

func TestTheUserAgentNamesEngineAndProvider(t *testing.T) {
	t.Setenv("TF_APPEND_USER_AGENT", " more/2 ")
	p := &Provider{TerraformVersion: "1.11.4"}
	for _, c := range [][3]string{{"demo", "1.0", "Terraform/1.11.4 demo/1.0 more/2"},
		{"demo", "", "Terraform/1.11.4 demo more/2"}, {"", "", "Terraform/1.11.4 more/2"}} {
		if got := p.UserAgent(c[0], c[1]); got != c[2] {
			t.Errorf("got %q, want %q", got, c[2])
		}
	}
}

func TestACopyOfASetIsAnotherSet(t *testing.T) {
	a := NewSet(HashString, []interface{}{"x"})
	b := CopySet(a)
	b.Add("y")
	if a.Len() != 1 || b.Len() != 2 || !b.Contains("x") || CopySet(nil) != nil {
		t.Errorf("got %v and %v", a, b)
	}
}
