package tombolo_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/tombolo-iac/tombolo/diag"
)

// product reports whether a package is part of the program or the library, and not of their tests.
func product(path string) bool {
	below := strings.TrimPrefix(strings.TrimPrefix(path, modulePath), "/")
	for _, other := range []string{"bench", "conformance", "examples", "kits", "release", "internal/world",
		"internal/compat", "provider/providertest", "state/storetest", "website"} {
		if below == other || strings.HasPrefix(below, other+"/") {
			return false
		}
	}
	return true
}

// loadProduct returns the packages of the product and those of the hcl library that it uses.
func loadProduct(t *testing.T) []*packages.Package {
	t.Helper()
	var used []string
	out, err := exec.Command("go", "list", "-deps", "./cmd/tombolo").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(path, "github.com/hashicorp/hcl/v2") {
			used = append(used, path)
		}
	}
	all, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports |
		packages.NeedExportFile | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedFiles},
		append(used, "./...")...)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(p *packages.Package) bool { return !product(p.PkgPath) })
}

// titlesFromElsewhere lists the places that create diagnostics with titles defined elsewhere, with the reason.
var titlesFromElsewhere = map[string]string{
	"internal/program/handler/request.go":  "what a program answers",
	"internal/view/view.go":                "texts of commands, which Tell shows as they are",
	"sdk/schema/validation/diagnostics.go": "what the author of a provider says",
}

// TestEveryProblemHasACode finds the titles of all diagnostics that the product and the parser create, and compares
// them with the register: each title has a code, and each code has a title that is still in use.
func TestEveryProblemHasACode(t *testing.T) {
	pkgs := loadProduct(t)
	found := findTitles(pkgs)
	if len(found) < 700 {
		t.Errorf("found %d titles only", len(found))
	}
	for _, k := range diag.Kinds() {
		if k.Retired {
			continue
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(found)), func(title string) bool {
			return title == k.Title || k.Matches(title)
		}) {
			t.Errorf("%s: nothing makes a problem with the title %q: correct it, or retire the code", k.Code, k.Title)
		}
	}
	for title, places := range found {
		switch {
		case strings.HasSuffix(title, " "): // it ends with a variable whose first value is empty
		case strings.Trim(title, unknownText) == "":
			for _, at := range places {
				name := below(at.Filename)
				if title != "" && titlesFromElsewhere[name] == "" {
					t.Errorf("%s:%d: the test cannot tell the title that this has: let it stand there", name, at.Line)
				}
			}
		case (&diag.Diagnostic{Summary: title}).Code() == "":
			t.Errorf("%s:%d: problems with the title %q have no code: add a line to diag/codes.txt",
				below(places[0].Filename), places[0].Line, title)
		}
	}
	checkAbout(t, pkgs)
}

// below returns the name of a file relative to the working directory, with slashes.
func below(name string) string {
	here, _ := os.Getwd()
	rel, err := filepath.Rel(here, name)
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// TestCodesAreInOrder checks the register itself.
func TestCodesAreInOrder(t *testing.T) {
	form, before := regexp.MustCompile(`^TB\d{4}$`), ""
	titles := map[string]string{}
	for _, k := range diag.Kinds() {
		if !form.MatchString(k.Code) || k.Code <= before {
			t.Errorf("%s follows %s", k.Code, before)
		}
		before = k.Code
		switch k.Role {
		case "", diag.Whole, diag.Unknown, diag.Absent, diag.Unrepeated:
		default:
			t.Errorf("%s has the role %q, which does not exist", k.Code, k.Role)
		}
		key := k.Title + " ~ " + k.Says
		if other := titles[key]; other != "" {
			t.Errorf("%s and %s are one kind", other, k.Code)
		}
		titles[key] = k.Code
		if got := (&diag.Diagnostic{Summary: k.Title, Detail: k.Says}).Code(); !k.Retired && got != k.Code {
			t.Errorf("a problem of the kind %s has the code %q", k.Code, got)
		}
	}
}
