package random

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Tofu returns the archive of a case for OpenTofu: objects and modules that are enabled or not, that are protected or
// forgotten depending on expressions, module sources with variables, and plans that exclude objects.
func Tofu(seed uint64) []byte {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x746f6675))}
	p := &tofuCase{g: g}
	for range 2 + g.r.IntN(4) {
		p.add()
	}
	c := Case{Seed: seed, Steps: []string{"init"}}
	for v := range 2 + g.r.IntN(3) {
		if v > 0 {
			p.change()
			c.Steps = append(c.Steps, fmt.Sprintf("use @v%d", v+1), "init")
		}
		c.versions = append(c.versions, map[string]string{"main.tf": fmt.Sprintf("%s# version %d\n", p.text(), v+1),
			"m1/main.tf": tofuModule, "m2/main.tf": tofuModule + `resource "terraform_data" "more" {}` + "\n"})
		c.Steps = append(c.Steps, p.steps()...)
	}
	c.Steps = append(c.Steps, pick(g, []string{"destroy", "destroy -suppress-forget-errors", "plan -destroy"}))
	return []byte(strings.Replace(string(c.Archive()), "tier: 2\n", "tier: 2\noracle: tofu-1.12.6\n", 1))
}

// IsTofu reports whether an archive is one of Tofu.
func IsTofu(archive []byte) bool { return bytes.Contains(archive, []byte(`variable "folder"`)) }

const tofuModule = `variable "given" { default = "none" }
resource "terraform_data" "in" {
  input = var.given
}
output "out" { value = terraform_data.in.output }
`

// tofuCase is one version of such a configuration.
type tofuCase struct {
	g     *gen
	users []*tofuUser
}

// A tofuUser is a resource block or a module call.
type tofuUser struct {
	name      string
	module    bool
	folder    string // of a module
	mode      mode
	lifecycle []string
	input     string
}

func (p *tofuCase) add() {
	u := &tofuUser{name: p.g.name("u"), module: p.g.chance(35), folder: pick(p.g, []string{"var.folder", "local.folder",
		`"m2"`, `"m${1 + 0}"`})}
	p.alter(u)
	p.users = append(p.users, u)
}

// alter sets other arguments of a block.
func (p *tofuCase) alter(u *tofuUser) {
	g := p.g
	u.lifecycle, u.mode, u.input = nil, single, fmt.Sprintf("%q", g.name("i"))
	if len(p.users) > 0 && g.chance(50) {
		u.input = pick(g, p.users).value(u)
	}
	switch {
	case g.chance(45):
		u.lifecycle = append(u.lifecycle, "enabled = "+pick(g, []string{"true", "false", "var.on", "!var.on",
			"length(local.folder) == 2", `tobool("true")`}))
	case g.chance(40):
		u.mode = pick(g, []mode{counted, eachOfSet, eachOfMap})
	}
	if u.module {
		return
	}
	if g.chance(25) {
		u.lifecycle = append(u.lifecycle, "prevent_destroy = "+pick(g, []string{"true", "false", "var.on", "!var.on"}))
	}
	if g.chance(25) {
		u.lifecycle = append(u.lifecycle, "destroy = "+pick(g, []string{"true", "false"}))
	}
	if g.chance(15) {
		u.lifecycle = append(u.lifecycle, "create_before_destroy = true")
	}
}

// value returns an expression for the result of a block, for use in another one.
func (u *tofuUser) value(other *tofuUser) string {
	if u == other {
		return `"own"`
	}
	at, attribute := "terraform_data."+u.name, ".output"
	if u.module {
		at, attribute = "module."+u.name, ".out"
	}
	return fmt.Sprintf(`try(%s%s, "nothing")`, at, attribute)
}

// change generates the next version.
func (p *tofuCase) change() {
	for i, u := range p.users {
		if p.g.chance(60) {
			before := p.users
			p.users = p.users[:i] // so that there are no references to its dependents
			p.alter(u)
			p.users = before
		}
	}
	if p.g.chance(25) {
		p.users = p.users[:len(p.users)-1]
	}
	if p.g.chance(40) || len(p.users) == 0 {
		p.add()
	}
}

func (p *tofuCase) text() string {
	w := &writer{}
	w.buf.WriteString("variable \"folder\" { default = \"m1\" }\nvariable \"on\" { default = true }\n" +
		"locals { folder = var.folder }\n")
	for _, u := range p.users {
		head := fmt.Sprintf("resource %q %q", "terraform_data", u.name)
		if u.module {
			head = fmt.Sprintf("module %q", u.name)
		}
		w.block(head, func() {
			u.mode.repeat(w)
			if u.module {
				w.line(`source = "./${%s}"`, u.folder)
				w.line("given = %s", u.input)
			} else {
				w.line("input = %s", u.input)
			}
			if len(u.lifecycle) > 0 {
				w.block("lifecycle", func() {
					for _, line := range u.lifecycle {
						w.line("%s", line)
					}
				})
			}
		})
	}
	return w.buf.String()
}

// address returns an address of a block or of something in it.
func (p *tofuCase) address() string {
	u := pick(p.g, p.users)
	at := "terraform_data." + u.name
	if u.module {
		at = "module." + u.name
	}
	switch {
	case u.mode == counted && p.g.chance(50):
		at += "[1]"
	case u.mode >= eachOfSet && p.g.chance(50):
		at += `["a"]`
	}
	if u.module && p.g.chance(40) {
		at += ".terraform_data.in"
	}
	return "'" + at + "'"
}

// steps returns the commands for a version.
func (p *tofuCase) steps() (list []string) {
	g := p.g
	if g.chance(30) {
		list = append(list, "validate -json")
	}
	if g.chance(50) {
		list = append(list, pick(g, []string{"plan", "plan -exclude=" + p.address(), "plan -destroy",
			"plan -refresh-only", "plan -var=on=false", "plan -destroy -exclude=" + p.address(),
			"plan -target=" + p.address()}))
	}
	if g.chance(25) {
		list = append(list, "apply -exclude="+p.address())
	}
	return append(list, pick(g, []string{"apply", "apply", "apply -var=on=false"}), "plan -detailed-exitcode",
		"state list")
}
