package main

import (
	"fmt"
	"io"
)

// invariantShapes have values that every instance reads and none changes. The cost of an object must not depend on the
// number of objects: ten times the objects may take at most twelve times as long.
var invariantShapes = []shape{
	{
		name: "shared-map", about: "for_each over a map of n, each with the length of the map", objects: times(1),
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, "locals { ids = { for k in %s : k => upper(k) } }\n", keys(n))
			fmt.Fprint(w, "resource \"terraform_data\" \"a\" {\n  for_each = local.ids\n"+
				"  input    = \"${each.value}/${length(local.ids)}\"\n}\n")
		},
	},
	{
		name: "shared-splat", about: "b with count = n, each with the length of a[*].id and its own of them",
		objects: times(2),
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, "resource \"terraform_data\" \"a\" { count = %d }\n", n)
			fmt.Fprintf(w, "resource \"terraform_data\" \"b\" {\n  count = %d\n  input = "+
				"\"${count.index}/${length(terraform_data.a[*].id)}/${(terraform_data.a[*].id)[count.index]}\"\n}\n", n)
		},
	},
	{
		name: "lookups", about: "for_each over n keys, each looked up in a map, an object, a set and lists of n",
		objects: times(1),
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, `locals {
  list  = %s
  typed = tolist(local.list)
  set   = toset(local.list)
  map   = { for k in local.list : k => { name = upper(k) } }
  texts = tomap({ for k in local.list : k => upper(k) })
}
`, keys(n))
			fmt.Fprint(w, `resource "terraform_data" "a" {
  for_each = local.set
  input = {
    attribute = local.map[each.key].name
    attempt   = try(local.map[each.key].none, "none")
    lookup    = lookup(local.texts, each.key, "none")
    object    = lookup(local.map, each.key, null)
    contains  = contains(local.set, each.key)
    keys      = contains(keys(local.map), each.key) ? "yes" : "no"
    absent    = contains(local.list, "${each.key} is not there")
    index     = index(local.typed, each.key)
    element   = element(local.list, length(each.key))
  }
}
`)
		},
	},
	{
		name: "outputs", about: "for_each over n keys, each with its own of what a module in a module gives",
		objects: times(2),
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, `module "outer" {
  source = "./m"
  names  = %[1]s
}
resource "terraform_data" "a" {
  for_each = toset(%[1]s)
  input    = join("/", [module.outer.inner.ids[each.key], length(module.outer.inner.ids), length(module.outer.all)])
}
`, keys(n))
		},
		module: func(w io.Writer) {
			fmt.Fprint(w, `variable "names" { type = list(string) }
module "inner" {
  source = "./inner"
  names  = var.names
}
output "inner" { value = module.inner }
output "all" { value = [for k, id in module.inner.ids : "${k}=${id}"] }
`)
		},
		inner: func(w io.Writer) {
			fmt.Fprint(w, `variable "names" { type = list(string) }
resource "terraform_data" "a" {
  for_each = toset(var.names)
  input    = each.key
}
output "ids" { value = { for k, a in terraform_data.a : k => a.id } }
`)
		},
	},
	{
		name: "encoded", about: "for_each over n keys, each with sums of a JSON text and a template of all",
		objects: times(1),
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, "locals { ids = { for k in %s : k => { name = upper(k), tags = { team = \"a\" } } } }\n",
				keys(n))
			fmt.Fprint(w, `resource "terraform_data" "a" {
  for_each = local.ids
  input = {
    me   = each.value.name
    json = "${each.key}-${md5(jsonencode(local.ids))}"
    text = "${each.key}-${md5("%{for k, v in local.ids}${k} is ${v.name}, %{endfor}")}"
    some = each.key == "key-0-1" ? jsonencode(local.ids) : "none"
  }
}
`)
		},
	},
	{
		name: "merged", about: "for_each over maps of n merged, each merged with what all have", objects: times(1),
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, `locals {
  list = %s
  half = { for k in local.list : k => { name = k } }
  rest = { for k in local.list : k => { name = k, more = true } }
  tags = { team = "a", stage = "b" }
}
`, keys(n))
			fmt.Fprint(w, `resource "terraform_data" "a" {
  for_each = merge(local.half, { for k, v in local.rest : k => merge(v, { size = length(local.rest) }) })
  input    = merge(local.tags, { name = each.value.name }, length(local.half) > 3 ? { large = "yes" } : {})
}
`)
		},
	},
	{
		name: "flattened", about: "for_each over the product of two lists, flattened, each with the size of all",
		objects: times(1),
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, `locals {
  groups = %s
  pairs = flatten([for g in local.groups :
    [for i in range(10) : { group = g, member = "m-${i}", of = length(local.groups) }]
  ])
}
resource "terraform_data" "a" {
  for_each = { for p in local.pairs : "${p.group}/${p.member}" => p }
  input    = "${each.value.group} ${each.value.member} of ${length(local.pairs)}"
}
`, keys(n/10))
		},
	},
	{
		name:    "variables",
		about:   "a module for each of n/10 keys, with an object of n that all share, two objects in each",
		objects: func(n int) int { return n / 10 * 2 },
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, `locals {
  config = {
    items  = { for k in %s : k => { name = upper(k), size = 3 } }
    region = "r"
  }
}
module "m" {
  source   = "./m"
  for_each = toset(%s)
  name     = each.key
  config   = local.config
}
`, keys(n), keys(n/10))
		},
		module: func(w io.Writer) {
			fmt.Fprint(w, `variable "name" { type = string }
variable "config" {
  type = object({
    region = string
    items  = map(object({ name = string, size = optional(number, 1), more = optional(string) }))
  })
}
locals { mine = var.config.items[var.name] }
resource "terraform_data" "a" { input = local.mine.name }
resource "terraform_data" "b" {
  count = 1
  input = {
    text  = "${local.mine.size}-${count.index}-${var.config.region}-${length(var.config.items)}"
    known = contains(keys(var.config.items), var.name)
  }
}
`)
		},
	},
}
