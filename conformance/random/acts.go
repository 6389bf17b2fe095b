package random

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Acts returns the archive of a case for Terraform 1.15 with the provider acts: resources whose changes invoke actions,
// list blocks and queries, typed outputs and conversions, in two or three versions.
func Acts(seed uint64) []byte {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x61637473))}
	a := &actsCase{g: g}
	for range 1 + g.r.IntN(3) {
		a.actions = append(a.actions, &actsAction{name: g.name("n"), mode: g.someMode()})
	}
	for range 1 + g.r.IntN(3) {
		a.addThing()
	}
	for range g.r.IntN(3) {
		a.lists = append(a.lists, g.name("l"))
	}
	for range g.r.IntN(4) {
		a.addTyped()
	}
	c := Case{Seed: seed, Steps: []string{"init"}}
	for v := range 2 + g.r.IntN(2) {
		if v > 0 {
			a.change()
			c.Steps = append(c.Steps, fmt.Sprintf("use @v%d", v+1), "init")
		}
		files := map[string]string{"main.tf": fmt.Sprintf("%s# version %d\n", a.text(), v+1)}
		if len(a.lists) > 0 {
			files["a.tfquery.hcl"] = a.query()
		}
		c.versions = append(c.versions, files)
		c.Steps = append(c.Steps, a.steps()...)
	}
	c.Steps = append(c.Steps, "destroy")
	return []byte(strings.Replace(string(c.Archive()), "tier: 2\n",
		"tier: 2\noracle: terraform-1.15.9\nplugin: acts\n", 1))
}

// IsActs reports whether an archive is one of Acts.
func IsActs(archive []byte) bool { return bytes.Contains(archive, []byte("plugin: acts\n")) }

// actsCase is one version of such a configuration.
type actsCase struct {
	g       *gen
	actions []*actsAction
	things  []*actsThing
	lists   []string
	typed   []string // outputs
}

type actsAction struct {
	name string
	mode mode
	note string // the text in the configuration
}

type actsThing struct {
	typ, name  string
	mode       mode
	size, kind string
	triggers   []string // blocks
}

func (a *actsCase) addThing() {
	t := &actsThing{typ: pick(a.g, []string{"acts_thing", "acts_named"}), name: a.g.name("r"), mode: a.g.someMode()}
	a.alter(t)
	a.things = append(a.things, t)
}

// alter sets other values and triggers of a thing.
func (a *actsCase) alter(t *actsThing) {
	t.size, t.kind = pick(a.g, []string{"1", "2", "3"}), pick(a.g, []string{"null", "null", "null", `"k"`})
	t.triggers = nil
	if t.mode != single { // Terraform invokes those of several instances in random order
		return
	}
	for range a.g.r.IntN(3) {
		w := &writer{}
		w.block("action_trigger", func() {
			w.line("events = [%s]", strings.Join(someOf(a.g, actsEvents, 1), ", "))
			if a.g.chance(30) {
				w.line("condition = %s", pick(a.g, []string{"true", "false", "var.on", "tobool(null)",
					fmt.Sprintf("%s.%s != null", t.typ, t.name), fmt.Sprintf("length(%q) > 0", t.name)}))
			}
			var list []string
			for range 1 + a.g.r.IntN(2) {
				list = append(list, pick(a.g, a.actions).reference(a.g))
			}
			w.line("actions = [%s]", strings.Join(list, ", "))
		})
		t.triggers = append(t.triggers, w.buf.String())
	}
}

var actsEvents = []string{"before_create", "after_create", "before_update", "after_update"}

// reference returns the address of an instance, which usually exists.
func (c *actsAction) reference(g *gen) string {
	at := "action.acts_note." + c.name
	switch {
	case g.chance(4):
		return at
	case c.mode == counted:
		return fmt.Sprintf("%s[%d]", at, g.r.IntN(2))
	case c.mode == eachOfSet, c.mode == eachOfMap:
		return fmt.Sprintf("%s[%q]", at, pick(g, []string{"a", "b"}))
	}
	return at
}

// addTyped adds an output with a type, or a conversion.
func (a *actsCase) addTyped() {
	g := a.g
	t, to := g.valueType(), g.valueType()
	if g.chance(60) {
		to = t
	}
	value := g.expr(scope{}, t, plainly, 3)
	w := &writer{}
	w.block(fmt.Sprintf("output %q", g.name("o")), func() {
		switch g.r.IntN(3) {
		case 0:
			w.line("type = %s", to)
			w.line("value = %s", value)
		case 1:
			w.line("value = convert(%s, %s)", value, to)
		default:
			w.line("value = try(jsonencode(convert(%s, %s)), \"none\")", value, to)
		}
	})
	a.typed = append(a.typed, w.buf.String())
}

// change generates the next version.
func (a *actsCase) change() {
	for _, t := range a.things {
		if a.g.chance(15) {
			t.mode = a.g.someMode()
		}
		if t.mode != single || a.g.chance(60) {
			a.alter(t)
		}
	}
	for _, c := range a.actions {
		if a.g.chance(30) {
			c.note = a.g.name("w")
		}
	}
	if len(a.things) > 1 && a.g.chance(30) {
		a.things = a.things[1:]
	}
	if a.g.chance(40) {
		a.addThing()
	}
}

// repeat writes the arguments for several instances, and returns the expression that distinguishes them.
func (m mode) repeat(w *writer) string {
	switch m {
	case counted:
		w.line("count = 2")
		return "-${count.index}"
	case eachOfSet:
		w.line(`for_each = toset(["a", "b"])`)
		return "-${each.key}"
	case eachOfMap:
		w.line(`for_each = { a = 1, b = 2 }`)
		return "-${each.key}${each.value}"
	}
	return ""
}

func (a *actsCase) text() string {
	w := &writer{}
	w.buf.WriteString("terraform {\n  required_providers {\n    acts = { source = \"tombolo/acts\" }\n  }\n}\n" +
		"variable \"on\" { default = true }\n")
	for _, c := range a.actions {
		w.block(fmt.Sprintf(`action "acts_note" %q`, c.name), func() {
			own := c.mode.repeat(w)
			w.block("config", func() {
				w.line(`text = "%s%s%s"`, c.name, own, c.note)
				if c.note != "" {
					w.line("secret = sensitive(%q)", c.note)
					w.line("more = [%q, var.on ? \"on\" : \"off\"]", c.name)
				}
			})
		})
	}
	for i, t := range a.things {
		w.block(fmt.Sprintf("resource %q %q", t.typ, t.name), func() {
			own := t.mode.repeat(w)
			w.line(`name = "%s%s"`, t.name, own)
			w.line("size = %q", t.size)
			w.line("kind = %s", t.kind)
			if i > 0 { // so that there is only one order
				w.line("depends_on = [%s.%s]", a.things[i-1].typ, a.things[i-1].name)
			}
			if len(t.triggers) > 0 {
				w.block("lifecycle", func() {
					for _, block := range t.triggers {
						for line := range strings.Lines(block) {
							w.line("%s", strings.TrimSuffix(line, "\n"))
						}
					}
				})
			}
		})
	}
	for _, block := range a.typed {
		w.buf.WriteString(block)
	}
	return w.buf.String()
}

// query writes the list blocks.
func (a *actsCase) query() string {
	w := &writer{}
	for _, name := range a.lists {
		w.block(fmt.Sprintf(`list "acts_named" %q`, name), func() {
			m := pick(a.g, []mode{single, single, counted, eachOfSet})
			m.repeat(w)
			w.line("provider = acts")
			if a.g.chance(50) {
				w.line("include_resource = %t", a.g.chance(70))
			}
			if a.g.chance(40) {
				w.line("limit = %d", 1+a.g.r.IntN(3))
			}
			if a.g.chance(60) {
				prefix := map[mode]string{counted: `["r", "x"][count.index]`,
					eachOfSet: `each.key == "a" ? "r" : each.key`}
				w.block("config", func() {
					if text, ok := prefix[m]; ok {
						w.line("prefix = %s", text)
						return
					}
					w.line("prefix = %q", pick(a.g, []string{"r", "r1", "", "x"}))
				})
			}
		})
	}
	return w.buf.String()
}

// steps returns the commands for a version.
func (a *actsCase) steps() (list []string) {
	g := a.g
	if g.chance(40) {
		list = append(list, "validate -json")
	}
	if g.chance(50) {
		list = append(list, pick(g, []string{"plan", "plan -refresh-only", "plan -json", "plan -destroy"}))
	}
	list = append(list, pick(g, []string{"apply", "apply", "apply -json"}), "plan -detailed-exitcode")
	if g.chance(40) {
		at := pick(g, a.actions).reference(g)
		list = append(list, pick(g, []string{"plan", "apply"})+" -invoke='"+at+"'")
	}
	if len(a.lists) > 0 {
		if g.chance(20) {
			list = append(list, "validate -query")
		}
		list = append(list, pick(g, []string{"query", "query -json",
			"query -generate-config-out=" + g.name("found") + ".txt"}))
	}
	if g.chance(20) {
		list = append(list, "state identities -json")
	}
	return list
}
