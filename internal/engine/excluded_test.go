package engine_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/provider"
)

// tangle is a random configuration in two versions. The creation of some objects of the first is interrupted; the
// second changes everything. The allowed changes follow from reachability, which the model computes.
type tangle struct {
	nodes []*knot
	// module p and q, in instances x and y; the p of x may be interrupted. The module depends on a node, and another
	// node on it.
	module, lostInside bool
	moved              bool
	in, out            int // -1 for none
}

// knot is a block of a tangle.
type knot struct {
	name         string
	before, now  []int // indexes of its dependencies
	through      bool  // references use a local value
	counted      bool  // two instances; the second may be interrupted
	lost         bool
	isNew, leave bool // exists only in the second version, or only in the first
	moved        bool // has another address in the second version
}

func newTangle(r *rand.Rand) *tangle {
	t := &tangle{in: -1, out: -1, module: r.IntN(2) == 0, lostInside: r.IntN(2) == 0,
		moved: r.IntN(2) == 0}
	for i := range 5 + r.IntN(9) {
		k := &knot{name: fmt.Sprintf("n%d", i), through: r.IntN(3) == 0, counted: r.IntN(4) == 0,
			moved: r.IntN(3) == 0}
		switch n := r.IntN(10); {
		case n < 3 || i == 1:
			k.lost, k.leave = true, r.IntN(3) == 0
		case n < 5:
			k.isNew = true
		case n < 7:
			k.leave = true
		}
		for j, other := range t.nodes {
			if r.IntN(3) > 0 {
				continue
			}
			if !other.isNew && !other.lost && !k.isNew {
				k.before = append(k.before, j)
			}
			if !other.leave && !k.leave && (!k.lost || !other.isNew && !other.lost) {
				k.now = append(k.now, j)
			}
		}
		t.nodes = append(t.nodes, k)
	}
	for i, k := range t.nodes {
		if t.in < 0 && !k.lost && !k.leave && !k.isNew {
			t.in = i
		} else if t.out < 0 && t.in >= 0 && !k.lost && !k.leave {
			t.out = i
		}
	}
	return t
}

// block is the name of a block in a version.
func (k *knot) block(second bool) string {
	if second && k.moved && !k.isNew && !k.leave {
		return k.name + "_moved"
	}
	return k.name
}

// call is the name of the module in a version.
func (t *tangle) call(second bool) string {
	if second && t.moved {
		return "other"
	}
	return "m"
}

// text returns the configuration of a version, and of the module.
func (t *tangle) text(second bool) (root, module string) {
	var b strings.Builder
	version, lost := "v1", `{ half = "lost" }`
	if second {
		version, lost = "v2", "{}"
	}
	for i, k := range t.nodes {
		deps := k.before
		if second {
			deps = k.now
		}
		if second && k.leave || !second && k.isNew {
			continue
		}
		refs := []string{}
		for _, d := range deps {
			if block := t.nodes[d].block(second); t.nodes[d].counted {
				refs = append(refs, fmt.Sprintf("world_object.%s[*].id", block))
			} else {
				refs = append(refs, fmt.Sprintf("[world_object.%s.id]", block))
			}
		}
		block := k.block(second)
		if block != k.name {
			fmt.Fprintf(&b, "moved {\n  from = world_object.%s\n  to   = world_object.%s\n}\n", k.name, block)
		}
		if t.module && second && i == t.out {
			refs = append(refs, fmt.Sprintf("[module.%s[\"y\"].id]", t.call(true)))
		}
		list := "[" + strings.Join(refs, ", ") + "]"
		if k.through {
			fmt.Fprintf(&b, "locals {\n  l_%s = %s\n}\n", k.name, list)
			list = "local.l_" + k.name
		}
		behave := "{}"
		count, name := "", k.name
		if k.counted {
			count, name = "  count = 2\n", k.name+"-${count.index}"
		}
		if k.lost {
			if behave = lost; k.counted && !second {
				behave = `count.index == 1 ? tomap(` + lost + `) : tomap({})`
			}
		}
		fmt.Fprintf(&b, "resource \"world_object\" %q {\n%s  name   = %q\n  value  = \"%s-${join(\",\", "+
			"flatten(%s))}\"\n  behave = %s\n}\n", block, count, name, version, list, behave)
		value := "world_object." + block + ".value"
		if k.counted {
			value = "world_object." + block + "[0].value"
		}
		if !k.lost || second {
			fmt.Fprintf(&b, "output \"o_%s\" {\n  value = %s\n}\n", k.name, value)
		}
	}
	if t.module {
		in := `""`
		if t.in >= 0 && t.nodes[t.in].counted {
			in = "world_object." + t.nodes[t.in].block(second) + "[0].id"
		} else if t.in >= 0 {
			in = "world_object." + t.nodes[t.in].block(second) + ".id"
		}
		half := "{}"
		if t.lostInside && !second {
			half = `each.key == "x" ? tomap(` + lost + `) : tomap({})`
		}
		if t.call(second) != "m" {
			b.WriteString("moved {\n  from = module.m\n  to   = module.other\n}\n")
		}
		fmt.Fprintf(&b, "module %q {\n  source   = \"./m\"\n  for_each = toset([\"x\", \"y\"])\n  in       = "+
			"\"%s-${%s}\"\n  key      = each.key\n  behave   = %s\n}\n", t.call(second), version, in, half)
	}
	return b.String(), `variable "in" {}
variable "key" {}
variable "behave" {}
resource "world_object" "p" {
  name   = "p-${var.key}"
  value  = var.in
  behave = var.behave
}
resource "world_object" "q" {
  name  = "q-${var.key}"
  value = "${var.in}-${world_object.p.id}"
}
output "id" {
  value = world_object.q.id
}
`
}

// interrupted reports whether any creation is interrupted.
func (t *tangle) interrupted() bool {
	return t.module && t.lostInside || slices.ContainsFunc(t.nodes, func(k *knot) bool { return k.lost })
}

// held returns which nodes depend on an interrupted one, including these.
func (t *tangle) held() []bool {
	held := make([]bool, len(t.nodes))
	for i, k := range t.nodes { // dependencies come first
		held[i] = k.lost || t.module && t.lostInside && i == t.out
		for _, d := range k.now {
			held[i] = held[i] || held[d]
		}
	}
	return held
}

// moduleHeld reports whether a dependency of the module is held.
func (t *tangle) moduleHeld() bool { return t.module && t.in >= 0 && t.held()[t.in] }

// wanted returns the expected changes in the second version.
func (t *tangle) wanted(destroy bool) []string {
	var list []string
	held := t.held()
	if t.moduleHeld() && t.out >= 0 {
		held = t.heldWithModule(held)
	}
	kept := make([]bool, len(t.nodes))
	if t.module && t.lostInside && t.in >= 0 {
		kept[t.in] = true
	}
	for i := len(t.nodes) - 1; i >= 0; i-- { // dependents come first
		k := t.nodes[i]
		if k.lost || kept[i] || !destroy && held[i] && !k.isNew {
			kept[i] = true
			for _, d := range slices.Concat(k.before, k.now) {
				kept[d] = true
			}
		}
	}
	names := func(k *knot) []string {
		switch {
		case k.counted && k.lost:
			return []string{k.name + "-0"} // the second is the interrupted one
		case k.lost:
			return nil
		case k.counted:
			return []string{k.name + "-0", k.name + "-1"}
		}
		return []string{k.name}
	}
	for i, k := range t.nodes {
		verb := "UPDATED "
		switch {
		case destroy && (k.isNew || kept[i] && !k.lost):
			continue
		case destroy:
			verb = "DELETED "
		case k.leave && kept[i] && !k.lost:
			continue
		case k.leave:
			verb = "DELETED "
		case held[i] && !k.lost, slices.ContainsFunc(k.now, func(d int) bool { return held[d] }):
			continue
		case k.isNew:
			verb = "CREATED "
		}
		for _, n := range names(k) {
			list = append(list, verb+n)
		}
	}
	if t.module && destroy {
		list = append(list, "DELETED p-y", "DELETED q-y")
	} else if t.module && !t.moduleHeld() {
		list = append(list, "UPDATED p-y", "UPDATED q-y")
	}
	if t.module && !t.lostInside && destroy {
		list = append(list, "DELETED p-x", "DELETED q-x")
	} else if t.module && !t.lostInside && !t.moduleHeld() {
		list = append(list, "UPDATED p-x", "UPDATED q-x")
	}
	slices.Sort(list)
	return list
}

// heldWithModule propagates held nodes through the module until nothing changes.
func (t *tangle) heldWithModule(held []bool) []bool {
	held[t.out] = true
	for i, k := range t.nodes {
		for _, d := range k.now {
			held[i] = held[i] || held[d]
		}
	}
	return held
}

// interrupt applies the first version and leaves the lost operations in flight.
func (t *tangle) interrupt(test *testing.T) *scene {
	test.Helper()
	s := newScene(test)
	root, module := t.text(false)
	if t.module {
		s.file("m/main.tf", worldHeader+module)
		s.file(".terraform/modules/modules.json",
			`{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"./m","Dir":"m"},`+
				`{"Key":"other","Source":"./m","Dir":"m"}]}`)
	}
	_, _, diags := s.run(root, false, engine.PlanOptions{})
	if diags.HasErrors() != t.interrupted() {
		test.Fatalf("the first version: %v\n%s", diags.Err(), root)
	}
	return s
}

func TestInterruptedCreationHoldsItsDependents(t *testing.T) {
	seeds := 40
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			tangle := newTangle(rand.New(rand.NewPCG(uint64(seed), 7)))
			s := tangle.interrupt(t)
			root, _ := tangle.text(true)
			before := s.outputs()
			from := s.mark()
			p, st, diags := s.run(root, false, engine.PlanOptions{})
			if p == nil || diags.HasErrors() != tangle.interrupted() {
				t.Fatalf("errors: %v\n%s", diags.Err(), root)
			}
			got := s.happened(from)
			slices.Sort(got)
			if want := tangle.wanted(false); !slices.Equal(got, want) {
				t.Errorf("got:\n%s\nwant:\n%s\nleft out: %v\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"),
					p.LeftOut, root)
			}
			tangle.adopted(s, root)
			held := tangle.held()
			if tangle.moduleHeld() && tangle.out >= 0 {
				held = tangle.heldWithModule(held)
			}
			for i, k := range tangle.nodes {
				name := "o_" + k.name
				o := st.Output(name)
				switch {
				case k.leave:
				case held[i] && (before[name] == "") != (o == nil), held[i] && o != nil &&
					o.Value.AsString() != before[name]:
					t.Errorf("%s is held, and its stored value changed from %q to %v", name, before[name], o)
				case !held[i] && (o == nil || !strings.HasPrefix(o.Value.AsString(), "v2")):
					t.Errorf("%s was not stored: %v", name, o)
				}
			}
		})
	}
}

// adopted adopts the interrupted objects at their original addresses and applies again: then every object of the second
// version exists once, and no others.
func (t *tangle) adopted(s *scene, root string) {
	s.t.Helper()
	s.adoptAll()
	if _, _, diags := s.run(root, false, engine.PlanOptions{}); diags.HasErrors() {
		s.t.Fatalf("after recovery: %v\n%s", diags.Err(), root)
	}
	want := []string{}
	for _, k := range t.nodes {
		switch {
		case k.leave:
		case k.counted:
			want = append(want, k.name+"-0", k.name+"-1")
		default:
			want = append(want, k.name)
		}
	}
	if t.module {
		want = append(want, "p-x", "p-y", "q-x", "q-y")
	}
	got := []string{}
	for _, o := range s.exist() {
		got = append(got, o.Name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.t.Errorf("in the end there are\n%v\nwant\n%v\n%s", got, want, root)
	}
}

// exist lists the objects of the remote system.
func (s *scene) exist() []world.Object {
	s.t.Helper()
	list, err := s.world.Exists()
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// adoptAll resolves all open operations with the objects of the remote system.
func (s *scene) adoptAll() {
	s.t.Helper()
	project, diags := engine.Load(s.t.Context(), engine.Options{Dir: s.dir,
		Providers: map[addr.Provider]provider.Factory{
			world.Addr(): world.Factory(world.Options{Dir: filepath.Join(s.dir, "world")})}})
	if diags.HasErrors() {
		s.t.Fatal(diags.Err())
	}
	defer project.Close()
	run, diags := project.Open(s.t.Context(), engine.OpenOptions{})
	if diags.HasErrors() {
		s.t.Fatal(diags.Err())
	}
	defer run.Close(s.t.Context())
	for _, f := range run.Snapshot().InFlight {
		id := ""
		for _, o := range s.exist() {
			if o.Token == f.Token() {
				id = o.ID
			}
		}
		if diags := run.Recover(s.t.Context(), f.Object.Instance, engine.Recovery{Adopt: id},
			nil); diags.HasErrors() {
			s.t.Fatalf("recover %s as %q: %v", f.Object, id, diags.Err())
		}
	}
}
