package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A shape is a small graph: for each of the objects a, b and c, which of them it refers to.
type shape struct {
	name  string
	nodes []string
	deps  map[string][]string
}

var shapes = []shape{
	{"two_apart", []string{"a", "b"}, nil},
	{"two", []string{"a", "b"}, map[string][]string{"b": {"a"}}},
	{"three_apart", []string{"a", "b", "c"}, nil},
	{"pair_and_one", []string{"a", "b", "c"}, map[string][]string{"b": {"a"}}},
	{"chain", []string{"a", "b", "c"}, map[string][]string{"b": {"a"}, "c": {"b"}}},
	{"fan", []string{"a", "b", "c"}, map[string][]string{"b": {"a"}, "c": {"a"}}},
	{"join", []string{"a", "b", "c"}, map[string][]string{"c": {"a", "b"}}},
	{"triangle", []string{"a", "b", "c"}, map[string][]string{"b": {"a"}, "c": {"a", "b"}}},
}

// The matrix is every shape with every choice of create_before_destroy. The cases are committed;
// TOMBOLO_CONFORMANCE_UPDATE=1 writes them.
func TestMatrixEqualsItsGeneratorsOutput(t *testing.T) {
	dir := filepath.Join("testdata", "order")
	update := os.Getenv("TOMBOLO_CONFORMANCE_UPDATE") != ""
	made := map[string]bool{}
	for _, sh := range shapes {
		for mask := range 1 << len(sh.nodes) {
			m := matrixCase{shape: sh, cbd: map[string]bool{}}
			name := sh.name
			for i, n := range sh.nodes {
				if mask>>i&1 == 1 {
					m.cbd[n] = true
					name += "_" + n
				}
			}
			path := filepath.Join(dir, name+".txtar")
			made[name+".txtar"] = true
			text := m.text()
			if update {
				if err := os.MkdirAll(dir, 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, text, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, text) {
				t.Errorf("%s is not what the generator makes (%v): TOMBOLO_CONFORMANCE_UPDATE=1 writes it", path, err)
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !made[e.Name()] {
			t.Errorf("%s is not made by the generator", e.Name())
		}
	}
}

// matrixCase is a shape with a choice of create_before_destroy.
type matrixCase struct {
	shape
	cbd map[string]bool
}

// careful reports whether an object is created before it is destroyed, by its own setting or that of a dependent.
func (m matrixCase) careful(n string) bool {
	return m.cbd[n] || slices.ContainsFunc(m.nodes, func(d string) bool {
		return slices.Contains(m.deps[d], n) &&
			m.careful(d)
	})
}

// edges calls f with every dependent and each of its dependencies, including indirect ones.
func (m matrixCase) edges(f func(d, r string)) {
	var reach func(n string, seen map[string]bool)
	reach = func(n string, seen map[string]bool) {
		for _, r := range m.deps[n] {
			if !seen[r] {
				seen[r] = true
				reach(r, seen)
			}
		}
	}
	for _, d := range m.nodes {
		seen := map[string]bool{}
		reach(d, seen)
		for _, r := range m.nodes {
			if seen[r] {
				f(d, r)
			}
		}
	}
}

func op(action, n, key string) string { return fmt.Sprintf("%s terraform_data.%s[%q]", action, n, key) }

// created returns the order of a first apply.
func (m matrixCase) created() (rules []string) {
	m.edges(func(d, r string) { rules = append(rules, op("create", r, "x")+" < "+op("create", d, "x")) })
	return rules
}

// destroyed returns the order in which one instance of some objects is deleted.
func (m matrixCase) destroyed(key string, which ...string) (rules []string) {
	m.edges(func(d, r string) {
		if slices.Contains(which, d) && slices.Contains(which, r) {
			rules = append(rules, op("delete", d, key)+" < "+op("delete", r, key))
		}
	})
	return rules
}

// replaced returns the order in which only a is replaced: its dependents are updated in between.
func (m matrixCase) replaced() (rules []string) {
	if m.careful("a") {
		rules = append(rules, op("create", "a", "x")+" < "+op("delete", "a", "x"))
	} else {
		rules = append(rules, op("delete", "a", "x")+" < "+op("create", "a", "x"))
	}
	for _, d := range m.nodes {
		if slices.Contains(m.deps[d], "a") {
			rules = append(rules, op("create", "a", "x")+" < "+op("update", d, "x"))
			if m.careful("a") {
				rules = append(rules, op("update", d, "x")+" < "+op("delete", "a", "x"))
			}
		}
	}
	return rules
}

// allReplaced returns the order in which everything is replaced.
func (m matrixCase) allReplaced() (rules []string) {
	for _, n := range m.nodes {
		if m.careful(n) {
			rules = append(rules, op("create", n, "x")+" < "+op("delete", n, "x"))
		} else {
			rules = append(rules, op("delete", n, "x")+" < "+op("create", n, "x"))
		}
	}
	m.edges(func(d, r string) {
		rules = append(rules, op("create", r, "x")+" < "+op("create", d, "x"), op("delete", d, "x")+" < "+
			op("delete", r, "x"))
	})
	return rules
}

func (m matrixCase) text() []byte {
	var b bytes.Buffer
	var careful []string
	for _, n := range m.nodes {
		if m.cbd[n] {
			careful = append(careful, n)
		}
	}
	fmt.Fprintf(&b, "The shape %s, create_before_destroy in: %s. Made by matrix_test.go.\n-- steps --\ntier: 4\n",
		m.name, strings.Join(append(careful, "no other"), ", "))
	order := func(rules []string) {
		if len(rules) > 0 {
			fmt.Fprintf(&b, "order '%s'\n", strings.Join(rules, "' '"))
		}
	}
	fmt.Fprintln(&b, "init\napply -json")
	order(m.created())
	fmt.Fprintln(&b, "plan -var a=2\napply -json -var a=2")
	order(m.replaced())
	fmt.Fprintln(&b, "plan -var a=3 -var all=2\napply -json -var a=3 -var all=2")
	order(m.allReplaced())
	fmt.Fprintln(&b, `plan -var a=3 -var all=2 -var 'keys=["x"]'`+"\n"+
		`apply -json -var a=3 -var all=2 -var 'keys=["x"]'`)
	order(m.destroyed("y", m.nodes...))
	fmt.Fprintln(&b, "write main.tf @without.tf\nplan -var a=3 -var all=2\napply -json -var a=3 -var all=2")
	order(m.destroyed("x", m.nodes[1:]...))
	fmt.Fprintln(&b, "write main.tf @all.tf\napply -var a=3 -var all=2\ndestroy -json -var a=3 -var all=2")
	order(slices.Concat(m.destroyed("x", m.nodes...), m.destroyed("y", m.nodes...)))
	all, without := m.config(m.nodes), m.config(m.nodes[:1])
	fmt.Fprintf(&b, "-- main.tf --\n%s-- @all.tf --\n%s-- @without.tf --\n%s", all, all, without)
	return b.Bytes()
}

// config writes some of the objects. Each refers to its dependencies by id; two variables replace a, or everything.
func (m matrixCase) config(nodes []string) string {
	var b strings.Builder
	b.WriteString("variable \"a\" { default = 1 }\nvariable \"all\" { default = 1 }\nvariable \"keys\" {\n  type    " +
		"= set(string)\n  default = [\"x\", \"y\"]\n}\n")
	for _, n := range nodes {
		var refs []string
		for _, r := range m.deps[n] {
			refs = append(refs, fmt.Sprintf("values(terraform_data.%s)[*].id", r))
		}
		trigger := "var.all"
		if n == "a" {
			trigger = "[var.all, var.a]"
		}
		fmt.Fprintf(&b, "resource \"terraform_data\" %q {\n  for_each         = var.keys\n  input            = "+
			"[%s]\n  triggers_replace = %s\n", n, strings.Join(refs, ", "), trigger)
		if m.cbd[n] {
			b.WriteString("  lifecycle { create_before_destroy = true }\n")
		}
		b.WriteString("}\n")
	}
	return b.String()
}
