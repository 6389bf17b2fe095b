package planning_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/builtin"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// warner is the built-in provider with a warning about its schema.
type warner struct{ provider.Provider }

func (w warner) Schema(ctx context.Context) (*provider.Schema, diag.List) {
	schema, diags := w.Provider.Schema(ctx)
	return schema, diags.Warnf(nil, "Old schema", "Use a newer version.")
}

func newWarner(context.Context) (provider.Provider, error) {
	return warner{builtin.New(builtin.Options{})}, nil
}

// A warning about a schema is reported once, however many objects need the schema: whether or not the configuration
// names the provider.
func TestAWarningAboutASchemaIsReportedOnce(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"objects without configuration": {"main.tf": ""},
		"both": {"main.tf": `
terraform {
  required_providers {
    warner = { source = "hashicorp/warner" }
  }
}
resource "terraform_data" "a" {
  provider = warner
  count    = 2
}
`},
	} {
		b := &bench{t: t}
		for i := range 5 {
			address := fmt.Sprintf("terraform_data.a[%d]", i)
			b.with(address, "x")
			a, _ := addr.ParseInstance(address)
			o := addr.Object{Instance: a}
			builder := b.prior.Builder()
			builder.Fold(state.Edit{Put: &state.PutObject{Addr: o, Object: b.prior.Object(o),
				Provider: addr.AbsProviderConfig{Provider: addr.DefaultProvider("warner")}}})
			b.prior = builder.State()
		}
		p, diags := b.plan(files)
		if diags.HasErrors() || len(diags) != 1 || len(actions(p)) < 3 {
			t.Errorf("%s: actions %v, problems %v", name, actions(p), diags)
		}
	}
}
