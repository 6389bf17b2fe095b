package compat

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

var update = flag.Bool("update", false, "write the documents")

// later are names of later versions than that of the facts, and some that never existed: candidates in addition to the
// facts.
var later = []string{
	nobodys, "action", "action_trigger", "actions", "allow_missing", "const", "default_value", "deprecated", "dynamic",
	"enabled", "identity", "ignore_nested_deprecations",
	"invoke", "language", "list", "name", "optional", "quiet", "required", "run", "state_store", "store", "test",
	"timeout", "tags", "values", "when", "workspace",
}

// theFacts returns the facts about Terraform and about OpenTofu.
func theFacts(t *testing.T) (terraform, tofu Facts) {
	t.Helper()
	terraform, err := Terraform()
	if err != nil {
		t.Fatal(err)
	}
	if tofu, err = OpenTofu(); err != nil {
		t.Fatal(err)
	}
	return terraform, tofu
}

func candidates(facts ...Facts) (list []string) {
	list = append(list, later...)
	for _, f := range facts {
		for _, b := range f.Bodies {
			list = append(append(list, b.Arguments...), b.Blocks...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// known returns a function that reports whether Tombolo's tables and decoders have an item, in projects of a flavor.
func known(t *testing.T, fl flavor.Flavor, names []string, used usage) func(Item) bool {
	flags := map[string][]string{}
	for _, o := range cli.GlobalOptions {
		flags[""] = append(flags[""], o.Name)
	}
	app := &command.App{Surroundings: engine.Surroundings{Program: "tombolo", Title: "Tombolo"}}
	var walk func(prefix string, list []*command.Command)
	walk = func(prefix string, list []*command.Command) {
		for _, c := range list {
			if c.Absent {
				continue
			}
			path := prefix + c.Name
			flags[path] = []string{"help"}
			for _, d := range app.Flags(c, path) {
				flags[path] = append(flags[path], d.Name)
			}
			walk(path+" ", c.Members)
		}
	}
	walk("", cli.Commands())
	functions := funcs.Table(funcs.Options{})
	bodies := probe(t, names, func(t *testing.T, dir string) []problem { return validateHere(t, dir, fl) })
	// blocks of our own have arguments in other files
	settings, outermost := literals(t, "../settings"), literals(t, "../settings/parse.go")
	variables := map[string]bool{}
	for _, v := range command.Environment {
		variables[v.Name] = true
	}
	maps.Copy(variables, literals(t, "../.."))
	return func(i Item) bool {
		switch i.Kind {
		case Command:
			return flags[i.Name] != nil
		case Flag:
			return slices.Contains(flags[i.Of], i.Name)
		case Function:
			_, ok := functions[i.Name]
			return ok
		case Setting:
			first, _, _ := strings.Cut(i.Name, "/")
			for part := range strings.SplitSeq(i.Name, "/") {
				if !settings[part] {
					return false
				}
			}
			return outermost[first]
		case Variable:
			return variables[i.Name] || variables[strings.TrimSuffix(i.Name, "NAME")] ||
				variables[strings.TrimSuffix(i.Name, "HOST")]
		case Argument, Block:
			if b, ok := bodies[i.Of]; ok {
				return i.Kind == Argument && slices.Contains(b.Arguments, i.Name) || i.Kind == Block &&
					slices.Contains(b.Blocks, i.Name)
			}
		}
		if rest, ok := strings.CutPrefix(i.Of, "ephemeral"); ok { // the same function reads their blocks
			i.Of = "data" + rest
		}
		return len(used[i.String()]) > 0 // items without a table need a case
	}
}

// literals returns the string literals in the source below a folder, except for tests and this package.
func literals(t *testing.T, dir string) map[string]bool {
	found := map[string]bool{}
	err := filepath.WalkDir(filepath.FromSlash(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "compat" || d.Name() == "conformance" ||
			d.Name() == "bench" || d.Name() == "sdk" || d.Name() == "examples" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && len(text) < 80 {
					found[text] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func readProofs(t *testing.T) map[string]string {
	proofs := map[string]string{}
	text, err := os.ReadFile("proofs.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &proofs); err != nil {
		t.Fatal(err)
	}
	return proofs
}

func writeJSON(t *testing.T, name string, v any) {
	text, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSupportedItemsAreInTheTables(t *testing.T) {
	f, tofu := theFacts(t)
	beyond := tofu.Without(f)
	used, names, proofs := cases(t, f, beyond), candidates(f, tofu), readProofs(t)
	keys := map[string]bool{}
	for _, of := range []struct {
		facts   Facts
		isKnown func(Item) bool
	}{{f, known(t, flavor.Terraform, names, used)}, {beyond, known(t, flavor.OpenTofu, names, used)}} {
		for _, i := range of.facts.Items() {
			key, r := i.String(), RemarkOn(i)
			if keys[key] {
				t.Errorf("%s stands twice in the facts", key)
			}
			keys[key] = true
			switch there := of.isKnown(i); {
			case !there && (r.State == "" || r.State == Works || r.State == Differs):
				t.Errorf("%s is said to work, and nothing here knows it: implement it, or write a remark", key)
			case there && r.State == Absent:
				t.Errorf("%s is there: its remark says that it is not yet", key)
			case r.State != "" && r.Text == "":
				t.Errorf("%s: a remark says what is otherwise, or what to do instead", key)
			}
			checkProof(t, proofs, key, used[key])
		}
	}
	for _, list := range [][]string{slices.Collect(maps.Keys(remarks)), slices.Collect(maps.Keys(proofs))} {
		for _, key := range list {
			if strings.HasPrefix(key, "body ") {
				continue
			}
			if !keys[key] && *update {
				delete(proofs, key)
			} else if !keys[key] {
				t.Errorf("there is a remark or a proof for %q, which no program has", key)
			}
		}
	}
	if *update {
		writeJSON(t, "proofs.json", proofs)
	}
}

// checkProof checks that the case that proves an item uses it, or finds another one.
func checkProof(t *testing.T, proofs map[string]string, key string, used []string) {
	if case_ := proofs[key]; *update && !slices.Contains(used, case_) {
		delete(proofs, key)
		if len(used) > 0 {
			proofs[key] = used[0]
		}
	} else if case_ != "" && !slices.Contains(used, case_) {
		t.Errorf("%s is not used in the case %s: run this test with -update", key, case_)
	}
}

func TestDocumentIsGeneratedFromTheTables(t *testing.T) {
	f, tofu := theFacts(t)
	same(t, "compatibility.md", Document(f, tofu, readProofs(t)))
}

func same(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", name)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/%s is not what comes out: run this test with -update (-want +got):\n%.2000s", name, diff)
	}
}

// TestFactsMatchThePrograms compares the facts with everything that the real programs report.
func TestFactsMatchThePrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("runs without -short: it starts each program some fifty times")
	}
	f, tofu := theFacts(t)
	names := candidates(f, tofu)
	for _, of := range []struct {
		facts          Facts
		variable, file string
	}{{f, "TOMBOLO_TERRAFORM_NEW", "terraform.json"}, {tofu, "TOMBOLO_TOFU", "opentofu.json"}} {
		t.Run(of.facts.Program, func(t *testing.T) {
			o := theOracle(t, of.variable, of.facts.Version)
			if *learn {
				o.teach(t, of.facts, names, of.file)
				return
			}
			o.compare(t, of.facts, names)
		})
	}
}

// teach writes the facts that the program reports.
func (o oracle) teach(t *testing.T, f Facts, names []string, file string) {
	for path, flags := range o.commands(t) {
		flags = append(flags, f.Commands[path]...) // the help texts are incomplete
		slices.Sort(flags)
		f.Commands[path] = slices.Compact(flags)
	}
	maps.Copy(f.Bodies, probe(t, names, o.validate))
	f.Functions = o.functions(t)
	writeJSON(t, file, f)
}

// compare compares the facts with the program.
func (o oracle) compare(t *testing.T, f Facts, names []string) {
	for path, flags := range o.commands(t) {
		for _, name := range flags {
			if f.Commands[path] == nil || !slices.Contains(f.Commands[path], name) {
				t.Errorf("the facts lack the option -%s of %q", name, path)
			}
		}
	}
	if diff := cmp.Diff(o.functions(t), f.Functions); diff != "" {
		t.Errorf("functions (-program +facts):\n%s", diff)
	}
	for path, want := range probe(t, names, o.validate) {
		if diff := cmp.Diff(want, f.Bodies[path]); diff != "" {
			t.Errorf("the body of %q (-program +facts):\n%s", path, diff)
		}
	}
	program, err := os.ReadFile(o.program)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range f.Environment {
		if bare := strings.TrimSuffix(strings.TrimSuffix(name, "_NAME"), "HOST"); !strings.Contains(string(program),
			bare) {
			t.Errorf("the variable %s occurs nowhere in the program", name)
		}
	}
}
