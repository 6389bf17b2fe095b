package planning_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/plan"
)

// ignoring returns a conditional ignore_changes argument, and the paths that each instance ignores.
type ignoring struct {
	r    *rand.Rand
	keys []string
}

// condition is a condition, and the keys for which it is true.
func (g *ignoring) condition() (string, []string) {
	key := g.keys[g.r.IntN(len(g.keys))]
	others := slices.DeleteFunc(slices.Clone(g.keys), func(k string) bool { return k == key })
	switch g.r.IntN(6) {
	case 0:
		return "var.yes", g.keys
	case 1:
		return "!local.yes", nil
	case 2:
		return fmt.Sprintf("each.key == %q", key), []string{key}
	case 3:
		return fmt.Sprintf("(each.value != var.keys[%q])", key), others
	case 4:
		return "terraform_data.known.input == \"known\"", g.keys
	}
	return fmt.Sprintf("contains([%q], each.key) && var.yes", key), []string{key}
}

// list returns a part of the argument, and the paths that it ignores by key.
func (g *ignoring) list(depth int) (string, map[string][]string) {
	out := map[string][]string{}
	same := func(text string, attributes ...string) (string, map[string][]string) {
		for _, k := range g.keys {
			out[k] = attributes
		}
		return text, out
	}
	if depth == 0 || g.r.IntN(4) == 0 {
		switch g.r.IntN(5) {
		case 0:
			return same("[]")
		case 1:
			return same("[input]", "input")
		case 2:
			return same("[triggers_replace]", "triggers_replace")
		case 3:
			return same("all", "all")
		}
		return same("[input, triggers_replace]", "input", "triggers_replace")
	}
	a, inA := g.list(depth - 1)
	b, inB := g.list(depth - 1)
	if g.r.IntN(3) == 0 {
		for _, k := range g.keys {
			out[k] = slices.Concat(inA[k], inB[k])
		}
		return fmt.Sprintf("concat(%s, %s)", a, b), out
	}
	condition, when := g.condition()
	for _, k := range g.keys {
		out[k] = inB[k]
		if slices.Contains(when, k) {
			out[k] = inA[k]
		}
	}
	return fmt.Sprintf("(%s ? %s : %s)", condition, a, b), out
}

const ignoringRoot = `
variable "yes" { default = true }
variable "keys" { default = { a = "a", b = "b", c = "c" } }
locals { yes = var.yes }
resource "terraform_data" "known" { input = "known" }
resource "terraform_data" "x" {
  for_each         = KEYS
  input            = "2"
  triggers_replace = "2"
  lifecycle { ignore_changes = LIST }
}`

// Conditions in ignore_changes give each instance the same plan as a literal list for it.
func TestConditionsInIgnoreChangesEqualLiteralLists(t *testing.T) {
	b := &bench{t: t}
	g := &ignoring{r: rand.New(rand.NewPCG(1, 2)), keys: []string{"a", "b", "c"}}
	for _, k := range g.keys {
		b.with(fmt.Sprintf("terraform_data.x[%q]", k), "1")
	}
	b.with("terraform_data.known", "known")
	planned := func(name, keys, list string) map[string]*plan.Change {
		text := strings.NewReplacer("KEYS", keys, "LIST", list).Replace(ignoringRoot)
		p, diags := b.plan(map[string]string{name: text})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", list, diags.Err())
		}
		out := map[string]*plan.Change{}
		for _, c := range p.Changes {
			key, _ := c.Object.Instance.Key.Str()
			out[key] = c
		}
		return out
	}
	seen := map[plan.Action]int{}
	for range 60 {
		list, ignored := g.list(3)
		got := planned("main.tombolo", "toset(keys(var.keys))", list)
		for _, k := range g.keys {
			byHand := "[" + strings.Join(ignored[k], ", ") + "]"
			if slices.Contains(ignored[k], "all") {
				byHand = "all"
			}
			want := planned("main.tf", fmt.Sprintf("toset([%q])", k), byHand)
			seen[want[k].Action]++
			if got[k].Action != want[k].Action || !got[k].After.Value.RawEquals(want[k].After.Value) {
				t.Errorf("%s: %s is planned as %s to %#v; with %s it is %s to %#v", list, k, got[k].Action,
					got[k].After.Value, byHand, want[k].Action, want[k].After.Value)
			}
		}
	}
	if seen[plan.NoOp] == 0 || seen[plan.Update] == 0 || seen[plan.DeleteThenCreate] == 0 {
		t.Errorf("the lists lead to too few actions: %v", seen)
	}
}

// A condition that is unknown while planning, or that would reveal a secret, is an error, but only if it matters.
func TestConditionsInIgnoreChangesMustBeKnown(t *testing.T) {
	const block = `
variable "v" { default = "x" }
resource "terraform_data" "other" { input = "2" }
resource "terraform_data" "a" {
  input = "2"
  lifecycle { ignore_changes = CONDITION ? [input] : [] }
}`
	for _, tt := range []struct{ condition, err string }{
		{`terraform_data.other.id == ""`, "unknown during planning"},
		{`sensitive(var.v == "x")`, "sensitive"},
		{`var.v`, "expected true or false"},
		{`null`, "expected true or false"},
		{`self.id == ""`, "self"},
		{`nothing.here`, "nothing"},
		{`terraform_data.a.id == ""`, "Self-referential"},
	} {
		b := &bench{t: t}
		files := map[string]string{"main.tombolo": strings.Replace(block, "CONDITION", tt.condition, 1)}
		if strings.HasPrefix(tt.err, "unknown") {
			b.want(files, "terraform_data.a create", "terraform_data.other create")
		}
		b.with("terraform_data.a", "1")
		b.wantError(files, tt.err)
	}
}
