package schema_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
	. "github.com/tombolo-iac/tombolo/sdk/schema"
)

// attrs are attributes that are not null.
type attrs map[string]cty.Value

var (
	unknownText   = cty.UnknownVal(cty.String)
	unknownNumber = cty.UnknownVal(cty.Number)
	null          = cty.NullVal(cty.DynamicPseudoType)
)

func str(s string) cty.Value       { return cty.StringVal(s) }
func num(n int64) cty.Value        { return cty.NumberIntVal(n) }
func obj(a attrs) cty.Value        { return cty.ObjectVal(a) }
func tup(v ...cty.Value) cty.Value { return cty.TupleVal(v) }

// engine calls the provider of one resource type like an engine does.
type engine struct {
	t       *testing.T
	p       provider.Provider
	rt      *provider.ResourceType
	state   cty.Value
	id      cty.Value
	replace []cty.Path
	lost    bool // the result of the last creation is unknown
}

const typ = "demo_thing"

// start configures a provider with one resource.
func start(t *testing.T, r *Resource) *engine {
	t.Helper()
	return startProvider(t, &Provider{ResourcesMap: map[string]*Resource{typ: r}})
}

func startProvider(t *testing.T, described *Provider) *engine {
	t.Helper()
	e := &engine{t: t, p: New(described), id: cty.NilVal}
	schema, diags := e.p.Schema(t.Context())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if resp := e.p.Configure(t.Context(), provider.ConfigureRequest{
		Config: schema.Provider.EmptyValue()}); resp.Diagnostics.HasErrors() {
		t.Fatal(resp.Diagnostics.Err())
	}
	e.rt = schema.Resources[typ]
	e.state = cty.NullVal(e.rt.Block.ImpliedType())
	return e
}

// object completes attributes to an object of a block.
func object(t *testing.T, b *provider.Block, a attrs) cty.Value {
	t.Helper()
	vals := b.EmptyValue().AsValueMap()
	for name, v := range a {
		var ty cty.Type
		if nb := b.Blocks[name]; nb != nil {
			elems := []cty.Value{}
			if v.Type().IsTupleType() {
				for _, e := range v.AsValueSlice() {
					elems = append(elems, object(t, &nb.Block, e.AsValueMap()))
				}
				v = cty.TupleVal(elems)
			} else if nb.Nesting == provider.NestingSingle && v.IsKnown() && !v.IsNull() {
				v = object(t, &nb.Block, v.AsValueMap())
			}
			ty = nb.ImpliedType()
		} else if b.Attributes[name] != nil {
			ty = b.Attributes[name].ImpliedType()
		} else {
			t.Fatalf("no attribute %q", name)
		}
		converted, err := convert.Convert(v, ty)
		if err != nil {
			t.Fatalf("%s: %s", name, err)
		}
		vals[name] = converted
	}
	return cty.ObjectVal(vals)
}

func (e *engine) config(a attrs) cty.Value { return object(e.t, e.rt.Block, a) }

func (e *engine) null() cty.Value { return cty.NullVal(e.rt.Block.ImpliedType()) }

func (e *engine) validate(a attrs) diag.List {
	return e.p.ValidateResource(e.t.Context(), provider.ValidateResourceRequest{Kind: provider.ManagedResource,
		Type: typ, Config: e.config(a)})
}

// tryPlan plans with the stored object.
func (e *engine) tryPlan(a attrs) provider.PlanResponse {
	e.t.Helper()
	config := e.config(a)
	config = value.ForPlan(e.rt.Block, config)
	resp := e.p.Plan(e.t.Context(), provider.PlanRequest{
		Type: typ, Prior: e.state, Config: config, Proposed: value.Propose(e.rt.Block, e.state, config),
		PriorIdentity: e.id, Client: provider.ClientCapabilities{ComputedBlocksAllowed: true},
	})
	if !resp.Diagnostics.HasErrors() {
		if resp.LegacyTypeSystem {
			e.t.Error("the plan asks for the legacy type system")
		}
		for _, err := range value.CheckPlan(e.rt.Block, e.state, config, resp.Planned) {
			e.t.Errorf("plan: %s", err)
		}
	}
	return resp
}

func (e *engine) plan(a attrs) cty.Value {
	e.t.Helper()
	resp := e.tryPlan(a)
	if resp.Diagnostics.HasErrors() {
		e.t.Fatal(resp.Diagnostics.Err())
	}
	e.replace, _ = value.FilterReplacePaths(e.rt.Block, e.state, resp.Planned, resp.RequiresReplace)
	return resp.Planned
}

// tryApply plans and applies in place, and stores the result.
func (e *engine) tryApply(a attrs) diag.List {
	e.t.Helper()
	planned := e.plan(a)
	resp := e.p.Apply(e.t.Context(), provider.ApplyRequest{Type: typ, Prior: e.state, Planned: planned,
		Config: e.config(a), PlannedIdentity: e.id})
	e.lost = e.state.IsNull() && resp.Diagnostics.HasErrors() && (resp.State == cty.NilVal || !resp.State.IsKnown())
	if e.lost {
		return resp.Diagnostics
	}
	if errs := value.Conforms(e.rt.Block, resp.State); len(errs) > 0 {
		e.t.Fatalf("apply: %v", errs)
	}
	if !resp.Diagnostics.HasErrors() {
		for _, err := range value.CheckApplied(e.rt.Block, planned, resp.State) {
			e.t.Errorf("apply: %s", err)
		}
	}
	for _, err := range value.CheckKnown(resp.State) {
		e.t.Errorf("apply: %s", err)
	}
	e.state, e.id = resp.State, resp.Identity
	return resp.Diagnostics
}

func (e *engine) apply(a attrs) {
	e.t.Helper()
	if diags := e.tryApply(a); diags.HasErrors() {
		e.t.Fatal(diags.Err())
	}
}

func (e *engine) read() diag.List {
	e.t.Helper()
	resp := e.p.Read(e.t.Context(), provider.ReadRequest{Type: typ, Prior: e.state, Identity: e.id})
	e.state, e.id = resp.State, resp.Identity
	return resp.Diagnostics
}

func (e *engine) destroy() diag.List {
	e.t.Helper()
	resp := e.p.Apply(e.t.Context(), provider.ApplyRequest{Type: typ, Prior: e.state, Planned: e.null(),
		Config: e.null()})
	e.state = resp.State
	return resp.Diagnostics
}

// has checks some attributes.
func has(t *testing.T, got cty.Value, want attrs) {
	t.Helper()
	if got.IsNull() {
		t.Fatal("there is no object")
	}
	for name, w := range want {
		g := got.GetAttr(name)
		if w.RawEquals(null) {
			w = cty.NullVal(g.Type())
		}
		if c, err := convert.Convert(w, g.Type()); err == nil {
			w = c
		}
		if !g.RawEquals(w) {
			t.Errorf("%s is %#v, want %#v", name, g, w)
		}
	}
}

// refused requires one error at a path that contains all of the words.
func refused(t *testing.T, diags diag.List, path string, words ...string) {
	t.Helper()
	var errs diag.List
	for _, d := range diags {
		if d.Severity == diag.Error {
			errs = append(errs, d)
		}
	}
	if len(errs) != 1 {
		t.Fatalf("got %d errors, want one: %v", len(errs), errs.Err())
	}
	text := errs[0].Summary + "\n" + errs[0].Detail
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("got\n%s\nwant it to hold %q", text, w)
		}
	}
	if got := value.FormatPath(errs[0].Path); got != path {
		t.Errorf("the path is %q, want %q", got, path)
	}
}

// keeper is a resource without a remote system: its callbacks call the given function, which may be nil.
func keeper(fields map[string]*Schema, on func(op string, d *ResourceData) error) *Resource {
	call := func(op string) func(*ResourceData, interface{}) error {
		return func(d *ResourceData, _ interface{}) error {
			if op == "create" {
				d.SetId("1")
			}
			if on == nil {
				return nil
			}
			return on(op, d)
		}
	}
	return &Resource{Schema: maps.Clone(fields), Create: call("create"), Read: call("read"), Update: call("update"),
		Delete: call("delete")}
}
