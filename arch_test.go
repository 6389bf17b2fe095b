package tombolo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const modulePath = "github.com/tombolo-iac/tombolo"

const (
	maxFileLines    = 600
	maxPackageFiles = 24
	maxPageLines    = 140 // of ARCHITECTURE.md
)

// room is a line of arch.txt: what the package may import.
type room struct{ may []string }

// readRooms reads arch.txt: lines of "room: imports", with a hash before comments. An indented line continues with the
// one before. The line "everywhere" says what every room may import.
func readRooms(t *testing.T) map[string]room {
	t.Helper()
	text, err := os.ReadFile("arch.txt")
	if err != nil {
		t.Fatal(err)
	}
	rooms := map[string]room{}
	last := ""
	for i, line := range strings.Split(string(text), "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		imports := line
		if !strings.HasPrefix(line, " ") {
			name, rest, ok := strings.Cut(line, ":")
			if _, twice := rooms[name]; !ok || twice {
				t.Fatalf("arch.txt:%d: %q is not the only \"room: imports\" of its room", i+1, line)
			}
			last, imports = name, rest
		}
		if last == "" {
			t.Fatalf("arch.txt:%d: %q goes on with nothing", i+1, line)
		}
		rooms[last] = room{may: append(rooms[last].may, strings.Fields(imports)...)}
	}
	everywhere := rooms["everywhere"].may
	delete(rooms, "everywhere")
	if len(rooms) == 0 || len(everywhere) == 0 {
		t.Fatal("arch.txt names no rooms, or not what may be imported everywhere")
	}
	for name, r := range rooms {
		rooms[name] = room{may: append(r.may, everywhere...)}
	}
	return rooms
}

// goPackage holds the facts about a package that the rules check.
type goPackage struct {
	dir     string
	files   []string
	imports map[string]string // import path below the module -> a file that has it
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

// allowed reports whether a room may import a package. A name covers its sub-packages; "any" covers all, "internal"
// all below internal.
func (r room) allowed(pkg string) bool {
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

func TestEveryPackageHasARoomAndImportsWhatItSays(t *testing.T) {
	rooms := readRooms(t)
	packages := loadPackages(t)
	for dir, p := range packages {
		name := packageName(dir)
		home, r, ok := roomOf(rooms, name)
		if !ok {
			t.Errorf("package %s has no line in arch.txt", name)
			continue
		}
		for imp, file := range p.imports {
			if imp == home || strings.HasPrefix(imp, home+"/") {
				continue // within one room
			}
			if !r.allowed(imp) {
				t.Errorf("%s imports %s, which the line of %s in arch.txt does not allow (%s)", file, imp, home,
					strings.Join(r.may, ", "))
			}
		}
	}
}

// packageName returns the name that arch.txt has for the package in a directory.
func packageName(dir string) string {
	if dir == "." {
		return "root"
	}
	return dir
}

// roomOf finds the room of a package: its own line, or that of the package that it is a part of.
func roomOf(rooms map[string]room, name string) (home string, r room, ok bool) {
	for n := name; n != "."; n = filepath.ToSlash(filepath.Dir(n)) {
		if r, ok := rooms[n]; ok {
			return n, r, true
		}
	}
	return "", room{}, false
}

// ARCHITECTURE.md stays one page, and says of every room what it is for.
func TestArchitectureNamesEveryRoomOnOnePage(t *testing.T) {
	raw, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	if n := strings.Count(text, "\n"); n > maxPageLines {
		t.Errorf("ARCHITECTURE.md has %d lines, at most %d are a page", n, maxPageLines)
	}
	rooms := readRooms(t)
	for name := range rooms {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("ARCHITECTURE.md does not say what `%s` is for, which has a line in arch.txt", name)
		}
		dir := name
		if name == "root" {
			dir = "."
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Errorf("arch.txt has a line for %s, which is not there", name)
		}
		for _, imp := range rooms[name].may {
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
		for _, f := range p.files {
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
