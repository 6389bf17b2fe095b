package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// A knob is a resource whose value determines how often a block is repeated. Blocks refer to it, so that the number is
// known only after apply, or have the same value as a literal.
type knob struct{ n int }

// knobbed is a random configuration of blocks with knobs. Each block refers to some of the blocks before it.
type knobbed struct {
	r      *rand.Rand
	knobs  []knob
	blocks []knobBlock
	note   int // the version of some values
}

type knobBlock struct {
	id, knob int
	module   bool
	repeat   string // "", "count", "for_each" or "enabled" (of the knob's number)
	deps     []int
	value    int
	first    bool // create_before_destroy
	explicit bool // depends_on the first dependency
	replaced bool // a new value replaces it
}

func newKnobbed(r *rand.Rand) *knobbed {
	c := &knobbed{r: r}
	for range 1 + r.IntN(3) {
		c.knobs = append(c.knobs, knob{r.IntN(4)})
	}
	for i := range 2 + r.IntN(6) {
		b := knobBlock{id: i, knob: r.IntN(len(c.knobs)), module: r.IntN(3) == 0, value: r.IntN(3),
			repeat: []string{"", "count", "for_each", "for_each"}[r.IntN(4)], first: r.IntN(4) == 0,
			explicit: r.IntN(5) == 0, replaced: r.IntN(3) == 0}
		for d := range i {
			if r.IntN(3) == 0 {
				b.deps = append(b.deps, d)
			}
		}
		c.blocks = append(c.blocks, b)
	}
	return c
}

// change creates the next version: other numbers, other values, and blocks that are gone.
func (c *knobbed) change() {
	c.note++
	for i := range c.knobs {
		if c.r.IntN(2) == 0 {
			c.knobs[i].n = c.r.IntN(4)
		}
	}
	for i := range c.blocks {
		if c.r.IntN(3) == 0 {
			c.blocks[i].value = c.r.IntN(3)
		}
	}
	if len(c.blocks) > 2 && c.r.IntN(2) == 0 {
		at := c.r.IntN(len(c.blocks))
		gone := c.blocks[at].id
		c.blocks = slices.Delete(c.blocks, at, at+1)
		for i := range c.blocks {
			c.blocks[i].deps = slices.DeleteFunc(slices.Clone(c.blocks[i].deps), func(d int) bool { return d == gone })
		}
	}
}

// valueOf returns an expression of the values of a block, as text.
func (c *knobbed) valueOf(id int) string {
	for _, b := range c.blocks {
		if b.id == id && b.module {
			return fmt.Sprintf("jsonencode(values({ for k, m in module.b%d : k => m }))", id)
		}
	}
	return fmt.Sprintf("jsonencode([for o in values({ for k, r in terraform_data.b%d : k => r }) : o.output])", id)
}

// number returns the number of a knob as an expression.
func (c *knobbed) number(knob int, known bool) string {
	if known {
		return strconv.Itoa(c.knobs[knob].n)
	}
	return fmt.Sprintf("terraform_data.knob%d.output", knob)
}

// text returns the configuration.
func (c *knobbed) text(known bool) string {
	var b strings.Builder
	for i, k := range c.knobs {
		fmt.Fprintf(&b, "resource \"terraform_data\" \"knob%d\" { input = %d }\n", i, k.n)
	}
	for _, k := range c.blocks {
		repeat := ""
		switch number := c.number(k.knob, known); k.repeat {
		case "count":
			repeat = "  count = " + number + "\n"
		case "for_each":
			repeat = "  for_each = { for n in range(" + number + ") : \"k${n}\" => n }\n"
		case "":
			repeat = "  count = 1\n"
		}
		value := fmt.Sprint("v", k.value)
		for _, d := range k.deps {
			value += " ${" + c.valueOf(d) + "}"
		}
		after := ""
		if k.explicit && len(k.deps) > 0 && !slices.ContainsFunc(c.blocks, func(o knobBlock) bool {
			return o.id == k.deps[0] && o.module
		}) {
			after = fmt.Sprintf("  depends_on = [terraform_data.b%d]\n", k.deps[0])
		}
		if k.module {
			fmt.Fprintf(&b, "module \"b%d\" {\n  source = \"./inner\"\n%s%s  value = \"%s\"\n  number = %s\n}\n", k.id,
				repeat, after, value, c.number(k.knob, known))
			continue
		}
		fmt.Fprintf(&b, "resource \"terraform_data\" \"b%d\" {\n%s%s  input = \"%s\"\n", k.id, repeat, after, value)
		if k.replaced {
			fmt.Fprintf(&b, "  triggers_replace = [%d]\n", k.value)
		}
		fmt.Fprintf(&b, "  lifecycle { create_before_destroy = %t }\n}\n", k.first)
	}
	for _, k := range c.blocks {
		fmt.Fprintf(&b, "output \"b%d\" { value = %s }\n", k.id, c.valueOf(k.id))
	}
	return b.String()
}

const knobInner = `
variable "value" {}
variable "number" {}
resource "terraform_data" "in" {
  count = var.number
  input = "${var.value} ${count.index}"
}
resource "terraform_data" "each" {
  for_each = { for n in range(%s) : "e${n}" => n }
  input    = each.value
}
output "value" {
  value = [for o in terraform_data.in : o.output]
}
`

// The number of objects in a module, and the same known only after its first objects exist.
const (
	knownNumber   = "var.number"
	unknownNumber = "sum(concat([0], [for o in terraform_data.in : length(o.output) > 0 ? 1 : 0]))"
)

// knobRoom applies configurations in a folder.
type knobRoom struct {
	t   *testing.T
	dir string
}

func newKnobRoom(t *testing.T, number string) *knobRoom {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"inner/main.tf": fmt.Sprintf(knobInner, number)} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &knobRoom{t, dir}
}

// apply applies a configuration and returns the state as text without ids, and the number of rounds.
func (r *knobRoom) apply(config string, o engine.PlanOptions) (string, int) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "main.tf"), []byte(config), 0o644); err != nil {
		r.t.Fatal(err)
	}
	list := `{"Key":"","Source":"","Dir":"."}`
	for line := range strings.Lines(config) {
		if name, ok := strings.CutPrefix(line, "module \""); ok {
			list += fmt.Sprintf(`,{"Key":%q,"Source":"./inner","Dir":"inner"}`, name[:strings.Index(name, "\"")])
		}
	}
	manifest := filepath.Join(r.dir, ".terraform", "modules", "modules.json")
	if err := os.MkdirAll(filepath.Dir(manifest), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(manifest, []byte(`{"Modules":[`+list+`]}`), 0o644); err != nil {
		r.t.Fatal(err)
	}
	project, diags := engine.Load(context.Background(), engine.Options{Dir: r.dir})
	if diags.HasErrors() {
		r.t.Fatalf("%v\n%s", diags.Err(), config)
	}
	defer project.Close()
	run, diags := project.Open(context.Background(), engine.OpenOptions{})
	if diags.HasErrors() {
		r.t.Fatal(diags.Err())
	}
	defer run.Close(context.Background())
	var done engine.Rounds
	for n := 1; ; n++ {
		p, diags := run.Plan(context.Background(), o)
		if !diags.HasErrors() {
			diags = diags.Extend(done.Stuck(p))
		}
		if !diags.HasErrors() {
			_, more := run.Apply(context.Background(), p, nil)
			diags = diags.Extend(more)
		}
		if diags.HasErrors() {
			r.t.Fatalf("round %d: %v\n%s", n, diags.Err(), config)
		}
		if !engine.Continues(p) {
			if o.Mode == plan.Normal {
				r.settled(run, config)
			}
			return stateText(r.t, run.State()), n
		}
		done.Count(p)
	}
}

// settled checks that another plan has no changes, and that it defers nothing.
func (r *knobRoom) settled(run *engine.Run, config string) {
	r.t.Helper()
	p, diags := run.Plan(context.Background(), engine.PlanOptions{})
	if diags.HasErrors() || p.Applyable() || !p.Complete {
		r.t.Errorf("the next plan: %v, %+v\n%s", diags.Err(), p.Summary(), config)
	}
}

// stateText returns the objects and outputs of a state, without ids and dependencies.
func stateText(t *testing.T, s *state.State) string {
	t.Helper()
	var lines []string
	for _, res := range s.Resources() {
		for _, key := range res.Keys() {
			inst := res.Instances[key]
			o := s.Object(addr.Object{Instance: res.Addr.Instance(key)})
			v, err := o.Value(cty.Object(map[string]cty.Type{"id": cty.String, "input": cty.DynamicPseudoType,
				"output": cty.DynamicPseudoType, "triggers_replace": cty.DynamicPseudoType}))
			if err != nil {
				v = cty.StringVal(string(o.Attributes))
			} else {
				v = v.GetAttr("output")
			}
			lines = append(lines, fmt.Sprintf("%s %v %#v deposed %d", res.Addr.Instance(key), o.Status, v,
				len(inst.DeposedKeys())))
		}
	}
	for _, name := range s.OutputNames() {
		text, err := ctyjson.SimpleJSONValue{Value: s.Output(name).Value}.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, name+" = "+string(text))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestRoundsEndLikeOneApply applies random configurations in which numbers of instances are known only after apply, and
// the same with literals in their place: resources and modules, with references between them, and further versions of
// them. The states are equal in the end. TOMBOLO_ROUNDS_CASES=n sets the number of series, each with three versions.
func TestRoundsEndLikeOneApply(t *testing.T) {
	cases, most := 12, 0
	if n, err := strconv.Atoi(os.Getenv("TOMBOLO_ROUNDS_CASES")); err == nil {
		cases = n
	}
	unknown := 0
	for seed := range cases {
		c := newKnobbed(rand.New(rand.NewPCG(uint64(seed), 15)))
		plain, rounds := newKnobRoom(t, knownNumber), newKnobRoom(t, unknownNumber)
		for version := range 3 {
			if version > 0 {
				c.change()
			}
			want, _ := plain.apply(c.text(true), engine.PlanOptions{})
			got, n := rounds.apply(c.text(false), engine.PlanOptions{AllowDeferral: true})
			if most = max(most, n); n > 1 {
				unknown++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, version %d, %d rounds (-literal +unknown):\n%s\n%s", seed, version, n, diff,
					c.text(false))
			}
		}
		if got, _ := rounds.apply(c.text(false), engine.PlanOptions{Mode: plan.Destroy}); got != "" {
			t.Fatalf("seed %d: the destroy left\n%s", seed, got)
		}
	}
	t.Logf("%d of %d configurations needed more than one round, one %d", unknown, 3*cases, most)
	if unknown < cases {
		t.Errorf("only %d configurations needed more than one round", unknown)
	}
}
