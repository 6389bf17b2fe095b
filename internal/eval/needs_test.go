package eval_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
)

// waitsFor is a set of resource blocks, by module path and name: "m1.m2/r3".
type waitsFor map[string]bool

func union(sets ...waitsFor) waitsFor {
	out := waitsFor{}
	for _, s := range sets {
		maps.Copy(out, s)
	}
	return out
}

// program generates a random configuration, and records for each resource block which others must have ended before it
// begins. References are only to earlier blocks, so there are no cycles.
type program struct {
	r      *rand.Rand
	files  map[string]string
	before map[string]waitsFor // the direct dependencies of each block
	n      int
}

// called is a module from its caller's point of view.
type called struct {
	outputs map[string]waitsFor
	all     waitsFor // every resource in the module, and the dependencies of its arguments
}

// module generates a module. variables holds the dependencies of its variables, and inside those of everything in it.
func (p *program) module(path string, variables map[string]waitsFor, inside waitsFor, depth int) called {
	var b strings.Builder
	scope := map[string]waitsFor{}
	out := called{outputs: map[string]waitsFor{}, all: waitsFor{}}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		fmt.Fprintf(&b, "variable %q {}\n", name)
		scope["var."+name] = variables[name]
		out.all = union(out.all, variables[name])
	}
	expression := func() (string, waitsFor) {
		names := slices.Sorted(maps.Keys(scope))
		var parts []string
		waits := waitsFor{}
		for range p.r.IntN(3) {
			if len(names) > 0 {
				name := strings.TrimPrefix(names[p.r.IntN(len(names))], "all ")
				parts = append(parts, name)
				waits = union(waits, scope[name])
			}
		}
		return "[" + strings.Join(parts, ", ") + "]", waits
	}
	for range 2 + p.r.IntN(5) {
		p.n++
		text, waits := expression()
		switch kind := p.r.IntN(6); {
		case kind == 0:
			fmt.Fprintf(&b, "locals {\n  l%d = %s\n}\n", p.n, text)
			scope[fmt.Sprintf("local.l%d", p.n)] = waits
		case kind == 1 && depth > 0:
			p.call(&b, path, scope, expression, &out, inside, depth)
		case kind == 2:
			fmt.Fprintf(&b, "output \"o%d\" {\n  value = %s\n}\n", p.n, text)
			out.outputs[fmt.Sprintf("o%d", p.n)] = waits
		default:
			p.resource(&b, path, text, waits, scope, &out, inside)
		}
	}
	name := "main.tf"
	if path != "" {
		name = path[strings.LastIndex(path, ".")+1:] + "/main.tf"
	}
	p.files[name] = b.String()
	return out
}

func (p *program) resource(b *strings.Builder, path, text string, waits waitsFor, scope map[string]waitsFor,
	out *called, inside waitsFor) {
	name := fmt.Sprintf("r%d", p.n)
	fmt.Fprintf(b, "resource \"lab_thing\" %q {\n  any = %s\n", name, text)
	if p.r.IntN(3) == 0 {
		b.WriteString("  for_each = toset([\"x\", \"y\"])\n")
	}
	if p.r.IntN(3) == 0 {
		if on := pick(p.r, scope, "lab_thing.", "module."); on != "" {
			fmt.Fprintf(b, "  depends_on = [%s]\n", on)
			waits = union(waits, scope["all "+on], scope[on])
		}
	}
	b.WriteString("}\n")
	full := path + "/" + name
	p.before[full] = union(waits, inside)
	scope["lab_thing."+name] = waitsFor{full: true}
	out.all = union(out.all, waitsFor{full: true})
}

func (p *program) call(b *strings.Builder, path string, scope map[string]waitsFor, expression func() (string, waitsFor),
	out *called, inside waitsFor, depth int) {
	name := fmt.Sprintf("m%d", p.n)
	fmt.Fprintf(b, "module %q {\n  source = \"./%s\"\n", name, name)
	arguments := map[string]waitsFor{}
	for i := range p.r.IntN(3) {
		text, waits := expression()
		arguments[fmt.Sprintf("v%d", i)] = waits
		fmt.Fprintf(b, "  v%d = %s\n", i, text)
	}
	within := inside
	if p.r.IntN(2) == 0 {
		text, waits := expression()
		fmt.Fprintf(b, "  for_each = { for k in [\"a\", \"b\"] : k => %s }\n", text)
		within = union(within, waits)
	}
	if p.r.IntN(3) == 0 {
		if on := pick(p.r, scope, "lab_thing.", "module."); on != "" {
			fmt.Fprintf(b, "  depends_on = [%s]\n", on)
			within = union(within, scope["all "+on], scope[on])
		}
	}
	b.WriteString("}\n")
	inner := strings.TrimPrefix(path+"."+name, ".")
	child := p.module(inner, arguments, within, depth-1)
	var outputs []waitsFor
	for _, waits := range child.outputs {
		outputs = append(outputs, waits)
	}
	scope["module."+name] = union(outputs...)
	scope["all module."+name] = child.all
	out.all = union(out.all, child.all)
}

// pick returns a name in a scope that begins with one of the given prefixes.
func pick(r *rand.Rand, scope map[string]waitsFor, words ...string) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(scope)) {
		if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(name, w) }) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return names[r.IntN(len(names))]
}

// moment is the start or end of a resource block in a module instance.
type moment struct {
	in   addr.ModuleInstance
	name string // "m1.m2/r3"
	end  bool
}

// watching records when blocks begin and end.
type watching struct {
	*driver
	mu      sync.Mutex
	moments []moment
}

func (w *watching) Resource(n *graph.Node, b *eval.Block) error {
	m := moment{in: b.Instance.Addr, name: blockName(b.Instance.Addr, b.Slot.Resource.Addr.Name)}
	w.note(m)
	err := w.driver.Resource(n, b)
	m.end = true
	w.note(m)
	return err
}

func (w *watching) note(m moment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moments = append(w.moments, m)
}

func blockName(in addr.ModuleInstance, name string) string {
	var path []string
	for m := in; !m.IsRoot(); {
		parent, step, _ := m.Parent()
		path = append(path, step.Call)
		m = parent
	}
	slices.Reverse(path)
	return strings.Join(path, ".") + "/" + name
}

// Every block begins after all of its dependencies have ended, in the correct instances: while instances are expanded,
// and when they are known.
func TestBlocksBeginAfterTheirDependencies(t *testing.T) {
	order := 0
	for seed := range uint64(300) {
		p := &program{r: rand.New(rand.NewPCG(seed, 7)), files: map[string]string{}, before: map[string]waitsFor{}}
		p.module("", nil, nil, 3)
		files := map[string][]byte{}
		for name, text := range p.files {
			files[name] = []byte(text)
		}
		cfg, diags := config.Load(context.Background(), config.Options{
			Dir: ".", Files: config.SnapshotFiles(nestedSnapshot(p, files)), LanguageVersion: "1.11.4"})
		if diags.HasErrors() {
			t.Fatalf("seed %d: %v", seed, diags.Err())
		}
		prog, diags := linking.New(cfg, lab{})
		if diags.HasErrors() {
			t.Fatalf("seed %d: %v\n%v", seed, diags.Err(), p.files)
		}
		var expansions eval.Expansions
		for range 2 {
			in := eval.Inputs{Variables: map[string]cty.Value{}, Workspace: "default", Cwd: "/cwd",
				Expansions: expansions}
			in.Functions.Table = table
			w := &watching{driver: &driver{room: &evaluation{outputs: map[string]cty.Value{}}}}
			walk := eval.NewWalk(prog, in, w)
			w.walk = walk
			if err := walk.Run(context.Background()); err != nil || walk.Diagnostics().HasErrors() {
				t.Fatalf("seed %d: %v %v\n%v", seed, err, walk.Diagnostics().Err(), p.files)
			}
			order += p.check(t, seed, w.moments)
			expansions = walk.Expansions()
			p.checkGraph(t, seed, walk)
		}
	}
	if order < 1000 {
		t.Errorf("the programs have only %d pairs of blocks with an order", order)
	}
}

// nestedSnapshot adds folders and the module manifest.
func nestedSnapshot(p *program, files map[string][]byte) map[string][]byte {
	out := snapshot(files)
	var list []string
	var add func(path, file string)
	add = func(path, file string) {
		for _, m := range moduleCall.FindAllStringSubmatch(p.files[file], -1) {
			key := strings.TrimPrefix(path+"."+m[1], ".")
			list = append(list, fmt.Sprintf(`{"Key":%q,"Source":"./%s","Dir":%q}`, key, m[2], m[2]))
			add(key, m[2]+"/main.tf")
		}
	}
	add("", "main.tf")
	list = append([]string{`{"Key":"","Source":"","Dir":"."}`}, list...)
	out[".terraform/modules/modules.json"] = []byte(`{"Modules":[` + strings.Join(list, ",") + `]}`)
	return out
}

// check compares an order of events with the program's dependencies, and returns how many pairs are ordered.
func (p *program) check(t *testing.T, seed uint64, moments []moment) (pairs int) {
	t.Helper()
	for at, m := range moments {
		if m.end {
			continue
		}
		for q := range p.before[m.name] {
			for later, o := range moments {
				if o.name != q || !sameBranch(m, o) {
					continue
				}
				if pairs++; later > at {
					t.Errorf("seed %d: %s in %q began before the end of %s in %q\n%v", seed, m.name, m.in, q, o.in,
						p.files)
				}
			}
		}
	}
	return pairs
}

// sameBranch reports whether the instances are equal in the modules that contain both blocks.
func sameBranch(a, b moment) bool {
	x, y := steps(a.in), steps(b.in)
	for i := range min(len(x), len(y)) {
		if x[i].Call != y[i].Call {
			return true
		}
		if x[i].Key != y[i].Key {
			return false
		}
	}
	return true
}

func steps(m addr.ModuleInstance) (out []addr.Step) {
	for !m.IsRoot() {
		parent, step, _ := m.Parent()
		out = append(out, step)
		m = parent
	}
	slices.Reverse(out)
	return out
}

// checkGraph compares the graph of a walk, built afterwards, with the program's dependencies.
func (p *program) checkGraph(t *testing.T, seed uint64, walk *eval.Walk) {
	t.Helper()
	n, edges, node := walk.Graph()
	if cycles := graph.Cycles(n, func(i int) []int { return edges[i] }); len(cycles) > 0 {
		t.Fatalf("seed %d: the graph has cycles: %v", seed, cycles)
	}
	reach := make([]map[int]bool, n)
	var from func(i int) map[int]bool
	from = func(i int) map[int]bool {
		if reach[i] == nil {
			reach[i] = map[int]bool{i: true}
			for _, e := range edges[i] {
				maps.Copy(reach[i], from(e))
			}
		}
		return reach[i]
	}
	var all []moment
	for a, i := range walk.Instances() {
		for _, s := range i.Unit.Slots() {
			if s.Kind == linking.SlotResource {
				all = append(all, moment{in: a, name: blockName(a, s.Resource.Addr.Name)})
			}
		}
	}
	number := func(m moment) int {
		_, name, _ := strings.Cut(m.name, "/")
		return node(addr.AbsResource{Module: m.in, Resource: addr.Resource{Mode: addr.Managed, Type: "lab_thing",
			Name: name}})
	}
	for _, m := range all {
		for _, o := range all {
			if p.before[m.name][o.name] && sameBranch(m, o) && !from(number(m))[number(o)] {
				t.Errorf("seed %d: in the graph %s does not depend on %s\n%v", seed, m.name, o.name, p.files)
			}
		}
	}
}
