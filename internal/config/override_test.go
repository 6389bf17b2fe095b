package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
)

func TestOverrideFiles(t *testing.T) {
	cfg := load(t, `
-- a_override.tf --
resource "x_y" "z" {
  a = "from a"
  nested {
    a = "from a"
  }
}
locals {
  one = "from a"
}
variable "v" {
  default = "from a"
}
-- main.tf --
terraform {
  required_version = ">= 1.0"
  required_providers {
    x = {
      source  = "example.com/a/x"
      version = "1.0"
    }
    y = {
      source = "example.com/a/y"
    }
  }
  backend "local" {
  }
}
provider "x" {
  a = "base"
  x = "base"
}
variable "v" {
  type        = string
  description = "base"
}
locals {
  one = "base"
  two = "base"
}
output "o" {
  value     = "base"
  sensitive = true
}
module "m" {
  source = "./mod"
  a      = "base"
}
resource "x_y" "z" {
  count = 2
  a     = "base"
  x     = "base"
  nested {
    a = "base 1"
  }
  nested {
    a = "base 2"
  }
  lifecycle {
    create_before_destroy = true
    prevent_destroy       = true
    ignore_changes        = [a]
  }
  provisioner "local-exec" {
    command = "base"
    connection {
    }
  }
}
-- mod/main.tf --
variable "a" {}
variable "x" {}
-- override.tf --
terraform {
  required_version = ">= 1.1"
  required_providers {
    x = {
      source = "example.com/b/x"
    }
  }
  cloud {
  }
}
provider "x" {
  a = "over"
}
variable "v" {
  nullable = false
}
output "o" {
  value = "over"
}
module "m" {
  a = "over"
  x = "over"
}
resource "x_y" "z" {
  for_each = {}
  lifecycle {
    prevent_destroy = false
  }
}
`)
	want := `required_version >= 1.1
requires x = example.com/b/x "" []
requires y = example.com/a/y "" []
provider x = example.com/b/x {a=cty.StringVal("over") x=cty.StringVal("base") }
variable v "base" cty.String false default cty.StringVal("from a") sensitive=false ephemeral=false nullable=false hcl=false 
local one cty.StringVal("from a")
local two cty.StringVal("base")
output o "" cty.StringVal("over") sensitive=true ephemeral=false [] 
`
	got := outline(cfg.Root)
	if !strings.HasPrefix(got, want) {
		t.Errorf("override files were not applied:\n%s", cmp.Diff(want, got))
	}
	for _, want := range []string{
		`x_y.z provider=x of example.com/b/x count=- for_each=cty.EmptyObjectVal`,
		`lifecycle cbd=true/true prevent=false ignore=[.a]`,
		`body {a=cty.StringVal("from a") x=cty.StringVal("base") nested{a=cty.StringVal("from a") } }`,
		`provisioner local-exec`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the outline lacks\n%s\nin:\n%s", want, got)
		}
	}
	if cfg.Root.Backend != nil || cfg.Root.Cloud == nil {
		t.Error("the cloud block did not replace the backend")
	}
	if inputs := cfg.Root.Calls["m"].Inputs; refs(inputs["a"].Expr) != `cty.StringVal("over")` || inputs["x"] == nil {
		t.Errorf("the inputs of the call were not overridden: %v", inputs)
	}
}

func TestOverridingDynamicBlocksReplaceThoseTheyGenerate(t *testing.T) {
	cfg := load(t, `
-- main.tf --
resource "x_y" "z" {
  nested {
    a = 1
  }
}
-- override.tf --
resource "x_y" "z" {
  dynamic "nested" {
    for_each = []
    content {}
  }
}
`)
	for _, r := range cfg.Root.Resources {
		content, _, _ := r.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
			{Type: "nested"}, {Type: "dynamic", LabelNames: []string{"type"}}}})
		if len(content.Blocks) != 1 || content.Blocks[0].Type != "dynamic" {
			t.Errorf("blocks after overriding: %v", content.Blocks)
		}
	}
}
