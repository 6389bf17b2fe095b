package tombolo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// counted returns a project with a provider of package schema that counts its creations.
func counted(t *testing.T, create func(ctx context.Context, d *schema.ResourceData) diag.Diagnostics) (
	tombolo.Options, *int) {
	o, created := projectIn(t, note), 0
	o.Providers = map[string]provider.Factory{"example/note": schema.Factory(func() *schema.Provider {
		return &schema.Provider{ResourcesMap: map[string]*schema.Resource{"note": {
			Schema: map[string]*schema.Schema{"text": {Type: schema.TypeString, Optional: true, ForceNew: true}},
			CreateContext: func(ctx context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
				created++
				return create(ctx, d)
			},
			ReadContext: schema.NoopContext, DeleteContext: schema.NoopContext,
			Importer: &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
		}}}
	})}
	return o, &created
}

// TestNoCreatedObjectIsForgotten ends creations of the calling program's provider so that their answers do not report
// the object. The next run must not create another object, and must report the first one.
func TestNoCreatedObjectIsForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		create func(ctx context.Context, d *schema.ResourceData, stop func()) diag.Diagnostics
		open   int // operations whose results are unknown
		object bool
	}{
		"panic": {func(context.Context, *schema.ResourceData, func()) diag.Diagnostics { panic("after the call") }, 1,
			false},
		"panic with an id": {func(_ context.Context, d *schema.ResourceData, _ func()) diag.Diagnostics {
			d.SetId("1")
			panic("after the call")
		}, 0, true},
		"stopped": {func(ctx context.Context, _ *schema.ResourceData, stop func()) diag.Diagnostics {
			stop()
			<-ctx.Done()
			return diag.FromErr(ctx.Err())
		}, 1, false},
		"stopped, in other words": {func(ctx context.Context, _ *schema.ResourceData, stop func()) diag.Diagnostics {
			stop()
			<-ctx.Done()
			return diag.Errorf("the service did not answer")
		}, 1, false},
		"stopped with an id": {func(ctx context.Context, d *schema.ResourceData, stop func()) diag.Diagnostics {
			d.SetId("1")
			stop()
			<-ctx.Done()
			return diag.FromErr(ctx.Err())
		}, 0, true},
		"an error": {func(context.Context, *schema.ResourceData, func()) diag.Diagnostics {
			return diag.Errorf("refused")
		}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			o, created := counted(t, func(ctx context.Context, d *schema.ResourceData) diag.Diagnostics {
				return c.create(ctx, d, stop)
			})
			run := opened(t, loaded(t, o), tombolo.OpenOptions{})
			first := planned(t, run, tombolo.PlanOptions{})
			if _, diags := run.Apply(ctx, first, tombolo.ApplyOptions{}); !diags.HasErrors() {
				t.Error("the apply passed")
			}
			if got := len(run.Interrupted()); got != c.open {
				t.Errorf("%d operations are open, want %d", got, c.open)
			}
			run.Close(t.Context())

			run = opened(t, loaded(t, o), tombolo.OpenOptions{})
			if got := len(run.Interrupted()); got != c.open {
				t.Errorf("in the next run %d operations are open, want %d", got, c.open)
			}
			if got := run.State() != nil && len(run.State().Resources()) == 1; got != c.object {
				t.Errorf("an object is stored: %t, want %t", got, c.object)
			}
			pl, _ := run.Plan(t.Context(), tombolo.PlanOptions{})
			if c.open > 0 && pl.Summary().Add > 0 {
				t.Error("the next plan makes another object")
			}
			if *created != 1 {
				t.Errorf("%d creations", *created)
			}
		})
	}
}

// rawCut is a provider whose creations return the reason as an error when Stop is called.
type rawCut struct {
	empty
	begun chan<- struct{}
	stop  chan struct{}
}

func (r *rawCut) Apply(context.Context, provider.ApplyRequest) provider.ApplyResponse {
	r.begun <- struct{}{}
	<-r.stop
	return provider.ApplyResponse{State: cty.NullVal(cty.EmptyObject),
		Diagnostics: diag.FromErr(errors.Join(errors.New("no answer"), context.Canceled))}
}

func (r *rawCut) Stop(context.Context) error {
	close(r.stop)
	return nil
}

// empty is a provider with one type, without arguments.
type empty struct{ provider.Base }

func (empty) Schema(context.Context) (*provider.Schema, diag.List) {
	return &provider.Schema{Resources: map[string]*provider.ResourceType{"note": {Block: &provider.Block{}}}}, nil
}

func (empty) Plan(_ context.Context, r provider.PlanRequest) provider.PlanResponse {
	return provider.PlanResponse{Planned: r.Proposed}
}

func (empty) Close() error { return nil }

func TestCancelledRequestsOfProvidersAreNotForgotten(t *testing.T) {
	o := projectIn(t, note)
	begun := make(chan struct{}, 1)
	o.Providers = map[string]provider.Factory{"example/note": func(context.Context) (provider.Provider, error) {
		return &rawCut{begun: begun, stop: make(chan struct{})}, nil
	}}
	run := opened(t, loaded(t, o), tombolo.OpenOptions{})
	pl := planned(t, run, tombolo.PlanOptions{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { <-begun; stop() }()
	if _, diags := run.Apply(ctx, pl, tombolo.ApplyOptions{}); !errors.Is(diags.Err(), context.Canceled) {
		t.Error(diags.Err())
	}
	if got := len(run.Interrupted()); got != 1 {
		t.Errorf("%d operations are open", got)
	}
}

func TestRecoveryNeedsExactlyOneField(t *testing.T) {
	o, _ := counted(t, func(context.Context, *schema.ResourceData) diag.Diagnostics { panic("lost") })
	run := opened(t, loaded(t, o), tombolo.OpenOptions{})
	run.Apply(t.Context(), planned(t, run, tombolo.PlanOptions{}), tombolo.ApplyOptions{})
	for _, how := range []tombolo.Recovery{{}, {Retry: true, Forget: true}, {Adopt: "x", Forget: true},
		{Adopt: "x", Retry: true}, {Adopt: "x", Retry: true, Forget: true}} {
		wantError(t, "recovery", run.Recover(t.Context(), "note.n", how), "exactly one field")
		if len(run.Interrupted()) != 1 || len(run.State().Resources()) > 0 {
			t.Fatalf("%+v did something", how)
		}
	}
	if diags := run.Recover(t.Context(), "note.n", tombolo.Recovery{Adopt: "x"}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if len(run.Interrupted()) != 0 || len(run.State().Resources()) != 1 {
		t.Error("the object was not adopted")
	}
}

// The output of a provider during an adoption shows no secrets of its configuration.
func TestAdoptionShowsNoSecrets(t *testing.T) {
	o := projectIn(t, `
terraform {
  required_providers { note = { source = "example/note" } }
}
variable "token" {
  sensitive = true
  default   = "token-of-the-service"
}
provider "note" { token = var.token }
resource "note" "n" {}
`)
	o.Providers = map[string]provider.Factory{"example/note": schema.Factory(func() *schema.Provider {
		token := ""
		return &schema.Provider{
			Schema: map[string]*schema.Schema{"token": {Type: schema.TypeString, Required: true}},
			ConfigureContextFunc: func(_ context.Context, d *schema.ResourceData) (any, diag.Diagnostics) {
				token = d.Get("token").(string)
				return nil, nil
			},
			ResourcesMap: map[string]*schema.Resource{"note": {
				CreateContext: func(context.Context, *schema.ResourceData, any) diag.Diagnostics { panic("lost") },
				ReadContext:   schema.NoopContext, DeleteContext: schema.NoopContext,
				Importer: &schema.ResourceImporter{StateContext: func(context.Context, *schema.ResourceData, any) (
					[]*schema.ResourceData, error) {
					return nil, errors.New("401 for the header Bearer " + token)
				}},
			}},
		}
	})}
	run := opened(t, loaded(t, o), tombolo.OpenOptions{})
	run.Apply(t.Context(), planned(t, run, tombolo.PlanOptions{}), tombolo.ApplyOptions{})
	run.Close(t.Context())
	run = opened(t, loaded(t, o), tombolo.OpenOptions{}) // without the values of the first
	diags := run.Recover(t.Context(), "note.n", tombolo.Recovery{Adopt: "x"})
	text := fmt.Sprint(diags.Err())
	if !strings.Contains(text, "401 for the header Bearer") || strings.Contains(text, "token-of-the-service") {
		t.Error(text)
	}
}
