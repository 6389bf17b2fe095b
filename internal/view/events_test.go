package view

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Events without a line in either display. Terraform's JSON lines have no imports; the total is only for terminals; the
// end of a provisioner is the end of its output.
var (
	silentInText = []string{"ProvisionDone"}
	silentInJSON = []string{"ImportDone", "ImportPrepare", "ImportStart", "Total", "WaitingDone"}
)

// Each event is shown by both views or listed as an exception.
func TestEveryEventIsShownOrExcluded(t *testing.T) {
	var events []string
	cases := map[string]map[string]bool{"text": {}, "lines": {}} // by receiver
	for _, f := range parsed(t, "../../event", ".") {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			receiver := strings.TrimPrefix(exprName(fn.Recv.List[0].Type), "*")
			if f.Name.Name == "event" && fn.Name.Name == "event" {
				events = append(events, receiver)
			}
			shown := cases[receiver]
			if f.Name.Name != "view" || shown == nil {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if c, ok := n.(*ast.CaseClause); ok {
					for _, e := range c.List {
						if name, ok := strings.CutPrefix(exprName(e), "event."); ok {
							shown[name] = true
						}
					}
				}
				return true
			})
		}
	}
	if len(events) < 20 {
		t.Fatalf("found %d events only", len(events))
	}
	for _, event := range events {
		for receiver, silent := range map[string][]string{"text": silentInText, "lines": silentInJSON} {
			if shown := cases[receiver][event]; shown == slices.Contains(silent, event) {
				t.Errorf("event.%s: %s shows it: %v, and the list of silent events says the opposite", event, receiver,
					shown)
			}
		}
	}
}

// parsed returns the files of packages, without their tests.
func parsed(t *testing.T, dirs ...string) (files []*ast.File) {
	t.Helper()
	for _, dir := range dirs {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
	}
	return files
}

// exprName returns a name in source form, with its package or star.
func exprName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + exprName(e.X)
	case *ast.SelectorExpr:
		return exprName(e.X) + "." + e.Sel.Name
	}
	return ""
}
