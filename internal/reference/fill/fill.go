// Package fill executes templates in the language of the standard library's text/template, for documentation pages of
// providers.
//
//	text, err := fill.Template("index.md.tmpl", "# {{ upper .Name }}\n", data, functions)
//
// The standard library parses the templates but does not execute them, because it looks up methods by name at run time,
// which makes the linker keep all methods of all libraries. Data are strings, bools, integers, floats, lists of strings
// and maps of such values. Methods, values that are functions and "js" are not supported; the rest of the language is:
// variables, pipelines, if, with, range, define, template, block and the standard functions. The tests compare it with
// the standard library.
package fill

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// Func is a function that templates may call.
type Func func(args []any) (any, error)

// Template executes a template with data, a map, and returns the text.
func Template(name, text string, data map[string]any, functions map[string]Func) (string, error) {
	known, names := maps.Clone(standard), map[string]any{"and": true, "or": true}
	maps.Copy(known, functions)
	for name := range known {
		names[name] = true
	}
	trees, err := parse.Parse(name, text, "", "", names)
	if err != nil {
		return "", err
	}
	tree := trees[name]
	if tree == nil || tree.Root == nil {
		return "", nil
	}
	r := &runner{trees: trees, functions: known, tree: tree, variables: []variable{{"$", data}}}
	if err := r.run(data, tree.Root); err != nil {
		return "", err
	}
	return r.out.String(), nil
}

// deepest is the maximum depth of nested template calls.
const deepest = 1000

// runner is a template that is being executed.
type runner struct {
	trees     map[string]*parse.Tree
	functions map[string]Func
	out       strings.Builder

	tree      *parse.Tree // tree of the template being executed
	variables []variable  // innermost last
	depth     int
}

type variable struct {
	name  string
	value any
}

// Exits from a loop.
var (
	errBreak    = errors.New("break")
	errContinue = errors.New("continue")
)

// fail returns an error with a position in the template.
func (r *runner) fail(at parse.Node, format string, args ...any) error {
	place, around := r.tree.ErrorContext(at)
	return fmt.Errorf("%s: at %s: %w", place, around, fmt.Errorf(format, args...))
}

// run executes a part of the template. The variables that it declares are removed afterwards.
func (r *runner) run(dot any, node parse.Node) error {
	switch n := node.(type) {
	case *parse.ListNode:
		return r.list(dot, n)
	case *parse.TextNode:
		r.out.Write(n.Text)
		return nil
	case *parse.CommentNode:
		return nil
	case *parse.ActionNode:
		v, err := r.declaring(dot, n.Pipe)
		if err != nil || len(n.Pipe.Decl) > 0 {
			return err
		}
		return r.print(n, v)
	case *parse.IfNode:
		return r.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return r.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		return r.loop(dot, &n.BranchNode)
	case *parse.TemplateNode:
		return r.call(dot, n)
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	}
	return r.fail(node, "%s is not available here", node)
}

func (r *runner) list(dot any, list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	for _, n := range list.Nodes {
		if err := r.run(dot, n); err != nil {
			return err
		}
	}
	return nil
}

// scoped calls f, and removes the variables that it declares.
func (r *runner) scoped(f func() error) error {
	mark := len(r.variables)
	defer func() { r.variables = r.variables[:mark] }()
	return f()
}

func (r *runner) print(at parse.Node, v any) error {
	if v == nil {
		v = "<no value>"
	}
	if _, err := fmt.Fprint(&r.out, v); err != nil {
		return r.fail(at, "%w", err)
	}
	return nil
}

// branch executes "if" and, with the value as the dot, "with".
func (r *runner) branch(dot any, n *parse.BranchNode, with bool) error {
	return r.scoped(func() error {
		v, err := r.declaring(dot, n.Pipe)
		if err != nil {
			return err
		}
		if !truth(v) {
			return r.list(dot, n.ElseList)
		}
		if with {
			dot = v
		}
		return r.list(dot, n.List)
	})
}

// loop executes "range".
func (r *runner) loop(dot any, n *parse.BranchNode) error {
	return r.scoped(func() error {
		v, err := r.pipeline(dot, n.Pipe)
		if err != nil {
			return err
		}
		keys, values, err := elements(v)
		if err != nil {
			return r.fail(n, "%w", err)
		}
		mark := len(r.variables)
		for i, value := range values {
			err := r.scoped(func() error {
				// The variables are in the pipeline's scope; a single one is the value.
				set := []any{value}
				if len(n.Pipe.Decl) > 1 {
					set = []any{keys[i], value}
				}
				for j, d := range n.Pipe.Decl {
					r.declare(d.Ident[0], set[j], n.Pipe.IsAssign)
				}
				return r.list(value, n.List)
			})
			r.variables = r.variables[:mark]
			switch {
			case errors.Is(err, errBreak):
				return nil
			case err != nil && !errors.Is(err, errContinue):
				return err
			}
		}
		if len(values) == 0 {
			return r.list(dot, n.ElseList)
		}
		return nil
	})
}

// elements returns the elements that range visits: maps in the order of their keys.
func elements(v any) (keys, values []any, err error) {
	switch v := v.(type) {
	case nil:
		return nil, nil, nil
	case []string:
		for i, s := range v {
			keys, values = append(keys, i), append(values, s)
		}
		return keys, values, nil
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			keys, values = append(keys, name), append(values, v[name])
		}
		return keys, values, nil
	case int:
		for i := range v {
			keys, values = append(keys, i), append(values, i)
		}
		return keys, values, nil
	}
	return nil, nil, fmt.Errorf("range can't iterate over %v", v)
}

// call executes another template, which only gets its argument.
func (r *runner) call(dot any, n *parse.TemplateNode) error {
	tree := r.trees[n.Name]
	if tree == nil {
		return r.fail(n, "template %q not defined", n.Name)
	}
	if r.depth == deepest {
		return r.fail(n, "exceeded maximum template depth (%d)", deepest)
	}
	var given any
	if n.Pipe != nil {
		var err error
		if given, err = r.pipeline(dot, n.Pipe); err != nil {
			return err
		}
	}
	was, variables := r.tree, r.variables
	r.tree, r.variables, r.depth = tree, []variable{{"$", given}}, r.depth+1
	defer func() { r.tree, r.variables, r.depth = was, variables, r.depth-1 }()
	return r.list(given, tree.Root)
}

// declare sets a variable: a new one or, with assign, an existing one.
func (r *runner) declare(name string, v any, assign bool) {
	if assign {
		for i := len(r.variables) - 1; i >= 0; i-- {
			if r.variables[i].name == name {
				r.variables[i].value = v
				return
			}
		}
	}
	r.variables = append(r.variables, variable{name, v})
}

// truth returns a value as a condition of if and with: zero and empty values are false.
func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case map[string]any:
		return len(v) > 0
	case []string:
		return len(v) > 0
	}
	return !reflect.ValueOf(v).IsZero()
}
