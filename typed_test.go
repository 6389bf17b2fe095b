package tombolo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// Operations of locks are constants of package state: a literal could differ in spelling.
func TestOperationsOfLocksAreConstants(t *testing.T) {
	checked := 0
	walkFiles(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/") ||
			!strings.Contains(text, "LockInfo{") && !strings.Contains(text, "editing{") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			pair, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, ok := pair.Key.(*ast.Ident)
			if !ok || !strings.EqualFold(key.Name, "operation") {
				return true
			}
			checked++
			if _, ok := pair.Value.(*ast.BasicLit); ok {
				t.Errorf("%s: use a constant of package state", files.Position(pair.Pos()))
			}
			return true
		})
	}, ".go")
	if checked < 10 {
		t.Errorf("found only %d operations", checked)
	}
}
