package cli

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// leaves generates random expressions. Each leaf is a unique word; one of them is a secret.
type leaves struct {
	r       *rand.Rand
	version string
	count   int
	marked  int      // the index of the secret leaf
	secret  string   // the expression of the secret
	open    []string // words that must be shown
	planned bool     // some are unknown while planning
	keys    bool     // the secret may be an attribute name
}

// leaf returns an expression for a text. In a set with a secret, no element is shown.
func (l *leaves) leaf() (text string, secret bool) {
	l.count++
	if l.count == l.marked {
		return l.secret, true
	}
	if l.planned && l.r.Intn(8) == 0 {
		return "terraform_data.later.id", false
	}
	word := fmt.Sprintf("%sword%dx", l.version, l.count)
	l.open = append(l.open, word)
	return `"` + word + `"`, false
}

func (l *leaves) value(depth int) string {
	kinds := 7
	if depth == 0 {
		kinds = 1
	}
	n := 1 + l.r.Intn(3)
	var parts []string
	before := len(l.open)
	switch l.r.Intn(kinds) {
	case 0:
		text, _ := l.leaf()
		return text
	case 1:
		for range n {
			parts = append(parts, l.value(depth-1))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case 2:
		for i := range n {
			parts = append(parts, fmt.Sprintf("a%d = %s", i, l.value(depth-1)))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case 3:
		for range n {
			text, _ := l.leaf()
			parts = append(parts, text)
		}
		return "tolist([" + strings.Join(parts, ", ") + "])"
	case 4:
		for i := range n {
			text, _ := l.leaf()
			parts = append(parts, fmt.Sprintf("\"key %d\" = %s", i, text))
		}
		return "tomap({ " + strings.Join(parts, ", ") + " })"
	case 5: // of objects, so that the secret may be deep in an element
		hidden := false
		for range n {
			text, secret := l.leaf()
			beside, too := l.leaf()
			hidden = hidden || secret || too
			parts = append(parts, fmt.Sprintf("{ a = %s, b = [%s] }", text, beside))
		}
		if hidden {
			l.open = l.open[:before]
		}
		return "toset([" + strings.Join(parts, ", ") + "])"
	}
	// A secret key makes the whole object secret.
	key, secret := `"key"`, false
	if l.keys {
		key, secret = l.leaf()
	}
	text := l.value(depth - 1)
	if secret {
		l.open = l.open[:before]
	}
	return "{ (" + key + ") = " + text + " }"
}

// withSecret returns a random expression with one secret, and the words that must be shown. Successive seeds make
// successive leaves the secret.
func (l leaves) withSecret(seed int64) (string, []string) {
	first := l
	first.r = rand.New(rand.NewSource(seed))
	first.value(4)
	l.r, l.marked = rand.New(rand.NewSource(seed)), 1+int(seed)%first.count
	text := l.value(4)
	return text, l.open
}

const leafVariables = `
variable "secret" { sensitive = true }
variable "brief" { ephemeral = true }
`

// TestOnlyTheSecretLeafIsHidden puts a secret into random values, and checks plans as text and JSON, saved plans,
// drift, checks, messages with values, outputs and the console.
func TestOnlyTheSecretLeafIsHidden(t *testing.T) {
	for seed := range int64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			oneSecretLeaf(t, seed)
		})
	}
}

func oneSecretLeaf(t *testing.T, seed int64) {
	p := newPlanting(t)
	p.environ = append(p.environ, "TF_VAR_secret="+planted, "TF_VAR_brief="+planted)
	secret := []string{"var.secret", `"<${var.secret}>"`, "upper(var.secret)"}[seed%3]
	first, words := leaves{version: "old", secret: secret, planned: true}.withSecret(seed)
	second, _ := leaves{version: "new", secret: secret}.withSecret(seed + 1)
	p.write("main.tf", []byte(leafVariables+p.uses(first)))
	p.shows(p.run("plan", "-out=p"), words)
	p.shows(p.run("show", "p"), words)
	p.run("plan", "-json")
	p.run("apply", "-auto-approve", "-json")
	p.shows(p.typed("local.v\n", "console"), words)
	p.run("show")
	p.run("output")

	p.write("main.tf", []byte(leafVariables+p.uses(second)))
	p.run("plan", "-out=p")
	p.run("show", "p")
	p.run("plan", "-json")
	p.run("plan", "-refresh-only")
	p.run("apply", "-auto-approve")
	p.run("plan", "-destroy")

	brief, words := leaves{version: "brief", secret: "var.brief", keys: true}.withSecret(seed)
	p.write("main.tf", []byte(leafVariables+"locals { v = "+brief+" }\n"))
	p.shows(p.typed("local.v\n", "console"), words)
	for _, expr := range []string{"tonumber(local.v)", "local.v.nosuch", "[for k, v in local.v : tonumber(v)]",
		"{ for k, v in local.v : k => v.nosuch }", "jsondecode(jsonencode(local.v)).nosuch", "transpose(local.v)",
		"local.v + 1", `{ a = 1 }[local.v]`, "type(local.v)"} {
		p.typed(expr+"\n", "console")
	}
}

// uses returns a configuration that uses a value in all kinds of output.
func (p *planting) uses(value string) string {
	return `
locals { v = ` + value + ` }
resource "terraform_data" "later" {}
resource "terraform_data" "a" { triggers_replace = local.v }
output "o" {
  value     = local.v
  sensitive = true
}
check "c" {
  assert {
    condition     = try(tonumber(local.v), terraform_data.a.triggers_replace == [])
    error_message = "It is ${jsonencode(local.v)}."
  }
}
`
}

// shows checks that a text contains all words.
func (p *planting) shows(text string, words []string) {
	p.t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			p.t.Errorf("%q is not shown:\n%.3000s", word, text)
			return
		}
	}
}
