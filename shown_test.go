package tombolo_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// Exported declarations of public packages have no internal types.
func TestPublicPackagesShowNoInternalTypes(t *testing.T) {
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedExportFile,
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	seen, declarations := 0, 0
	for _, p := range all {
		if p.Name == "main" || strings.Contains(p.PkgPath+"/", "/internal/") || p.Types == nil {
			continue
		}
		relative := strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, modulePath), "/")
		if first, _, _ := strings.Cut(relative, "/"); first == "bench" || first == "conformance" ||
			first == "examples" || first == "kits" {
			continue // cannot be imported
		}
		seen++
		scope := p.Types.Scope()
		for _, name := range scope.Names() {
			if obj := scope.Lookup(name); obj.Exported() {
				declarations++
				for _, found := range shownBy(obj) {
					t.Errorf("%s.%s shows %s", p.PkgPath, name, found)
				}
			}
		}
	}
	if seen < 8 || declarations < 500 {
		t.Errorf("looked at %d declarations of %d packages only", declarations, seen)
	}
}

// shownBy returns the internal types that a declaration exposes.
func shownBy(obj types.Object) []string {
	s := shown{home: obj.Pkg(), done: map[types.Type]bool{}}
	if name, ok := obj.(*types.TypeName); ok {
		s.declared(name)
	} else {
		s.typ(obj.Type())
	}
	return s.found
}

// shown collects the internal types that a declaration exposes.
type shown struct {
	home  *types.Package
	done  map[types.Type]bool
	found []string
}

// declared checks the declaration of a type: its type parameters, its elements and its methods.
func (s *shown) declared(name *types.TypeName) {
	switch t := name.Type().(type) {
	case *types.Alias:
		s.parameters(t.TypeParams())
		s.typ(t.Rhs())
	case *types.Named:
		s.parameters(t.TypeParams())
		s.typ(t.Underlying())
		for m := range t.Methods() {
			if m.Exported() {
				s.typ(m.Type())
			}
		}
	}
}

func (s *shown) parameters(list *types.TypeParamList) {
	for p := range list.TypeParams() {
		s.typ(p.Constraint())
	}
}

// named records an internal type. An unexported type of the same package is examined here, because no other check
// reaches it: callers can use the result of a function or an embedded struct without naming its type. Types of other
// packages are checked there.
func (s *shown) named(obj *types.TypeName) {
	switch {
	case obj.Pkg() == nil:
	case strings.Contains(obj.Pkg().Path()+"/", "/internal/") && strings.HasPrefix(obj.Pkg().Path(), modulePath):
		s.found = append(s.found, obj.Pkg().Path()+"."+obj.Name())
	case obj.Pkg() == s.home && !obj.Exported():
		s.declared(obj)
	}
}

func (s *shown) typ(t types.Type) {
	if s.done[t] {
		return
	}
	s.done[t] = true
	switch t := t.(type) {
	case *types.Alias:
		s.named(t.Obj())
		s.arguments(t.TypeArgs())
		s.typ(types.Unalias(t))
	case *types.Named:
		s.named(t.Obj())
		s.arguments(t.TypeArgs())
	case *types.Map:
		s.typ(t.Key())
		s.typ(t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		s.typ(t.Elem())
	case *types.Signature:
		s.parameters(t.TypeParams())
		s.typ(t.Params())
		s.typ(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			s.typ(v.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() { // an embedded type exposes its methods and fields
				s.typ(f.Type())
			}
		}
	case *types.Interface:
		for e := range t.EmbeddedTypes() {
			s.typ(e)
		}
		for m := range t.Methods() {
			if m.Exported() {
				s.typ(m.Type())
			}
		}
	case *types.Union:
		for term := range t.Terms() {
			s.typ(term.Type())
		}
	case *types.TypeParam:
		s.typ(t.Constraint())
	}
}

func (s *shown) arguments(list *types.TypeList) {
	for t := range list.Types() {
		s.typ(t)
	}
}

// Internal types are found through aliases, embedded fields, type parameters and unexported names.
func TestExposedInternalTypesAreFound(t *testing.T) {
	const path = modulePath + "/internal/hidden"
	hidden := checked(t, path, `package hidden
type T struct{ Field int }
func (T) Method() {}
type C interface{ Method() }
type G[P any] struct{ P P }
`, nil)
	const head = "package public\nimport h \"" + path + "\"\nvar _ h.T\n"
	for _, shows := range []string{
		"var X h.T",
		"func X(func(map[string][]chan *h.T))",
		"func X() (int, h.T)",
		"type X = h.T",
		"type X = []h.T",
		"type X h.T\nfunc (X) M() h.T { panic(1) }",
		"type X struct{ F [2]h.T }",
		"type X struct{ h.T }",
		"type X struct{ *inner }\ntype inner struct{ Out h.T }",
		"type X struct{ inner }\ntype inner = h.T",
		"type X struct{ inner }\ntype inner struct{}\nfunc (inner) M(h.T) {}",
		"func X() *inner { panic(1) }\ntype inner struct{}\nfunc (*inner) M() h.T { panic(1) }",
		"func X() inner { panic(1) }\ntype inner interface{ M(h.T) }",
		"type X interface{ M(...h.T) }",
		"type X interface{ h.C }",
		"type X interface{ ~int | h.T }",
		"type X[P h.C] struct{}",
		"type X[P interface{ M(h.T) }] []P",
		"func X[P h.C]() {}",
		"type X = list[h.T]\ntype list[P any] []P",
		"type X = h.G[int]",
		"type X[P any] = map[string]h.G[P]",
		"var X = struct{ F func() h.T }{}",
		"type X struct{ F interface{ M() *h.T } }",
	} {
		pkg := checked(t, modulePath+"/public", head+shows, hidden)
		if found := shownBy(pkg.Scope().Lookup("X")); !slices.ContainsFunc(found, func(name string) bool {
			return strings.HasPrefix(name, path)
		}) {
			t.Errorf("nothing was found in\n%s", shows)
		}
	}
	for _, hides := range []string{
		"type X struct{ f h.T }",
		"type X struct{ f inner }\ntype inner struct{ Out h.T }",
		"type X int\nfunc (X) m() h.T { panic(1) }",
		"type X interface{ m(h.T) }",
		"func X() { var _ h.T }",
	} {
		pkg := checked(t, modulePath+"/public", head+hides, hidden)
		if found := shownBy(pkg.Scope().Lookup("X")); len(found) > 0 {
			t.Errorf("%v was found in\n%s", found, hides)
		}
	}
}

// checked returns a package of one file, which may import another one.
func checked(t *testing.T, path, source string, imports *types.Package) *types.Package {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "x.go", source, 0)
	if err != nil {
		t.Fatalf("%v in\n%s", err, source)
	}
	config := types.Config{Importer: one{imports}}
	pkg, err := config.Check(path, files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, source)
	}
	return pkg
}

// one is the importer of one package.
type one struct{ pkg *types.Package }

func (o one) Import(path string) (*types.Package, error) {
	if o.pkg != nil && path == o.pkg.Path() {
		return o.pkg, nil
	}
	return importer.Default().Import(path)
}
