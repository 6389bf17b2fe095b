package schema_test

import (
	"context"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

type connection struct{ closed int }

func (c *connection) Close() error { c.closed++; return nil }

func TestConfiguredClientIsClosed(t *testing.T) {
	c := &connection{}
	p := schema.New(&schema.Provider{ConfigureFunc: func(*schema.ResourceData) (interface{}, error) { return c, nil }})
	if err := p.Close(); err != nil || c.closed != 0 {
		t.Errorf("closed %d times before it was made: %v", c.closed, err)
	}
	p = schema.New(&schema.Provider{ConfigureFunc: func(*schema.ResourceData) (interface{}, error) { return c, nil }})
	if resp := p.Configure(context.Background(), provider.ConfigureRequest{
		Config: cty.EmptyObjectVal}); resp.Diagnostics.HasErrors() {
		t.Fatal(resp.Diagnostics.Err())
	}
	if err := p.Close(); err != nil || c.closed != 1 {
		t.Errorf("closed %d times, want 1: %v", c.closed, err)
	}
}
