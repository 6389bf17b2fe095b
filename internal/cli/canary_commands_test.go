package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
)

// typed runs a command with an input, and looks for the secret in its output and log.
func (p *planting) typed(input string, args ...string) string {
	p.t.Helper()
	p.write("typed.txt", []byte(input))
	in, err := os.Open("typed.txt")
	if err != nil {
		p.t.Fatal(err)
	}
	defer in.Close()
	var out bytes.Buffer
	a := &command.App{
		Surroundings: engine.Surroundings{Program: p.program, Title: titles[p.program], Environ: p.environ,
			StartDir: p.dir},
		In: command.NewInput(in), Out: &out, Err: &out,
	}
	code := catchPanic(a, func() command.Outcome { return start(p.t.Context(), a, args) }).ExitCode()
	text := fmt.Sprintf("%s\n[exit %d]\n", strings.TrimRight(out.String(), "\n"), code)
	p.look(fmt.Sprintf("%s, typed %q", strings.Join(args, " "), input), text)
	p.lookAtFiles(strings.Join(args, " "))
	return text
}

// lookAtFiles looks for the secret in the files that a command has written, except for those that hold values.
func (p *planting) lookAtFiles(after string) {
	p.t.Helper()
	err := filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch name := d.Name(); {
		case strings.HasSuffix(name, ".lock.info"), strings.HasSuffix(name, ".lock.hcl"), name == "modules.json",
			strings.HasSuffix(name, ".log"), strings.HasSuffix(name, ".xml"), strings.Contains(path, ".terraform/"):
			text, err := os.ReadFile(path)
			p.look(after+": "+name, string(text))
			return err
		}
		return nil
	})
	if err != nil {
		p.t.Error(err)
	}
}

func (p *planting) setVariables() {
	p.environ = append(p.environ, "TF_VAR_text="+planted, `TF_VAR_list=["`+planted+`", "`+planted+`"]`,
		`TF_VAR_set=["`+planted+`"]`, `TF_VAR_map={`+planted+`="`+planted+`"}`)
}

// TestPromptsDoNotShowSecrets types secrets as answers to prompts, of the right and of the wrong type.
func TestPromptsDoNotShowSecrets(t *testing.T) {
	for _, flag := range []string{"sensitive", "ephemeral"} {
		for _, typ := range []string{"string", "number", "list(string)", "object({ a = number })", "map(number)"} {
			t.Run(flag+", "+typ, func(t *testing.T) {
				p := newPlanting(t)
				p.environ = p.environ[:1] // only PATH
				p.write("main.tf", []byte(fmt.Sprintf("variable \"v\" {\n  type = %s\n  %s = true\n}\n", typ, flag)))
				for _, answer := range []string{planted, `"` + planted, `{ ` + planted + ` = "` + planted + `" }`,
					`["` + planted + `", `, planted + `("x")`} {
					p.typed(answer+"\n", "plan")
					p.typed(answer+"\n", "plan", "-json")
					p.typed(answer+"\nyes\n", "apply")
				}
			})
		}
	}
}

// TestUnreadableFilesDoNotShowSecrets puts secrets into unreadable files of states, settings and values.
func TestUnreadableFilesDoNotShowSecrets(t *testing.T) {
	const inQuotes = `"` + planted + `"`
	for name, texts := range map[string][]string{
		"x.auto.tfvars": {"v = \"" + planted, "v = " + planted + "\"", "v = " + inQuotes + " x", "v : " + inQuotes,
			"v " + inQuotes + " {}", "w " + inQuotes + " {}", "v {\n  x = " + inQuotes + "\n}",
			"v {\n  x = " + inQuotes, "v = <<E\n" + planted, "v = " + planted + "()", "v = \"%{ if }" + planted + "\"",
			"variable \"v\" {\n  default = " + inQuotes + "\n}", "variable \"w\" { default = " + inQuotes + " }"},
		"x.auto.tfvars.json": {`{"v": "` + planted, `{"v": ` + planted + `}`, `[` + inQuotes + `]`, inQuotes,
			`{"v": ` + inQuotes + `} x`, `{"v": "${` + planted + `}"}`, `{"v": ` + inQuotes + `, "v": ` + inQuotes + `}`,
			`[{"v": ` + inQuotes + `}, ` + inQuotes + `]`},
		"a.tftest.hcl": {"variables {\n  v " + inQuotes + " {}\n}", "variables {\n  v = " + inQuotes + " x\n}",
			"run \"a\" {\n  variables {\n    v " + inQuotes + " {}\n  }\n}"},
		"terraform.tfstate": {`{"` + planted, `{"version": 4, "outputs": ` + inQuotes + `}`,
			`{"version": 4, "outputs": {"o": {"value": "` + planted},
		".terraform/terraform.tfstate": {`{"` + planted, `{"version": 3, "backend": ` + inQuotes + `}`,
			`{"version": 3, "backend": {"type": "pg", "config": {"conn_str": "` + planted},
		"cli.tfrc": {`credentials "x" { token = ` + planted + ` }`, `credentials "x" { token ` + inQuotes + ` }`,
			`credentials "x" { token ` + inQuotes, `{"credentials": {"x": {"token": ` + planted + `}}}`,
			"credentials \"x\" {\n token = \"" + planted + "\n}", `credentials "x" ` + planted,
			`{"credentials": {"x": ` + inQuotes + `}}`, `credentials "x" { token = [` + planted + `] }`},
		"p": {`{"` + planted, planted, "PK\x03\x04" + planted},
	} {
		t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
			for _, text := range texts {
				p := newPlanting(t)
				p.write("main.tf", []byte("variable \"v\" {\n  type = string\n  sensitive = true\n}\n"))
				p.write(name, []byte(text))
				if name == "cli.tfrc" {
					p.environ = append(p.environ, "TF_CLI_CONFIG_FILE="+filepath.Join(p.dir, name))
				}
				output := p.run("plan", "-input=false", "-json")
				for _, args := range [][]string{{"plan", "-input=false"}, {"init", "-input=false"}, {"test"},
					{"state", "list"}, {"show", "p"}, {"apply", "-input=false", "p"}} {
					output += p.run(args...)
				}
				if !strings.Contains(output, "Error") && !strings.Contains(output, "CLI configuration") {
					t.Errorf("%q can be read:\n%s", text, output)
				}
			}
		})
	}
}

// TestConsoleDoesNotShowSecrets types expressions, most of which fail.
func TestConsoleDoesNotShowSecrets(t *testing.T) {
	p := newPlanting(t)
	p.setVariables()
	p.write("main.tf", []byte(canaryVariables+`
locals {
  named = { (var.text) = 1 }
  looped = { for k, v in var.map : k => v }
  nested = [{ x = { (var.text) = "1" } }]
}
resource "terraform_data" "a" { input = var.text }
output "o" {
  value     = [var.text]
  sensitive = true
}
`))
	p.run("apply", "-auto-approve")
	for _, expr := range []string{
		"var.text", "var.list", "var.set", "var.map", "local.named", "local.looped", "terraform_data.a.input",
		"type(var.text)", "type(local.named)", "type(local.looped)", "type(local.nested)", "type([local.named])",
		"transpose(local.named)", "transpose(local.looped)", "tomap({ a = local.named, b = 1 })",
		"true ? local.named : { b = 1 }", "tolist([local.named, { b = 1 }])", "var.map.nosuch", "var.list[7]",
		"{ a = 1 }[var.text]", "[for v in var.list : tonumber(v)]", "tonumber(var.text)", "1 + var.text",
		"{ for v in var.list : v => 1 }", "file(var.text)", "local.nested[0].x.nosuch", `"${var.map}"`, "!var.text",
		"jsondecode(var.text)", "var.text ? 1 : 2", "[for v in var.list : v.x]", "keys(local.named)[0].x",
		"sensitive(var.text)", "merge(local.named, 1)", "format(\"%d\", var.text)", "terraform_data.a.input.x",
	} {
		p.typed(expr+"\n", "console")
	}
}

// TestStateCommandsDoNotShowSecrets runs commands that read and change states, with many kinds of errors.
func TestStateCommandsDoNotShowSecrets(t *testing.T) {
	p := newPlanting(t)
	p.setVariables()
	const objects = `
resource "terraform_data" "a" { triggers_replace = var.text }
resource "terraform_data" "b" {
  for_each         = toset(["x"])
  triggers_replace = [var.list]
}
output "text" {
  value     = var.text
  sensitive = true
}
output "list" {
  value     = { l = var.list }
  sensitive = true
}
`
	p.write("main.tf", []byte(canaryVariables+objects))
	p.run("apply", "-auto-approve")
	for _, args := range [][]string{
		{"show"}, {"state", "list"}, {"state", "show", "terraform_data.a"}, {"state", "show", `terraform_data.b["x"]`},
		{"state", "show", "terraform_data.c"}, {"output"}, {"output", "nosuch"}, {"output", "-raw", "list"},
		{"output", "-json", "nosuch"}, {"state", "mv", "terraform_data.c", "terraform_data.d"},
		{"state", "mv", "terraform_data.a", `terraform_data.b["x"]`}, {"state", "rm", "terraform_data.c"},
		{"state", "mv", "-dry-run", "terraform_data.a", "terraform_data.d"}, {"taint", "terraform_data.a"},
		{"taint", "terraform_data.c"}, {"untaint", "terraform_data.a"}, {"recover"}, {"refresh"}, {"graph"},
		{"drift"}, {"drift", "-markdown"}, {"drift", "-json"}, {"plan", "-minimal-refresh", "-json"},
		{"plan", "-refresh-only"}, {"plan", "-destroy"}, {"plan", "-replace=terraform_data.a"}, {"providers"},
		{"state", "replace-provider", "-auto-approve", "hashicorp/null", "tombolo/null"}, {"workspace", "list"},
		{"import", "terraform_data.c", "id"}, {"plan", "-generate-config-out=generated.tf"}, {"metadata", "functions"},
	} {
		p.run(args...)
		p.lookAtFiles(strings.Join(args, " "))
	}
	p.editing()
	p.typed(`{ "version": 4, "outputs": { "o": { "value": "`+planted+`", "type": 1 } } }`, "state", "push", "-")
	p.typed(`{ "version": 4, "serial": "`+planted+`" }`, "state", "push", "-")

	for name, change := range map[string]string{
		"moved": `moved { from = terraform_data.gone, to = terraform_data.a }`,
		"moved to another": "moved {\n  from = terraform_data.a\n  to = terraform_data.e\n}\n" +
			"resource \"terraform_data\" \"e\" { triggers_replace = var.list }\n",
		"removed": "removed {\n  from = terraform_data.a\n  lifecycle { destroy = false }\n}\n",
		"import": "import {\n  to = external_resource.f\n  id = jsonencode({ (var.text) = var.text })\n}\n" +
			"resource \"external_resource\" \"f\" { program = [\"false\"] }\n",
		"import for each": "import {\n  for_each = var.map\n  to = terraform_data.f[each.key]\n  id = each.value\n}\n" +
			"resource \"terraform_data\" \"f\" { for_each = toset([]) }\n",
		"wrong output": "output \"shown\" { value = [var.list] }\n",
		"wrong name":   "locals { x = var.text.nosuch }\n",
		"wrong marks":  "output \"shown\" {\n  value = var.map\n  sensitive = true\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			p.t = t
			p.write("more.tf", []byte(change))
			p.run("validate")
			p.run("plan")
			p.run("plan", "-json")
			p.run("plan", "-out=p")
			p.run("show", "p")
			p.run("show", "-no-color", "p")
		})
	}
}

// editing runs commands that edit a state or print values. The latter may print secrets, but only to standard output.
func (p *planting) editing() {
	p.t.Helper()
	apart := func(args ...string) string {
		p.t.Helper()
		var out, errs bytes.Buffer
		a := &command.App{
			Surroundings: engine.Surroundings{Program: p.program, Title: titles[p.program], Environ: p.environ,
				StartDir: p.dir},
			In: command.NewInput(nil), Out: &out, Err: &errs,
		}
		catchPanic(a, func() command.Outcome { return start(p.t.Context(), a, args) })
		p.look(strings.Join(args, " ")+": standard error", errs.String())
		p.lookAtFiles(strings.Join(args, " "))
		return out.String()
	}
	pulled := apart("state", "pull")
	if !strings.Contains(pulled, planted) {
		p.t.Errorf("the state has no secret: %.300s", pulled)
	}
	for _, args := range [][]string{{"output", "-json"}, {"output", "-raw", "text"}, {"show", "-json"},
		{"state", "show", "-json", "terraform_data.a"}, {"state", "pull", "extra"}, {"output", "text"}} {
		apart(args...)
	}
	environ := p.environ
	for _, level := range []string{"trace", "json"} {
		p.environ = append(slices.Clone(environ), "TF_LOG="+level)
		for _, args := range [][]string{{"state", "history"}, {"recover", "terraform_data.a"},
			{"state", "mv", "terraform_data.a", "terraform_data.f"},
			{"state", "mv", "terraform_data.f", "terraform_data.a"},
			{"state", "mv", "-state-out=apart.tfstate", "terraform_data.a", "terraform_data.a"},
			{"state", "mv", "-state=apart.tfstate", "-state-out=terraform.tfstate", "terraform_data.a",
				"terraform_data.a"},
			{"state", "list", "-id=" + "nosuch"}, {"state", "rm", "-dry-run", "terraform_data.a"},
			{"workspace", "new", "other"}, {"workspace", "select", "default"}, {"workspace", "delete", "default"},
			{"workspace", "delete", "other"}, {"force-unlock", "-force", "nosuch"}, {"plan"}, {"show"},
			{"taint", "terraform_data.a"}, {"show", "terraform.tfstate"}, {"untaint", "terraform_data.a"}} {
			p.run(args...)
			p.lookAtFiles(strings.Join(args, " "))
		}
	}
	p.environ = environ
	older := strings.Replace(pulled, `"serial": `, `"serial": 0`, 1)
	p.typed(older, "state", "push", "-")
	p.typed(strings.Replace(pulled, `"lineage": "`, `"lineage": "x`, 1), "state", "push", "-")
	p.typed(strings.Replace(pulled, planted, planted+"2", 1), "state", "push", "-")
	p.typed(strings.Replace(pulled, `"version": 4`, `"version": "`+planted+`"`, 1), "state", "push", "-")
	p.typed(pulled[:len(pulled)/2], "state", "push", "-")
}

// TestProgramsDoNotShowPartsOfSecrets runs programs of all kinds that print their input: as a part of their script,
// from their environment, or from standard input.
func TestProgramsDoNotShowPartsOfSecrets(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh")
	}
	for name, use := range map[string]string{
		"script": `data "external" "a" { program = ["sh", "-c", "echo it is ${var.text} >&2; exit 1"] }`,
		"output": `data "external" "a" { program = ["sh", "-c", "echo {${var.text}"] }`,
		"keys":   `data "external" "a" { program = ["sh", "-c", "echo '{\"${keys(var.map)[0]}\": {}}'"] }`,
		"query": `data "external" "a" {
  program = ["sh", "-c", "cat >&2; exit 1"]
  query   = { q = "user:${var.text}@host" }
}`,
		"stderr of success": `data "external" "a" { program = ["sh", "-c", "echo ${var.text} >&2; echo '{}'"] }`,
		"creation": `resource "external_resource" "a" {
  program   = ["sh", "-c", "cat >&2; echo ${var.list[0]}; exit 1"]
  arguments = { token = "Bearer ${var.text}" }
}`,
		"unusable answer": `resource "external_resource" "a" { program = ["sh", "-c", "echo '{\"id\": ` +
			`\"${var.text}'"] }`,
		"local-exec": `resource "terraform_data" "a" {
  provisioner "local-exec" {
    command     = "echo $TOKEN ${var.list[0]} >&2; exit 1"
    environment = { TOKEN = "Bearer ${var.text}" }
  }
}`,
		"local-exec, open": `resource "terraform_data" "a" {
  provisioner "local-exec" {
    command     = "echo it is $TOKEN; cat ${path.module}/nosuch-$TOKEN"
    environment = { TOKEN = "Bearer ${var.text}" }
  }
}`,
		"remote state": `data "terraform_remote_state" "a" {
  backend = "http"
  config  = { address = "http://127.0.0.1:1/${var.text}?t=${var.list[0]}", retry_max = 0 }
}`,
		"arguments of a backend": `data "terraform_remote_state" "a" {
  backend = "local"
  config  = { (var.text) = 1 }
}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlanting(t)
			p.setVariables()
			p.write("main.tf", []byte(strings.ReplaceAll(canaryVariables, "  ephemeral = true\n", "")+use))
			for _, args := range [][]string{{"init"}, {"plan"}, {"apply", "-auto-approve"},
				{"apply", "-auto-approve", "-json"}, {"recover"}, {"plan", "-destroy"}, {"destroy", "-auto-approve"}} {
				p.run(args...)
				p.lookAtFiles(args[0])
			}
		})
	}
}
