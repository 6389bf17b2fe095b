// Package random generates configurations by seed, to be run with both tombolo and the real terraform: deep types,
// marks, unknown values, nested modules, expansion, conditions, moves, and a change from one version of the
// configuration to the next. The same seed yields the same case, an archive in the form of conformance/testdata.
//
//	case := random.Generate(17)
//	os.WriteFile("testdata/random/seed_17.txtar", case.Archive(), 0o666)
//
// Expressions are built by type from a scope, with restrictions on their values (sensitive, unknown, null, ephemeral),
// so that most configurations are valid; one seed in eight has an intentional mistake. Nothing runs in this package:
// the test TestRandom of package conformance runs and compares cases, and reduces failing ones with Shrink.
//
//	types.go    types and literals
//	expr.go     expressions of a type, from a scope
//	calls.go    the table of functions
//	blocks.go   the blocks of a module, and how others refer to them
//	module.go   modules, calls of them, the entire configuration
//	change.go   from one version to the next
//	faults.go   mistakes
//	mistakes.go  blocks with mistakes in their structure
//	steps.go    which commands run
//	tests.go    configurations with test files
//	instances.go  provider blocks with several instances
//	acts.go     actions and list blocks
//	tofu.go     features only of OpenTofu
//	projects.go, features.go  projects that combine features
//	shrink.go   the smallest case with the same difference
package random

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// A Case is a configuration in one or more versions, and the steps to run.
type Case struct {
	Seed     uint64
	Steps    []string
	versions []map[string]string // path -> text; the first is the initial one
}

// Generate returns the case of a seed.
func Generate(seed uint64) Case {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x746f6d626f6c6f))}
	c := Case{Seed: seed}
	root := g.configuration()
	c.versions = append(c.versions, g.files(root))
	if g.chance(12) { // a mistake in the first version: there is nothing to continue from
		c.versions[0] = g.mistake(c.versions[0])
		c.Steps = []string{"init", "validate -json", "plan"}
		return c
	}
	s := newScript(g, root)
	s.begin()
	for range 1 + g.r.IntN(2) {
		g.change(root)
		files := g.files(root)
		files["main.tf"] += fmt.Sprintf("# version %d\n", len(c.versions)+1) // if nothing else changes
		if g.chance(6) {
			files = g.mistake(files)
		}
		c.versions = append(c.versions, files)
		s.next(len(c.versions), looksOnly(files))
	}
	s.end()
	c.Steps = s.lines
	return c
}

// looksOnly reports whether a refresh-only plan succeeds: terraform fails if a postcondition refers to a missing
// instance.
func looksOnly(files map[string]string) bool {
	for _, text := range files {
		if strings.Contains(text, "self.") {
			return false
		}
	}
	return true
}

// Archive returns the case as a txtar archive, in the form of the cases in conformance/testdata.
func (c Case) Archive() []byte {
	a := txtar.Archive{Comment: fmt.Appendf(nil, "Seed %d of conformance/random.\n", c.Seed)}
	add := func(name, text string) { a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)}) }
	add("steps", "tier: 2\n"+strings.Join(c.Steps, "\n")+"\n")
	for i, files := range c.versions {
		for _, name := range sortedNames(files) {
			at := name
			if i > 0 {
				if c.versions[i-1][name] == files[name] {
					continue
				}
				at = fmt.Sprintf("@v%d/%s", i+1, name)
			}
			add(at, files[name])
		}
	}
	return txtar.Format(&a)
}

func sortedNames(files map[string]string) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// gen chooses at random, from one seed.
type gen struct {
	r       *rand.Rand
	counter int
	nested  int       // number of collections around an expression
	modules []*module // children, written once each, in the order in which they may call each other
}

// chance returns true with a probability in percent.
func (g *gen) chance(percent int) bool { return g.r.IntN(100) < percent }

// name returns a unique name.
func (g *gen) name(prefix string) string {
	g.counter++
	return fmt.Sprintf("%s%d", prefix, g.counter)
}

func pick[T any](g *gen, list []T) T { return list[g.r.IntN(len(list))] }

// writer writes blocks with their indentation.
type writer struct {
	buf   bytes.Buffer
	depth int
}

func (w *writer) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintf(&w.buf, "%s%s\n", strings.Repeat("  ", w.depth), text)
}

func (w *writer) block(head string, body func()) {
	w.line("%s {", head)
	w.depth++
	body()
	w.depth--
	w.line("}")
}
