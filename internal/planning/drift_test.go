package planning_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// coast is a provider of buoys that the sea moves: the name of a buoy says what a read finds.
type coast struct{ provider.Base }

func (coast) Schema(context.Context) (*provider.Schema, diag.List) {
	return &provider.Schema{Provider: &provider.Block{}, Resources: map[string]*provider.ResourceType{"coast_buoy": {
		Block: &provider.Block{Attributes: map[string]*provider.Attribute{
			"name": {Type: cty.String, Required: true}, "place": {Type: cty.String, Computed: true},
			"code": {Type: cty.String, Computed: true, Sensitive: true}}}}}}, nil
}

func buoy(name, place string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name), "place": cty.StringVal(place),
		"code": cty.StringVal("hush")})
}

func (coast) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	v, err := ctyjson.Unmarshal(req.Stored.JSON, buoy("", "").Type())
	if err != nil {
		return provider.UpgradeStateResponse{Diagnostics: diag.List{}.Errorf(nil, "Not a buoy", "%s", err)}
	}
	return provider.UpgradeStateResponse{State: v}
}

func (coast) Read(_ context.Context, req provider.ReadRequest) provider.ReadResponse {
	name := req.Prior.GetAttr("name").AsString()
	switch {
	case strings.HasPrefix(name, "gone"):
		return provider.ReadResponse{State: cty.NullVal(req.Prior.Type())}
	case strings.HasPrefix(name, "changed"):
		return provider.ReadResponse{State: buoy(name, "north")}
	}
	return provider.ReadResponse{State: req.Prior}
}

func (coast) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	return provider.PlanResponse{Planned: req.Proposed}
}

// float stores a buoy.
func (b *bench) float(address, name, alias string) {
	b.t.Helper()
	a, diags := addr.ParseInstance(address)
	if diags.HasErrors() {
		b.t.Fatal(diags.Err())
	}
	v := buoy(name, "south")
	object, err := state.NewObject(v, v.Type(), state.Object{Sensitive: []cty.Path{cty.GetAttrPath("code")}})
	if err != nil {
		b.t.Fatal(err)
	}
	builder := b.prior.Builder()
	builder.Fold(state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: a}, Provider: addr.AbsProviderConfig{
		Provider: addr.DefaultProvider("coast"), Alias: alias}, Object: object}})
	b.prior = builder.State()
}

// Random objects drift in random ways, in each mode: kept and moved ones, and those whose resource or instance is no
// longer configured, of two provider configurations.
func TestDriftIsWhatReadsFind(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			b := &bench{t: t}
			b.opts.Mode = []plan.Mode{plan.Normal, plan.RefreshOnly, plan.Destroy}[random.IntN(3)]
			var src strings.Builder
			src.WriteString("provider \"coast\" {}\nprovider \"coast\" { alias = \"west\" }\n")
			var want []string
			for r := range 1 + random.IntN(5) {
				want = append(want, b.drifting(random, fmt.Sprintf("coast_buoy.r%d", r), &src)...)
			}
			if b.opts.Mode == plan.Destroy {
				want = nil // what is destroyed anyway is not reported
			}
			p, diags := b.plan(root(src.String()))
			if diags.HasErrors() {
				t.Fatalf("%v\n%s", diags.Err(), &src)
			}
			var got []string
			for _, c := range p.Drift {
				line := fmt.Sprint(c.Object, " ", c.Provider.Alias, " ", c.Action)
				if c.PrevAddr != nil {
					line += " from " + c.PrevAddr.String()
				}
				got = append(got, line)
				if c.Action == plan.Update && (!at(c.Before.Value, "place", "south") ||
					!at(c.After.Value, "place", "north")) {
					t.Errorf("%s: from %#v to %#v", line, c.Before.Value, c.After.Value)
				}
				if !slices.ContainsFunc(c.Before.Sensitive, cty.GetAttrPath("code").Equals) {
					t.Errorf("%s: sensitive are %#v", line, c.Before.Sensitive)
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("mode %v: drift\n  %s\nwant\n  %s\n%s", b.opts.Mode, strings.Join(got, "\n  "),
					strings.Join(want, "\n  "), &src)
			}
		})
	}
}

// drifting stores the instances of a resource, writes its blocks, and returns the drift to expect.
func (b *bench) drifting(random *rand.Rand, address string, src *strings.Builder) (want []string) {
	alias := []string{"", "west"}[random.IntN(2)]
	configured, moved := random.IntN(4) > 0, random.IntN(3) == 0
	name := address[strings.LastIndex(address, ".")+1:]
	old := address
	if configured && moved {
		old = address + "_old"
		fmt.Fprintf(src, "moved {\n  from = %s\n  to = %s\n}\n", old, address)
	}
	var keys []string
	for i := range random.IntN(12) {
		fate := []string{"same", "changed", "gone"}[random.IntN(3)]
		key := fmt.Sprintf("%s%d", fate, i)
		b.float(fmt.Sprintf("%s[%q]", old, key), key, alias)
		kept := configured && random.IntN(5) > 0
		if kept {
			keys = append(keys, fmt.Sprintf("%q", key))
		}
		from := ""
		if old != address {
			from = fmt.Sprintf(" from %s[%q]", old, key)
		}
		action := map[string]plan.Action{"same": plan.NoOp, "changed": plan.Update, "gone": plan.Delete}[fate]
		if fate != "same" || from != "" && b.opts.Mode == plan.RefreshOnly { // other plans show moves as changes
			want = append(want, fmt.Sprintf("%s[%q] %s %s%s", address, key, alias, action, from))
		}
	}
	if configured {
		fmt.Fprintf(src, "resource \"coast_buoy\" %q {\n  for_each = toset([%s])\n  name = each.key\n", name,
			strings.Join(keys, ", "))
		if alias != "" {
			fmt.Fprintf(src, "  provider = coast.%s\n", alias)
		}
		src.WriteString("}\n")
	}
	return want
}

// at reports whether an attribute has a value.
func at(v cty.Value, name, want string) bool { return v.GetAttr(name).RawEquals(cty.StringVal(want)) }
