package random

import (
	"fmt"
	"strings"
)

// resource writes a block of terraform_data with the name of a part.
func (u *piece) resource(w *writer, body func()) {
	w.block(fmt.Sprintf(`resource "terraform_data" %q`, u.name), body)
}

// lifecycle writes a block lifecycle.
func lifecycle(w *writer, format string, args ...any) {
	w.block("lifecycle", func() { w.line(format, args...) })
}

func dataAddr(u *piece) string { return "terraform_data." + u.name }

// allOf returns a text with an attribute of all instances of a block.
func allOf(at, attribute string, m mode) string {
	switch m {
	case counted:
		return fmt.Sprintf(`join(",", [for x in %s : x.%s])`, at, attribute)
	case eachOfSet, eachOfMap:
		return fmt.Sprintf(`join(",", [for k, x in %s : "${k}${x.%s}"])`, at, attribute)
	}
	return at + "." + attribute
}

// child writes a module with the name of a part.
func child(u *piece, files map[string]string, text string) { files["mods/"+u.name+"/main.tf"] = text }

// features are the features that parts of projects use.
var features = []feature{
	{programs: "nxt", addr: dataAddr, out: func(u *piece) string { return dataAddr(u) + ".output" },
		write: func(u *piece, w *writer) {
			u.resource(w, func() {
				w.line(`input = "${%s}-%s"`, u.in, u.word)
				w.line("triggers_replace = %d", u.n)
				lifecycle(w, "create_before_destroy = true")
			})
		}},
	{programs: "nxt", addr: dataAddr, out: func(u *piece) string { return allOf(dataAddr(u), "input", u.mode) },
		write: func(u *piece, w *writer) {
			u.resource(w, func() {
				own := u.mode.repeat(w)
				w.line(`input = "%s%s"`, u.word, own)
				if u.on {
					lifecycle(w, "ignore_changes = [input]")
				}
			})
		}},
	{programs: "nxt", out: func(u *piece) string { return allOf("module."+u.name, "made", u.mode) },
		write: func(u *piece, w *writer) {
			w.block(fmt.Sprintf("module %q", u.name), func() {
				w.line(`source = "./mods/%s"`, u.name)
				u.mode.repeat(w)
				w.line("given = %s", u.in)
				w.line("settings = { size = %d, name = %q }", u.n, u.word)
			})
		}, files: func(u *piece, files map[string]string) { child(u, files, moduleText) }},
	{programs: "nx", out: func(u *piece) string { return "module." + u.name + ".made" },
		write: func(u *piece, w *writer) {
			w.block(fmt.Sprintf("variable %q", u.name), func() {
				w.line("default = %q", u.name)
				w.line("const = true")
			})
			w.block(fmt.Sprintf("module %q", u.name), func() {
				w.line(`source = "./mods/${var.%s}"`, u.name)
				w.line("given = %s", u.in)
			})
		}, files: func(u *piece, files map[string]string) { child(u, files, moduleText) }},
	{programs: "t", out: func(u *piece) string { return "module." + u.name + ".made" },
		write: func(u *piece, w *writer) {
			w.line(`locals { %s_folder = "mods" }`, u.name)
			w.block(fmt.Sprintf("module %q", u.name), func() {
				w.line(`source = "./${local.%s_folder}/%s"`, u.name, u.name)
				w.line("given = %s", u.in)
			})
		}, files: func(u *piece, files map[string]string) { child(u, files, moduleText) }},
	{programs: "nx", write: func(u *piece, w *writer) {
		w.block(fmt.Sprintf("module %q", u.name), func() {
			w.line(`source = "./mods/%s"`, u.name)
			w.line("old = %q", u.word)
			if u.on {
				w.line("ignore_nested_deprecations = true")
			}
		})
	}, files: func(u *piece, files map[string]string) {
		child(u, files, "variable \"old\" {\n  default = \"\"\n  deprecated = \"Use another one.\"\n}\n"+
			"output \"x\" {\n  value = var.old\n  deprecated = \"Not this.\"\n}\n")
	}},
	{programs: "nx", write: func(u *piece, w *writer) {
		w.block(fmt.Sprintf(`output "%s_typed"`, u.name), func() {
			w.line("type = object({ a = string, n = number, l = list(string) })")
			w.line("value = { a = %s, n = %d, l = convert([%q, %d], list(string)) }", u.in, u.n, u.word, u.n)
			w.line("sensitive = true")
		})
	}},
	{programs: "nxt", write: func(u *piece, w *writer) {
		w.block(fmt.Sprintf("check %q", u.name), func() {
			w.block("assert", func() {
				w.line("condition = length(%s) < %d", u.in, 4+u.n*20)
				w.line(`error_message = "too long: ${%s}"`, u.in)
			})
		})
	}},
	{programs: "nxt", addr: dataAddr, out: func(u *piece) string { return dataAddr(u) + ".id" },
		write: func(u *piece, w *writer) {
			u.resource(w, func() {
				w.line("input = { word = %q, secret = var.secret }", u.word)
				w.block("lifecycle", func() {
					w.block("precondition", func() {
						w.line(`condition = var.stage != "test"`)
						w.line(`error_message = "not in tests"`)
					})
					w.block("postcondition", func() {
						w.line("condition = self.input.word == %q", u.word)
						w.line(`error_message = "changed"`)
					})
				})
			})
		}},
	{programs: "nx", addr: func(u *piece) string { return "acts_thing." + u.name }, write: func(u *piece, w *writer) {
		u.acting(w, "events = [before_create, after_update]", false)
	}, out: func(u *piece) string { return "acts_thing." + u.name + ".name" }},
	{programs: "x", addr: func(u *piece) string { return "acts_thing." + u.name }, write: func(u *piece, w *writer) {
		u.acting(w, "events = [after_create, after_update]\non_failure = continue", true)
	}, out: func(u *piece) string { return "acts_thing." + u.name + ".name" }},
	{programs: "nx", write: func(u *piece, w *writer) {
		w.block("import", func() {
			w.line("to = acts_named.%s", u.name)
			w.line("identity = { name = %q }", u.name)
		})
		w.block(fmt.Sprintf(`resource "acts_named" %q`, u.name), func() {
			w.line("name = %q", u.name)
			w.line(`size = "%d"`, u.n)
		})
	}, files: func(u *piece, files map[string]string) {
		files["things/"+u.name+".json"] = fmt.Sprintf("{\"name\": %q, \"size\": \"1\", \"kind\": null, \"id\": %q}\n",
			u.name, "id-"+u.name)
	}, out: func(u *piece) string { return "acts_named." + u.name + ".id" }},
	{programs: "x", write: func(u *piece, w *writer) {
		w.block(fmt.Sprintf("module %q", u.name), func() { w.line(`source = "./mods/%s"`, u.name) })
	}, files: func(u *piece, files map[string]string) {
		files["things/"+u.name+".json"] = fmt.Sprintf("{\"name\": %q, \"size\": \"1\", \"kind\": null, \"id\": %q}\n",
			u.name, "id-"+u.name)
		child(u, files, fmt.Sprintf("terraform {\n  required_providers {\n    acts = { source = \"tombolo/acts\" }\n"+
			"  }\n}\nimport {\n  to = acts_thing.in\n  id = %q\n}\nresource \"acts_thing\" \"in\" {\n  name = %q\n"+
			"  size = \"%d\"\n}\n", u.name, u.name, u.n))
	}},
	{programs: "nx", write: func(u *piece, w *writer) {}, files: func(u *piece, files map[string]string) {
		files[u.name+".tfquery.hcl"] = fmt.Sprintf("list \"acts_named\" %q {\n  provider = acts\n  limit = %d\n"+
			"  include_resource = %t\n  config { prefix = \"p\" }\n}\n", u.name, 1+u.n, u.on)
	}},
	{programs: "x", addr: dataAddr, write: func(u *piece, w *writer) {
		u.resource(w, func() {
			w.block("store", func() {
				w.line("input = { word = %q, n = %d }", u.word, u.n)
				w.line("version = %d", u.n)
				w.line("sensitive = %t", u.on)
			})
		})
	}},
	{programs: "xt", addr: dataAddr, write: func(u *piece, w *writer) {
		u.resource(w, func() {
			w.line("triggers_replace = %q", u.word)
			lifecycle(w, "destroy = %t", u.on)
		})
	}},
	{programs: "t", addr: dataAddr, write: func(u *piece, w *writer) {
		u.resource(w, func() {
			w.line("input = %s", u.in)
			lifecycle(w, "enabled = %t", u.on)
		})
	}, out: func(u *piece) string { return fmt.Sprintf(`try(coalesce(%s.input), "off")`, dataAddr(u)) }},
	{programs: "t", addr: dataAddr, write: func(u *piece, w *writer) {
		u.resource(w, func() {
			w.line("triggers_replace = %d", u.n)
			lifecycle(w, `prevent_destroy = var.stage == "prod"`)
		})
	}},
	{programs: "nxt", out: func(u *piece) string { return "data.terraform_remote_state." + u.name + ".outputs.o" },
		write: func(u *piece, w *writer) {
			w.block(fmt.Sprintf(`data "terraform_remote_state" %q`, u.name), func() {
				w.line(`backend = "local"`)
				w.line(`config = { path = "%s.state" }`, u.name)
			})
		}, files: func(u *piece, files map[string]string) {
			files[u.name+".state"] = fmt.Sprintf("{\"version\": 4, \"terraform_version\": \"1.9.0\", \"serial\": 1, "+
				"\"lineage\": \"l\", \"outputs\": {\"o\": {\"value\": \"shared%d\", \"type\": \"string\"}}, "+
				"\"resources\": []}\n", u.n)
		}},
	{programs: "nxt", write: func(u *piece, w *writer) {
		u.resource(w, func() { w.line("input = %s", u.in) })
	}, files: func(u *piece, files map[string]string) {
		files[u.name+".tftest.hcl"] = fmt.Sprintf("run \"planned\" {\n  command = plan\n  variables { stage = \"t\" }"+
			"\n  assert {\n    condition = %s.input != %q\n    error_message = \"as it should not be\"\n  }\n}\n"+
			"run \"refused\" {\n  command = plan\n  variables { stage = \"test\" }\n}\n", dataAddr(u), u.word)
	}},
	{programs: "nxt", addr: dataAddr, out: func(u *piece) string { return dataAddr(u) + ".output.text" },
		write: func(u *piece, w *writer) {
			w.block("locals", func() {
				w.line("%s_all = { for k in [\"x\", %q] : k => upper(k) if length(k) > %d }", u.name, u.word, u.n)
			})
			u.resource(w, func() {
				w.line("input = {")
				w.line("  text = templatefile(\"${path.module}/%s.tpl\", { all = local.%s_all, in = %s })", u.name,
					u.name, u.in)
				w.line("  yaml = yamlencode({ n = %d, l = [%q] })", u.n, u.word)
				w.line("}")
				if u.on {
					w.block(`provisioner "local-exec"`, func() { w.line(`command = "echo made >>log.txt"`) })
				}
			})
		}, files: func(u *piece, files map[string]string) {
			files[u.name+".tpl"] = "%{ for k, v in all ~}\n${k}=${v}\n%{ endfor ~}\n${in}\n"
		}},
	{programs: "nxt", write: func(u *piece, w *writer) {
		w.block(fmt.Sprintf("variable %q", u.name), func() {
			w.line("type = object({ name = string, size = optional(number, %d), tags = optional(map(string), {}) })",
				u.n)
			w.block("validation", func() {
				w.line("condition = var.%s.size < 10 && var.stage != \"never\"", u.name)
				w.line(`error_message = "too large"`)
			})
		})
		u.resource(w, func() { w.line("input = var.%s", u.name) })
	}, files: func(u *piece, files map[string]string) {
		files[u.name+".auto.tfvars"] = fmt.Sprintf("%s = { name = %q, tags = { on = \"%t\" } }\n", u.name, u.word, u.on)
	}, out: func(u *piece) string { return "var." + u.name + ".name" }},
}

const moduleText = `variable "given" { type = string }
variable "settings" {
  type    = object({ size = optional(number, 1), name = optional(string, "none") })
  default = {}
}
resource "terraform_data" "in" {
  count = var.settings.size
  input = "${var.given}-${var.settings.name}-${count.index}"
}
output "made" { value = join("+", terraform_data.in[*].output) }
`

// acting writes an object whose changes invoke an action, which may refer to the object.
func (u *piece) acting(w *writer, trigger string, caller bool) {
	w.block(fmt.Sprintf(`action "acts_note" %q`, u.name), func() {
		w.block("config", func() {
			if caller {
				w.line(`text = "%s-${caller.name}"`, u.name)
				return
			}
			w.line(`text = "%s-%d"`, u.name, u.n)
		})
	})
	w.block(fmt.Sprintf(`resource "acts_thing" %q`, u.name), func() {
		w.line("name = %q", u.name)
		w.line(`size = "%d"`, u.n)
		w.block("lifecycle", func() {
			w.block("action_trigger", func() {
				for line := range strings.Lines(trigger) {
					w.line("%s", strings.TrimSuffix(line, "\n"))
				}
				w.line("actions = [action.acts_note.%s]", u.name)
				if !u.on {
					w.line(`condition = var.stage != "prod"`)
				}
			})
		})
	})
}
