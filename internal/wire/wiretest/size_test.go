package wiretest_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
	"github.com/tombolo-iac/tombolo/internal/wire/wiretest"
	"github.com/tombolo-iac/tombolo/provider"
)

// obedient is a provider that applies what was planned.
type obedient struct{ still }

func (obedient) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	return provider.ApplyResponse{State: req.Planned}
}

// bounded connects to a provider, with size limits for requests and for responses.
func bounded(t *testing.T, protocol, requests, answers int) provider.Provider {
	t.Helper()
	server, err := wire.NewServer(func(context.Context) (provider.Provider, error) { return obedient{}, nil }, protocol)
	if err != nil {
		t.Fatal(err)
	}
	conn, stop, err := wiretest.Serve(&rpc.Server{Methods: server.Methods(), MaxRequest: requests})
	if err != nil {
		t.Fatal(err)
	}
	p, err := wire.NewClient(conn, protocol, wire.Options{Name: "example/world", MaxAnswer: answers,
		Close: func() error { return errors.Join(stop(), server.Close(t.Context())) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// An object in a response fits into the following requests, unless the provider refuses them. Then the error says which
// side refused which message, and that the provider was not called.
func TestRefusedLargeObjectsNameTheSide(t *testing.T) {
	const bound = 100_000
	for _, protocol := range wire.Versions() {
		large := func(p provider.Provider) (cty.Value, cty.Value) {
			schema, diags := p.Schema(t.Context())
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			empty := schema.Resources["still"].Block.EmptyValue()
			vals := empty.AsValueMap()
			vals["id"], vals["name"] = cty.StringVal("1"), cty.StringVal(strings.Repeat("x", bound*6/10))
			return cty.ObjectVal(vals), cty.NullVal(empty.Type())
		}
		p := bounded(t, protocol, math.MaxInt32, bound)
		object, null := large(p)
		// Prior state, proposed state and configuration have together three times the size of an object that is below
		// the limit.
		planned := p.Plan(t.Context(), provider.PlanRequest{Type: "still", Prior: object, Proposed: object,
			Config: object})
		if planned.Diagnostics.HasErrors() {
			t.Errorf("version %d: %v", protocol, planned.Diagnostics.Err())
		}
		p = bounded(t, protocol, bound, math.MaxInt32)
		applied := p.Apply(t.Context(), provider.ApplyRequest{Type: "still", Prior: null, Planned: object,
			Config: object})
		if err := applied.Diagnostics.Err(); err == nil || !strings.Contains(err.Error(),
			"too large for the provider") ||
			!strings.Contains(err.Error(), "accepts at most 100000") {
			t.Errorf("version %d: a request beyond the provider's bound: %v", protocol, err)
		}
		if applied.State == cty.NilVal || !applied.State.IsNull() {
			t.Errorf("version %d: what the provider never got is said to be %#v", protocol, applied.State)
		}
		p = bounded(t, protocol, math.MaxInt32, bound/2)
		applied = p.Apply(t.Context(), provider.ApplyRequest{Type: "still", Prior: null, Planned: object,
			Config: object})
		if err := applied.Diagnostics.Err(); err == nil ||
			!strings.Contains(err.Error(), "Answer of the provider is too large") {
			t.Errorf("version %d: an answer beyond our bound: %v", protocol, err)
		}
		if applied.State != cty.NilVal {
			t.Errorf("version %d: after an answer that is refused the object is said to be known", protocol)
		}
	}
}
