package config_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/internal/config"
)

// everything uses every feature of the language, without errors.
const everything = `
-- main.tf --
terraform {
  required_version = ">= 1.3, < 2.0"
  required_providers {
    rnd = {
      source                = "hashicorp/random"
      version               = "~> 3.0"
      configuration_aliases = [rnd.other]
    }
    short = "1.0.0"
  }
  backend "local" {
    path = "x"
  }
  provider_meta "rnd" {
    a = 1
  }
}
provider "rnd" {
  alias = "west"
  x     = 1
}
variable "v" {
  type        = object({ a = string, b = optional(number, 7) })
  description = "about v"
  sensitive   = true
  nullable    = false
  default     = { a = 5 }
  validation {
    condition     = var.v.b > 0
    error_message = "Must be positive."
  }
}
locals {
  one = 1
  two = local.one + 1
}
output "o" {
  value       = local.two
  description = "about o"
  sensitive   = true
  depends_on  = [rnd_pet.p, module.m]
  precondition {
    condition     = local.one == 1
    error_message = "One."
  }
}
module "m" {
  source     = "./mod"
  for_each   = toset(["a"])
  depends_on = [rnd_pet.p]
  providers = {
    rnd.inner = rnd.west
  }
  in = local.one
}
resource "rnd_pet" "p" {
  provider   = rnd.west
  count      = 2
  depends_on = [data.rnd_thing.d]
  length     = 3
  nested {
    a = 1
  }
  lifecycle {
    create_before_destroy = true
    prevent_destroy       = true
    ignore_changes        = [length, nested[0].a, tags["x"]]
    replace_triggered_by  = [data.rnd_thing.d[count.index].id]
    precondition {
      condition     = local.one == 1
      error_message = "Pre."
    }
    postcondition {
      condition     = self.length > 0
      error_message = "Post."
    }
  }
  connection {
    host = "h"
  }
  provisioner "local-exec" {
    when       = destroy
    on_failure = continue
    command    = "echo ${self.id}"
    connection {
      host = "i"
    }
  }
  _ {
    count = 5
  }
}
data "rnd_thing" "d" {
  for_each = {}
}
ephemeral "rnd_secret" "e" {
}
check "c" {
  data "rnd_thing" "inner" {
  }
  assert {
    condition     = data.rnd_thing.inner.ok
    error_message = "Check."
  }
}
moved {
  from = rnd_pet.old
  to   = rnd_pet.p[0]
}
removed {
  from = module.gone.rnd_pet.x
  lifecycle {
    destroy = false
  }
}
import {
  for_each = { a = "b" }
  to       = module.m[each.key].rnd_pet.q
  id       = each.value
}
-- mod/main.tf --
terraform {
  required_providers {
    rnd = {
      source                = "hashicorp/random"
      configuration_aliases = [rnd.inner]
    }
  }
}
variable "in" {}
resource "rnd_pet" "q" {
  provider = rnd.inner
}
output "out" {
  value     = var.in
  ephemeral = true
}
`

// everythingJSON is the root module of everything in JSON syntax.
const everythingJSON = `
-- main.tf.json --
{
  "//": "a comment",
  "terraform": {
    "required_version": ">= 1.3, < 2.0",
    "required_providers": {
      "rnd": {"source": "hashicorp/random", "version": "~> 3.0", "configuration_aliases": ["rnd.other"]},
      "short": "1.0.0"
    },
    "backend": {"local": {"path": "x"}},
    "provider_meta": {"rnd": {"a": 1}}
  },
  "provider": {"rnd": [{"alias": "west", "x": 1}]},
  "variable": {"v": {
    "type": "object({ a = string, b = optional(number, 7) })", "description": "about v", "sensitive": true, "nullable": false,
    "default": {"a": 5},
    "validation": {"condition": "${var.v.b > 0}", "error_message": "Must be positive."}
  }},
  "locals": {"one": 1, "two": "${local.one + 1}"},
  "output": {"o": {
    "value": "${local.two}", "description": "about o", "sensitive": true, "depends_on": ["rnd_pet.p", "module.m"],
    "precondition": {"condition": "${local.one == 1}", "error_message": "One."}
  }},
  "module": {"m": {
    "source": "./mod", "for_each": "${toset([\"a\"])}", "depends_on": ["rnd_pet.p"],
    "providers": {"rnd.inner": "rnd.west"}, "in": "${local.one}"
  }},
  "resource": {"rnd_pet": {"p": {
    "provider": "rnd.west", "count": 2, "depends_on": ["data.rnd_thing.d"], "length": 3, "nested": {"a": 1},
    "lifecycle": {
      "create_before_destroy": true, "prevent_destroy": true, "ignore_changes": ["length", "nested[0].a", "tags[\"x\"]"],
      "replace_triggered_by": ["data.rnd_thing.d[count.index].id"],
      "precondition": {"condition": "${local.one == 1}", "error_message": "Pre."},
      "postcondition": {"condition": "${self.length > 0}", "error_message": "Post."}
    },
    "connection": {"host": "h"},
    "provisioner": [{"local-exec": {
      "when": "destroy", "on_failure": "continue", "command": "echo ${self.id}", "connection": {"host": "i"}
    }}],
    "_": {"count": 5}
  }}},
  "data": {"rnd_thing": {"d": {"for_each": {}}}},
  "ephemeral": {"rnd_secret": {"e": {}}},
  "check": {"c": {
    "data": {"rnd_thing": {"inner": {}}},
    "assert": {"condition": "${data.rnd_thing.inner.ok}", "error_message": "Check."}
  }},
  "moved": {"from": "rnd_pet.old", "to": "rnd_pet.p[0]"},
  "removed": {"from": "module.gone.rnd_pet.x", "lifecycle": {"destroy": false}},
  "import": {"for_each": {"a": "b"}, "to": "module.m[each.key].rnd_pet.q", "id": "${each.value}"}
}
`

// outline describes a module in a form common to both syntaxes: expressions by their references.
func outline(m *config.Module) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, c := range m.RequiredVersions {
		say("required_version %s", c.Text)
	}
	for _, r := range m.SortedRequiredProviders() {
		say("requires %s = %s %q %v", r.Name, r.Source, r.Version.Text, r.Aliases)
	}
	if m.Backend != nil {
		say("backend %s %s", m.Backend.Type, bodyOutline(m.Backend.Body))
	}
	for _, name := range slices.Sorted(maps.Keys(m.ProviderMeta)) {
		say("meta %s %s", name, bodyOutline(m.ProviderMeta[name].Body))
	}
	for _, p := range m.SortedProviderConfigs() {
		say("provider %s = %s %s", p.Addr(), p.Provider, bodyOutline(p.Body))
	}
	for _, v := range m.SortedVariables() {
		say("variable %s %q %#v %v default %#v sensitive=%t ephemeral=%t nullable=%t hcl=%t %s", v.Name, v.Description,
			v.Type,
			v.TypeDefaults != nil, v.Default, v.Sensitive, v.Ephemeral, v.Nullable, v.ParsingMode == config.ParseHCL,
			conditions(v.Validations))
	}
	for _, l := range m.SortedLocals() {
		say("local %s %s", l.Name, refs(l.Expr))
	}
	for _, o := range m.SortedOutputs() {
		say("output %s %q %s sensitive=%t ephemeral=%t %s %s", o.Name, o.Description, refs(o.Expr), o.Sensitive,
			o.Ephemeral,
			traversals(o.DependsOn), conditions(o.Preconditions))
	}
	for _, c := range m.SortedCalls() {
		say("module %s %s %v count=%s for_each=%s %s %s", c.Name, c.Source, c.Kind, refs(c.Count), refs(c.ForEach),
			traversals(c.DependsOn), bodyOutline(c.Body))
		for _, p := range c.Providers {
			say("  passes %s = %s", p.InChild, p.InParent)
		}
	}
	for _, r := range m.SortedResources() {
		resourceOutline(say, r)
	}
	for _, c := range m.SortedChecks() {
		say("check %s %v %s", c.Name, c.Data.Addr, conditions(c.Asserts))
	}
	for _, x := range m.Moved {
		say("moved %s to %s", x.From, x.To)
	}
	for _, x := range m.Removed {
		say("removed %s %s destroy=%t", x.Module, x.Resource, x.Destroy)
	}
	for _, x := range m.Imports {
		say("import %s %s %s id=%s for_each=%s", x.To, x.Provider, refs(x.ToExpr), refs(x.ID), refs(x.ForEach))
	}
	return b.String()
}

func resourceOutline(say func(string, ...any), r *config.Resource) {
	say("%s provider=%s of %s count=%s for_each=%s %s check=%t", r.Addr, r.ProviderConfig(), r.Provider, refs(r.Count),
		refs(r.ForEach),
		traversals(r.DependsOn), r.Check != nil)
	var triggers []string
	for _, e := range r.ReplaceTriggeredBy {
		triggers = append(triggers, refs(e))
	}
	say("  lifecycle cbd=%t/%t prevent=%t ignore=%s all=%t triggers=%v pre=%s post=%s", r.CreateBeforeDestroy,
		r.CreateBeforeDestroySet,
		r.PreventDestroy != nil && r.PreventDestroy.Value, traversals(r.Ignored.Paths), r.Ignored.All, triggers,
		conditions(r.Preconditions),
		conditions(r.Postconditions))
	if r.Connection != nil {
		say("  connection %s", bodyOutline(r.Connection.Body))
	}
	for _, p := range r.Provisioners {
		say("  provisioner %s destroy=%t continue=%t %s connection %s", p.Type, p.When == config.WhenDestroy,
			p.Continue, bodyOutline(p.Body), bodyOutline(p.Connection.Body))
	}
	say("  body %s", bodyOutline(r.Body))
}

func refs(e hcl.Expression) string {
	if e == nil {
		return "-"
	}
	if v, diags := e.Value(&hcl.EvalContext{}); !diags.HasErrors() {
		return fmt.Sprintf("%#v", v)
	}
	return traversals(e.Variables())
}

func traversals(list []hcl.Traversal) string {
	var out []string
	for _, t := range list {
		text := ""
		for _, step := range t {
			switch s := step.(type) {
			case hcl.TraverseRoot:
				text += s.Name
			case hcl.TraverseAttr:
				text += "." + s.Name
			case hcl.TraverseIndex:
				text += fmt.Sprintf("[%#v]", s.Key)
			}
		}
		out = append(out, text)
	}
	return "[" + strings.Join(out, " ") + "]"
}

func conditions(list []*config.Condition) string {
	out := ""
	for _, c := range list {
		out += "(" + refs(c.Condition) + " " + refs(c.ErrorMessage) + ")"
	}
	return out
}

// bodyOutline describes the arguments and blocks that the tests use.
func bodyOutline(body hcl.Body) string {
	content, diags := body.Content(&hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "a"}, {Name: "x"}, {Name: "path"}, {Name: "in"}, {Name: "length"},
			{Name: "host"}, {Name: "command"}, {Name: "count"}},
		Blocks: []hcl.BlockHeaderSchema{{Type: "nested"}},
	})
	if diags.HasErrors() {
		return diags.Error()
	}
	out := "{"
	for _, name := range slices.Sorted(maps.Keys(content.Attributes)) {
		out += name + "=" + refs(content.Attributes[name].Expr) + " "
	}
	for _, b := range content.Blocks {
		out += b.Type + bodyOutline(b.Body) + " "
	}
	return out + "}"
}
