//go:build unix

package liar

// A scene is a situation in which one response of the plugin can be a lie.
type scene struct {
	name   string
	field  string
	before []step // the plugin is honest
	lying  step
}

// A step writes a configuration, unless it is "", and runs a command.
type step struct {
	config  string
	command string
}

const (
	noObject = ""
	object1  = `resource "liar_thing" "a" {
  name   = "a"
  opt    = "o"
  secret = "hush"
  wo     = "in"
  item {
    key = "k"
    wo  = "in"
  }
  tag {
    key = "k"
  }
  NEST
}
`
	object2 = `resource "liar_thing" "a" {
  name   = "a"
  opt    = "p"
  note   = "n"
  item {
    key = "k"
  }
  tag {
    key = "k"
  }
  NEST
}
`
	later = `resource "terraform_data" "x" {
  input = "o"
}
resource "liar_thing" "a" {
  name = "a"
  opt  = terraform_data.x.output
  item {
    key = "k"
  }
  tag {
    key = "k"
  }
  NEST
}
`
	imported = object1 + `import {
  to = liar_thing.a
  id = "a"
}
`
	toMove = `resource "terraform_data" "a" {
}
`
	moved = `resource "liar_thing" "a" {
  name   = "moved"
  opt    = "o"
  secret = "hush"
  item {
    key = "k"
  }
  tag {
    key = "k"
  }
  NEST
}
moved {
  from = terraform_data.a
  to   = liar_thing.a
}
`
	look = `data "liar_look" "a" {
  name = "a"
  opt  = "o"
}
output "o" {
  value = data.liar_look.a
}
`
	lookLater = `resource "terraform_data" "x" {
  input = "o"
}
data "liar_look" "a" {
  name = "a"
  opt  = terraform_data.x.output
}
output "o" {
  value = data.liar_look.a
}
`
	lease = `ephemeral "liar_lease" "a" {
  name = "a"
  opt  = "o"
}
resource "liar_thing" "a" {
  name = "a"
  wo   = ephemeral.liar_lease.a.id
}
`
	call = `output "o" {
  value = provider::liar::echo("x")
}
resource "terraform_data" "x" {
  input = provider::liar::echo("x").text
}
`
)

var scenes = []scene{
	{"plan a creation", "plan", nil, step{object1, "plan"}},
	{"plan an update", "plan", []step{{object1, "apply"}}, step{object2, "plan"}},
	{"plan nothing", "plan", []step{{object1, "apply"}}, step{"", "plan"}},
	{"plan a deletion", "plan", []step{{object1, "apply"}}, step{"", "plan -destroy"}},
	{"plan again", "plan", []step{{later, "plan -out=p"}}, step{"", "apply p"}},
	{"create", "apply", []step{{object1, "plan -out=p"}}, step{"", "apply p"}},
	{"update", "apply", []step{{object1, "apply"}, {object2, "plan -out=p"}}, step{"", "apply p"}},
	{"delete", "apply", []step{{object1, "apply"}, {"", "plan -destroy -out=p"}}, step{"", "apply p"}},
	{"read", "read", []step{{object1, "apply"}}, step{"", "apply -refresh-only"}},
	{"read and plan", "read", []step{{object1, "apply"}}, step{"", "plan"}},
	{"upgrade", "upgrade", []step{{object1, "apply"}}, step{"", "apply"}},
	{"import", "import", nil, step{imported, "apply"}},
	{"read what is imported", "read", nil, step{imported, "apply"}},
	{"move", "move", []step{{toMove, "apply"}}, step{moved, "apply"}},
	{"look", "data", nil, step{look, "apply"}},
	{"look later", "data", []step{{lookLater, "plan -out=p"}}, step{"", "apply p"}},
	{"open", "open", nil, step{lease, "apply"}},
	{"call", "call", nil, step{call, "apply"}},
	{"call again", "call", []step{{call, "plan -out=p"}}, step{"", "apply p"}},
}
