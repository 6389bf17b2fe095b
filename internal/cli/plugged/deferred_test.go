//go:build unix

package plugged

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/provider"
)

// deferring defers one of its calls, although the engine does not offer to accept that. The rest of the response looks
// valid.
type deferring struct {
	provider.Provider
	call string
}

func (d deferring) reason(call string) provider.DeferredReason {
	if d.call == call {
		return provider.DeferredProviderUnknown
	}
	return provider.NotDeferred
}

func (d deferring) Import(ctx context.Context, req provider.ImportRequest) provider.ImportResponse {
	resp := d.Provider.Import(ctx, req)
	resp.Deferred = d.reason("import")
	return resp
}

func (d deferring) Read(ctx context.Context, req provider.ReadRequest) provider.ReadResponse {
	resp := d.Provider.Read(ctx, req)
	resp.Deferred = d.reason("read")
	return resp
}

func (d deferring) Plan(ctx context.Context, req provider.PlanRequest) provider.PlanResponse {
	resp := d.Provider.Plan(ctx, req)
	resp.Deferred = d.reason("plan")
	return resp
}

func (d deferring) ReadData(ctx context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	resp := d.Provider.ReadData(ctx, req)
	resp.State, resp.Deferred = req.Config, d.reason("data") // only the requested part of the object
	return resp
}

func TestDeferredResponsesAreRefused(t *testing.T) {
	const config = `
terraform {
  required_providers {
    world = { source = "tombolo/bad" }
  }
}
provider "world" {
  dir = "w"
}
resource "world_object" "a" {
  name = "a"
}
`
	const data = `data "world_object" "a" { name = world_object.a.name }`
	const later = `
resource "terraform_data" "later" {
}
data "world_object" "a" {
  name = terraform_data.later.id == "" ? "b" : "a"
}`
	const taken = `
resource "world_object" "b" {
  name = "b"
}
import {
  to = world_object.b
  id = "a-1"
}`
	for name, c := range map[string]struct {
		call, more, object string
		args               []string
	}{
		"refresh":           {"read", "", "world_object.a", []string{"plan"}},
		"plan":              {"plan", "", "world_object.a", []string{"plan"}},
		"data":              {"data", data, "data.world_object.a", []string{"plan"}},
		"data during apply": {"data", later, "data.world_object.a", []string{"apply", "-auto-approve"}},
		"import":            {"import", taken, "world_object.b", []string{"plan"}},
		"import command": {"import", "resource \"world_object\" \"b\" {\n  name = \"b\"\n}", "world_object.b",
			[]string{"import", "world_object.b", "a-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlugged(t, config)
			p.wants(p.run(nil, "apply", "-auto-approve"), 0)
			p.write("main.tf", config+c.more)
			p.env = append(p.env, "BAD=deferred-"+c.call)
			r := p.run(nil, c.args...)
			p.wants(r, 1, "deferrals are not allowed", "with "+c.object, "tombolo/bad")
			if got := strings.Count(r.out, "Error: "); got != 1 {
				t.Errorf("%d errors, want one\n%s", got, r.out)
			}
			got := slices.DeleteFunc(p.stored(), func(name string) bool { return name == "later" })
			if !slices.Equal(got, []string{"a"}) {
				t.Errorf("the state has %v", got)
			}
		})
	}
}
