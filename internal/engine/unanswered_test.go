package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/provider"
)

// vague creates objects and returns responses that may not report them.
type vague struct {
	provider.Base
	created *int
	answer  func(planned cty.Value) provider.ApplyResponse
}

func (vague) Schema(context.Context) (*provider.Schema, diag.List) {
	return &provider.Schema{Resources: map[string]*provider.ResourceType{
		"vague_thing": {Block: &provider.Block{Attributes: map[string]*provider.Attribute{
			"name": {Type: cty.String, Required: true},
		}}}}}, nil
}

func (vague) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	s, _ := vague{}.Schema(context.Background())
	return provider.DecodeStored(s.Resources[req.Type], req)
}

func (vague) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	return provider.PlanResponse{Planned: req.Proposed}
}

func (v vague) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	*v.created++
	return v.answer(req.Planned)
}

// TestCreationsWithUnclearResponsesStayOpen applies twice: an object that may exist is not created again.
func TestCreationsWithUnclearResponsesStayOpen(t *testing.T) {
	failed := diag.List{{Severity: diag.Error, Summary: "It failed"}}
	for _, tt := range []struct {
		name     string
		answer   func(planned cty.Value) provider.ApplyResponse
		inFlight int
		created  int // by two applies
	}{
		{"as planned", func(v cty.Value) provider.ApplyResponse { return provider.ApplyResponse{State: v} }, 0, 1},
		{"nothing", func(v cty.Value) provider.ApplyResponse { return provider.ApplyResponse{} }, 1, 1},
		{"nothing, and an error", func(v cty.Value) provider.ApplyResponse {
			return provider.ApplyResponse{
				Diagnostics: failed}
		}, 1, 1},
		{"null", func(v cty.Value) provider.ApplyResponse {
			return provider.ApplyResponse{
				State: cty.NullVal(v.Type())}
		}, 1, 1},
		{"null, legacy", func(v cty.Value) provider.ApplyResponse {
			return provider.ApplyResponse{State: cty.NullVal(v.Type()), LegacyTypeSystem: true}
		}, 1, 1},
		{"null, and an error", func(v cty.Value) provider.ApplyResponse {
			return provider.ApplyResponse{State: cty.NullVal(v.Type()), Diagnostics: failed}
		}, 0, 2},
		{"unknown", func(v cty.Value) provider.ApplyResponse {
			return provider.ApplyResponse{State: cty.UnknownVal(v.Type())}
		}, 1, 1},
		{"unknown, legacy", func(v cty.Value) provider.ApplyResponse {
			return provider.ApplyResponse{State: cty.UnknownVal(v.Type()), LegacyTypeSystem: true}
		}, 1, 1},
		{"unknown, and an error", func(v cty.Value) provider.ApplyResponse {
			return provider.ApplyResponse{State: cty.UnknownVal(v.Type()), Diagnostics: failed}
		}, 1, 1},
		{"unknown of any type", func(v cty.Value) provider.ApplyResponse {
			return provider.ApplyResponse{
				State: cty.DynamicVal}
		}, 1, 1},
		{"another type", func(v cty.Value) provider.ApplyResponse { return provider.ApplyResponse{State: cty.True} }, 1,
			1},
		{"partly unknown", func(v cty.Value) provider.ApplyResponse {
			return provider.ApplyResponse{
				State: cty.ObjectVal(map[string]cty.Value{"name": cty.UnknownVal(cty.String)})}
		}, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, created := t.TempDir(), 0
			config := "terraform {\n  required_providers {\n    vague = { source = \"tombolo/vague\" }\n  }\n}\n" +
				"resource \"vague_thing\" \"a\" { name = \"a\" }\n"
			if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o644); err != nil {
				t.Fatal(err)
			}
			source, err := addr.ParseProvider("tombolo/vague")
			if err != nil {
				t.Fatal(err)
			}
			project, diags := engine.Load(t.Context(), engine.Options{
				Dir: dir, Providers: map[addr.Provider]provider.Factory{
					source: func(context.Context) (provider.Provider, error) {
						return &vague{created: &created, answer: tt.answer}, nil
					},
				}})
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			defer project.Close()
			for range 2 {
				run, diags := project.Open(t.Context(), engine.OpenOptions{})
				if diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				if p, diags := run.Plan(t.Context(), engine.PlanOptions{}); !diags.HasErrors() {
					_, _ = run.Apply(t.Context(), p, nil)
				}
				if got := len(run.Snapshot().InFlight); got != tt.inFlight {
					t.Errorf("%d operations are open, want %d", got, tt.inFlight)
				}
				if diags := run.Close(t.Context()); diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				if tt.name == "partly unknown" {
					break // it is tainted, and would be replaced
				}
			}
			if created != tt.created {
				t.Errorf("%d objects were made, want %d", created, tt.created)
			}
		})
	}
}
