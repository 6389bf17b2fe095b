package eval_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/nesting"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// fuzzed is a module with a name for every sort of value.
const fuzzed = `
variable "secret" { sensitive = true }
variable "secrets" { sensitive = true }
variable "unknown" {}
variable "unknown_list" {}
variable "n" { default = 3 }
variable "s" { default = "text" }
variable "none" { default = null }
locals {
  list = ["a", "b", var.unknown]
  map  = { a = 1, b = var.unknown, c = [null] }
  mixed = { open = 1, hidden = var.secret }
}
resource "lab_thing" "one" {
  name = var.secret
  disk { size = 1 }
  disk { label = var.unknown }
  device "x" { size = 2 }
}
resource "lab_thing" "some" { count = 3 }
resource "lab_thing" "each" { for_each = { a = 1, b = 2 } }
`

// leaky are the functions that say something about a sensitive value on purpose, or about whether evaluating it fails.
var leaky = regexp.MustCompile(`nonsensitive|issensitive|try|can|nonephemeral|ephemeralasnull|file|template`)

// FuzzExpression evaluates any text. It must not panic or hang, and what it says without a mark must not depend on a sensitive value.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{
		"1 + 2", `"x${var.s}y"`, "var.unknown ? 1 : 2", "local.list[*]", "lab_thing.one.disk[*].size", `lab_thing.one.device["x"].size`,
		"[for k, v in local.map : k => v...]", "{ for k, v in local.map : v => k }", "{for x in var.secrets : x => x...}", "lab_thing.some[*].id",
		"values(lab_thing.each)[*].id", "var.secret == \"a\" ? 1 : 2", "length(var.secrets)", `"%{ if var.secret == "a" }x%{ else }y%{ endif }"`,
		"local.mixed.hidden", "local.mixed", "[for x in var.secrets : 1 if x != \"\"]", "var.none[*]", "var.n.x", "upper([])", "merge(local.map, local.mixed)",
		"<<EOT\n${var.s}\nEOT\n", "lab_thing.some[var.n].id", "-var.n % 2 >= 1 && !true || false", "format(\"%s-%d\", var.secret, 1)",
		"jsonencode(local.mixed)", "keys(var.secrets)", "tolist(var.secrets)[0]", "contains(var.secrets, \"a\")", "{(var.secret) = 1}", "[[[[1]]]]",
		"index(var.secrets, \"a\")", "setproduct(var.secrets, [1])", "range(length(var.secrets))", "zipmap(var.secrets, [1, 2])", "sum([1, var.n])",
	} {
		f.Add(seed)
	}
	rooms := [2]*room{fuzzRoom(f, "alpha", "a", "b"), fuzzRoom(f, "beta", "c", "d", "e")}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 || strings.Contains(text, "range") && regexp.MustCompile(`\d{4}`).MatchString(text) {
			return
		}
		src := []byte(text)
		if diags := nesting.Check(src, "x"); diags.HasErrors() {
			return
		}
		expr, hclDiags := hclsyntax.ParseExpression(src, "x", hcl.InitialPos)
		if hclDiags.HasErrors() {
			return
		}
		alarm := time.AfterFunc(time.Minute, func() { panic(fmt.Sprintf("%q does not end", text)) }) // no t.Fatal could stop it
		defer alarm.Stop()
		var results [2]cty.Value
		for i, r := range rooms {
			v, diags := r.walk.Root.Expression(expr, src, table)
			if diags.HasErrors() {
				return
			}
			results[i] = v
		}
		if leaky.MatchString(text) {
			return
		}
		if a, b := open(results[0]), open(results[1]); show(a) != show(b) {
			t.Errorf("%q tells of a sensitive value: %s and %s", text, show(results[0]), show(results[1]))
		}
	})
}

// open leaves what is not sensitive of a value.
func open(v cty.Value) cty.Value {
	out, _ := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if v.HasMark(value.Sensitive) {
			return cty.StringVal("hidden"), nil
		}
		return v, nil
	})
	return out
}

func fuzzRoom(t testing.TB, secret string, secrets ...string) *room {
	list := make([]cty.Value, len(secrets))
	for i, s := range secrets {
		list[i] = cty.StringVal(s)
	}
	r := enter(t, map[string][]byte{"main.tf": []byte(fuzzed)}, eval.Inputs{Variables: map[string]cty.Value{
		"secret": cty.StringVal(secret), "secrets": cty.ListVal(list), "unknown": cty.UnknownVal(cty.DynamicPseudoType), "unknown_list": cty.UnknownVal(cty.List(cty.String)),
	}})
	if r.diags.HasErrors() {
		t.Fatal(r.diags.Err())
	}
	return r
}

func TestDeepNestingIsRefusedBeforeItIsEvaluated(t *testing.T) {
	for _, text := range []string{strings.Repeat("[", 100000), strings.Repeat("(", 100000) + strings.Repeat(")", 100000), strings.Repeat("!", 100000) + "true"} {
		src := []byte("locals {\n x = " + text + "\n}\n")
		r := enter(t, map[string][]byte{"main.tf": src}, eval.Inputs{})
		if !r.diags.HasErrors() {
			t.Errorf("%q... was accepted", text[:10])
		}
	}
}
