package eval_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
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

// fuzzed is a module with a name for every kind of value.
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

// leaky are functions that intentionally reveal a property of a sensitive value, or whether its evaluation fails.
var leaky = regexp.MustCompile(`nonsensitive|issensitive|try|can|nonephemeral|ephemeralasnull|file|template`)

// FuzzExpression evaluates arbitrary text. It must not panic or hang, and unmarked results must not depend on a
// sensitive value.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{
		"1 + 2", `"x${var.s}y"`, "var.unknown ? 1 : 2", "local.list[*]", "lab_thing.one.disk[*].size",
		`lab_thing.one.device["x"].size`,
		"[for k, v in local.map : k => v...]", "{ for k, v in local.map : v => k }",
		"{for x in var.secrets : x => x...}", "lab_thing.some[*].id",
		"values(lab_thing.each)[*].id", "var.secret == \"a\" ? 1 : 2", "length(var.secrets)",
		`"%{ if var.secret == "a" }x%{ else }y%{ endif }"`,
		"local.mixed.hidden", "local.mixed", "[for x in var.secrets : 1 if x != \"\"]", "var.none[*]", "var.n.x",
		"upper([])", "merge(local.map, local.mixed)",
		"<<EOT\n${var.s}\nEOT\n", "lab_thing.some[var.n].id", "-var.n % 2 >= 1 && !true || false",
		"format(\"%s-%d\", var.secret, 1)",
		"jsonencode(local.mixed)", "keys(var.secrets)", "tolist(var.secrets)[0]", "contains(var.secrets, \"a\")",
		"{(var.secret) = 1}", "[[[[1]]]]",
		"index(var.secrets, \"a\")", "setproduct(var.secrets, [1])", "range(length(var.secrets))",
		"zipmap(var.secrets, [1, 2])", "sum([1, var.n])",
	} {
		f.Add(seed)
	}
	rooms := [2]*evaluation{fuzzRoom(f, "alpha", "a", "b"), fuzzRoom(f, "beta", "c", "d", "e")}
	f.Fuzz(func(t *testing.T, text string) {
		if costly(text) {
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
		// t.Fatal could not stop it
		alarm := time.AfterFunc(time.Minute, func() { panic(fmt.Sprintf("%q does not end", text)) })
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
		if public(results[0]) != public(results[1]) {
			t.Errorf("%q tells of a sensitive value: %s and %s", text, show(results[0]), show(results[1]))
		}
	})
}

// exponent matches the exponents of numbers.
var exponent = regexp.MustCompile(`[eE][+-]?(\d+)`)

// costly reports whether a text legitimately takes long to evaluate: nested loops, long lists, and numbers that take
// quadratic time to format.
func costly(text string) bool {
	digits := 0
	for _, m := range exponent.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[1])
		if digits += n; err != nil || digits > 3000 {
			return true
		}
	}
	return len(text) > 1<<11 || strings.Count(text, "for") > 2 || strings.Count(text, "replace") > 1 ||
		strings.Contains(text, "range") && (strings.Contains(text, "setproduct") ||
			regexp.MustCompile(`\d{3}`).MatchString(text)) ||
		strings.Contains(text, "setproduct") && strings.Count(text, ",") > 30
}

// public returns the text of a value without its sensitive parts. It omits element types of collections, because an
// element may be sensitive.
func public(v cty.Value) string {
	if v.HasMark(value.Sensitive) {
		return "hidden"
	}
	v, _ = v.Unmark()
	if !v.IsKnown() || v.IsNull() || !v.CanIterateElements() {
		return show(v)
	}
	var parts []string
	for k, e := range v.Elements() {
		part := public(e)
		if ty := v.Type(); ty.IsMapType() || ty.IsObjectType() {
			part = k.AsString() + "=" + part
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

func TestPublicOmitsSensitiveParts(t *testing.T) {
	r := fuzzRoom(t, "alpha", "a", "b")
	for text, want := range map[string]string{
		"tolist([1, length(var.secrets)])": "1; hidden", "tomap({a=[1], b=[length(var.secrets)]})": "a=1; b=hidden",
		"[true, var.secret]": "hidden; true",
		"var.secrets":        "hidden", "local.mixed": "hidden=hidden; open=1", "var.unknown": "?",
		"toset([1, 2])": "1; 2",
		"var.none":      "null",
	} {
		expr, _ := hclsyntax.ParseExpression([]byte(text), "x", hcl.InitialPos)
		v, diags := r.walk.Root.Expression(expr, []byte(text), table)
		if got := public(v); got != want || diags.HasErrors() {
			t.Errorf("%s: got %q, want %q, %v", text, got, want, diags)
		}
	}
}

func fuzzRoom(t testing.TB, secret string, secrets ...string) *evaluation {
	list := make([]cty.Value, len(secrets))
	for i, s := range secrets {
		list[i] = cty.StringVal(s)
	}
	r := enter(t, map[string][]byte{"main.tf": []byte(fuzzed)}, eval.Inputs{Variables: map[string]cty.Value{
		"secret": cty.StringVal(secret), "secrets": cty.ListVal(list), "unknown": cty.UnknownVal(cty.DynamicPseudoType),
		"unknown_list": cty.UnknownVal(cty.List(cty.String)),
	}})
	if r.diags.HasErrors() {
		t.Fatal(r.diags.Err())
	}
	return r
}

func TestDeepNestingIsRefusedBeforeItIsEvaluated(t *testing.T) {
	for _, text := range []string{strings.Repeat("[", 100000), strings.Repeat("(", 100000) +
		strings.Repeat(")", 100000), strings.Repeat("!", 100000) + "true"} {
		src := []byte("locals {\n x = " + text + "\n}\n")
		r := enter(t, map[string][]byte{"main.tf": src}, eval.Inputs{})
		if !r.diags.HasErrors() {
			t.Errorf("%q... was accepted", text[:10])
		}
	}
}
