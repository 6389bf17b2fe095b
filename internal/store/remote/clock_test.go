package remote_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Durations are measured with the monotonic clock. A time that was converted to a number has no monotonic reading: if
// the clock were set forward by an hour, that would look like an hour of silence, after which a run gives up its lock.
func TestDurationsUseTheMonotonicClock(t *testing.T) {
	// Exceptions: times of the server's connections, expiry times of credentials, times in signatures, and names.
	elsewhere := map[string]bool{"pg.moment": true, "pg.foreign": true, "cos.fetch": true, "cos.machine": true,
		"cos.signature": true, "cos.sign": true, "store.nameBackup": true}
	files := 0
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			strings.HasPrefix(name, filepath.Join("..", "mem")) || strings.HasSuffix(filepath.Dir(name), "test") {
			return err
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && elsewhere[file.Name.Name+"."+f.Name.Name] {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Unix") {
					t.Errorf("%s: a time as a number: %s", set.Position(s.Pos()), s.Sel.Name)
				}
				return true
			})
		}
		return nil
	})
	if err != nil || files < 50 {
		t.Errorf("%d files: %v", files, err)
	}
}
