package random

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// stateGen generates a configuration and a state of its objects as other tools may have left it: of older versions,
// without marks of sensitive values, with deposed, tainted or unconfigured objects, with missing members. The provider
// is that of internal/world: the objects exist, since the case applies the configuration first.
type stateGen struct{ *gen }

// GenerateStates returns an archive with a configuration, a state, and steps that plan and apply with it. The plan is
// also made without a refresh, and the state is shown, because only these show the content of the state itself.
func GenerateStates(seed uint64) []byte {
	g := &stateGen{&gen{r: rand.New(rand.NewPCG(seed, 0x737461746573))}}
	a := txtar.Archive{Comment: fmt.Appendf(nil, "Seed %d of the generator for states.\n", seed)}
	add := func(name, text string) { a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)}) }
	steps := "tier: 5\nplugin: world\ninit\napply\nwrite terraform.tfstate @state\n"
	for _, options := range []string{"-refresh=false", "-refresh-only", "", "-destroy"} {
		if g.chance(60) || options == "" {
			steps += strings.TrimSpace("plan "+options) + "\n"
		}
	}
	if g.chance(30) {
		steps += "state list\nstate show world_object.a\n"
	}
	steps += pick(g.gen, []string{"apply", "apply", "apply -refresh-only", "apply -refresh=false", "destroy"}) + "\n"
	if g.chance(50) {
		steps += "plan\n"
	}
	add("steps", steps)
	add("main.tf", g.configuration(false))
	if g.chance(50) {
		steps = strings.Replace(steps, "@state\n", "@state\nwrite main.tf @changed\n", 1)
		a.Files[0].Data = []byte(steps)
		add("@changed", g.configuration(true))
	}
	add("@state", g.state())
	return txtar.Format(&a)
}

// configuration writes objects that exist. If changed is set, some have other values and some are removed.
func (g *stateGen) configuration(changed bool) string {
	var w writer
	differs := func(percent int) bool { return changed && g.chance(percent) }
	w.block("terraform", func() {
		w.block("required_providers", func() { w.line(`world = { source = "tombolo/world" }`) })
	})
	w.line(`provider "world" { dir = "world" }`)
	w.line(`variable "secret" {` + "\n  default = \"hush\"\n  sensitive = true\n}")
	w.block(`resource "world_object" "a"`, func() {
		w.line("name = \"a\"")
		value := `"x"`
		if differs(40) {
			value = pick(g.gen, []string{`"y"`, "null", `sensitive("x")`, "var.secret"})
		}
		w.line("value = %s", value)
		w.line("secret = %s", pick(g.gen, []string{`"hush"`, "var.secret"}))
		w.line("size = 1")
		tags := `{ k = "v" }`
		if differs(30) {
			tags = pick(g.gen, []string{"{}", "null", `{ k = sensitive("v") }`, `{ k = "w" }`})
		}
		w.line("tags = %s", tags)
	})
	if !differs(20) {
		w.block(`resource "world_object" "b"`, func() {
			w.line(`name = "b"`)
			w.line("value = world_object.a.%s", pick(g.gen, []string{"id", "id", "secret", "value"}))
			w.line("size = 1")
			if differs(20) {
				w.line("lifecycle {\n    create_before_destroy = true\n  }")
			}
		})
		w.line(`output "b" {` + "\n  value = world_object.b.id\n}")
	}
	w.block(`resource "terraform_data" "d"`, func() {
		if differs(20) {
			w.line("count = 1")
		}
		w.line("input = %s", pick(g.gen, []string{`"in"`, "var.secret", `{ a = [1, "two"] }`}))
	})
	w.line(`output "secret" {` + "\n  value = var.secret\n  sensitive = true\n}")
	return w.buf.String()
}

type members = map[string]any

// state returns the state of the first configuration, with random defects.
func (g *stateGen) state() string {
	const world = `provider["registry.terraform.io/tombolo/world"]`
	object := func(name string, value any) members {
		return members{"behave": nil, "id": name + "-1", "name": name, "password": nil, "revision": 1, "secret": nil,
			"size": 1, "tags": nil, "value": value}
	}
	a, b := object("a", "x"), object("b", "a-1")
	a["secret"], a["tags"] = "hush", members{"k": "v"}
	resource := func(typ, name, provider string, instances ...any) members {
		return members{"mode": "managed", "type": typ, "name": name, "provider": provider, "instances": instances}
	}
	first, second := g.instance(a), g.instance(b, "world_object.a")
	d := g.instance(members{"id": "d-id", "input": members{"value": "in", "type": "string"},
		"output": members{"value": "in", "type": "string"}, "triggers_replace": nil})
	resources := []any{
		resource("world_object", "a", world, g.deposed(first, a)...),
		resource("world_object", "b", world, second),
		resource("terraform_data", "d", `provider["terraform.io/builtin/terraform"]`, d),
	}
	if g.chance(25) {
		resources = append(resources, resource("world_object", "stray", world, g.instance(object("stray", nil))))
	}
	if g.chance(20) {
		resources = append(resources, members{"module": "module.gone", "mode": "managed", "type": "terraform_data",
			"name": "in", "provider": `provider["terraform.io/builtin/terraform"]`, "instances": []any{g.instance(
				members{"id": "in-id", "input": nil, "output": nil, "triggers_replace": nil})}})
	}
	s := members{"version": 4, "serial": 70, "lineage": "11111111-2222-3333-4444-555555555555",
		"terraform_version": pick(g.gen, []string{"0.12.31", "0.14.0", "1.0.11", "1.11.4"}),
		"outputs":           g.outputs(), "resources": resources, "check_results": nil}
	if g.chance(20) {
		delete(s, "check_results")
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("random: a state cannot be written: " + err.Error())
	}
	return string(text) + "\n"
}

func (g *stateGen) outputs() members {
	out := members{}
	if g.chance(70) {
		out["b"] = members{"value": "b-1", "type": "string"}
	}
	if g.chance(70) {
		out["secret"] = members{"value": "hush", "type": "string", "sensitive": g.chance(60)}
	}
	if g.chance(30) {
		out["old"] = members{"value": []any{1, "two", nil}, "type": []any{"tuple", []any{"number", "string", "string"}}}
	}
	return out
}

// instance returns an instance with an object in one of the forms that tools write.
func (g *stateGen) instance(attributes members, dependencies ...string) members {
	attributes = maps.Clone(attributes)
	i := members{"schema_version": 0, "attributes": attributes}
	switch g.r.IntN(5) {
	case 0: // none
	case 1:
		i["sensitive_attributes"] = []any{}
	case 2: // an unnecessary mark
		i["sensitive_attributes"] = []any{path("id")}
	case 3: // a mark of a missing attribute
		if _, ok := attributes["tags"]; ok {
			i["sensitive_attributes"] = []any{append(path("tags"), members{"type": "index",
				"value": members{"value": "none", "type": "string"}})}
		}
	default:
		if _, ok := attributes["secret"]; ok {
			i["sensitive_attributes"] = []any{path("secret")}
		}
	}
	if len(dependencies) > 0 && g.chance(70) {
		i["dependencies"] = dependencies
	}
	if g.chance(15) {
		i["dependencies"] = []string{"world_object.never"}
	}
	if g.chance(15) {
		i["status"] = "tainted"
	}
	if g.chance(15) {
		i["create_before_destroy"] = true
	}
	if _, ours := attributes["name"]; ours && g.chance(30) { // terraform_data has no private data
		i["private"] = "eyJhIjoiYiJ9"
	}
	if name, ok := attributes["name"]; ok && g.chance(40) {
		i["identity_schema_version"], i["identity"] = 0, members{"id": fmt.Sprint(name) + "-1"}
	}
	optional := slices.DeleteFunc(slices.Sorted(maps.Keys(attributes)), func(name string) bool {
		return attributes[name] != nil || name == "id"
	})
	if len(optional) > 0 && g.chance(30) { // from a version before the attribute was added
		delete(attributes, pick(g.gen, optional))
	}
	if _, ok := attributes["size"]; ok && g.chance(15) {
		attributes["size"] = "1"
	}
	return i
}

func path(name string) []any { return []any{members{"type": "get_attr", "value": name}} }

// deposed adds an object that was being replaced, which is still in the state but no longer exists.
func (g *stateGen) deposed(current members, attributes members) []any {
	if !g.chance(20) {
		return []any{current}
	}
	old := g.instance(attributes)
	old["attributes"].(members)["id"] = "a-0"
	delete(old, "identity")
	delete(old, "identity_schema_version")
	old["deposed"] = "0000000a"
	return []any{current, old}
}

// IsStates reports whether an archive is one of GenerateStates.
func IsStates(archive []byte) bool {
	return strings.Contains(string(archive), "of the generator for states.")
}
