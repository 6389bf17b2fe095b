package tombolo_test

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// titles finds the titles of all diagnostics that packages create. A title is an expression at a sink: an argument of a
// function, a field of a struct, a variable. If the title is a parameter of the enclosing function, that parameter is a
// sink, too, until no new sinks are found. An asterisk replaces what is only known at run time.
type titles struct {
	pkgs []*packages.Package
	// flows holds the expressions stored in each object, wherever that happens.
	flows   map[types.Object][]flow
	results map[types.Object][]flow // results of functions with one result, or the first of several
	open    map[types.Object]bool   // objects being followed
	known   map[types.Object][]string
	// closures are the function literals of each package by parameter types: a call through a variable can reach any of
	// them.
	closures map[string][]*types.Signature
}

// flow is an expression, with the type information of its package.
type flow struct {
	expr ast.Expr
	info *types.Info
	at   token.Position
}

// unknownText stands for the part of a title that is only known at run time.
const unknownText = "*"

func findTitles(pkgs []*packages.Package) map[string][]token.Position {
	t := &titles{pkgs: pkgs, flows: map[types.Object][]flow{}, results: map[types.Object][]flow{},
		open: map[types.Object]bool{}, known: map[types.Object][]string{},
		closures: map[string][]*types.Signature{}}
	t.eachFile(t.closuresOf)
	t.eachFile(t.file)
	found := map[string][]token.Position{}
	for obj, list := range t.flows {
		if !holdsTitles(obj) {
			continue
		}
		for _, f := range list {
			for _, text := range t.texts(f.expr, f.info) {
				found[text] = append(found[text], f.at)
			}
		}
	}
	return found
}

func (t *titles) eachFile(visit func(*packages.Package, *ast.File)) {
	for _, p := range t.pkgs {
		for _, file := range p.Syntax {
			visit(p, file)
		}
	}
}

// closuresOf records the function literals of a file.
func (t *titles) closuresOf(p *packages.Package, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok {
			if sig, ok := p.TypesInfo.TypeOf(lit).(*types.Signature); ok {
				key := p.PkgPath + parameterTypes(sig)
				t.closures[key] = append(t.closures[key], sig)
			}
		}
		return true
	})
}

// parameterTypes returns the types of the parameters of a function.
func parameterTypes(sig *types.Signature) string {
	var b strings.Builder
	for v := range sig.Params().Variables() {
		b.WriteString(" " + v.Type().String())
	}
	return b.String()
}

// holdsTitles reports whether an object is the summary of a diagnostic at its creation.
func holdsTitles(obj types.Object) bool {
	pkg := ""
	if obj.Pkg() != nil {
		pkg = obj.Pkg().Path()
	}
	v, ok := obj.(*types.Var)
	if !ok {
		return false
	}
	switch pkg {
	case modulePath + "/diag":
		return v.Name() == "summary" || v.IsField() && v.Name() == "Summary"
	case "github.com/hashicorp/hcl/v2":
		return v.IsField() && v.Name() == "Summary"
	}
	return false
}

// file records which expressions a file stores in which objects.
func (t *titles) file(p *packages.Package, file *ast.File) {
	note := func(obj types.Object, e ast.Expr) {
		if obj != nil && e != nil {
			obj = origin(obj)
			t.flows[obj] = append(t.flows[obj], flow{e, p.TypesInfo, p.Fset.Position(e.Pos())})
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.ADD_ASSIGN {
				return true // a sentence after the title
			}
			if len(n.Lhs) == len(n.Rhs) {
				for i := range n.Lhs {
					note(objectOf(p.TypesInfo, n.Lhs[i]), n.Rhs[i])
				}
			} else {
				for i := range n.Lhs {
					note(objectOf(p.TypesInfo, n.Lhs[i]), &ast.IndexExpr{X: n.Rhs[0], Index: place(i, n.Rhs[0])})
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) && len(n.Values) == len(n.Names) {
					note(p.TypesInfo.Defs[name], n.Values[i])
				}
			}
		case *ast.RangeStmt:
			if n.Value != nil {
				note(objectOf(p.TypesInfo, n.Value), &ast.IndexExpr{X: n.X, Index: ast.NewIdent("_")})
			}
			if n.Key != nil {
				note(objectOf(p.TypesInfo, n.Key), &ast.SliceExpr{X: n.X})
			}
		case *ast.CompositeLit:
			t.literal(p.TypesInfo, n, note)
		case *ast.CallExpr:
			t.call(p, n, note)
		case *ast.FuncDecl:
			if n.Body != nil {
				t.returns(p, p.TypesInfo.Defs[n.Name], n.Body)
			}
		}
		return true
	})
}

// place returns the index of a result of a call with several results.
func place(i int, of ast.Expr) ast.Expr {
	return &ast.BasicLit{Kind: token.INT, Value: string(rune('0' + i)), ValuePos: of.Pos()}
}

// returns records the results of a function.
func (t *titles) returns(p *packages.Package, fn types.Object, body *ast.BlockStmt) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			for _, e := range n.Results {
				t.results[fn] = append(t.results[fn], flow{e, p.TypesInfo, p.Fset.Position(e.Pos())})
			}
		}
		return true
	})
}

func (t *titles) literal(info *types.Info, lit *ast.CompositeLit, note func(types.Object, ast.Expr)) {
	typ := info.TypeOf(lit)
	if typ == nil {
		return
	}
	if p, ok := typ.Underlying().(*types.Pointer); ok { // an element of a slice of pointers
		typ = p.Elem()
	}
	s, ok := typ.Underlying().(*types.Struct)
	if !ok {
		return
	}
	if isForeign(lit) {
		return
	}
	for i, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				note(info.Uses[key], kv.Value)
			}
		} else if i < s.NumFields() {
			note(s.Field(i), e)
		}
	}
}

// isForeign reports whether a literal is a diagnostic worded elsewhere.
func isForeign(lit *ast.CompositeLit) bool {
	return slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		key, ok := kv.Key.(*ast.Ident)
		return ok && key.Name == "Foreign"
	})
}

func (t *titles) call(p *packages.Package, call *ast.CallExpr, note func(types.Object, ast.Expr)) {
	typ := p.TypesInfo.TypeOf(call.Fun)
	if typ == nil {
		return
	}
	sig, ok := typ.Underlying().(*types.Signature)
	if !ok {
		return
	}
	called := []*types.Signature{sig}
	if fn, is := objectOf(p.TypesInfo, call.Fun).(*types.Func); is {
		called[0] = fn.Origin().Type().(*types.Signature)
	} else {
		called = append(called, t.closures[p.PkgPath+parameterTypes(sig)]...)
	}
	for _, sig := range called {
		for i, arg := range call.Args {
			if at := min(i, sig.Params().Len()-1); at >= 0 {
				note(sig.Params().At(at), arg)
			}
		}
	}
}

// origin returns the declaration of a field or method of a generic type.
func origin(obj types.Object) types.Object {
	switch obj := obj.(type) {
	case *types.Var:
		return obj.Origin()
	case *types.Func:
		return obj.Origin()
	}
	return obj
}

func objectOf(info *types.Info, e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if obj := info.Defs[e]; obj != nil {
			return obj
		}
		return info.Uses[e]
	case *ast.SelectorExpr:
		return info.Uses[e.Sel]
	case *ast.IndexExpr:
		return objectOf(info, e.X)
	}
	return nil
}

// texts returns the texts that a title can be.
func (t *titles) texts(e ast.Expr, info *types.Info) []string {
	if v := info.Types[e]; v.Value != nil && v.Value.Kind() == constant.String {
		return []string{constant.StringVal(v.Value)}
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.BinaryExpr:
		return cross(few(t.texts(e.X, info)), few(t.texts(e.Y, info)))
	case *ast.CallExpr:
		return t.called(e, info)
	case *ast.IndexExpr:
		return t.parts(e, info)
	case *ast.Ident, *ast.SelectorExpr:
		return t.stored(objectOf(info, e))
	}
	return []string{unknownText}
}

// stored returns the texts that an object can hold.
func (t *titles) stored(obj types.Object) []string {
	obj = origin(obj)
	if obj == nil || t.open[obj] || len(t.flows[obj]) > 200 && !holdsTitles(obj) {
		return nil
	}
	if holdsTitles(obj) {
		return nil // copied from another diagnostic
	}
	if list, ok := t.known[obj]; ok {
		return list
	}
	t.open[obj] = true
	defer delete(t.open, obj)
	found := map[string]bool{}
	for _, f := range t.flows[obj] {
		for _, text := range t.texts(f.expr, f.info) {
			found[text] = true
		}
	}
	if len(t.flows[obj]) == 0 || len(found) > mostTexts {
		found = map[string]bool{unknownText: true}
	}
	t.known[obj] = slices.Sorted(maps.Keys(found))
	return t.known[obj]
}

// called returns the texts that a call can return.
func (t *titles) called(call *ast.CallExpr, info *types.Info) []string {
	fn, ok := objectOf(info, call.Fun).(*types.Func)
	if !ok {
		if tv := info.Types[call.Fun]; tv.IsType() {
			return t.texts(call.Args[0], info)
		}
		return []string{unknownText}
	}
	switch {
	case fn.FullName() == "fmt.Sprintf":
		return t.formatted(call, info)
	case slices.Contains([]string{"Redact", "hideQuoted", "cleanLine"}, fn.Name()): // the title was made elsewhere
		return t.texts(call.Args[0], info)
	}
	if list, ok := t.known[fn.Origin()]; ok {
		return list
	}
	results := t.results[fn.Origin()]
	if len(results) == 0 || t.open[fn] {
		return []string{unknownText}
	}
	t.open[fn] = true
	defer delete(t.open, fn)
	var out []string
	for _, f := range results {
		if isText(f.info.TypeOf(f.expr)) {
			out = append(out, t.texts(f.expr, f.info)...)
		}
	}
	if slices.Sort(out); len(out) > mostTexts {
		out = []string{unknownText}
	}
	t.known[fn.Origin()] = slices.Compact(out)
	return t.known[fn.Origin()]
}

func isText(typ types.Type) bool {
	b, ok := typ.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// formatted returns the texts of a call of Sprintf: a text verb becomes each text that its argument can be.
func (t *titles) formatted(call *ast.CallExpr, info *types.Info) []string {
	out, next := []string{""}, 1
	for _, format := range t.texts(call.Args[0], info) {
		for {
			before, rest, found := strings.Cut(format, "%")
			out = cross(out, []string{before})
			if !found {
				break
			}
			verb := strings.IndexAny(rest, "sqdvxcgT%wfteoXbUp")
			switch {
			case verb < 0: // a percent sign that begins no verb
				rest, verb = "%"+rest, 0
				out = cross(out, []string{"%"})
			case rest[verb] == '%':
				out = cross(out, []string{"%"})
			case rest[verb] == 's' && next < len(call.Args) && isText(info.TypeOf(call.Args[next])):
				out = cross(out, few(t.texts(call.Args[next], info)))
				next++
			default:
				out = cross(out, []string{unknownText})
				next++
			}
			format = rest[verb+1:]
		}
	}
	return out
}

// few returns the texts for a part of another text: an asterisk if there are too many, or if any text is possible.
func few(texts []string) []string {
	if len(texts) > 12 || slices.Contains(texts, unknownText) {
		return []string{unknownText}
	}
	return texts
}

// parts returns the texts that an element of a collection, or one of several results, can be.
func (t *titles) parts(e *ast.IndexExpr, info *types.Info) []string {
	if call, ok := ast.Unparen(e.X).(*ast.CallExpr); ok {
		return t.called(call, info)
	}
	lits := t.literals(e.X, info)
	if len(lits) == 0 {
		return []string{unknownText}
	}
	at := -1
	if n, ok := e.Index.(*ast.BasicLit); ok && n.Kind == token.INT {
		at, _ = strconv.Atoi(n.Value)
	}
	var out []string
	for _, l := range lits {
		for i, el := range l.lit.Elts {
			if kv, ok := el.(*ast.KeyValueExpr); ok {
				el = kv.Value
			} else if at >= 0 && i != at {
				continue
			}
			out = append(out, t.texts(el, l.info)...)
		}
	}
	return out
}

// literal is a collection literal.
type literal struct {
	lit  *ast.CompositeLit
	info *types.Info
}

// literals returns the literals that a collection can be.
func (t *titles) literals(e ast.Expr, info *types.Info) (out []literal) {
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return []literal{{e, info}}
	case *ast.IndexExpr: // a nested collection
		for _, l := range t.literals(e.X, info) {
			for _, el := range l.lit.Elts {
				if kv, ok := el.(*ast.KeyValueExpr); ok {
					el = kv.Value
				}
				if lit, ok := el.(*ast.CompositeLit); ok {
					out = append(out, literal{lit, l.info})
				}
			}
		}
	case *ast.Ident, *ast.SelectorExpr:
		obj := origin(objectOf(info, e))
		if obj == nil || t.open[obj] {
			return nil
		}
		t.open[obj] = true
		defer delete(t.open, obj)
		for _, f := range t.flows[obj] {
			out = append(out, t.literals(f.expr, f.info)...)
		}
	}
	return out
}

// mostTexts is how many texts a part of a title may have before they are replaced by an asterisk.
const mostTexts = 60

func cross(a, b []string) (out []string) {
	if len(a)*len(b) > mostTexts*mostTexts {
		a = []string{unknownText}
	}
	for _, x := range a {
		for _, y := range b {
			text := strings.ReplaceAll(x+y, unknownText+unknownText, unknownText)
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}
