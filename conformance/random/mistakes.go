package random

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Mistakes returns the archive of a case with blocks whose arguments and nested blocks are right, wrong, missing or
// duplicate, beside a configuration without mistakes: names of providers, provisioners, removed, backends, import,
// moved and check blocks, variables, outputs, locals, calls of modules, lifecycle.
func Mistakes(seed uint64) []byte {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x6d697374))}
	files := map[string]string{"main.tf": rightRoot, "child/main.tf": rightChild}
	for range 1 + g.r.IntN(2) {
		b := pick(g, mistakenBlocks)
		name := "main.tf"
		if g.chance(15) {
			name = "child/main.tf"
		}
		files[name] += g.mistaken(b, 0)
	}
	c := Case{Seed: seed, Steps: []string{"init", "validate -json", "plan"},
		versions: []map[string]string{files}}
	return []byte(strings.Replace(string(c.Archive()), "tier: 2\n", "tier: 2\nplugin: world\n", 1))
}

// IsMistakes reports whether the archive of a case comes from Mistakes.
func IsMistakes(archive []byte) bool { return bytes.Contains(archive, []byte(`module "right" {`)) }

const (
	rightRoot = `terraform {
  required_providers {
    world = { source = "tombolo/world" }
  }
}
provider "world" {
  dir = "world"
}
resource "terraform_data" "a" {
  input = 1
}
resource "terraform_data" "many" {
  count = 2
}
module "right" {
  source = "./child"
  given  = "x"
}
`
	rightChild = `variable "given" {
  type = string
}
resource "terraform_data" "in" {
  input = var.given
}
output "o" {
  value = terraform_data.in.output
}
`
)

// A mistakenBlock describes the variants of a block. One of the labels and some of the arguments and nested blocks are
// chosen each time.
type mistakenBlock struct {
	kind   string
	labels []string // with their quotes; the first is the usual one
	args   []choice
	blocks []mistakenBlock
	object bool // written as an argument with an object for a value
}

// choice is an argument and its values, of which the first is right.
type choice struct {
	name   string
	values []string
}

func arg(name string, values ...string) choice { return choice{name, values} }

// mistaken writes a variant of a block.
func (g *gen) mistaken(b mistakenBlock, depth int) string {
	pad := strings.Repeat("  ", depth)
	var out strings.Builder
	head := b.kind
	if len(b.labels) > 0 {
		label := b.labels[0]
		if g.chance(25) {
			label = pick(g, b.labels)
		}
		if head != "" && label != "" {
			head += " "
		}
		head += strings.ReplaceAll(label, "NEW", g.name("x"))
	}
	equals := ""
	if b.object {
		equals = "= "
	}
	fmt.Fprintf(&out, "%s%s %s{\n", pad, head, equals)
	for i, a := range b.args {
		usual := 80 - 20*min(i, 2) // the first arguments are required ones
		for range 2 {
			if !g.chance(usual) {
				break
			}
			v := a.values[0]
			if g.chance(20) {
				v = pick(g, a.values)
			}
			fmt.Fprintf(&out, "%s  %s = %s\n", pad, a.name, v)
			usual = 2 // for a second time
		}
	}
	if g.chance(3) {
		fmt.Fprintf(&out, "%s  nothing = 1\n", pad)
	}
	for _, inner := range b.blocks {
		for g.chance(30) {
			out.WriteString(g.mistaken(inner, depth+1))
		}
	}
	if g.chance(2) {
		fmt.Fprintf(&out, "%s  nothing {\n%s  }\n", pad, pad)
	}
	fmt.Fprintf(&out, "%s}\n", pad)
	return out.String()
}

var (
	mistakenBools   = []string{"true", "false", `"true"`, "null", "1", `"yes"`, "var.missing"}
	mistakenTexts   = []string{`"x"`, `""`, "12", "null", "[]", "var.missing", `"${local.missing}"`}
	mistakenAddress = []string{"terraform_data.a", "terraform_data.new", "terraform_data.many[0]",
		"terraform_data.many", "module.right",
		"module.none", `module.right["a"].terraform_data.in`, "data.terraform_remote_state.r",
		"world_object.a", "local.x", "var.x", `"terraform_data.a"`, "terraform_data",
		"a", "terraform_data.a.id", "terraform_data.many[each.key]", "1"}
	mistakenProvider = []string{"world", "terraform", "world.none", "nobody", `"world"`, "world.a.b", "a b",
		"null"}
	mistakenCheck = []choice{arg("condition", "true", "false", "1", `"x"`, "null", "var.missing",
		"self.id == 1", "terraform_data.a.input == 1"),
		arg("error_message", `"It is not so."`, `"short"`, `""`, "null", "12", "[]", `"${var.missing}"`,
			`"It is ${terraform_data.a.id}."`)}
	mistakenCounts = []choice{arg("count", "2", "-1", `"x"`, "null", "terraform_data.a.id", "count.index"),
		arg("for_each", `toset(["a"])`, `["a"]`, "{}", "null", "toset([1])", "terraform_data.a.id", "each.key")}
	mistakenConnection = mistakenBlock{kind: "connection", args: []choice{arg("host", `"127.0.0.1"`,
		"self.id", "terraform_data.a.id"),
		arg("type", `"ssh"`, `"none"`, "1"), arg("nothing", "1")}}
	mistakenProvisioner = mistakenBlock{kind: "provisioner", labels: []string{`"local-exec"`, `"none"`,
		`"chef"`, `"file"`, "", `"a" "b"`},
		args: []choice{arg("command", `"true"`, "self.id", "terraform_data.a.id", "null", "12"),
			arg("when", "destroy", "create", "never", `"destroy"`, "1"), arg("on_failure", "continue", "fail",
				"retry", `"continue"`)},
		blocks: []mistakenBlock{mistakenConnection}}
	mistakenLifecycle = mistakenBlock{kind: "lifecycle", labels: []string{"", "", `"x"`},
		args: []choice{arg("create_before_destroy", mistakenBools...), arg("prevent_destroy", mistakenBools...),
			arg("ignore_changes", "[input]", "all", "[all]", `["input"]`, "input", "[]", "[nothing]",
				"[input.a]", `[tags["a"]]`, "[terraform_data.a]", "null", `"*"`),
			arg("replace_triggered_by", "[terraform_data.many]", "[terraform_data.a.input]",
				"terraform_data.a", "[var.missing]", "[local.x]",
				"[terraform_data.none]", `["terraform_data.a"]`, "[module.right]",
				"[data.terraform_remote_state.r]", "[]", "[terraform_data.many[count.index]]")},
		blocks: []mistakenBlock{{kind: "precondition", args: mistakenCheck}, {kind: "postcondition",
			args: mistakenCheck}}}
)

var mistakenBlocks = []mistakenBlock{
	{kind: "terraform", args: []choice{arg("required_version", `">= 1.0"`, `"~> 99"`, `"x"`, "1", "null",
		"var.missing"),
		arg("experiments", "[]", "[nothing]", "1")},
		blocks: []mistakenBlock{
			{kind: "required_providers", labels: []string{"", "", `"x"`}, blocks: []mistakenBlock{
				{labels: []string{"NEW", "world", "terraform", "a_b", "A", "a--b", "-a", "é"}, object: true,
					args: []choice{arg("source", `"tombolo/world"`, `"terraform.io/builtin/terraform"`,
						`"a/b/c/d"`, `""`, `"a b"`, "1", `"-/world"`,
						`"terraform.io/builtin/none"`, `"tombolo/terraform-provider-world"`,
						`"terraform-providers/world"`, `"UPPER/World"`, `"world"`, "null"),
						arg("version", `">= 1.0.0"`, `"x"`, `""`, "1", `"99.0.0"`),
						arg("configuration_aliases", "[world.a]", "[world]", "[a.b]", `["world.a"]`,
							"world.a", "[]")}}}},
			{kind: "backend", labels: []string{`"local"`, `"none"`, `"artifactory"`, "", `"a" "b"`},
				args: []choice{arg("path", `"a.tfstate"`, "1", "null", "var.missing", "[]",
					`"${terraform_data.a.id}"`), arg("workspace_dir", `"w"`, "[]")}},
			{kind: "provider_meta", labels: []string{`"world"`, `"none"`, ""}, args: []choice{arg("x", "1")}},
		}},
	{kind: "provider", labels: []string{`"world"`, `"terraform"`, `"a_b"`, `"A"`, `"a--b"`, "", `"a" "b"`,
		`"registry.terraform.io/tombolo/world"`},
		args: []choice{arg("alias", `"NEW"`, `"a"`, `""`, "1", "a", `"a-b"`, `"1a"`, "null", "var.missing",
			`"a b"`), arg("dir", mistakenTexts...),
			arg("version", `">= 1.0.0"`, `"x"`, "1"), arg("count", "1"),
			arg("depends_on", "[]")}},
	{kind: "resource", labels: []string{`"terraform_data" "NEW"`, `"terraform_data" "a"`,
		`"terraform_none" "NEW"`, `"none_thing" "NEW"`,
		`"terraform_data"`, `"terraform_data" "NEW" "x"`, `"terraform_data" "1a"`, `"terraform_data" "a b"`,
		`"Terraform_data" "NEW"`, ""},
		args: append([]choice{arg("input", "1", "var.missing", "self.id", "path.none",
			"terraform_data.a.none", "module.right.none"),
			arg("depends_on", "[terraform_data.a]", "[module.right]", "terraform_data.a",
				`["terraform_data.a"]`, "[var.missing]", "[terraform_data.none]", "[module.none]",
				"[terraform_data.a.id]", "[terraform_data.many[0]]", "[]", "null"),
			arg("provider", "terraform", "world", "terraform.none", `"terraform"`, "none", "null", "1")},
			mistakenCounts...),
		blocks: []mistakenBlock{mistakenLifecycle, mistakenProvisioner, mistakenConnection}},
	{kind: "resource", labels: []string{`"world_object" "NEW"`}, args: []choice{arg("name", mistakenTexts...),
		arg("provider", mistakenProvider...),
		arg("id", `"x"`)}, blocks: []mistakenBlock{mistakenLifecycle, mistakenProvisioner}},
	{kind: "removed", labels: []string{"", "", "", `"x"`}, args: []choice{arg("from", mistakenAddress...)},
		blocks: []mistakenBlock{{kind: "lifecycle", args: []choice{arg("destroy", mistakenBools...),
			arg("prevent_destroy", "true")}}, mistakenProvisioner, mistakenConnection}},
	{kind: "moved", labels: []string{"", "", "", `"x"`}, args: []choice{arg("from", mistakenAddress...),
		arg("to", mistakenAddress...)}},
	{kind: "import", labels: []string{"", "", "", `"x"`}, args: []choice{arg("to", mistakenAddress...),
		arg("id", mistakenTexts...),
		arg("provider", mistakenProvider...), arg("for_each", `toset(["a"])`, `["a"]`, "1", "null",
			"terraform_data.a.id")}},
	{kind: "check", labels: []string{`"NEW"`, `"a b"`, "", `"a" "b"`, `"1a"`}, args: []choice{arg("nothing",
		"1")},
		blocks: []mistakenBlock{{kind: "assert", args: mistakenCheck}, {kind: "data",
			labels: []string{`"terraform_remote_state" "NEW"`, `"none" "NEW"`, `"a"`},
			args: []choice{arg("backend", `"local"`, `"none"`, "1"), arg("count", "1"), arg("depends_on",
				"[terraform_data.a]")}}}},
	{kind: "variable", labels: []string{`"NEW"`, `"source"`, `"version"`, `"count"`, `"for_each"`,
		`"providers"`, `"locals"`, `"depends_on"`, `"lifecycle"`, `"a b"`, `"1a"`, "", `"a" "b"`, `"given"`},
		args: []choice{arg("default", `"x"`, "1", "null", "[]", "var.missing", "{ a = 1 }", `"a${1}"`),
			arg("type", "string", "number", "list", "list(any)", `"string"`, "object({ a = string })",
				"optional(string)", "tuple(string)", "map()", "strin", "object({ a = optional(string, 1) })",
				"set(string, number)", "type"),
			arg("nullable", mistakenBools...), arg("sensitive", mistakenBools...), arg("ephemeral",
				mistakenBools...), arg("description", mistakenTexts...)},
		blocks: []mistakenBlock{{kind: "validation", labels: []string{"", "", `"x"`}, args: mistakenCheck}}},
	{kind: "output", labels: []string{`"NEW"`, `"a b"`, `"1a"`, "", `"a" "b"`, `"o"`},
		args: []choice{arg("value", "1", "var.missing", "terraform_data.a", "sensitive(1)", "null",
			"ephemeralasnull(1)", "module.right", "none(1)"),
			arg("sensitive", mistakenBools...), arg("ephemeral", mistakenBools...), arg("depends_on",
				"[terraform_data.a]", "terraform_data.a", "[terraform_data.none]", "[1]"), arg("description",
				mistakenTexts...)},
		blocks: []mistakenBlock{{kind: "precondition", args: mistakenCheck}, {kind: "postcondition",
			args: mistakenCheck}}},
	{kind: "locals", labels: []string{"", "", "", `"x"`}, args: []choice{arg("x", "1", "local.x", "local.y",
		"var.missing", "self.id", "each.key", "count.index"), arg("y", "local.x", "local.none", "2",
		"path.module")},
		blocks: nil},
	{kind: "module", labels: []string{`"NEW"`, `"right"`, `"a b"`, `"1a"`, "", `"a" "b"`},
		args: append([]choice{arg("source", `"./child"`, `"./none"`, `"child"`, `""`, "1", "null",
			"var.missing", `"${path.module}/child"`, `"."`),
			arg("given", mistakenTexts...), arg("version", `"1.0.0"`, `"x"`, "1", "null"),
			arg("providers", "{ world = world }", "{ world = world.none }", "{ world.a = world }",
				"{ none = world }", "[world]", `{ "world" = "world" }`, "{}", "world"),
			arg("depends_on", "[terraform_data.a]", "terraform_data.a", "[var.missing]",
				"[terraform_data.none]")}, mistakenCounts...),
		blocks: []mistakenBlock{{kind: "connection"}, {kind: "providers", args: []choice{arg("world", "world")}}}},
}
