package tombolo_test

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/tombolo-iac/tombolo"

const (
	maxFileLines    = 600
	maxPackageFiles = 24
)

// everywhere may be imported by every package.
var everywhere = []string{"diag", "addr", "internal/ctyfast", "internal/regular"}

// tableRow is a line of ARCHITECTURE.md's import table.
type tableRow struct{ may []string }

// readTable reads the import table: rows of `| package | purpose | may import |` between the two marker comments.
func readTable(t *testing.T) map[string]tableRow {
	t.Helper()
	f, err := os.Open("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := map[string]tableRow{}
	inside := false
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		switch {
		case strings.Contains(line, "<!-- imports:begin -->"):
			inside = true
		case strings.Contains(line, "<!-- imports:end -->"):
			inside = false
		}
		cells := strings.Split(line, "|")
		if !inside || len(cells) != 5 || strings.HasPrefix(strings.TrimSpace(cells[1]), "-") ||
			strings.TrimSpace(cells[1]) == "package" {
			continue
		}
		var row tableRow
		for _, m := range strings.Split(cells[3], ",") {
			if m = strings.Trim(strings.TrimSpace(m), "`"); m != "" && m != "-" {
				row.may = append(row.may, m)
			}
		}
		for _, p := range strings.Split(cells[1], ",") {
			rows[strings.Trim(strings.TrimSpace(p), "`")] = row
		}
	}
	if len(rows) == 0 {
		t.Fatal("ARCHITECTURE.md holds no import table")
	}
	return rows
}

// goPackage is what the rules need to know of a package.
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

// allowed reports whether a row lets a package be imported. A name covers its sub-packages; "any" covers all,
// "internal" all below internal.
func (r tableRow) allowed(pkg string) bool {
	if slices.Contains(everywhere, pkg) {
		return true
	}
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

func TestEveryPackageIsInTheTableAndImportsWhatItSays(t *testing.T) {
	rows := readTable(t)
	for dir, p := range loadPackages(t) {
		name := dir
		if dir == "." {
			name = "root"
		}
		room, row, ok := rowFor(rows, name)
		if !ok {
			t.Errorf("package %s has no row in the import table of ARCHITECTURE.md", name)
			continue
		}
		for imp, file := range p.imports {
			if imp == room || strings.HasPrefix(imp, room+"/") {
				continue // within one room
			}
			if !row.allowed(imp) {
				t.Errorf("%s imports %s, which the row of %s in ARCHITECTURE.md does not allow (%s)", file, imp, name,
					strings.Join(row.may, ", "))
			}
		}
	}
}

// rowFor finds the room of a package: its own row, or that of the package that it is a part of.
func rowFor(rows map[string]tableRow, name string) (room string, row tableRow, ok bool) {
	for n := name; n != "."; n = filepath.ToSlash(filepath.Dir(n)) {
		if row, ok := rows[n]; ok {
			return n, row, true
		}
	}
	return "", tableRow{}, false
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
