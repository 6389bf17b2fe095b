package providertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/wiretest"
	"github.com/tombolo-iac/tombolo/provider"
)

func TestGoodProviderPasses(t *testing.T) {
	Run(t, toyOptions(func(p *toy) provider.Provider { return p }))
}

// An engine does not apply a plan without changes, and providers may rely on that: removing a size is such a plan.
func TestPlansWithoutChangesAreNotApplied(t *testing.T) {
	for _, what := range failures(t, toyOptions(func(p *toy) provider.Provider {
		return &spoiled{toy: p, before: func(req provider.ApplyRequest) {
			if !req.Prior.IsNull() && req.Planned.RawEquals(req.Prior) {
				t.Errorf("a plan without a change was applied: %#v", req.Prior)
			}
		}}
	}), "resource toy_thing: update size") {
		t.Error(what)
	}
}

// The toy provider has nested attributes, which protocol 5 does not support.
func TestGoodProviderPassesOverTheWire(t *testing.T) {
	o := toyOptions(func(p *toy) provider.Provider { return p })
	o.New = wiretest.Over(o.New, 6)
	Run(t, o)
}

// failures runs the named checks and returns their failures.
func failures(t *testing.T, o Options, name string) []string {
	var lines []string
	for i, c := range checks(&o) {
		if c.name != name {
			continue
		}
		problems, _ := problems(t.Context(), &o, c, i)
		lines = append(lines, problems...)
	}
	return lines
}

// The check for each fault finds it in the toy provider.
func TestSuiteFindsSpoiledProviders(t *testing.T) {
	life := "resource toy_thing: create, read, plan again, destroy"
	copyOf := func(change func(*provider.Block)) func() *provider.Schema {
		// Each call returns a new schema: blocks must not be changed after first use.
		return func() *provider.Schema {
			s := *toySchema
			b := toyBlock()
			change(b)
			s.Resources = map[string]*provider.ResourceType{
				"toy_thing": {Version: 3, Block: b, Identity: thing().Identity}}
			return &s
		}
	}
	var calls atomic.Int64
	cases := []struct {
		name  string
		check string
		says  string
		spoil spoiled
	}{
		{"attribute without a use", "schema is sane", "toy_thing.odd: neither required", spoiled{
			schema: copyOf(func(b *provider.Block) { b.Attributes["odd"] = &provider.Attribute{Type: cty.String} })}},
		{"attribute without a type", "schema is sane", "exactly one of Type and Nested", spoiled{
			schema: copyOf(func(b *provider.Block) { b.Attributes["size"] = &provider.Attribute{Optional: true} })}},
		{"required and computed", "schema is sane", "toy_thing.name: required, and also", spoiled{
			schema: copyOf(func(b *provider.Block) { b.Attributes["name"].Computed = true })}},
		{"reserved name", "schema is sane", "has this name for itself", spoiled{
			schema: copyOf(func(b *provider.Block) {
				b.Attributes["count"] = &provider.Attribute{
					Type: cty.String, Optional: true}
			})}},
		{"schema that changes", "schema never changes and can be asked for concurrently", "the schema has changed",
			spoiled{schema: func() *provider.Schema {
				calls.Add(1)
				return copyOf(func(b *provider.Block) { b.Description = fmt.Sprint(calls.Load()) })()
			}}},
		{"validation that refuses everything", "resource toy_thing: validate", "no good", spoiled{
			validate: func(diag.List) diag.List { return fail(nil, "no good") }}},
		{"validation that accepts everything", "resource toy_thing: validate",
			"invalid configuration empty name: no error", spoiled{validate: func(diag.List) diag.List { return nil }}},
		{"diagnostic with a range", "resource toy_thing: validate", "has a source range", spoiled{
			validate: func(diag.List) diag.List {
				return diag.List{{Severity: diag.Warning, Summary: "w", Subject: &hcl.Range{}}}
			}}},
		{"diagnostic that leads nowhere", "resource toy_thing: validate", ".nmae, which the schema does not have",
			spoiled{validate: func(diag.List) diag.List {
				return diag.List{{Severity: diag.Warning, Summary: "w", Path: cty.GetAttrPath("nmae")}}
			}}},
		{"upgrade that takes garbage", "resource toy_thing: upgrade what is stored", "cut JSON: no error", spoiled{
			upgrade: func(req provider.UpgradeStateRequest,
				resp provider.UpgradeStateResponse) provider.UpgradeStateResponse {
				if req.Type == "toy_thing" {
					resp.Diagnostics = nil
				}
				return resp
			}}},
		{"upgrade that changes", "resource toy_thing: upgrade what is stored", "of the current version changed",
			spoiled{upgrade: func(_ provider.UpgradeStateRequest,
				resp provider.UpgradeStateResponse) provider.UpgradeStateResponse {
				if !resp.Diagnostics.HasErrors() {
					resp.State = with(resp.State, "size", cty.Zero)
				}
				return resp
			}}},
		{"import of something else", "resource toy_thing: import", "import by id", spoiled{
			imports: func(resp provider.ImportResponse) provider.ImportResponse {
				for i := range resp.Imported {
					resp.Imported[i].Type = "other"
				}
				return resp
			}}},
		{"drift out of nothing", life, "is not what apply left", spoiled{
			read: func(resp provider.ReadResponse) provider.ReadResponse {
				resp.State = with(resp.State, "size", cty.NumberIntVal(9))
				return resp
			}}},
		{"objects that do not go away", "resource toy_thing: read what was removed outside",
			"the object was removed, but is found", spoiled{
				read: func(resp provider.ReadResponse) provider.ReadResponse {
					if resp.State.IsNull() {
						resp.State = with(thing().Block.EmptyValue(), "id", cty.StringVal("ghost"))
						resp.Identity = identityOf(resp.State)
					}
					return resp
				}}},
		{"identity that changes", life, "the identity of the object changed", spoiled{
			read: func(resp provider.ReadResponse) provider.ReadResponse {
				if !resp.State.IsNull() {
					resp.Identity = cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("x")})
				}
				return resp
			}}},
		{"plan against the configuration", life, ".name: planned", spoiled{
			plan: func(_ provider.PlanRequest, resp provider.PlanResponse) provider.PlanResponse {
				resp.Planned = with(resp.Planned, "name", cty.StringVal("mine"))
				return resp
			}}},
		{"plan that never rests", life, "asks for a change", spoiled{
			plan: func(_ provider.PlanRequest, resp provider.PlanResponse) provider.PlanResponse {
				resp.Planned = with(resp.Planned, "id", cty.UnknownVal(cty.String))
				return resp
			}}},
		{"write-only value in the plan", life, "write-only", spoiled{
			plan: func(_ provider.PlanRequest, resp provider.PlanResponse) provider.PlanResponse {
				resp.Planned = with(resp.Planned, "password", cty.StringVal("hush"))
				return resp
			}}},
		{"replacement forgotten", "resource toy_thing: update name", "replacement: got false, want true", spoiled{
			plan: func(req provider.PlanRequest, resp provider.PlanResponse) provider.PlanResponse {
				resp.RequiresReplace = nil
				return resp
			}}},
		{"replacement at a place that is not there", life, ".nmae requires replacement", spoiled{
			plan: func(req provider.PlanRequest, resp provider.PlanResponse) provider.PlanResponse {
				resp.RequiresReplace = []cty.Path{cty.GetAttrPath("nmae")}
				return resp
			}}},
		{"plan that promises too much", "resource toy_thing: plan with unknown values", ".size", spoiled{
			plan: func(req provider.PlanRequest, resp provider.PlanResponse) provider.PlanResponse {
				if !req.Config.GetAttr("name").IsKnown() {
					resp.Planned = with(resp.Planned, "size", cty.NumberIntVal(77))
				}
				return resp
			}}},
		{"unknown result", life, "still unknown", spoiled{apply: func(_ context.Context, _ provider.ApplyRequest,
			resp provider.ApplyResponse) provider.ApplyResponse {
			resp.State = with(resp.State, "id", cty.UnknownVal(cty.String))
			return resp
		}}},
		{"result of another type", life, ".size: number required", spoiled{
			apply: func(_ context.Context, _ provider.ApplyRequest,
				resp provider.ApplyResponse) provider.ApplyResponse {
				resp.State = with(resp.State, "size", cty.StringVal("1"))
				return resp
			}}},
		{"deletion that does nothing", life, "the object is still there", spoiled{
			apply: func(_ context.Context, req provider.ApplyRequest,
				resp provider.ApplyResponse) provider.ApplyResponse {
				if req.Planned.IsNull() {
					resp.State = req.Prior
				}
				return resp
			}}},
		{"success without an object after an interruption", "resource toy_thing: interrupt a slow creation",
			"an interrupted apply", spoiled{apply: func(_ context.Context, _ provider.ApplyRequest,
				resp provider.ApplyResponse) provider.ApplyResponse {
				resp.Diagnostics = nil
				return resp
			}}},
		{"big number that is rounded", "resource toy_thing: a big number in size", "size", spoiled{
			apply: func(_ context.Context, req provider.ApplyRequest,
				resp provider.ApplyResponse) provider.ApplyResponse {
				if !req.Planned.IsNull() {
					resp.State = with(resp.State, "size", cty.NumberFloatVal(12345678901234567890123))
				}
				return resp
			}}},
		{"early news of another type", life, "what it tells early", spoiled{before: func(req provider.ApplyRequest) {
			if req.Partial != nil {
				req.Partial(cty.EmptyObjectVal, nil)
			}
		}}},
		{"data without an object", "data toy_count", "returned no object", spoiled{
			data: func(provider.ReadDataResponse) provider.ReadDataResponse {
				return provider.ReadDataResponse{State: cty.NullVal(toySchema.Data["toy_count"].Block.ImpliedType())}
			}}},
		{"list of less", "list toy_thing", "is not among the", spoiled{
			list: func(_ provider.ListRequest, resp provider.ListResponse) provider.ListResponse {
				resp.Results = resp.Results[:len(resp.Results)/2]
				return resp
			}}},
		{"list of more than asked for", "list toy_thing", "and 1 were asked for", spoiled{
			list: func(req provider.ListRequest, resp provider.ListResponse) provider.ListResponse {
				if req.Limit == 1 {
					resp.Results = append(resp.Results, resp.Results...)
				}
				return resp
			}}},
		{"list without objects", "list toy_thing", "whole objects were asked for", spoiled{
			list: func(_ provider.ListRequest, resp provider.ListResponse) provider.ListResponse {
				for i := range resp.Results {
					resp.Results[i].Object = cty.NilVal
				}
				return resp
			}}},
		{"list of other objects", "list toy_thing", "the object is not as it was made", spoiled{
			list: func(_ provider.ListRequest, resp provider.ListResponse) provider.ListResponse {
				for i := range resp.Results {
					if resp.Results[i].Object != cty.NilVal {
						resp.Results[i].Object = with(resp.Results[i].Object, "size", cty.NumberIntVal(9))
					}
				}
				return resp
			}}},
		{"list of the nameless", "list toy_thing", "an object has no identity", spoiled{
			list: func(_ provider.ListRequest, resp provider.ListResponse) provider.ListResponse {
				return provider.ListResponse{Results: []provider.Listed{{}}}
			}}},
		{"action that does nothing", "action toy_bell", "rung 0 times", spoiled{
			invoke: func(resp provider.InvokeActionResponse) provider.InvokeActionResponse { return resp }}},
		{"action that is lost", "action toy_bell", "said to be lost", spoiled{
			invoke: func(provider.InvokeActionResponse) provider.InvokeActionResponse {
				return provider.InvokeActionResponse{Lost: true}
			}}},
		{"panic at a name", "unknown type names give diagnostics", "panic", spoiled{
			before: func(req provider.ApplyRequest) {
				if req.Type != "toy_thing" {
					_ = req.Config.GetAttr("name")
				}
			}}},
		{"second close", "close twice", "for the first time: refused", spoiled{
			close: func() error { return errRefused }}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			found := failures(t, toyOptions(func(p *toy) provider.Provider {
				s := c.spoil
				s.toy = p
				return &s
			}), c.check)
			if !slices.ContainsFunc(found, func(text string) bool { return strings.Contains(text, c.says) }) {
				t.Errorf("check %q does not say %q, but %q", c.check, c.says, found)
			}
		})
	}
}

func TestSuiteFindsDataRaces(t *testing.T) {
	if os.Getenv("PROVIDERTEST_RACE") != "" {
		n := 0
		Run(t, toyOptions(func(p *toy) provider.Provider {
			return &spoiled{toy: p, before: func(provider.ApplyRequest) { n++ }}
		}))
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSuiteFindsDataRaces$/parallel")
	cmd.Env = append(os.Environ(), "PROVIDERTEST_RACE=1")
	out, err := cmd.CombinedOutput()
	if raceDetector := strings.Contains(string(out), "DATA RACE"); (err != nil) != raceDetector {
		t.Errorf("%v\n%s", err, out)
	}
}
