package random

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// suiteGen generates a configuration with test files. The provider is that of internal/world: the objects of a run are
// in a ledger in the directory "w", or "v" for the configuration with an alias, so that the runner of the case can find
// those left behind.
type suiteGen struct {
	*gen
	alias bool // a second configuration, world.b
	own   bool // the module has provider blocks, which test files may replace
	child bool // a module call
	// counted: it has two instances. Terraform does not apply overrides of objects to all of them: see the case
	// tests/overrides_of_modules.
	counted bool
	keyed   bool // the first object has keys
	mocked  bool // all provider configurations of the file are mocks
	// slow is the duration of each call that changes an object, so that it can be interrupted, or "".
	slow   string
	runs   []string
	planed map[string]bool // runs that only plan
}

// GenerateTests returns an archive with a configuration and test files, and the steps that run them.
func GenerateTests(seed uint64) []byte { return newSuiteGen(seed, 0x7465737473).archive(seed) }

// Signals are sent to a command, each as soon as the worlds' ledgers have a number of events.
type Signals struct {
	After []int
	Kill  bool // the last one cannot be handled
}

// GenerateInterrupted returns a case like GenerateTests, in which all operations are slow, and the signals for its last
// step.
func GenerateInterrupted(seed uint64) (archive []byte, signals Signals) {
	g := newSuiteGen(seed, 0x736967)
	g.slow = "40ms"
	signals.After = []int{1 + g.r.IntN(14)}
	switch g.r.IntN(5) {
	case 0, 1:
		signals.After = append(signals.After, signals.After[0]+g.r.IntN(5))
	case 2:
		signals.Kill = true
	}
	return g.archive(seed), signals
}

func newSuiteGen(seed, kind uint64) *suiteGen {
	return &suiteGen{gen: &gen{r: rand.New(rand.NewPCG(seed, kind))}}
}

func (g *suiteGen) archive(seed uint64) []byte {
	g.alias, g.child, g.keyed = g.chance(50), g.chance(60), g.chance(40)
	g.own = g.chance(40)
	a := txtar.Archive{Comment: fmt.Appendf(nil, "Seed %d of the generator for test.\n", seed)}
	add := func(name, text string) { a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)}) }
	steps := "tier: 6\nplugin: world\nvaries: world_object id\ninit\n"
	files := []string{}
	number := 1
	if g.slow == "" {
		number += g.r.IntN(2)
	}
	for n := range number {
		files = append(files, fmt.Sprintf("tests/t%d.tftest.hcl", n))
		steps += "test -filter=" + files[n] + "\n"
	}
	add("steps", steps)
	add("main.tf", g.root())
	add("m/main.tf", g.called("c"))
	add("setup/main.tf", g.called("s"))
	for _, name := range files {
		add(name, g.file())
	}
	return txtar.Format(&a)
}

// required writes the provider requirements of a module.
func (g *suiteGen) required(w *writer, wants bool) {
	w.block("terraform", func() {
		w.block("required_providers", func() {
			aliases := ""
			if wants && g.alias {
				aliases = ", configuration_aliases = [world.b]"
			}
			w.line(`world = { source = "tombolo/world"%s }`, aliases)
		})
	})
}

func (g *suiteGen) root() string {
	var w writer
	g.required(&w, !g.own)
	if g.own {
		w.line(`provider "world" { dir = "w" }`)
		if g.alias {
			w.block(`provider "world"`, func() {
				w.line(`alias = "b"`)
				w.line(`dir = "v"`)
			})
		}
	}
	w.block(`variable "p"`, func() {
		w.line(`type = string`)
		w.line(`default = "p"`)
	})
	w.block(`variable "n"`, func() {
		w.line(`type = number`)
		w.line(`default = 1`)
		w.block("validation", func() {
			w.line(`condition = var.n < 5`)
			w.line(`error_message = "n is too large"`)
		})
	})
	w.line(`variable "behave" { default = {%s} }`, g.delay())
	g.objects(&w)
	w.line(`resource "terraform_data" "t" { input = world_object.b.id }`)
	if g.child {
		w.block(`module "m"`, func() {
			w.line(`source = "./m"`)
			if g.counted = g.chance(30); g.counted { // objects of one name would get their ids in random order
				w.line(`count = 2`)
				w.line(`p = "${var.p}-m${count.index}"`)
			} else {
				w.line(`p = "${var.p}-m"`)
			}
			if g.alias {
				w.line(`providers = { world = world.b }`)
			}
		})
		w.line(`output "m" { value = module.m }`)
	}
	g.results(&w)
	return w.buf.String()
}

// objects writes the resources of the provider.
func (g *suiteGen) objects(w *writer) {
	w.block(`resource "world_object" "a"`, func() {
		switch {
		case g.keyed && g.chance(50):
			w.line(`for_each = toset(["x", "y"])`)
			w.line(`name = "${var.p}-a-${each.key}"`)
		case g.keyed:
			w.line(`count = 2`)
			w.line(`name = "${var.p}-a-${count.index}"`)
		default:
			w.line(`name = "${var.p}-a"`)
		}
		w.line(`value = var.p`)
		w.line(`size = var.n`)
		w.line(`behave = var.behave`)
		if g.chance(30) {
			w.line(`password = "secret"`)
		}
		if g.chance(50) {
			w.block("lifecycle", func() {
				w.block(pick(g.gen, []string{"precondition", "postcondition"}), func() {
					w.line(`condition = var.n != 3`)
					w.line(`error_message = "n is three"`)
				})
			})
		}
	})
	w.block(`resource "world_object" "b"`, func() {
		w.line(`name = "${var.p}-b"`)
		w.line(`value = %s`, g.id())
		g.behaves(w)
		if g.alias {
			w.line(`provider = world.b`)
		}
	})
}

// results writes a check and the outputs.
func (g *suiteGen) results(w *writer) {
	w.block(`check "c"`, func() {
		w.block("assert", func() {
			w.line(`condition = %s`, pick(g.gen, []string{"var.n != 2", `world_object.b.id != "x"`}))
			w.line(`error_message = "n is two"`)
		})
	})
	w.block(`output "id"`, func() { w.line(`value = %s`, g.id()) })
	w.line(`output "whole" { value = { id = world_object.b.id, name = world_object.b.name } }`)
	w.block(`output "n"`, func() {
		w.line(`value = var.n`)
		w.block("precondition", func() {
			w.line(`condition = var.n != 4`)
			w.line(`error_message = "n is four"`)
		})
	})
}

// delay returns the directive that makes an object slow.
func (g *suiteGen) delay() string {
	if g.slow == "" {
		return ""
	}
	return fmt.Sprintf(" delay = %q ", g.slow)
}

func (g *suiteGen) behaves(w *writer) {
	if g.slow != "" {
		w.line("behave = {%s}", g.delay())
	}
}

// id returns an expression for the id of the first object.
func (g *suiteGen) id() string {
	if g.keyed {
		return "values({ for k, v in world_object.a : k => v.id })[0]"
	}
	return "world_object.a.id"
}

// called returns a module that is called, or that runs test.
func (g *suiteGen) called(object string) string {
	var w writer
	g.required(&w, false)
	w.line(`variable "p" { default = "q" }`)
	w.block(fmt.Sprintf(`resource "world_object" %q`, object), func() {
		w.line(`name = "${var.p}-%s"`, object)
		g.behaves(&w)
	})
	w.line(`output "id" { value = world_object.%s.id }`, object)
	w.line(`output "p" { value = var.p }`)
	return w.buf.String()
}

// file returns one test file.
func (g *suiteGen) file() string {
	var w writer
	g.runs, g.planed, g.mocked = nil, map[string]bool{}, true
	g.provider(&w, "")
	if g.alias && (g.slow != "" || !g.chance(8)) {
		g.provider(&w, "b")
	}
	if g.chance(60) {
		w.block("variables", func() {
			w.line(`p = "f"`)
			if g.chance(30) && g.slow == "" {
				w.line(`n = %d`, g.r.IntN(6))
			}
		})
	}
	if g.slow == "" || g.chance(20) {
		g.overrides(&w, 25)
	}
	for range 1 + g.r.IntN(4) {
		g.run(&w)
	}
	return w.buf.String()
}

func (g *suiteGen) provider(w *writer, alias string) {
	dir := "w"
	if alias != "" {
		dir = "v"
	}
	if g.own && alias != "" && g.chance(40) { // a run of another module needs the default one
		g.mocked = false
		return
	}
	kind := "mock_provider"
	real := 60
	if g.slow != "" {
		real = 90 // mocks take no time
	}
	if g.chance(real) {
		kind, g.mocked = "provider", false
	}
	w.block(kind+` "world"`, func() {
		if alias != "" {
			w.line("alias = %q", alias)
		}
		if kind == "provider" {
			options := []string{`"` + dir + `"`}
			if alias == "" && g.slow == "" { // terraform reports mistakes in two blocks in random order
				options = append(options, options[0], options[0], `var.dir`, `"${var.p}w"`)
			}
			w.line("dir = %s", pick(g.gen, options))
			return
		}
		if g.chance(30) {
			w.line("override_during = %s", pick(g.gen, []string{"plan", "apply"}))
		}
		if g.chance(50) {
			w.block(`mock_resource "world_object"`, func() {
				w.line(`defaults = { id = "mock%s", revision = 7 }`, alias)
			})
		}
		if g.chance(20) {
			w.block(`override_resource`, func() {
				w.line(`target = world_object.a`)
				w.line(`values = { id = "within" }`)
			})
		}
	})
}

// overrides writes overrides of a file or of a run.
func (g *suiteGen) overrides(w *writer, percent int) {
	for _, target := range []string{"world_object.a", "world_object.b", "world_object.none",
		"module.m.world_object.c", `world_object.a["x"]`} {
		if g.chance(percent/2) && !(g.counted && strings.HasPrefix(target, "module.")) {
			w.block("override_resource", func() {
				w.line("target = %s", target)
				if g.chance(70) {
					w.line(`values = { id = "over" }`)
				}
				if g.chance(30) {
					w.line("override_during = plan")
				}
			})
		}
	}
	if g.chance(percent / 2) {
		w.block("override_module", func() {
			w.line("target = %s", pick(g.gen, []string{"module.m", "module.m", "module.none"}))
			w.line(`outputs = { id = "made" }`)
		})
	}
}

func (g *suiteGen) run(w *writer) {
	name := g.name("r")
	planOnly, other := g.chance(35), g.chance(20)
	if g.slow != "" {
		planOnly = len(g.runs) > 0 && g.chance(15)
	}
	w.block(fmt.Sprintf("run %q", name), func() {
		if planOnly {
			w.line("command = plan")
		}
		if other {
			w.block("module", func() { w.line(`source = "./setup"`) })
		}
		if g.chance(15) {
			w.line(`state_key = %q`, pick(g.gen, []string{"k", "", "l"}))
		}
		if g.alias && g.chance(15) {
			w.line("providers = { %s }", pick(g.gen, []string{
				"world = world.b", "world = world, world.b = world.b", "world = world.b, world.b = world"},
			))
		}
		if g.chance(15) {
			w.block("plan_options", func() {
				w.line("%s", pick(g.gen, []string{
					"mode = refresh-only", "refresh = false", "target = [world_object.b]",
					"replace = [world_object.b]"},
				))
			})
		}
		g.variables(w)
		g.overrides(w, 15)
		for range g.r.IntN(3) {
			w.block("assert", func() {
				w.line("condition = %s", g.condition(other, planOnly))
				w.line(`error_message = "not so"`)
			})
		}
		if !other && g.chance(20) {
			w.line("expect_failures = [%s]", pick(g.gen, []string{
				"var.n", "check.c", "world_object.a", "output.n", "var.n, check.c", "world_object.b"},
			))
		}
	})
	g.runs = append(g.runs, name)
	g.planed[name] = planOnly
}

func (g *suiteGen) variables(w *writer) {
	if g.chance(40) {
		return
	}
	w.block("variables", func() {
		if g.chance(60) {
			values := []string{`"r"`, `"f"`, "var.p"}
			for _, r := range g.runs {
				values = append(values, "run."+r+".p", "run."+r+".whole.name")
				if g.planed[r] {
					values = append(values, "run."+r+".id")
				}
			}
			w.line("p = %s", pick(g.gen, values))
		}
		if g.chance(60) {
			numbers := []int{0, 1, 2, 3, 4, 5}
			if g.slow != "" {
				numbers = numbers[:4] // 4 and 5 prevent a run
			}
			w.line("n = %d", pick(g.gen, numbers))
		}
		if g.chance(15) {
			w.line("behave = { %s }", pick(g.gen, []string{
				`fail = "create"`, `fail = "update"`, `fail = "delete:1"`, `half = "error"`, `fail = "read"`},
			))
		}
		if g.chance(10) {
			w.line("nobody = 1")
		}
	})
}

// condition returns a condition of an assertion. It avoids values that are null in terraform and unknown in tombolo:
// parts of the outputs of runs that only plan (tests/unknown_of_runs).
func (g *suiteGen) condition(other, planOnly bool) string {
	list := []string{`world_object.b.name == "f-b"`, `output.n == 1`, `var.n == 1`, `world_object.b.id != ""`,
		"var.nobody == 1", `startswith(output.whole.name, var.p)`, "local.none == 1"}
	if !planOnly {
		list = append(list, `length(output.whole.id) > 0`)
	}
	if other {
		list = []string{`output.p == "q"`, `output.id != ""`, `var.p == "f"`}
	}
	for _, r := range g.runs {
		list = append(list, "run."+r+`.id != ""`, "run."+r+`.n == 1`)
	}
	if g.mocked {
		list = append(list, "world_object.b.revision == 7", `world_object.b.id == "over"`)
	}
	return pick(g.gen, list)
}

// IsTests reports whether an archive has test files.
func IsTests(archive []byte) bool {
	return strings.Contains(string(archive), "of the generator for test.")
}
