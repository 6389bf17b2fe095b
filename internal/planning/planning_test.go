package planning_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/builtin"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/host"
	"github.com/tombolo-iac/tombolo/internal/planning"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// lab is a provider with one data source that records when it was read.
type lab struct {
	provider.Base
	reads *[]string
}

func (lab) Schema(context.Context) (*provider.Schema, diag.List) {
	block := func() *provider.Block {
		return &provider.Block{Attributes: map[string]*provider.Attribute{
			"key": {Type: cty.String, Optional: true}, "result": {Type: cty.String, Computed: true}, "secret": {
				Type: cty.String, Computed: true, Sensitive: true}}}
	}
	return &provider.Schema{Provider: &provider.Block{}, Data: map[string]*provider.ResourceType{
		"lab_data": {Block: block()}}}, nil
}

func (l lab) ReadData(_ context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	key := "null"
	if k := req.Config.GetAttr("key"); !k.IsNull() {
		key = k.AsString()
	}
	*l.reads = append(*l.reads, key)
	return provider.ReadDataResponse{
		State: cty.ObjectVal(map[string]cty.Value{"key": req.Config.GetAttr("key"), "result": cty.StringVal("r-" + key),
			"secret": cty.StringVal("hush")})}
}

// bench plans configurations in memory.
type bench struct {
	t     testing.TB
	prior *state.State
	reads []string
	opts  planning.Options
	shop  shop
}

func (b *bench) plan(files map[string]string) (*plan.Plan, diag.List) {
	b.t.Helper()
	ctx := context.Background()
	snapshot := map[string][]byte{}
	for name, src := range files {
		snapshot[name] = []byte(src)
	}
	cfg, diags := config.Load(ctx, config.Options{Files: config.SnapshotFiles(snapshot),
		LanguageVersion: state.LanguageVersion})
	if diags.HasErrors() {
		return nil, diags
	}
	labAddr := addr.DefaultProvider("lab")
	registry := host.NewRegistry(context.Background(), map[addr.Provider]provider.Factory{
		addr.BuiltinProvider("terraform"): func(context.Context) (provider.Provider, error) {
			return builtin.New(builtin.Options{}), nil
		},
		labAddr: func(context.Context) (provider.Provider, error) {
			return lab{reads: &b.reads}, nil
		},
		addr.DefaultProvider("broad"):  func(context.Context) (provider.Provider, error) { return broad{}, nil },
		addr.DefaultProvider("warner"): newWarner,
		addr.DefaultProvider("tidy"):   func(context.Context) (provider.Provider, error) { return tidy{}, nil },
		addr.DefaultProvider("coast"):  func(context.Context) (provider.Provider, error) { return coast{}, nil },
		addr.DefaultProvider("shop"):   func(context.Context) (provider.Provider, error) { return b.shop, nil },
	})
	prog, diags := linking.New(cfg, registry)
	if diags.HasErrors() {
		return nil, diags
	}
	o := b.opts
	o.Functions, o.Events, o.Parallelism, o.Now = eval.Functions{Table: funcs.Table(funcs.Options{Pure: true})},
		event.Discard, 4, time.Unix(0, 0)
	var keys atomic.Int32
	o.DeposedKey = func() addr.DeposedKey { return addr.DeposedKey(fmt.Sprintf("%08x", keys.Add(1))) }
	p, more := planning.Run(ctx, ctx, prog, b.prior, registry.NewPool(), o)
	return p, diags.Extend(more)
}

// with adds a terraform_data object with these dependencies to the prior state.
func (b *bench) with(address, input string, deps ...string) {
	b.t.Helper()
	a, diags := addr.ParseInstance(address)
	if diags.HasErrors() {
		b.t.Fatal(diags.Err())
	}
	ty := cty.Object(map[string]cty.Type{"id": cty.String, "input": cty.DynamicPseudoType,
		"output": cty.DynamicPseudoType, "triggers_replace": cty.DynamicPseudoType})
	in := cty.StringVal(input)
	v := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("id-" + address), "input": in, "output": in,
		"triggers_replace": cty.NullVal(cty.DynamicPseudoType)})
	o := state.Object{}
	for _, d := range deps {
		c, diags := addr.ParseConfigResource(d)
		if diags.HasErrors() {
			b.t.Fatal(diags.Err())
		}
		o.Dependencies = append(o.Dependencies, c)
	}
	object, err := state.NewObject(v, ty, o)
	if err != nil {
		b.t.Fatal(err)
	}
	builder := b.prior.Builder()
	builder.Fold(state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: a}, Provider: addr.AbsProviderConfig{
		Provider: addr.BuiltinProvider("terraform")}, Object: object}})
	b.prior = builder.State()
}

// actions lists the actions of the plan, without no-ops.
func actions(p *plan.Plan) []string {
	var out []string
	for _, c := range p.Changes {
		if c.Action != plan.NoOp {
			line := c.Object.String() + " " + c.Action.String()
			if c.Reason != "" {
				line += " " + string(c.Reason)
			}
			out = append(out, line)
		}
	}
	return out
}

func (b *bench) want(files map[string]string, want ...string) *plan.Plan {
	b.t.Helper()
	p, diags := b.plan(files)
	if diags.HasErrors() {
		b.t.Fatalf("errors: %v", diags.Err())
	}
	if got := actions(p); !slices.Equal(got, want) {
		b.t.Errorf("planned\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	return p
}

func (b *bench) wantError(files map[string]string, texts ...string) {
	b.t.Helper()
	_, diags := b.plan(files)
	if !diags.HasErrors() {
		b.t.Fatal("no error")
	}
	for _, text := range texts {
		if !strings.Contains(diags.Err().Error(), text) {
			b.t.Errorf("errors say nothing of %q:\n%v", text, diags.Err())
		}
	}
}

func root(src string) map[string]string { return map[string]string{"main.tf": src} }

func TestUnknownValuesFlowThroughLocalsAndOutputs(t *testing.T) {
	b := &bench{t: t}
	p := b.want(root(`
resource "terraform_data" "a" { input = "x" }
locals { both = "${terraform_data.a.id}-${terraform_data.a.input}" }
resource "terraform_data" "b" { input = local.both }
output "o" { value = terraform_data.b.output }
output "known" { value = terraform_data.a.input }`),
		"terraform_data.a create", "terraform_data.b create")
	for _, o := range p.Outputs {
		if o.After.IsKnown() != (o.Name == "known") {
			t.Errorf("output %s: known %v", o.Name, o.After.IsKnown())
		}
	}
}

func TestCycleNamesEveryMember(t *testing.T) {
	b := &bench{t: t}
	b.wantError(root(`
locals {
  a = local.b
  b = local.c
  c = local.a
  d = 1
}`), "Cycle", "local.a", "local.b", "local.c")
}

func TestModulesMayFeedEachOtherThroughDifferentValues(t *testing.T) {
	b := &bench{t: t}
	manifest := `{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"p","Source":"./m","Dir":"m"},{"Key":"q","Source":"./m","Dir":"m"}]}`
	child := `
variable "in" {}
resource "terraform_data" "r" { input = var.in }
output "fixed" { value = "f" }
output "id" { value = terraform_data.r.id }`
	files := map[string]string{".terraform/modules/modules.json": manifest, "m/main.tf": child, "main.tf": `
module "p" {
  source = "./m"
  in = module.q.fixed
}
module "q" {
  source = "./m"
  in = module.p.id
}`}
	b.want(files, "module.p.terraform_data.r create", "module.q.terraform_data.r create")
	files["main.tf"] = `
module "p" {
  source = "./m"
  in = module.q.id
}
module "q" {
  source = "./m"
  in = module.p.id
}`
	b.wantError(files, "Cycle", "module.p.var.in", "module.q.terraform_data.r")
}

func TestOrphansAreDeletedWithTheirReason(t *testing.T) {
	b := &bench{t: t}
	b.with("terraform_data.gone", "x")
	b.with("terraform_data.shrunk[0]", "x")
	b.with("terraform_data.shrunk[1]", "x")
	b.with(`terraform_data.keyed["a"]`, "x")
	b.with(`terraform_data.keyed["b"]`, "x")
	b.with("terraform_data.single[3]", "x")
	b.with("module.m.terraform_data.r", "x")
	b.want(root(`
resource "terraform_data" "shrunk" {
  count = 1
  input = "x"
}
resource "terraform_data" "keyed" {
  for_each = { a = 1 }
  input = "x"
}
resource "terraform_data" "single" {
  for_each = { k = 1 }
  input = "x"
}`),
		"terraform_data.gone delete delete_because_no_resource_config",
		`terraform_data.keyed["b"] delete delete_because_each_key`,
		"terraform_data.shrunk[1] delete delete_because_count_index",
		"terraform_data.single[3] delete delete_because_wrong_repetition",
		`terraform_data.single["k"] create`,
		"module.m.terraform_data.r delete delete_because_no_resource_config")
}

func TestAddingOrRemovingCountMovesTheOnlyInstance(t *testing.T) {
	b := &bench{t: t}
	b.with("terraform_data.grown", "x")
	b.with("terraform_data.shrunk[0]", "x")
	p := b.want(root(`
resource "terraform_data" "grown" {
  count = 2
  input = "x"
}
resource "terraform_data" "shrunk" { input = "x" }`),
		"terraform_data.grown[1] create")
	for _, c := range p.Changes {
		if c.Action == plan.NoOp && c.PrevAddr == nil {
			t.Errorf("%s was not moved", c.Object)
		}
	}
	if !p.Applyable() {
		t.Error("a plan with moves alone must be applyable")
	}
}

func TestCreateBeforeDestroyIsForcedOnDependencies(t *testing.T) {
	b := &bench{t: t}
	b.with("terraform_data.dep", "x")
	b.with("terraform_data.user", "x", "terraform_data.dep")
	b.want(root(`
resource "terraform_data" "dep" {
  input = "x"
  triggers_replace = 1
}
resource "terraform_data" "user" {
  input = "x"
  triggers_replace = terraform_data.dep.id
  lifecycle { create_before_destroy = true }
}`),
		"terraform_data.dep create-then-delete replace_because_cannot_update",
		"terraform_data.user create-then-delete replace_because_cannot_update")
}

func TestDataSourceWaitsForItsReferences(t *testing.T) {
	b := &bench{t: t}
	p := b.want(root(`
resource "terraform_data" "a" { input = "x" }
data "lab_data" "now" { key = "k" }
data "lab_data" "unknown" { key = terraform_data.a.id }
data "lab_data" "pending" { key = terraform_data.a.input }
data "lab_data" "explicit" {
  key = "e"
  depends_on = [terraform_data.a]
}
output "o" { value = data.lab_data.now.result }`),
		"data.lab_data.explicit read read_because_dependency_pending",
		"data.lab_data.pending read read_because_dependency_pending",
		"data.lab_data.unknown read read_because_config_unknown",
		"terraform_data.a create")
	if !slices.Equal(b.reads, []string{"k"}) {
		t.Errorf("read %v while planning, want only k", b.reads)
	}
	if len(p.Refreshed) != 2 || p.Refreshed[0].Put == nil || p.Refreshed[1].Output == nil {
		t.Errorf("edits %v, want the data source's object and the output", p.Refreshed)
	}
}

func TestSensitiveValuesNeedASensitiveOutput(t *testing.T) {
	b := &bench{t: t}
	const src = `
variable "v" {
  sensitive = true
  default = "hush"
}
data "lab_data" "d" {}
resource "terraform_data" "a" { input = var.v }
`
	b.wantError(root(src+`output "o" { value = upper(var.v) }`), "Output refers to sensitive values")
	b.wantError(root(src+`output "o" { value = data.lab_data.d.secret }`), "Output refers to sensitive values")
	p := b.want(root(src+`
output "o" {
  value = terraform_data.a.input
  sensitive = true
}`), "terraform_data.a create")
	if c := p.Changes[0]; len(c.After.Sensitive) != 1 {
		t.Errorf("sensitive paths %v, want .input", c.After.Sensitive)
	}
}

func TestManyErrorsInOneRun(t *testing.T) {
	b := &bench{t: t}
	b.wantError(root(`
output "a" { value = var.nope }
output "b" { value = local.nope }
output "c" { value = terraform_data.nope.id }
output "d" { value = module.nope.x }
resource "terraform_data" "r" { inputt = 1 }
resource "terraform_data" "s" {}
output "e" { value = terraform_data.s.idd }`),
		"Reference to undeclared input variable", "Reference to undeclared local value",
		"Reference to undeclared resource",
		"Reference to undeclared module", `Did you mean "input"?`, `Did you mean "id"?`)
}

func TestLongChainsNeitherRecurseNorGrowQuadratically(t *testing.T) {
	var src strings.Builder
	src.WriteString("locals {\n  l0 = 1\n")
	const n = 20_000
	for i := 1; i < n; i++ {
		fmt.Fprintf(&src, "  l%d = local.l%d\n", i, i-1)
	}
	fmt.Fprintf(&src, "}\noutput \"o\" { value = local.l%d }\n", n-1)
	b := &bench{t: t}
	if p := b.want(root(src.String())); len(p.Outputs) != 1 || !p.Outputs[0].After.RawEquals(cty.NumberIntVal(1)) {
		t.Errorf("outputs %v", p.Outputs)
	}
}

func TestPreventDestroyRefusesDeletion(t *testing.T) {
	b := &bench{t: t}
	b.with("terraform_data.a", "x")
	b.opts.Mode = plan.Destroy
	b.wantError(root(`
resource "terraform_data" "a" {
  input = "x"
  lifecycle { prevent_destroy = true }
}`), "Instance cannot be destroyed")
}

func TestIgnoredChangesDoNotUpdate(t *testing.T) {
	b := &bench{t: t}
	b.with("terraform_data.a", "old")
	b.want(root(`
resource "terraform_data" "a" {
  input = "new"
  lifecycle { ignore_changes = [input] }
}`))
}

func TestReplaceTriggeredByFiresOnUpdate(t *testing.T) {
	b := &bench{t: t}
	b.with("terraform_data.a", "old")
	b.with("terraform_data.b", "x", "terraform_data.a")
	b.want(root(`
resource "terraform_data" "a" { input = "new" }
resource "terraform_data" "b" {
  input = "x"
  lifecycle { replace_triggered_by = [terraform_data.a.input] }
}`),
		"terraform_data.a update", "terraform_data.b delete-then-create replace_by_triggers")
}

// Whether a block triggers is computed once, not for each instance: the product of both counts would take minutes here.
func TestReplaceTriggeredByIsLinear(t *testing.T) {
	b := &bench{t: t}
	const n = 3000
	for i := range n {
		b.with(fmt.Sprintf("terraform_data.b[%d]", i), "x", "terraform_data.a")
	}
	p := b.want(root(fmt.Sprintf(`
resource "terraform_data" "a" { count = %[1]d }
resource "terraform_data" "b" {
  count = %[1]d
  input = "x"
  lifecycle { replace_triggered_by = [terraform_data.a] }
}`, n)), creations(n)...)
	if len(p.Changes) != 2*n {
		t.Errorf("%d changes", len(p.Changes))
	}
}

func creations(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("terraform_data.a[%d] create", i))
	}
	return out
}
