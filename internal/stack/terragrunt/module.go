package terragrunt

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// module is what a unit has to know about its module.
type module struct {
	variables map[string]string // the types by name; "" if there is none
	sensitive map[string]bool   // variables
	outputs   map[string]bool   // whether they are sensitive
	objects   []string          // addresses of managed resources and of module calls
	required  []string          // text of required_providers blocks
	known     bool
}

// module reads the module of the unit: the files of its directory or, if it has a source, those of the source, for
// which it adds a module block.
func (u *reader) module() module {
	if u.source == nil {
		return u.readModule(u.dir)
	}
	source, at := u.sourceText, u.source.SrcRange
	dir, isLocal := u.local(source)
	if !isLocal {
		u.noteAt(at, "the module %q is not in the repository, so its variables, outputs and resources are not known: "+
			"the file main.tf has all inputs as variables, and needs output blocks, and moved blocks for resources "+
			"that exist", source)
		u.wrap(source, module{})
		return module{}
	}
	m := u.readModule(dir)
	if !m.known {
		u.noteAt(at, "the module %q has no configuration files, so the unit has none either", source)
		return m
	}
	rel := relative(u.dir, dir)
	if !strings.HasPrefix(rel, "../") {
		rel = "./" + rel
	}
	u.wrap(rel, m)
	return m
}

// local returns the directory of a source in the repository. Two slashes separate the module from what is copied with
// it.
func (u *reader) local(source string) (string, bool) {
	source = filepath.ToSlash(strings.Replace(source, "//", "/", 1))
	if filepath.IsAbs(source) {
		source = u.rel(source)
	} else if strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") || source == "." || source == ".." {
		source = path.Join(u.dir, source)
	} else {
		return "", false
	}
	return source, source != ".." && !strings.HasPrefix(source, "../")
}

// readModule reads the declarations of a directory.
func (u *reader) readModule(dir string) module {
	m := module{variables: map[string]string{}, sensitive: map[string]bool{}, outputs: map[string]bool{}}
	entries, err := os.ReadDir(filepath.Join(u.root, filepath.FromSlash(dir)))
	if err != nil {
		return m
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".tf") || e.IsDir() {
			continue
		}
		name := path.Join(dir, e.Name())
		if body := u.parse(name); body != nil {
			m.known = true
			for _, block := range body.Blocks {
				m.declare(block, u.converter.source[name])
			}
		}
	}
	return m
}

func (m *module) declare(block *hclsyntax.Block, src []byte) {
	label := func(i int) string {
		if i < len(block.Labels) {
			return block.Labels[i]
		}
		return ""
	}
	isSensitive := func() bool {
		a := block.Body.Attributes["sensitive"]
		if a == nil {
			return false
		}
		v, problems := a.Expr.Value(nil)
		return !problems.HasErrors() && v.Type() == cty.Bool && v.IsKnown() && !v.IsNull() && v.True()
	}
	switch block.Type {
	case "variable":
		m.variables[label(0)], m.sensitive[label(0)] = "", isSensitive()
		if a := block.Body.Attributes["type"]; a != nil {
			m.variables[label(0)] = string(a.Expr.Range().SliceBytes(src))
		}
	case "output":
		m.outputs[label(0)] = isSensitive()
	case "resource":
		m.objects = append(m.objects, label(0)+"."+label(1))
	case "module":
		m.objects = append(m.objects, "module."+label(0))
	case "terraform":
		for _, b := range block.Body.Blocks {
			if b.Type == "required_providers" {
				m.required = append(m.required, string(b.Range().SliceBytes(src)))
			}
		}
	}
}

// wrap writes a root module that calls a module, with moved blocks for the objects that it had as a root module.
func (u *reader) wrap(source string, m module) {
	f := hclwrite.NewEmptyFile()
	body := f.Body()
	if len(m.required) > 0 {
		body.AppendUnstructuredTokens(raw("terraform {\n" + strings.Join(m.required, "\n") + "\n}\n\n"))
	}
	passed := u.passed(m)
	call := hclwrite.NewBlock("module", []string{"this"})
	call.Body().SetAttributeRaw("source", quoted(source))
	for _, name := range passed {
		call.Body().SetAttributeRaw(name, raw("var."+name))
	}
	body.AppendBlock(call)
	body.AppendNewline()
	for _, name := range passed {
		v := body.AppendNewBlock("variable", []string{name}).Body()
		if text := m.variables[name]; text != "" {
			v.SetAttributeRaw("type", raw(text))
		}
		if m.sensitive[name] {
			v.SetAttributeValue("sensitive", cty.True)
		}
		body.AppendNewline()
	}
	for _, name := range slices.Sorted(maps.Keys(m.outputs)) {
		o := body.AppendNewBlock("output", []string{name}).Body()
		o.SetAttributeRaw("value", raw("module.this."+name))
		if m.outputs[name] {
			o.SetAttributeValue("sensitive", cty.True)
		}
		body.AppendNewline()
	}
	slices.Sort(m.objects)
	for _, object := range m.objects {
		moved := body.AppendNewBlock("moved", nil).Body()
		moved.SetAttributeRaw("from", raw(object))
		moved.SetAttributeRaw("to", raw("module.this."+object))
		body.AppendNewline()
	}
	u.add(path.Join(u.dir, "main.tf"), hclwrite.Format(f.Bytes()))
}

// passed returns the inputs that the module has variables for, sorted.
func (u *reader) passed(m module) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(u.inputs)) {
		if _, declared := m.variables[name]; declared || !m.known {
			list = append(list, name)
		}
	}
	return list
}

// variables returns the object for the variables of the unit, or "".
func (u *reader) variables(m module) string {
	var b strings.Builder
	passed := u.passed(m)
	for _, name := range slices.Sorted(maps.Keys(u.inputs)) {
		in := u.inputs[name]
		if !slices.Contains(passed, name) {
			u.noteAt(in.expr.Range(), "the input %q is left out: the module has no variable of that name", name)
			continue
		}
		text, ok := u.rewrite(in)
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "%s = %s\n", name, text)
	}
	for _, name := range slices.Sorted(maps.Keys(u.dependencies)) {
		if !slices.Contains(u.used, name) {
			u.before = append(u.before, u.dependencies[name])
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "{\n" + b.String() + "}"
}

// change is a part of an expression that is replaced.
type change struct {
	at   hcl.Range
	text string
}

// rewriting replaces the parts of an input.
type rewriting struct {
	*reader

	in       input
	bound    []string // names that for expressions declare
	changes  []change
	complete bool
}

// rewrite returns the text of an input in the language of stacks: references to dependencies become those to units, and
// everything else its value.
func (u *reader) rewrite(in input) (string, bool) {
	if !refers(in.expr) {
		return u.constant(in, in.expr)
	}
	r := &rewriting{reader: u, in: in, bound: iterators(in.expr), complete: true}
	_ = hclsyntax.VisitAll(in.expr, func(node hclsyntax.Node) hcl.Diagnostics {
		if e, ok := node.(hclsyntax.Expression); ok && !r.inside(e.Range()) {
			r.part(e)
		}
		return nil
	})
	if !r.complete {
		return "", false
	}
	slices.SortFunc(r.changes, func(a, b change) int { return a.at.Start.Byte - b.at.Start.Byte })
	src := u.converter.source[in.file]
	var b strings.Builder
	at := in.expr.Range().Start.Byte
	for _, c := range r.changes {
		b.Write(src[at:c.at.Start.Byte])
		b.WriteString(c.text)
		at = c.at.End.Byte
	}
	b.Write(src[at:in.expr.Range().End.Byte])
	return b.String(), true
}

// inside reports whether a range is in a part that is replaced already.
func (r *rewriting) inside(at hcl.Range) bool {
	return slices.ContainsFunc(r.changes, func(c change) bool {
		return c.at.Start.Byte <= at.Start.Byte && at.End.Byte <= c.at.End.Byte
	})
}

// part replaces one part of the expression, unless its own parts are enough.
func (r *rewriting) part(e hclsyntax.Expression) {
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		switch root := e.Traversal.RootName(); {
		case slices.Contains(r.bound, root):
			return
		case root == "dependency":
			r.reference(e)
			return
		}
	case *hclsyntax.FunctionCallExpr:
		if refers(e) || !onlyHere(e.Name) {
			return
		}
	default:
		return
	}
	text, ok := r.constant(r.in, e)
	r.complete = r.complete && ok
	r.changes = append(r.changes, change{e.Range(), text})
}

// reference replaces a reference to a dependency.
func (r *rewriting) reference(e *hclsyntax.ScopeTraversalExpr) {
	step, isName := second(e.Traversal)
	dir, known := r.dependencies[step]
	if !isName || !known {
		r.noteAt(e.Range(), "the dependency is not known, so the input is not converted")
		r.complete = false
		return
	}
	if !slices.Contains(r.used, step) {
		r.used = append(r.used, step)
	}
	at := hcl.RangeBetween(e.Traversal[0].SourceRange(), e.Traversal[1].SourceRange())
	r.changes = append(r.changes, change{at, fmt.Sprintf("unit[%q]", unitName(dir))})
}

// iterators returns the names that for expressions declare.
func iterators(e hclsyntax.Expression) (list []string) {
	_ = hclsyntax.VisitAll(e, func(node hclsyntax.Node) hcl.Diagnostics {
		if f, ok := node.(*hclsyntax.ForExpr); ok {
			list = append(list, f.KeyVar, f.ValVar)
		}
		return nil
	})
	return list
}

// onlyHere reports whether a function exists only in Terragrunt.
func onlyHere(name string) bool {
	for _, prefix := range []string{"get_", "find_in_", "path_relative_", "read_t", "run_cmd", "sops_", "read_tfvars"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func second(t hcl.Traversal) (string, bool) {
	if len(t) < 2 {
		return "", false
	}
	a, ok := t[1].(hcl.TraverseAttr)
	return a.Name, ok
}

// refers reports whether an expression refers to a dependency.
func refers(e hclsyntax.Expression) bool {
	return slices.ContainsFunc(e.Variables(), func(t hcl.Traversal) bool { return t.RootName() == "dependency" })
}

// constant returns the value of an expression as text.
func (u *reader) constant(in input, e hclsyntax.Expression) (string, bool) {
	v, problems := e.Value(in.scope)
	v = u.portable(v)
	if problems.HasErrors() || !v.IsWhollyKnown() {
		why := "its value is not constant"
		if problems.HasErrors() {
			why = problems[0].Summary + ": " + problems[0].Detail
		}
		u.noteAt(e.Range(), "the input is not converted, so its variable needs a value from elsewhere: %s", why)
		return "", false
	}
	return string(hclwrite.TokensForValue(v).Bytes()), true
}
