package funcs

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/value"
)

// fixtureFiles are the files in the working directory of the expressions in testdata.
var fixtureFiles = map[string]string{
	"main.tf":                "",
	"hello.txt":              "Hello, World!",
	"crlf.txt":               "a\r\nb\r\n",
	"bin.dat":                "\xff\xfe\x00",
	"é.txt":                  "accent",
	".hidden":                "",
	"we[ird].txt":            "",
	"sub/b.txt":              "b",
	"sub/deep/c.md":          "c",
	"x,y/g":                  "",
	"b{r/f":                  "",
	"loop/x":                 "",
	"greet.tftpl":            "Hi ${name}%{ for x in xs } ${x}%{ endfor }\n",
	"recursive.tftpl":        `${templatefile("hello.txt", {})}`,
	"recursive_core.tftpl":   `${core::templatefile("hello.txt", {})}`,
	"recursive_string.tftpl": `${templatestring(name, {})}`,
	"bool.tftpl":             "${true}",
	"object.tftpl":           "${{a = [1]}}",
	"file.tftpl":             `${file("hello.txt")}`,
	"syntax.tftpl":           "${",
	"attr.tftpl":             "${a.b.c}",
	"funcs.tftpl":            `${upper(name)} ${core::upper(name)} ${try(name.nope, 1)}`,
	"directives.tftpl": "%{ if on ~}\non\n%{ else ~}\noff\n%{ endif ~}\n%{ for k, v in items ~}\n${k}=${v}\n%{ " +
		"endfor ~}\n",
	"fail.tftpl": `${tonumber("x")}`,
}

var fixtureLinks = map[string]string{"link.txt": "hello.txt", "symdir": "sub", "dangling/broken": "nowhere",
	"loop/again": "."}

// writeFixture creates a working directory and a home directory.
func writeFixture(t *testing.T) (dir, home string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, home = filepath.Join(root, "work"), filepath.Join(root, "home")
	write := func(name, content string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range fixtureFiles {
		write(filepath.Join(dir, name), content)
	}
	for name, target := range fixtureLinks {
		link := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, "home.txt"), "home")
	return dir, home
}

// scope returns the scope of expressions in testdata.
func scope(dir string, functions map[string]function.Function) *hcl.EvalContext {
	return &hcl.EvalContext{
		Functions: functions,
		Variables: map[string]cty.Value{
			"path": cty.ObjectVal(map[string]cty.Value{
				"cwd": cty.StringVal(dir), "root": cty.StringVal("."), "module": cty.StringVal("."),
			}),
		},
	}
}

// evaluate parses and evaluates an expression, and returns HCL's result and errors.
func evaluate(expression string, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	parsed, diags := hclsyntax.ParseExpression([]byte(expression), "<expression>", hcl.InitialPos)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	return parsed.Value(ctx)
}

// expressionsIn reads a file of testdata: one expression per line, # comments.
func expressionsIn(t *testing.T, name string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var expressions []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			expressions = append(expressions, line)
		}
	}
	return expressions
}

// plannedScope returns the scope of expressions in unknown.txt.
func plannedScope(dir, home string) *hcl.EvalContext {
	ctx := scope(dir, Table(Options{BaseDir: dir, Home: home, Pure: true}))
	ctx.Variables["local"] = cty.ObjectVal(map[string]cty.Value{
		"unknown": cty.UnknownVal(cty.String).RefineNotNull(),
		"dynamic": cty.DynamicVal,
	})
	ctx.Variables["var"] = cty.ObjectVal(map[string]cty.Value{
		"passing": cty.StringVal("e").Mark(value.Ephemeral),
	})
	return ctx
}

// encoded wraps an expression so that its result prints on one line.
func encoded(expression string) string { return "jsonencode([" + expression + "])" }

// printResult evaluates an expression and returns its result as JSON, printed like in the console.
func printResult(t *testing.T, expression string, ctx *hcl.EvalContext) string {
	t.Helper()
	v, diags := evaluate(encoded(expression), ctx)
	if diags.HasErrors() {
		t.Fatalf("%s: %s", expression, diags)
	}
	if !v.IsKnown() {
		return "(known after apply)"
	}
	if text, yes := value.Withheld(v); yes {
		return text
	}
	return string(hclwrite.TokensForValue(v).Bytes())
}

// update records terraform's results for tests without terraform:
//
//	go test ./internal/eval/funcs -update
var update = flag.Bool("update", false, "record the results of terraform in testdata")

// rootStandIn replaces the directory around working directory and home in recorded results.
const rootStandIn = "/fixture"

func writeOutcomes[T any](t *testing.T, name, dir string, expressions []string, outcomes []T) {
	t.Helper()
	var b bytes.Buffer
	for i, expression := range expressions {
		line, err := json.Marshal(map[string]any{"expression": expression, "outcome": outcomes[i]})
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(strings.ReplaceAll(string(line), filepath.Dir(dir), rootStandIn) + "\n")
	}
	if err := os.WriteFile(filepath.Join("testdata", name), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// recordedOutcomes reads the output of writeOutcomes.
func recordedOutcomes[T any](t *testing.T, name, dir string) map[string]T {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]T{}
	for line := range strings.Lines(strings.ReplaceAll(string(content), rootStandIn, filepath.Dir(dir))) {
		var entry struct {
			Expression string
			Outcome    T
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		outcomes[entry.Expression] = entry.Outcome
	}
	return outcomes
}
