package tombolo_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/tombolo-iac/tombolo"

const (
	maxFileLines    = 600
	maxPackageFiles = 24
	maxPageLines    = 160 // lines of ARCHITECTURE.md
)

// component is a line of arch.txt: the packages that a package may import.
type component struct{ own, may []string } // may: its own imports and those of "everywhere"

// readComponents reads arch.txt. Each line is "component: imports"; a hash begins a comment, and an indented line
// continues the line before it. The line "everywhere" lists what every component may import.
func readComponents(t *testing.T) map[string]component {
	t.Helper()
	text, err := os.ReadFile("arch.txt")
	if err != nil {
		t.Fatal(err)
	}
	components := map[string]component{}
	last := ""
	for i, line := range strings.Split(string(text), "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		imports := line
		if !strings.HasPrefix(line, " ") {
			name, rest, ok := strings.Cut(line, ":")
			if _, twice := components[name]; !ok || twice {
				t.Fatalf("arch.txt:%d: %q is not the only \"component: imports\" of its component", i+1, line)
			}
			last, imports = name, rest
		}
		if last == "" {
			t.Fatalf("arch.txt:%d: %q goes on with nothing", i+1, line)
		}
		own := append(components[last].own, strings.Fields(imports)...)
		components[last] = component{own: own, may: own}
	}
	everywhere := components["everywhere"].may
	delete(components, "everywhere")
	if len(components) == 0 || len(everywhere) == 0 {
		t.Fatal("arch.txt names no components, or not what may be imported everywhere")
	}
	for name, r := range components {
		components[name] = component{own: r.own, may: append(slices.Clone(r.own), everywhere...)}
	}
	return components
}

// goPackage holds the facts about a package that the rules check.
type goPackage struct {
	dir     string
	files   []string
	imports map[string]string // import path below the module -> a file that imports it
	doc     bool
}

func loadPackages(t *testing.T) map[string]*goPackage {
	t.Helper()
	pkgs := map[string]*goPackage{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		if ast.IsGenerated(file) {
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		p := pkgs[dir]
		if p == nil {
			p = &goPackage{dir: dir, imports: map[string]string{}}
			pkgs[dir] = p
		}
		p.files = append(p.files, path)
		p.doc = p.doc || file.Doc != nil
		for _, i := range file.Imports {
			if name := strings.Trim(i.Path.Value, `"`); name == modulePath || strings.HasPrefix(name, modulePath+"/") {
				p.imports[strings.TrimPrefix(strings.TrimPrefix(name, modulePath), "/")] = path
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

// allowed reports whether a component may import a package. A name covers its sub-packages; "any" covers all packages,
// "internal" all packages below internal.
func (r component) allowed(pkg string) bool {
	for _, m := range r.may {
		switch {
		case m == "any", m == pkg, strings.HasPrefix(pkg, m+"/"):
			return true
		case m == "root" && pkg == "":
			return true
		}
	}
	return false
}

func TestEveryPackageHasAComponentAndAllowedImports(t *testing.T) {
	components := readComponents(t)
	packages := loadPackages(t)
	for dir, p := range packages {
		name := packageName(dir)
		home, r, ok := componentOf(components, name)
		if !ok {
			t.Errorf("package %s has no line in arch.txt", name)
			continue
		}
		for imp, file := range p.imports {
			if imp == home || strings.HasPrefix(imp, home+"/") {
				continue // an import within the component
			}
			if !r.allowed(imp) {
				t.Errorf("%s imports %s, which the line of %s in arch.txt does not allow (%s)", file, imp, home,
					strings.Join(r.may, ", "))
			}
		}
	}
}

// Every import that arch.txt allows is used.
func TestComponentsImportAllThatTheyMay(t *testing.T) {
	components := readComponents(t)
	used := map[string]map[string]bool{} // the imports of each component
	for dir, p := range loadPackages(t) {
		home, _, ok := componentOf(components, packageName(dir))
		if !ok {
			continue // reported by the test above
		}
		if used[home] == nil {
			used[home] = map[string]bool{}
		}
		for imp := range p.imports {
			used[home][packageName(cmp.Or(imp, "."))] = true
		}
	}
	for name, r := range components {
		for _, m := range r.own {
			found := m == "any"
			for imp := range used[name] {
				found = found || imp == m || strings.HasPrefix(imp, m+"/")
			}
			if !found {
				t.Errorf("the line of %s in arch.txt allows %s, which nothing in that component imports", name, m)
			}
		}
	}
}

// ARCHITECTURE.md names a test for each invariant.
func TestEveryInvariantHasATest(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Invariants")
	section, _, _ = strings.Cut(section, "\n## ")
	tests := map[string]bool{}
	walkFiles(t, func(path, text string) {
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(text, -1) {
			tests[m[1]] = true
		}
	}, "_test.go")
	items := regexp.MustCompile(`(?m)^\d+\. `).Split(section, -1)[1:]
	if len(items) < 7 {
		t.Fatalf("ARCHITECTURE.md has %d invariants", len(items))
	}
	for i, item := range items {
		names := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(item, -1)
		if len(names) == 0 {
			t.Errorf("invariant %d names no test", i+1)
		}
		for _, m := range names {
			if !tests[m[1]] {
				t.Errorf("invariant %d names %s, which there is not", i+1, m[1])
			}
		}
	}
}

// alone lists the packages that only one other package imports, each with the reason why it is separate. Those of
// inTable are left out.
var alone = map[string]string{
	"examples":                      "embeds the folders beside it",
	"examples/provider-go/pgrows":   "a provider is a package, its main package a line",
	"internal/applying":             "a pass of the engine, which knows no stores, hosts or surroundings",
	"internal/builtin":              "tests of planning and functions use the provider without an engine",
	"internal/console":              "the conformance corpus reads lines as the command does",
	"internal/engine/ownstore":      "guards the store of an embedder, with its panics, and knows no project",
	"internal/eval/funcs/funcstest": "tables of tests, also for benchmarks",
	"internal/fetch/credentials":    "tokens and their helpers, apart from all that prints",
	"internal/format":               "a pure algorithm on text",
	"internal/moving":               "a pure algorithm on addresses",
	"internal/openapi":              "translates documents to manifests, and knows no commands or flags",
	"internal/planning":             "a pass of the engine, which knows no stores, hosts or surroundings",
	"internal/policy":               "runs programs, which planning must not",
	"kits/tombolo":                  "the kit for programs in Go of others, with an example of its use",
	"internal/standing":             "compares states and plans alone, without projects, stores or providers",
	"internal/program/invoke":       "single calls, which tests of handlers make as well",
	"internal/provision/machines":   "SSH and WinRM, with their libraries",
	"internal/program/web":          "requests, tokens and connections, which know no plans",
	"internal/reference":            "documentation of any provider, by its schema alone",
	"internal/reference/fill":       "a pure algorithm on templates",
	"internal/reference/typings":    "writes source code from a schema alone",
	"internal/pages":                "who may see and do what on pages, which know no commands or flags",
	"internal/stack/terragrunt":     "reads another language, and knows no stacks",
	"internal/suite/mock":           "a provider, which knows nothing of test files",
	"internal/transfer":             "a pure algorithm on two states",
	"internal/view/digest":          "a writer with a clock, which knows no plans or views",
	"internal/view/excerpt":         "a pure algorithm on strings",
	"internal/view/nearby":          "a pure algorithm on addresses",
	"internal/worker":               "performs runs, and knows no flags or signals",
	"internal/world":                "a fake cloud, for benchmarks and many tests",
	"internal/wire/plugin5":         "generated",
	"internal/wire/wiretest":        "tests of other packages use it",
}

// A package with a single importer is part of that importer, unless there is a reason.
func TestPackagesWithOneUserHaveAReason(t *testing.T) {
	components := loadPackages(t)
	users := map[string]map[string]bool{}
	for dir, p := range components {
		for imp := range p.imports {
			if users[imp] == nil {
				users[imp] = map[string]bool{}
			}
			users[imp][dir] = true
		}
	}
	for dir := range components {
		if len(users[dir]) == 1 && !inTable(dir, users[dir]) && alone[dir] == "" {
			t.Errorf("only one package imports %s: make it a part of that one, or say here why not", dir)
		}
	}
	for dir := range alone {
		if len(users[dir]) != 1 {
			t.Errorf("%d packages import %s: take it from the list of those with one user", len(users[dir]), dir)
		}
	}
}

// inTable reports whether the one user of a package holds the table of its kind: drivers of states, families of
// commands, and servers for the tests of drivers.
func inTable(dir string, users map[string]bool) bool {
	switch {
	case strings.HasSuffix(dir, "test"):
		return users["internal/backend/backendtest"]
	case strings.HasPrefix(dir, "internal/store/"):
		return users["internal/backend"]
	}
	return strings.HasPrefix(dir, "internal/cli/") && users["internal/cli"]
}

// packageName returns the name of a directory's package in arch.txt.
func packageName(dir string) string {
	if dir == "." {
		return "root"
	}
	return dir
}

// componentOf returns the component of a package: its own line, or that of the nearest package above it.
func componentOf(components map[string]component, name string) (home string, r component, ok bool) {
	for n := name; n != "."; n = filepath.ToSlash(filepath.Dir(n)) {
		if r, ok := components[n]; ok {
			return n, r, true
		}
	}
	return "", component{}, false
}

// inBraces reports whether a text names a component as one of several: `internal/fetch/{oci,web}`.
func inBraces(text, name string) bool {
	for _, several := range bracesPattern.FindAllStringSubmatch(text, -1) {
		rest, ok := strings.CutPrefix(name, several[1])
		if ok && slices.Contains(strings.Split(several[2], ","), rest) {
			return true
		}
	}
	return false
}

// bracesPattern finds the common part of such names, and the others.
var bracesPattern = regexp.MustCompile("`([a-z0-9/]+/)[{]([a-z0-9/,]+)[}]`")

// ARCHITECTURE.md fits on one page and describes every component.
func TestArchitectureNamesEveryComponentOnOnePage(t *testing.T) {
	raw, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	if n := strings.Count(text, "\n"); n > maxPageLines {
		t.Errorf("ARCHITECTURE.md has %d lines, at most %d are a page", n, maxPageLines)
	}
	components := readComponents(t)
	for name := range components {
		if !strings.Contains(text, "`"+name+"`") && !inBraces(text, name) {
			t.Errorf("ARCHITECTURE.md does not say what `%s` is for, which has a line in arch.txt", name)
		}
		dir := name
		if name == "root" {
			dir = "."
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Errorf("arch.txt has a line for %s, which is not there", name)
		}
		for _, imp := range components[name].may {
			if info, err := os.Stat(imp); imp != "any" && (err != nil || !info.IsDir()) {
				t.Errorf("the line of %s in arch.txt allows %s, which is not there", name, imp)
			}
		}
	}
}

func TestPackagesAreDocumentedNamedAndOfBoundedSize(t *testing.T) {
	for dir, p := range loadPackages(t) {
		if !p.doc {
			t.Errorf("package %s has no doc comment", dir)
		}
		switch base := filepath.Base(dir); base {
		case "util", "utils", "common", "helper", "helpers", "misc", "shared":
			t.Errorf("package %s: %q says nothing; name what a caller gets", dir, base)
		}
		if len(p.files) > maxPackageFiles {
			t.Errorf("package %s has %d files, at most %d are allowed: split by concept", dir, len(p.files),
				maxPackageFiles)
		}
		tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range slices.Concat(p.files, tests) {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(src), "\n"); n > maxFileLines {
				t.Errorf("%s has %d lines, at most %d are allowed: split by concept", f, n, maxFileLines)
			}
		}
	}
}

// Contexts carry cancellation, trace spans and the data of third-party libraries, but no data of the domain:
// dependencies are parameters.
func TestContextsCarryNoDomainData(t *testing.T) {
	allowed := map[string]bool{"internal/tracing": true, "internal/store/gcs": true}
	found := map[string]bool{}
	for dir, p := range loadPackages(t) {
		for _, f := range p.files {
			file, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != "WithValue" {
					return true
				}
				if of, ok := sel.X.(*ast.Ident); ok && of.Name == "context" {
					if found[dir] = true; !allowed[dir] {
						t.Errorf("%s puts a value into a context: make it a parameter", f)
					}
				}
				return true
			})
		}
	}
	for dir := range allowed {
		if !found[dir] {
			t.Errorf("%s puts no value into a context any more: take it from the list", dir)
		}
	}
}
