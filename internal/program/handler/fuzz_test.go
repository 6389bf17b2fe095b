package handler_test

import (
	"context"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// saying is a caller whose answer is always the same text.
type saying struct {
	text   string
	failed bool
}

func (s saying) Call(context.Context, handler.Call) (*handler.Answer, error) {
	a := &handler.Answer{Result: []byte(s.text), Program: "fuzz"}
	if s.failed {
		a.Failure = &handler.Failure{State: "it ended with exit status 1"}
	}
	return a, nil
}

func (saying) Prepare(context.Context, func(string)) error { return nil }

func (saying) Close() error { return nil }

// FuzzAnswers answers every call with arbitrary output: the engine must be able to use every result.
func FuzzAnswers(f *testing.F) {
	m, diags := manifest.Parse([]byte(sprintManifest(`["x"]`)), "m.json", "/pkg")
	if diags.HasErrors() {
		f.Fatal(diags.Err())
	}
	for _, text := range printed {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Add(`{"planned": {"size": 2, "id": "x"}, "planned_unknown": {"tags": true}, "replace": [["name"]], "result": `+
		`5, "identity": {"id": "a"}, "renew_at": "2030-01-01T00:00:00Z"}`, false)
	f.Add(`{"results": [{"identity": {"id": "a"}, "display_name": "A", "object": {"id": "a", "name": "n"}}, `+
		`{"identity": {"id": "b"}}]}`, false)
	f.Add("x\n{\"state\": {\"id\": \"a\"}, \"private\": [1]}\ny", true)
	f.Fuzz(func(t *testing.T, text string, failed bool) {
		ctx := t.Context()
		p := handler.New(m, saying{text, failed}, handler.Options{})
		for _, name := range []string{"toy_thing", "toy_fixed"} {
			rt := m.Schema.Resources[name]
			null := cty.NullVal(rt.Block.ImpliedType())
			vals := rt.Block.EmptyValue().AsValueMap()
			for _, required := range []string{"name", "text"} {
				if _, ok := vals[required]; ok {
					vals[required] = cty.StringVal("x")
				}
			}
			config := cty.ObjectVal(vals)
			fits := func(what string, v cty.Value) {
				if v == cty.NilVal {
					return
				}
				if errs := value.Conforms(rt.Block, v); len(errs) > 0 {
					t.Fatalf("%s: %v", what, errs)
				}
			}
			planned := p.Plan(ctx, provider.PlanRequest{Type: name, Prior: null, Proposed: config, Config: config})
			fits("plan", planned.Planned)
			if planned.Diagnostics.HasErrors() {
				planned.Planned = config
			} else if errs := value.CheckPlan(rt.Block, null, config, planned.Planned); len(errs) > 0 {
				t.Fatalf("plan: %v", errs)
			}
			made := p.Apply(ctx, provider.ApplyRequest{Type: name, Prior: null, Planned: planned.Planned,
				Config: config})
			fits("create", made.State)
			if !made.Diagnostics.HasErrors() {
				if errs := value.CheckApplied(rt.Block, planned.Planned, made.State); len(errs) > 0 {
					t.Fatalf("create: %v", errs)
				}
			}
			prior := value.UnknownAsNull(planned.Planned)
			read := p.Read(ctx, provider.ReadRequest{Type: name, Prior: prior})
			fits("read", read.State)
			if !read.Diagnostics.HasErrors() && !read.State.IsNull() && !read.State.IsWhollyKnown() {
				t.Fatal("read: unknown values")
			}
			gone := p.Apply(ctx, provider.ApplyRequest{Type: name, Prior: prior, Planned: null, Config: null})
			fits("delete", gone.State)
			for _, found := range p.Import(ctx, provider.ImportRequest{Type: name, ID: "x"}).Imported {
				fits("import", found.State)
			}
			if up := p.UpgradeState(ctx, provider.UpgradeStateRequest{
				Type: name, Version: 0, Stored: provider.StoredObject{
					JSON: []byte(`{"id": "1"}`)}}); !up.Diagnostics.HasErrors() {
				fits("upgrade", up.State)
			}
		}
		data := cty.ObjectVal(map[string]cty.Value{"text": cty.StringVal("x"), "times": cty.NullVal(cty.Number),
			"out": cty.NullVal(cty.List(cty.String))})
		p.ReadData(ctx, provider.ReadDataRequest{Type: "toy_echo", Config: data})
		lease := cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("x"), "key": cty.NullVal(cty.String)})
		p.OpenEphemeral(ctx, provider.OpenEphemeralRequest{Type: "toy_lease", Config: lease})
		list := m.Schema.Lists["toy_thing"].Block.EmptyValue()
		for _, whole := range []bool{false, true} {
			found := p.List(ctx, provider.ListRequest{Type: "toy_thing", Config: list, Limit: 3, IncludeObject: whole})
			for _, one := range found.Results {
				if one.Identity.IsNull() || !one.Identity.IsWhollyKnown() {
					t.Fatalf("list: the identity %#v", one.Identity)
				}
				if one.Object == cty.NilVal {
					continue
				}
				if errs := value.Conforms(m.Schema.Resources["toy_thing"].Block, one.Object); len(errs) > 0 {
					t.Fatalf("list: %v", errs)
				}
			}
		}
		p.PlanAction(ctx, provider.PlanActionRequest{Type: "toy_ring", Config: bell(nil)})
		if rung := p.InvokeAction(ctx, provider.InvokeActionRequest{Type: "toy_ring",
			Config: bell(nil)}); rung.Lost {
			t.Fatal("invoke: an action that answered is lost")
		}
		_, _ = p.CallFunction(ctx, "sum", []cty.Value{cty.NumberIntVal(1)})
	})
}
