package fill

import (
	"fmt"
	"text/template/parse"
)

// none represents a missing result of an earlier command.
type none struct{}

// pipeline returns the value of commands, each of which gets the result of the previous one.
func (r *runner) pipeline(dot any, pipe *parse.PipeNode) (any, error) {
	var v any = none{}
	for _, c := range pipe.Cmds {
		var err error
		if v, err = r.command(dot, c, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// declaring returns the value of a pipeline and assigns it to the variable before it.
func (r *runner) declaring(dot any, pipe *parse.PipeNode) (any, error) {
	v, err := r.pipeline(dot, pipe)
	if err == nil && len(pipe.Decl) > 0 {
		r.declare(pipe.Decl[0].Ident[0], v, pipe.IsAssign)
	}
	return v, err
}

func (r *runner) command(dot any, c *parse.CommandNode, last any) (any, error) {
	switch first := c.Args[0].(type) {
	case *parse.IdentifierNode:
		return r.apply(dot, first, c.Args[1:], last)
	case *parse.PipeNode:
		if err := r.alone(c, last); err != nil {
			return nil, err
		}
		return r.pipeline(dot, first)
	}
	if err := r.alone(c, last); err != nil {
		return nil, err
	}
	return r.value(dot, c.Args[0])
}

// alone returns an error for arguments of a command that is not a function.
func (r *runner) alone(c *parse.CommandNode, last any) error {
	if _, isNone := last.(none); len(c.Args) > 1 || !isNone {
		return r.fail(c.Args[0], "can't give argument to non-function %s", c.Args[0])
	}
	if _, isNil := c.Args[0].(*parse.NilNode); isNil {
		return r.fail(c.Args[0], "nil is not a command")
	}
	return nil
}

// value returns the value of a node in a command or among the arguments of a function.
func (r *runner) value(dot any, node parse.Node) (any, error) {
	switch n := node.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.NilNode:
		return nil, nil
	case *parse.BoolNode:
		return n.True, nil
	case *parse.StringNode:
		return n.Text, nil
	case *parse.NumberNode:
		switch {
		case n.IsInt:
			return int(n.Int64), nil
		case n.IsFloat:
			return n.Float64, nil
		}
		return nil, r.fail(n, "%s is not a number in the allowed range", n.Text)
	case *parse.FieldNode:
		return r.fields(n, dot, n.Ident)
	case *parse.VariableNode:
		for i := len(r.variables) - 1; i >= 0; i-- {
			if r.variables[i].name == n.Ident[0] {
				return r.fields(n, r.variables[i].value, n.Ident[1:])
			}
		}
		return nil, r.fail(n, "undefined variable: %s", n.Ident[0])
	case *parse.ChainNode:
		v, err := r.value(dot, n.Node)
		if err != nil {
			return nil, err
		}
		return r.fields(n, v, n.Field)
	case *parse.PipeNode:
		return r.pipeline(dot, n)
	case *parse.IdentifierNode:
		return r.apply(dot, n, nil, none{})
	}
	return nil, r.fail(node, "can't handle %s", node)
}

// fields returns the value at a path of names in nested maps.
func (r *runner) fields(at parse.Node, v any, names []string) (any, error) {
	for _, name := range names {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, r.fail(at, "can't evaluate field %s in type %T", name, v)
		}
		if v, ok = m[name]; !ok {
			return nil, r.fail(at, "can't evaluate field %s: there is none", name)
		}
	}
	return v, nil
}

// apply calls a function. The result of an earlier command is its last argument.
func (r *runner) apply(dot any, name *parse.IdentifierNode, args []parse.Node, last any) (any, error) {
	values := make([]any, 0, len(args)+1)
	shortcut := name.Ident == "and" || name.Ident == "or"
	for _, a := range args {
		v, err := r.value(dot, a)
		if err != nil {
			return nil, err
		}
		if shortcut && truth(v) == (name.Ident == "or") {
			return v, nil // the others are not evaluated
		}
		values = append(values, v)
	}
	if _, isNone := last.(none); !isNone {
		values = append(values, last)
	}
	if shortcut {
		if len(values) == 0 {
			return nil, r.fail(name, "wrong number of args for %s: want at least 1 got 0", name.Ident)
		}
		return values[len(values)-1], nil
	}
	v, err := r.functions[name.Ident](values)
	if err != nil {
		return nil, r.fail(name, "error calling %s: %w", name.Ident, err)
	}
	return v, nil
}

// Texts returns the arguments of a function that takes the given number of strings.
func Texts(args []any, want int) ([]string, error) {
	if len(args) != want {
		return nil, fmt.Errorf("wrong number of args: want %d got %d", want, len(args))
	}
	texts := make([]string, want)
	for i, a := range args {
		var ok bool
		if texts[i], ok = a.(string); !ok {
			return nil, fmt.Errorf("wrong type of argument %d: expected a text, got %v", i+1, a)
		}
	}
	return texts, nil
}
