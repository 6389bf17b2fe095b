package serve_test

import (
	"context"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/host"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/provider/serve"
)

func TestAnAttachedProviderServesUntilItIsDetached(t *testing.T) {
	t.Parallel()
	value, detach, err := serve.Attach(t.Context(), serve.Options{Address: world.Addr().String(),
		New: world.Factory(world.Options{Dir: t.TempDir()})})
	if err != nil {
		t.Fatal(err)
	}
	found, err := host.ParseReattach(value)
	if err != nil {
		t.Fatal(err)
	}
	p, err := found[world.Addr()].Factory()(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	schema, diags := p.Schema(context.Background())
	if diags.HasErrors() || len(schema.Resources) == 0 {
		t.Fatal(diags.Err())
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := detach(); err != nil {
		t.Error(err)
	}
	if _, err := found[world.Addr()].Factory()(context.Background()); err == nil {
		t.Error("the provider can still be reached")
	}
}
