package random

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Instances returns the archive of a case with provider blocks that have for_each, for OpenTofu: resources and calls of
// modules that select an instance by its key, and versions in which keys and objects are added and removed. Some use a
// missing key, or remove an instance that an object still needs.
func Instances(seed uint64) []byte {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x70726f7669646572))}
	c := Case{Seed: seed, Steps: []string{"init"}}
	p := &instances{g: g, keys: someOf(g, providerKeys, 1), listed: g.chance(30)}
	for range 1 + g.r.IntN(3) {
		p.add()
	}
	for v := range 2 + g.r.IntN(2) {
		if v > 0 {
			p.change()
			c.Steps = append(c.Steps, fmt.Sprintf("use @v%d", v+1), "init")
		}
		c.versions = append(c.versions, map[string]string{"main.tf": fmt.Sprintf("%s# version %d\n", p.text(), v+1),
			"m/main.tf": instancesModule, "n/main.tf": instancesHead + `resource "terraform_data" "in" {}` + "\n"})
		if g.chance(30) {
			c.Steps = append(c.Steps, pick(g, []string{"plan -destroy", "plan -refresh=false", "plan -refresh-only"}))
		}
		c.Steps = append(c.Steps, "plan", "apply", "plan -detailed-exitcode")
	}
	c.Steps = append(c.Steps, "destroy")
	return []byte(strings.Replace(string(c.Archive()), "tier: 2\n", "tier: 2\noracle: tofu-1.12.6\n", 1))
}

// IsInstances reports whether an archive is one of Instances.
func IsInstances(archive []byte) bool { return bytes.Contains(archive, []byte("terraform.at[")) }

// providerKeys are the keys that provider blocks may have.
var providerKeys = []string{"a", "b", "c", "x y", "d.e"}

const instancesHead = `terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
}
`

const instancesModule = instancesHead + `
resource "terraform_data" "in" {
  count = 2
  input = count.index
}

module "below" {
  source = "../n"
}
`

// instances are one version of such a configuration.
type instances struct {
	g      *gen
	keys   []string // of the provider block
	listed bool     // as a map, with keys as values
	users  []*instanceUser
}

// An instanceUser is a resource block or a module call.
type instanceUser struct {
	name   string
	module bool
	mode   mode     // how it is repeated
	keys   []string // of the provider, for each of its instances
}

func (p *instances) add() {
	u := &instanceUser{name: p.g.name("u"), module: p.g.chance(35), mode: p.g.someMode()}
	u.keys = p.pickKeys(u)
	p.users = append(p.users, u)
}

// pickKeys returns keys of the provider block, and occasionally a missing one.
func (p *instances) pickKeys(u *instanceUser) []string {
	from := p.keys
	if p.g.chance(6) {
		from = providerKeys
	}
	list := someOf(p.g, from, 1)
	if u.mode == single {
		list = list[:1]
	}
	return list
}

// change generates the next version. It mostly removes unused keys of the provider block.
func (p *instances) change() {
	used := map[string]bool{}
	for _, u := range p.users {
		for _, k := range u.keys {
			used[k] = true
		}
	}
	next := someOf(p.g, providerKeys, 1)
	for _, k := range p.keys {
		if (used[k] && p.g.chance(93) || p.g.chance(50)) && !slices.Contains(next, k) {
			next = append(next, k)
		}
	}
	slices.Sort(next)
	p.keys = next
	if len(p.users) > 1 && p.g.chance(40) {
		i := p.g.r.IntN(len(p.users))
		p.users = slices.Delete(p.users, i, i+1)
	}
	for _, u := range p.users {
		if p.g.chance(50) {
			u.keys = p.pickKeys(u)
		}
	}
	if p.g.chance(40) {
		p.add()
	}
}

// text writes the root module.
func (p *instances) text() string {
	w := &writer{}
	w.buf.WriteString(instancesHead)
	w.block(`provider "terraform"`, func() {
		w.line(`alias = "at"`)
		if p.listed {
			w.line("for_each = { for k in %s : k => upper(k) }", quotedList(p.keys))
		} else {
			w.line("for_each = toset(%s)", quotedList(p.keys))
		}
	})
	for _, u := range p.users {
		head := fmt.Sprintf("resource %q %q", "terraform_data", u.name)
		if u.module {
			head = fmt.Sprintf("module %q", u.name)
		}
		w.block(head, func() { u.write(w) })
	}
	return w.buf.String()
}

func (u *instanceUser) write(w *writer) {
	key := fmt.Sprintf("%q", u.keys[0])
	switch u.mode {
	case counted:
		w.line("count = %d", len(u.keys))
		key = quotedList(u.keys) + "[count.index]"
	case eachOfSet:
		key = "each.value"
		w.line("for_each = toset(%s)", quotedList(u.keys))
	case eachOfMap:
		key = "each.value"
		var pairs []string
		for i, k := range u.keys {
			pairs = append(pairs, fmt.Sprintf("k%d = %q", i, k))
		}
		w.line("for_each = { %s }", strings.Join(pairs, ", "))
	}
	if u.module {
		w.line(`source = "./m"`)
		w.line("providers = { terraform = terraform.at[%s] }", key)
		return
	}
	w.line("provider = terraform.at[%s]", key)
	w.line("input = %q", u.name)
}

func quotedList(list []string) string {
	quoted := make([]string, 0, len(list))
	for _, s := range list {
		quoted = append(quoted, fmt.Sprintf("%q", s))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// someOf returns at least so many members of a list, in order.
func someOf(g *gen, list []string, least int) []string {
	var out []string
	for _, s := range list {
		if g.chance(45) {
			out = append(out, s)
		}
	}
	if len(out) < least {
		return slices.Clone(list[:least])
	}
	return out
}
