package tombolo_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// warner is a provider whose schema has a warning.
type warner struct{ provider.Provider }

func (w warner) Schema(ctx context.Context) (*provider.Schema, diag.List) {
	s, diags := w.Provider.Schema(ctx)
	return s, diags.Warnf(nil, "Old schema", "Use a newer version.")
}

// A warning about a schema is reported once for a loaded configuration: by Load if the configuration names the
// provider, otherwise by the plan, and not again by the apply. The next loaded configuration reports it again.
func TestWarningsOfSchemasAreReportedOnce(t *testing.T) {
	notes := schema.Factory(func() *schema.Provider {
		return &schema.Provider{ResourcesMap: map[string]*schema.Resource{"note": {
			Schema: map[string]*schema.Schema{"text": {Type: schema.TypeString, Required: true, ForceNew: true}},
			Create: func(d *schema.ResourceData, _ any) error { d.SetId("x"); return nil },
			Read:   schema.Noop, Delete: schema.Noop}}}
	})
	head := "terraform {\n  required_providers {\n    note = { source = \"example/note\" }\n  }\n}\n"
	o := projectIn(t, head+"resource \"note\" \"a\" { text = \"a\" }\nresource \"note\" \"b\" { text = \"b\" }\n")
	o.Store, o.Providers = tombolo.MemoryStore(), map[string]provider.Factory{
		"example/note": func(ctx context.Context) (provider.Provider, error) {
			in, err := notes(ctx)
			return warner{in}, err
		}}
	for _, c := range []string{"with their blocks", "without"} {
		project, diags := tombolo.Load(t.Context(), o)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		t.Cleanup(func() { project.Close() })
		run := opened(t, project, tombolo.OpenOptions{})
		p, more := run.Plan(t.Context(), tombolo.PlanOptions{})
		diags = diags.Extend(more)
		_, more = run.Apply(t.Context(), p, tombolo.ApplyOptions{})
		if diags = diags.Extend(more); diags.HasErrors() || len(diags) != 1 || diags[0].Summary != "Old schema" {
			t.Errorf("objects %s: problems %v", c, diags)
		}
		if err := run.Close(t.Context()); err.HasErrors() {
			t.Fatal(err.Err())
		}
		write(t, filepath.Join(o.Dir, "main.tf"), head)
	}
}
