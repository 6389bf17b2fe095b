//go:build unix

package plugged

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/view/report/reporttest"
)

// bird is a secret of one kind. Its core consists of letters and digits, which quoting does not change; what is around
// it changes with every way of quoting.
type bird struct {
	kind       string // how the run knows that it is secret
	core, text string
	expr       string // the expression that has the value
	ephemeral  bool
}

// aviary is a project with a canary of every kind, which providers, programs and provisioners copy to places that are
// not declared as sensitive.
type aviary struct {
	*plugged
	r        *rand.Rand
	canaries []bird
	given    []string        // variables of the environment
	values   strings.Builder // the file of variables
}

// kindsOfSecrets are the ways in which a run learns of a secret: declarations, and the expression of the value.
var kindsOfSecrets = []struct {
	kind, declared, expr string
	env                  func(text string) string // the value of the variable, whose name is the kind
}{
	{"sensitive string", `variable "string" {
  type      = string
  sensitive = true
}`, "var.string", func(text string) string { return "string=" + text }},
	{"element of a sensitive list", `variable "list" {
  type      = list(string)
  sensitive = true
}`, "var.list[1]", func(text string) string { return `list=["other element", ` + asJSON(text) + `]` }},
	{"element of a sensitive set", `variable "set" {
  type      = set(string)
  sensitive = true
}`, "one(var.set)", func(text string) string { return `set=[` + asJSON(text) + `]` }},
	{"value of a sensitive map", `variable "map" {
  type      = map(string)
  sensitive = true
}`, `var.map["k"]`, func(text string) string { return `map={"k": ` + asJSON(text) + `}` }},
	{"key of a sensitive map", `variable "keys" {
  type      = map(string)
  sensitive = true
}`, `keys(var.keys)[0]`, func(text string) string { return `keys={` + asJSON(text) + `: "v"}` }},
	{"attribute of a sensitive object", `variable "object" {
  type      = object({ a = list(object({ b = string })) })
  sensitive = true
}`, "var.object.a[0].b", func(text string) string { return `object={"a": [{"b": ` + asJSON(text) + `}]}` }},
	{"default of a variable", `variable "default" {
  default   = "DEFAULT"
  sensitive = true
}`, "var.default", nil},
	{"local value", `variable "parts" {
  type = list(string)
}
locals { joined = sensitive(join("", var.parts)) }`, "local.joined",
		func(text string) string { return `parts=[` + inTwo(text) + `]` }},
	{"output of a module", `variable "halves" {
  type = list(string)
}
module "m" {
  source = "./m"
  halves = var.halves
}`, "module.m.joined", func(text string) string {
		return `halves=[` + inTwo(text) + `]`
	}},
	{"attribute of a plugin", `variable "pieces" {
  type = list(string)
}
resource "world_object" "secret" {
  name   = "secret"
  secret = join("", var.pieces)
}`, "world_object.secret.secret", func(text string) string {
		return `pieces=[` + inTwo(text) + `]`
	}},
	{"attribute of a data source", `variable "shards" {
  type = list(string)
}
resource "world_object" "read" {
  name   = "read"
  secret = join("", var.shards)
}
data "world_object" "read" { name = world_object.read.name }`, "data.world_object.read.secret",
		func(text string) string { return `shards=[` + inTwo(text) + `]` }},
	{"ephemeral variable", `variable "ephemeral" {
  type      = string
  ephemeral = true
}`, "var.ephemeral", func(text string) string { return "ephemeral=" + text }},
	{"write-only argument", `variable "password" {
  type      = string
  ephemeral = true
}
resource "world_object" "password" {
  name     = "password"
  password = var.password
}`, "var.password", func(text string) string { return "password=" + text }},
}

// inTwo returns two parts of a text that are no secrets, as elements of a list: the core of the canary is divided.
func inTwo(text string) string {
	half := strings.Index(text, "bird") + 3
	return asJSON(text[:half]) + ", " + asJSON(text[half:])
}

func asJSON(text string) string {
	doc, _ := json.Marshal(text)
	return string(doc)
}

// secretCopies are the forms in which a value is copied; V is the value.
var secretCopies = []string{"V", `"https://user:${V}@host/"`, `"a${V}"`, `"ab${V}c"`, `urlencode("x ${V}")`,
	`base64encode(V)`, `base64encode("a${V}b")`, `base64encode("ab ${V}")`, `jsonencode([V])`,
	`jsonencode({ (V) = 1 })`, `"first\n${V}\nlast"`, `format("%q", V)`}

// carriers are the places that secrets are copied to. Each has a copy, COPY, of an object that is not marked.
var carriers = []string{
	`resource "terraform_data" "cN" { input = [COPY, { k = COPY }] }`,
	`resource "terraform_data" "cN" { input = { (COPY) = COPY } }`,
	`resource "terraform_data" "cN" { triggers_replace = [COPY, var.edition] }`,
	`resource "world_object" "cN" {
  name  = "cN"
  value = COPY
  tags  = { "k" = COPY, (COPY) = var.edition }
}`,
	`resource "world_object" "cN" { name = "cN ${COPY}" }`,
	`data "external" "cN" {
  program = ["sh", "-c", "cat > asked.cN; cat asked.cN >&2; cat asked.cN"]
  query   = { copy = COPY }
}
resource "terraform_data" "cN" { input = data.external.cN.result }`,
	`resource "terraform_data" "cN" {
  triggers_replace = var.edition
  input            = COPY
  provisioner "local-exec" {
    command     = "printf '%s\\n' \"$C\"; printf '%s' \"$C\" | base64 -w0 >&2; echo"
    environment = { C = self.output }
  }
  provisioner "local-exec" {
    when       = destroy
    on_failure = continue
    command    = "printf '%s\\n' \"$C\"; exit 1"
    environment = { C = self.output }
  }
}`,
	`check "cN" {
  assert {
    condition     = var.edition == 0
    error_message = "It is ${COPY}."
  }
}`,
	`output "cN" { value = { copy = COPY, same = "x" } }`,
	`resource "terraform_data" "cN" {
  for_each = { "a" = COPY, "b" = COPY }
  input    = "${each.value} ${var.edition}"
}`,
}

// ephemeralCarriers show an ephemeral value, COPY, in the output of a program.
var ephemeralCarriers = []string{`resource "terraform_data" "cN" {
  triggers_replace = var.edition
  provisioner "local-exec" {
    command     = "printf '%s\\n' \"$C\"; printf 'x%s' \"$C\" | base64 -w0 >&2; exit 0"
    environment = { C = COPY }
  }
}`}

const aviaryModule = `
variable "halves" {}
output "joined" {
  value     = join("", var.halves)
  sensitive = true
}
`

const aviaryTest = `
run "a" {
  command = apply
  assert {
    condition     = terraform_data.copy.output == 1
    error_message = "It is ${terraform_data.copy.output[0]}."
  }
}
`

// aviaryPrograms declares programs of the project that repeat their input.
const aviaryPrograms = `
hook "tell" {
  events  = ["before_plan", "before_object"]
  command = ["sh", "-c", "cat"]
}
policy "tell" {
  command = ["sh", "-c", "cat > plan.seen; sh tell.sh < plan.seen"]
}
`

// tellingPolicy denies nothing, and repeats the beginning of a plan, in which the variables are, in a warning. It does
// not end within a value: half of a secret is not known to be one.
const tellingPolicy = `
printf '{"deny": [], "warn": ['
tr -d '\n' | head -c 3000 | sed 's/,[^,]*$//; s/[\\"]/\\&/g; s/.*/"&"/'
printf ']}'
`

func newAviary(t *testing.T, seed int64) *aviary {
	a := &aviary{r: rand.New(rand.NewSource(seed))}
	var main strings.Builder
	main.WriteString("terraform {\n  required_providers {\n    world = { source = \"tombolo/bad\" }\n  }\n}\n" +
		"provider \"world\" {\n  dir = \"w\"\n}\nvariable \"edition\" { default = 1 }\n")
	env := []string{"BAD=tell", "TF_LOG=trace", "TOMBOLO_ALL_DIAGNOSTICS=1"}
	for i, k := range kindsOfSecrets {
		core := fmt.Sprintf("bird%dz%dnest", i, 1000+a.r.Intn(9000))
		wrapped := []string{"%s", `q"%s`, `b\%s<&>`, "é %s/+", "%s=%%20", "line one\nand two %s"}
		c := bird{kind: k.kind, core: core, text: fmt.Sprintf(wrapped[a.r.Intn(len(wrapped))], core), expr: k.expr,
			ephemeral: strings.HasPrefix(k.kind, "ephemeral") || strings.HasPrefix(k.kind, "write-only")}
		declared := k.declared
		if k.env == nil {
			c.text = core
		} else {
			name, text, _ := strings.Cut(k.env(c.text), "=")
			declared = a.set(name, text, declared)
		}
		a.canaries = append(a.canaries, c)
		main.WriteString(strings.ReplaceAll(declared, "DEFAULT", c.text) + "\n")
	}
	a.plugged = newPlugged(t, "", env...)
	a.env = append(a.env, a.given...)
	a.write("terraform.tfvars", a.values.String())
	a.env = append(a.env, "TF_LOG_PATH="+a.path("log"))
	a.populate(&main)
	a.write("main.tf", main.String())
	a.must(os.MkdirAll(a.path("m"), 0o777))
	a.write("m/main.tf", aviaryModule)
	a.write("a.tftest.hcl", aviaryTest)
	a.write("tombolo.hcl", aviaryPrograms)
	a.write("tell.sh", tellingPolicy)
	return a
}

// set chooses how a variable gets its value: from the environment, a file or its default. It returns the declaration.
func (a *aviary) set(name, text, declared string) string {
	expr := text
	if !strings.ContainsAny(text[:1], "[{") {
		expr = asJSON(text)
	}
	switch a.r.Intn(3) {
	case 0:
		a.given = append(a.given, "TF_VAR_"+name+"="+text)
	case 1:
		fmt.Fprintf(&a.values, "%s = %s\n", name, expr)
	case 2:
		head := fmt.Sprintf("variable %q {\n", name)
		declared = strings.Replace(declared, head, head+"  default = "+expr+"\n", 1)
	}
	return declared
}

// populate writes the object whose output copies all canaries in random forms, and random carriers of these copies.
func (a *aviary) populate(main *strings.Builder) {
	var copies, exprs, ephemerals []string
	for _, c := range a.canaries {
		form := secretCopies[a.r.Intn(len(secretCopies))]
		expr := strings.ReplaceAll(form, "V", c.expr)
		if c.ephemeral {
			ephemerals = append(ephemerals, expr)
			continue
		}
		exprs = append(exprs, fmt.Sprintf("terraform_data.copy.output[%d]", len(copies)))
		copies = append(copies, expr)
	}
	fmt.Fprintf(main, "resource \"terraform_data\" \"copy\" { input = [%s] }\n", strings.Join(copies, ", "))
	number := 0
	carry := func(carrier, expr string) {
		number++
		text := strings.ReplaceAll(carrier, "cN", fmt.Sprintf("c%d", number))
		main.WriteString(strings.ReplaceAll(text, "COPY", expr) + "\n")
	}
	for i, expr := range exprs {
		carry(carriers[(i+a.r.Intn(2))%len(carriers)], expr)
		carry(carriers[a.r.Intn(len(carriers))], expr)
	}
	for _, expr := range ephemerals {
		carry(ephemeralCarriers[a.r.Intn(len(ephemeralCarriers))], expr)
	}
}

var inBase64 = regexp.MustCompile(`[A-Za-z0-9+/_-]{8,}`)

// find returns the kind of a canary that a text contains in any form, with the line.
func (a *aviary) find(text string) (kind, line string) {
	for line := range strings.Lines(text) {
		decoded := []string{line}
		for _, run := range inBase64.FindAllString(line, -1) {
			run = strings.NewReplacer("-", "+", "_", "/").Replace(run)
			for from := range 4 {
				part := run[from:]
				if len(part)%4 == 1 { // six bits are no byte
					part = part[:len(part)-1]
				}
				if plain, err := base64.RawStdEncoding.DecodeString(part); err == nil {
					decoded = append(decoded, string(plain))
				}
			}
		}
		for _, c := range a.canaries {
			for _, one := range decoded {
				if strings.Contains(one, c.core) {
					return c.kind, line
				}
			}
		}
	}
	return "", ""
}

// show runs a command and looks for canaries in its output and in the files that it writes for people.
func (a *aviary) show(args ...string) ran {
	a.t.Helper()
	r := a.run(nil, args...)
	what := strings.Join(args, " ")
	texts := map[string]string{what: r.out}
	for _, name := range []string{"log", "report.html", "problems.sarif", "junit.xml"} {
		data, err := os.ReadFile(a.path(name))
		if err != nil {
			continue
		}
		texts[what+": "+name] = html.UnescapeString(string(data))
		if name == "report.html" {
			texts[what+": "+name] = reporttest.Text(a.t, string(data))
		}
		a.must(os.Remove(a.path(name)))
	}
	if strings.HasPrefix(r.out, "<!doctype html>") {
		texts[what] = reporttest.Text(a.t, r.out)
	}
	for where, text := range texts {
		if kind, line := a.find(text); kind != "" {
			a.t.Errorf("%s shows the %s: %.700s", where, kind, line)
		}
	}
	return r
}

// TestCopiesOfEveryKindOfSecretAreHidden copies secrets of every kind, in every form, by every kind of program to
// random places, and looks for them in all that a person can read. Machine formats only have marks.
// TOMBOLO_CANARIES sets the number of random projects.
func TestCopiesOfEveryKindOfSecretAreHidden(t *testing.T) {
	seeds := int64(2)
	if n, err := strconv.ParseInt(os.Getenv("TOMBOLO_CANARIES"), 10, 64); err == nil {
		seeds = n
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			a := newAviary(t, seed)
			a.everywhere()
		})
	}
}

// everywhere runs all commands that show values, and checks that the copies were there.
func (a *aviary) everywhere() {
	a.t.Helper()
	a.wants(a.show("init"), 0)
	a.show("validate", "-sarif=problems.sarif")
	a.wants(a.show("plan", "-out=p"), 0)
	a.wants(a.show("apply", "-auto-approve", "-report=report.html"), 0)
	state, err := os.ReadFile(a.path("terraform.tfstate"))
	a.must(err)
	for _, c := range a.canaries {
		if found, _ := a.find(string(state)); found == "" || !c.ephemeral && !a.has(string(state), c) {
			a.t.Errorf("the %s was not copied", c.kind)
		}
	}
	a.wants(a.show("plan", "-out=p", "-var=edition=2", "-report=report.html", "-sarif=problems.sarif",
		"-junit-xml=junit.xml"), 0)
	given := a.env
	a.env = slices.DeleteFunc(slices.Clone(given), func(v string) bool { return strings.HasPrefix(v, "TF_VAR_") })
	for _, form := range [][]string{{}, {"-full"}, {"-html"}, {"-markdown"}} { // by someone without the variables
		a.wants(a.show(slices.Concat([]string{"show"}, form, []string{"p"})...), 0)
	}
	a.env = given
	for _, args := range [][]string{{"show"}, {"show", "-html"}, {"plan", "-concise", "-var=edition=2"},
		{"plan", "-destroy"}, {"plan", "-refresh-only"}, {"plan", "-replace=terraform_data.copy"}, {"drift"},
		{"drift", "-markdown"}, {"state", "list"}, {"graph"}, {"state", "show", "terraform_data.copy"}, {"output"}} {
		a.wants(a.show(args...), 0)
	}
	environ := a.env
	a.env = append(environ, "CI=true", "GITHUB_ACTIONS=true", "FORCE_COLOR=1")
	what := []string{"-auto-approve", "-var=edition=2"}
	if a.r.Intn(2) == 0 {
		what = []string{"p"}
	}
	a.wants(a.show(slices.Concat([]string{"apply", "-progress=plain", "-report=report.html"}, what)...), 0)
	a.env = append(environ, "GITLAB_CI=true")
	a.show("test", "-verbose", "-junit-xml=junit.xml")
	a.env = environ
	broken := filepath.Join(a.dir, "broken.tf")
	a.must(os.WriteFile(broken, []byte("resource \"terraform_data\" \"broken\" {\n  input = tonumber("+
		"terraform_data.copy.output[0])\n  lifecycle {\n    precondition {\n      condition     = "+
		"terraform_data.copy.output[1] == 1\n      error_message = \"Not ${terraform_data.copy.output[2]}.\"\n    }\n"+
		"  }\n}\n"), 0o666))
	a.wants(a.show("plan", "-sarif=problems.sarif", "-junit-xml=junit.xml"), 1)
	a.must(os.Remove(broken))
	if a.r.Intn(2) == 0 {
		a.wants(a.show("destroy", "-auto-approve"), 0)
		return
	}
	a.wants(a.show("plan", "-destroy", "-out=p", "-report=report.html"), 0)
	a.wants(a.show("show", "p"), 0)
	a.wants(a.show("show", "-markdown", "p"), 0)
	a.wants(a.show("apply", "p"), 0)
}

// has reports whether a text contains one canary in any form.
func (a *aviary) has(text string, c bird) bool {
	one := aviary{canaries: []bird{c}}
	kind, _ := one.find(text)
	return kind != ""
}
