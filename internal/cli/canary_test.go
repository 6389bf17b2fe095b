package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/view/report/reporttest"
)

// planted is the secret of these tests. Its upper-case form is secret as well, like every result of a function.
const planted = "c4naryplanted"

// planting is a project with a secret. Its output, logs and reports are searched for the secret.
type planting struct{ *mistake }

func newPlanting(t *testing.T) *planting {
	p := &planting{newMistake(t)}
	p.environ = append(p.environ, "TF_LOG=trace", "TF_LOG_PATH="+filepath.Join(p.dir, "trace.log"),
		"TOMBOLO_ALL_DIAGNOSTICS=1", "OTEL_TRACES_EXPORTER=otlp",
		"OTEL_EXPORTER_OTLP_ENDPOINT="+collector(t, func(text string) { p.look("a trace", text) }))
	return p
}

// run runs a command and looks for the secret in its output and log.
func (p *planting) run(args ...string) string {
	p.t.Helper()
	text := p.tombolo(args)
	p.look(strings.Join(args, " "), text)
	for _, name := range []string{"trace.log", "junit.xml"} {
		if log, err := os.ReadFile(name); err == nil {
			p.look(strings.Join(args, " ")+": "+name, string(log))
			_ = os.Remove(name)
		}
	}
	if page, err := os.ReadFile("report.html"); err == nil {
		p.look(strings.Join(args, " ")+": its report", reporttest.Text(p.t, string(page)))
		_ = os.Remove("report.html")
	}
	if strings.HasPrefix(text, "<!doctype html>") {
		p.look(strings.Join(args, " "), reporttest.Text(p.t, text))
	}
	return text
}

func (p *planting) look(where, text string) {
	p.t.Helper()
	shown := 0
	for line := range strings.Lines(text) {
		if strings.Contains(strings.ToLower(line), planted) {
			if shown++; shown <= 5 {
				p.t.Errorf("%s tells a secret: %.600s", where, line)
			}
		}
	}
}

// everything runs all commands that evaluate a configuration. The options are for commands that accept variables.
func (p *planting) everything(options ...string) {
	p.t.Helper()
	p.run("init")
	p.run("validate")
	p.run("validate", "-json")
	for _, args := range [][]string{{"plan", "-out=p", "-report=report.html"}, {"plan", "-json"},
		{"apply", "-auto-approve", "-report=report.html"},
		{"apply", "-auto-approve", "-json"}, {"console"},
		{"test", "-junit-xml=junit.xml"}, {"test", "-json", "-verbose"}} {
		p.run(append(args, options...)...)
	}
	if _, err := os.Stat("p"); err == nil {
		p.run("show", "p")
		p.run("show", "-html", "p")
	}
	p.run("show")
	p.run("show", "-html")
	p.run("output")
	p.run("state", "list")
}

const canaryVariables = `
variable "text" {
  type      = string
  sensitive = true
}
variable "list" {
  type      = list(string)
  sensitive = true
}
variable "set" {
  type      = set(string)
  ephemeral = true
}
variable "map" {
  type      = map(string)
  ephemeral = true
  sensitive = true
}
`

// secretForms are expressions with a call, CALL, and a secret, ARG.
var secretForms = []struct{ arg, expr string }{
	{`var.text`, `CALL`},
	{`upper(var.text)`, `CALL`},
	{`v`, `[for v in var.list : CALL]`},
	{`upper(v)`, `[for v in var.list : CALL]`},
	{`"a${k}"`, `[for k, v in var.set : CALL]`},
	{`k`, `[for k, v in var.map : CALL]`},
	{`v`, `{ for k, v in var.map : "x${try(CALL, v)}" => CALL }`},
	{`v`, `"%{ for v in var.list }${CALL}%{ endfor }"`},
	{`[v]`, `[for v in var.list : CALL]`},
	{`{ (k) = v }`, `[for k, v in var.map : CALL]`},
}

// calls returns calls of every function with ARG in each position and a harmless value in the others.
func (p *planting) calls() (calls []string) {
	p.t.Helper()
	text := p.tombolo([]string{"metadata", "functions", "-json"})
	var doc struct {
		Functions map[string]struct {
			Parameters []struct{ Type any } `json:"parameters"`
			Variadic   *struct{ Type any }  `json:"variadic_parameter"`
		} `json:"function_signatures"`
	}
	text, _, _ = strings.Cut(text, "\n[exit")
	if err := json.Unmarshal([]byte(text), &doc); err != nil || len(doc.Functions) < 100 {
		p.t.Fatalf("%d functions, %v", len(doc.Functions), err)
	}
	for name, f := range doc.Functions {
		params := f.Parameters
		if f.Variadic != nil {
			params = append(params, *f.Variadic)
		}
		for i := range params {
			args := make([]string, len(params))
			for j, param := range params {
				if args[j] = harmless(param.Type); i == j {
					args[j] = "ARG"
				}
			}
			calls = append(calls, fmt.Sprintf("%s(%s)", name, strings.Join(args, ", ")))
		}
	}
	slices.Sort(calls)
	return calls
}

func harmless(ty any) string {
	switch ty := ty.(type) {
	case string:
		switch ty {
		case "number":
			return "4"
		case "bool":
			return "true"
		case "dynamic":
			return "{ a = 1 }"
		}
	case []any:
		switch ty[0] {
		case "map", "object":
			return `{ a = "x" }`
		}
		return `["x"]`
	}
	return `"x"`
}

// TestFunctionsDoNotShowSecrets calls every function with a secret in each position, directly, in loops, in templates,
// as a key and in derived values, in both syntaxes.
func TestFunctionsDoNotShowSecrets(t *testing.T) {
	p := newPlanting(t)
	p.environ = append(p.environ, "TF_VAR_text="+planted, `TF_VAR_list=["`+planted+`", "`+planted+`"]`, `TF_VAR_set=["`+
		planted+`"]`,
		`TF_VAR_map={`+planted+`="`+planted+`"}`)
	var native, asJSON []string
	for _, call := range p.calls() {
		if strings.HasPrefix(strings.TrimPrefix(call, "core::"), "bcrypt(") {
			continue // it is slow, and shows nothing of its arguments
		}
		for _, form := range secretForms {
			expr := strings.ReplaceAll(form.expr, "CALL", strings.ReplaceAll(call, "ARG", form.arg))
			native = append(native, fmt.Sprintf("  n%d = %s", len(native), expr))
			template := "${" + expr + "}"
			if text, ok := strings.CutPrefix(expr, `"`); ok {
				template = strings.TrimSuffix(text, `"`)
			}
			quoted, err := json.Marshal(template)
			if err != nil {
				t.Fatal(err)
			}
			asJSON = append(asJSON, fmt.Sprintf(`  "n%d": %s`, len(asJSON), quoted))
		}
	}
	p.write("variables.tf", []byte(canaryVariables))
	p.failing("main.tf", native, func(lines []string) string {
		return "locals {\n" + strings.Join(lines, "\n") +
			"\n}\n"
	})
	if err := os.Remove("main.tf"); err != nil {
		t.Fatal(err)
	}
	p.failing("main.tf.json", asJSON, func(lines []string) string {
		return "{\"locals\": {\n" + strings.Join(lines, ",\n") + "\n}}\n"
	})
}

// failing plans a file with many lines, without those that are invalid for all values: they would prevent the
// evaluation of the others.
func (p *planting) failing(name string, lines []string, file func([]string) string) {
	p.t.Helper()
	p.write(name, []byte(file(lines)))
	var doc struct {
		Diagnostics []struct {
			Range struct{ Start struct{ Line int } }
		}
	}
	text, _, _ := strings.Cut(p.run("validate", "-json"), "\n[exit")
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		p.t.Fatal(err)
	}
	wrong := map[int]bool{}
	for _, d := range doc.Diagnostics {
		wrong[d.Range.Start.Line-2] = true
	}
	var sound []string
	for i, line := range lines {
		if !wrong[i] {
			sound = append(sound, line)
		}
	}
	p.write(name, []byte(file(sound)))
	text = p.run("plan")
	if failed := strings.Count(text, "Error: "); failed < len(sound)/4 {
		p.t.Errorf("%s: only %d of %d calls fail:\n%.3000s", name, failed, len(sound), text)
	}
	p.run("plan", "-json")
}

// TestVariablesDoNotShowSecrets sets sensitive variables to invalid values in every way.
func TestVariablesDoNotShowSecrets(t *testing.T) {
	declare := func(flag, typ, more string) string {
		return fmt.Sprintf(
			"variable \"v\" {\n  type = %s\n  %s = true\n%s\n}\nresource \"terraform_data\" \"a\" { input = 1 }\n", typ,
			flag, more)
	}
	validation := "  validation {\n    condition     = var.v == \"x\"\n    error_message = \"It is ${var.v}.\"\n  }\n"
	quoted := `"` + planted + `"`
	for _, c := range []struct{ name, typ, more, value string }{
		{"wrong type", "number", "", quoted},
		{"wrong deep inside", "map(object({ n = number }))", "", `{ ` + planted + ` = { n = "` + planted + `" } }`},
		{"wrong key", "map(number)", "", `{ ` + planted + ` = "x" }`},
		{"unknown attribute type", "object({ a = number })", "", `{ ` + planted + ` = 1 }`},
		{"refused", "string", validation, quoted},
		{"cut off", "string", "", `"` + planted},
		{"a call", "list(string)", "", planted + `(1)`},
		{"fine", "string", "", quoted},
	} {
		for _, flag := range []string{"sensitive", "ephemeral"} {
			for _, way := range []string{"file", "named file", "environment", "option", "default", "argument", "test"} {
				// Text that cannot be parsed, or that calls a function, is code in a configuration or a test: it cannot
				// be attributed to a variable.
				if code := way == "argument" || way == "test"; code && (c.name == "cut off" || c.name == "a call") {
					continue
				}
				t.Run(c.name+", "+flag+", "+way, func(t *testing.T) {
					p := newPlanting(t)
					main, options := declare(flag, c.typ, c.more), []string(nil)
					switch way {
					case "file":
						p.write("terraform.tfvars", []byte("v = "+c.value+"\n"))
					case "named file":
						p.write("some.vars", []byte("v = "+c.value+"\n"))
						options = []string{"-var-file=some.vars"}
					case "environment":
						p.environ = append(p.environ, "TF_VAR_v="+c.value)
					case "option":
						options = []string{"-var", "v=" + c.value}
					case "default":
						main = strings.Replace(main, "\n  "+flag, "\n  default = "+c.value+"\n  "+flag, 1)
					case "argument":
						p.write("m/main.tf", []byte(main))
						main = "module \"m\" {\n  source = \"./m\"\n  v = " + c.value + "\n}\n"
					case "test":
						p.write("a.tftest.hcl", []byte("variables {\n  v = "+c.value+"\n}\nrun \"a\" {}\n"))
					}
					p.write("main.tf", []byte(main))
					p.brief(options)
				})
			}
		}
	}
}

// brief runs the commands with the most output.
func (p *planting) brief(options []string) {
	p.t.Helper()
	p.run("init")
	p.run("validate", "-json")
	p.run(append([]string{"plan"}, options...)...)
	p.run(append([]string{"apply", "-auto-approve", "-json"}, options...)...)
	p.run(append([]string{"test", "-junit-xml=junit.xml"}, options...)...)
}

// TestUsesOfVariablesDoNotShowSecrets uses secrets wherever a message could quote one: as keys, counts, ids, labels,
// conditions and in outputs.
func TestUsesOfVariablesDoNotShowSecrets(t *testing.T) {
	for name, use := range map[string]string{
		"for_each":        `resource "terraform_data" "a" { for_each = var.list }`,
		"for_each of map": `resource "terraform_data" "a" { for_each = var.map }`,
		"count":           `resource "terraform_data" "a" { count = var.text }`,
		"index":           `resource "terraform_data" "a" { input = { a = 1 }[var.text] }`,
		"index in loop":   `resource "terraform_data" "a" { input = [for v in var.list : { a = 1 }[v]] }`,
		"precondition": `resource "terraform_data" "a" {
  lifecycle {
    precondition {
      condition     = [for v in var.list : v == "x"][0]
      error_message = "It is ${var.text}."
    }
  }
}`,
		"check": `check "c" {
  assert {
    condition     = alltrue([for v in var.list : v == "x"])
    error_message = join(",", [for v in var.list : "is ${v}"])
  }
}`,
		"output": `output "o" { value = [for v in var.list : v] }`,
		"failing provisioner": `resource "terraform_data" "a" {
  provisioner "local-exec" { command = "echo ${var.text}; exit 1" }
}`,
		"provisioner in loop": `resource "terraform_data" "a" {
  provisioner "local-exec" { command = join(";", [for v in var.list : "echo ${v} && exit 1"]) }
}`,
		"provider": `provider "terraform" { x = var.text }`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlanting(t)
			p.environ = append(p.environ, "TF_VAR_text="+planted, `TF_VAR_list=["`+planted+`"]`, `TF_VAR_set=["`+
				planted+`"]`,
				`TF_VAR_map={`+planted+`="`+planted+`"}`)
			p.write("main.tf", []byte(canaryVariables+use+"\n"))
			p.everything()
		})
	}
}
