package typings

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

var update = flag.Bool("update", false, "write the expected files in testdata again")

var endings = map[string]string{"python": ".py", "typescript": ".d.ts", "go": ".go.txt", "ruby": ".rbs"}

// notes is a schema with every kind of member.
func notes() *provider.Schema {
	required := func(ty cty.Type, text string) *provider.Attribute {
		return &provider.Attribute{Type: ty, Required: true, Description: text}
	}
	return &provider.Schema{
		Provider: &provider.Block{Attributes: map[string]*provider.Attribute{
			"root": {Type: cty.String, Optional: true, Description: "The folder.\nIt must exist."}}},
		Resources: map[string]*provider.ResourceType{"notes_note": {
			Block: &provider.Block{
				Description: "A file with a text.",
				Attributes: map[string]*provider.Attribute{
					"id": {Type: cty.String, Computed: true}, "path": required(cty.String, "Where the file is."),
					"size": {Type: cty.Number, Computed: true}, "tags": {Type: cty.Map(cty.String), Optional: true},
					"from":  {Type: cty.Bool, Optional: true, Deprecated: true, DeprecationMessage: "Use path."},
					"any":   {Type: cty.DynamicPseudoType, Optional: true},
					"pair":  required(cty.Tuple([]cty.Type{cty.String, cty.Number}), ""),
					"where": {Type: cty.List(cty.Object(map[string]cty.Type{"line": cty.Number})), Optional: true},
					"owner": {Optional: true, Nested: &provider.NestedObject{Nesting: provider.NestingSingle,
						Attributes: map[string]*provider.Attribute{"name": required(cty.String, "")}}},
				},
				Blocks: map[string]*provider.NestedBlock{
					"rule": {Nesting: provider.NestingList, Block: provider.Block{
						Attributes: map[string]*provider.Attribute{"port": required(cty.Number, "")}}},
					"timeouts": {Nesting: provider.NestingSingle},
				},
			},
			Identity: &provider.IdentitySchema{Attributes: map[string]*provider.IdentityAttribute{
				"path": {Type: cty.String, RequiredForImport: true}}},
		}},
		Data: map[string]*provider.ResourceType{"notes_count": {Block: &provider.Block{
			Attributes: map[string]*provider.Attribute{"notes": {Type: cty.Number, Computed: true}}}}},
		Actions: map[string]*provider.ResourceType{"notes_print": {Block: &provider.Block{}}},
	}
}

func TestTypesAreAsRecorded(t *testing.T) {
	for lang, ending := range endings {
		got, err := Write(lang, notes(), "notes")
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("testdata", "notes"+ending)
		if *update {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	_, err := Write("cobol", notes(), "notes")
	if err == nil || !strings.Contains(err.Error(), "go, python, ruby, typescript") {
		t.Errorf("another language: %v", err)
	}
}

// gen returns random schemas, with names that collide, are keywords, or differ only in case and separators.
type gen struct{ *rand.Rand }

var names = []string{"a", "A", "a_b", "ab", "a-b", "a__b", "from", "class", "type", "self", "x1y", "x_1y", "__a", "_",
	"number", "dynamic", "answer", "any", "list", "func", "string", "provider", "config", "data", "identity", "Ä", "1"}

func (g gen) name() string { return names[g.IntN(len(names))] }

func (g gen) typ(depth int) cty.Type {
	n := 9
	if depth == 0 {
		n = 4
	}
	switch g.IntN(n) {
	case 0:
		return cty.String
	case 1:
		return cty.Number
	case 2:
		return cty.Bool
	case 3:
		return cty.DynamicPseudoType
	case 4:
		return cty.List(g.typ(depth - 1))
	case 5:
		return cty.Set(g.typ(depth - 1))
	case 6:
		return cty.Map(g.typ(depth - 1))
	case 7:
		return cty.Tuple([]cty.Type{g.typ(depth - 1), g.typ(depth - 1)})
	}
	atys := map[string]cty.Type{}
	for range g.IntN(4) {
		atys[g.name()] = g.typ(depth - 1)
	}
	return cty.Object(atys)
}

func (g gen) text() string {
	return []string{"", "A text.", "Two\nlines \\ \"quoted\" */ # \"\"\" '''", "ends with \\"}[g.IntN(4)]
}

func (g gen) attributes(depth int) map[string]*provider.Attribute {
	all := map[string]*provider.Attribute{}
	for range g.IntN(5) {
		a := &provider.Attribute{Required: g.IntN(2) == 0, Description: g.text(), Deprecated: g.IntN(4) == 0,
			DeprecationMessage: g.text()}
		if a.Optional = !a.Required; depth > 0 && g.IntN(4) == 0 {
			a.Nested = &provider.NestedObject{Nesting: provider.Nesting(1 + g.IntN(5)),
				Attributes: g.attributes(depth - 1)}
		} else {
			a.Type = g.typ(depth)
		}
		all[g.name()] = a
	}
	return all
}

func (g gen) block(depth int) *provider.Block {
	b := &provider.Block{Attributes: g.attributes(depth), Blocks: map[string]*provider.NestedBlock{},
		Description: g.text()}
	for range g.IntN(3) {
		if name := g.name(); depth > 0 && b.Attributes[name] == nil {
			b.Blocks[name] = &provider.NestedBlock{Nesting: provider.Nesting(1 + g.IntN(5)), Block: *g.block(depth - 1)}
		}
	}
	return b
}

func (g gen) schema() *provider.Schema {
	types := func() map[string]*provider.ResourceType {
		all := map[string]*provider.ResourceType{}
		for range g.IntN(4) {
			all[g.name()] = &provider.ResourceType{Block: g.block(2)}
		}
		return all
	}
	s := &provider.Schema{Resources: types(), Data: types(), Ephemeral: types(), Lists: types(), Actions: types()}
	if g.IntN(2) == 0 {
		s.Provider = g.block(1)
	}
	for _, rt := range s.Resources {
		if g.IntN(2) == 0 {
			rt.Identity = &provider.IdentitySchema{Attributes: map[string]*provider.IdentityAttribute{
				g.name(): {Type: cty.String, RequiredForImport: g.IntN(2) == 0}}}
		}
	}
	return s
}

// TestRandomTypesAreValid compiles the types of random schemas.
func TestRandomTypesAreValid(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(60) {
		schema := gen{rand.New(rand.NewPCG(seed, 1))}.schema()
		for lang, ending := range endings {
			text, err := Write(lang, schema, "a-b")
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, lang, err)
			}
			if again, _ := Write(lang, schema, "a-b"); !bytes.Equal(text, again) {
				t.Fatalf("seed %d, %s: not the same the second time", seed, lang)
			}
			name := filepath.Join(dir, fmt.Sprintf("t%d%s", seed, ending))
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if lang == "go" {
				checkGo(t, name)
			}
			if lang == "ruby" {
				if err := readRBS(string(text)); err != nil {
					t.Errorf("seed %d: %v\n%s", seed, err, text)
				}
			}
		}
	}
	t.Run("python", func(t *testing.T) {
		run(t, dir, "python3", "-c", `
import glob, runpy, typing
for name in sorted(glob.glob("*.py")):
    for value in runpy.run_path(name).values():
        if isinstance(value, type) and hasattr(value, "__annotations__"):
            typing.get_type_hints(value)`)
	})
	t.Run("ruby", func(t *testing.T) {
		run(t, dir, "rbs", "-I", ".", "validate")
	})
	t.Run("typescript", func(t *testing.T) {
		files, err := filepath.Glob(filepath.Join(dir, "*.d.ts"))
		if err != nil {
			t.Fatal(err)
		}
		run(t, dir, "tsc", append([]string{"--strict", "--noEmit", "--lib", "es2020"}, files...)...)
	})
}

func run(t *testing.T, dir, program string, args ...string) {
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("needs %s on PATH", program)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// checkGo checks the types of a file.
func checkGo(t *testing.T, name string) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, nil, parser.AllErrors)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: onlyJSON{}}
	if _, err := config.Check("types", files, []*ast.File{f}, nil); err != nil {
		t.Error(err)
	}
}

// onlyJSON has the one name of encoding/json that the types use.
type onlyJSON struct{}

func (onlyJSON) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, "json")
	p.Scope().Insert(types.NewTypeName(0, p, "Number", types.Typ[types.String]))
	p.MarkComplete()
	return p, nil
}
