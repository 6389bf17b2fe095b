package random

import "maps"

// wrong are invalid expressions.
var wrong = []string{
	"local.missing", "var.missing", "terraform_data.missing.id", "module.missing.o", "null", `"text"`, "12", "true",
	"[]", "{}", "[1, \"a\", null]", "each.key", "count.index",
	"self.id", "path.nowhere", "sensitive(\"s\")", "missing(1)", "upper()", "upper(1, 2)", "length(3)",
	"tonumber(\"x\")", "[1][4]", "{ a = 1 }.b", "null + 1", "\"a\" + 1", "!3",
	"{ for k, v in 3 : k => v }", "[for v in null : v]", "{ for v in [1, 1] : v => v }",
	"data.terraform_remote_state.missing.outputs", "timestamp()", "uuid()", "terraform.workspace",
	"terraform.missing", "1 / 0", "tolist([1, {}])", "toset([[], {}])", "jsondecode(\"{\")", "file(\"missing\")",
	"ephemeralasnull(3)", "each.value", "try()", "coalesce()", "\"${[]}\"",
	"element([], 0)", "provider::terraform::encode_expr(1)", "provider::missing::f()", "var", "local", "terraform_data",
	"each", "module", "a", "\"%{ for x in 3 }%{ endfor }\"",
}

// mistake adds a mistake to a configuration: an expression that is invalid in its place, or something missing or
// duplicate.
func (g *gen) mistake(files map[string]string) map[string]string {
	files = maps.Clone(files)
	name := "main.tf"
	if g.chance(30) && len(g.modules) > 0 {
		name = pick(g, g.modules).dir + "/main.tf"
	}
	src := files[name]
	parts := partsOf(src)
	if len(parts) == 0 {
		return files
	}
	for {
		p := pick(g, parts)
		text := src[p.start:p.end]
		switch {
		case p.kind == expression && g.chance(30):
			text = pick(g, wrong)
		case p.kind == attribute && g.chance(20):
			text = pick(g, []string{"", text + "\n" + text, "missing = 1\n" + text, "depends_on = [local.missing]\n" +
				text, "count = 1\n" + text})
		case p.kind == body && g.chance(40):
			text = pick(g, []string{"", text + "\n" + text, text + "\nlifecycle {}", text + "\nmissing \"x\" {}"})
		default:
			continue
		}
		files[name] = src[:p.start] + text + src[p.end:]
		return files
	}
}
