package fill

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// standard are the functions that every template has, except for "and" and "or", which need not evaluate all arguments.
var standard = map[string]Func{
	"not":      func(args []any) (any, error) { return one(args, negate) },
	"len":      func(args []any) (any, error) { return one(args, length) },
	"index":    index,
	"slice":    slice,
	"print":    func(args []any) (any, error) { return fmt.Sprint(args...), nil },
	"println":  func(args []any) (any, error) { return fmt.Sprintln(args...), nil },
	"printf":   printf,
	"html":     func(args []any) (any, error) { return forHTML.Replace(fmt.Sprint(args...)), nil },
	"urlquery": func(args []any) (any, error) { return url.QueryEscape(fmt.Sprint(args...)), nil },
	"eq":       equal,
	"ne":       func(args []any) (any, error) { return two(args, differ) },
	"lt":       func(args []any) (any, error) { return ordered(args, func(c int) bool { return c < 0 }) },
	"le":       func(args []any) (any, error) { return ordered(args, func(c int) bool { return c <= 0 }) },
	"gt":       func(args []any) (any, error) { return ordered(args, func(c int) bool { return c > 0 }) },
	"ge":       func(args []any) (any, error) { return ordered(args, func(c int) bool { return c >= 0 }) },
}

var forHTML = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "'", "&#39;", "&", "&amp;", "<", "&lt;", ">", "&gt;")

func one(args []any, f func(any) (any, error)) (any, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("wrong number of args: want 1 got %d", len(args))
	}
	return f(args[0])
}

func negate(v any) (any, error) { return !truth(v), nil }

func two(args []any, f func(a, b any) (bool, error)) (any, error) {
	if len(args) != 2 {
		return nil, fmt.Errorf("wrong number of args: want 2 got %d", len(args))
	}
	return f(args[0], args[1])
}

func length(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return len(v), nil
	case []string:
		return len(v), nil
	case map[string]any:
		return len(v), nil
	}
	return nil, fmt.Errorf("len of %v, expected a text, a list or a map", v)
}

func printf(args []any) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("wrong number of args: want at least 1 got 0")
	}
	format, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("wrong type of argument 1: expected a text, got %v", args[0])
	}
	return fmt.Sprintf(format, args[1:]...), nil
}

// index returns the element at indexes and keys of a value.
func index(args []any) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("wrong number of args: want at least 1 got 0")
	}
	v := args[0]
	for _, key := range args[1:] {
		if m, ok := v.(map[string]any); ok {
			name, ok := key.(string)
			if !ok {
				return nil, fmt.Errorf("the key of a map is %v, expected a text", key)
			}
			v = m[name]
			continue
		}
		size, err := length(v)
		if err != nil {
			return nil, fmt.Errorf("can't index item of type %T", v)
		}
		i, err := position(key, size.(int)-1)
		if err != nil {
			return nil, err
		}
		switch list := v.(type) {
		case []string:
			v = list[i]
		case string:
			v = list[i]
		}
	}
	return v, nil
}

// slice returns a part of a string or a list.
func slice(args []any) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("wrong number of args: want at least 1 got 0")
	}
	size, err := length(args[0])
	if _, isMap := args[0].(map[string]any); err != nil || isMap {
		return nil, fmt.Errorf("can't slice item of type %T", args[0])
	}
	bounds := []int{0, size.(int)}
	if len(args) > 3 {
		return nil, fmt.Errorf("too many slice indexes: %d", len(args)-1)
	}
	for i, a := range args[1:] {
		if bounds[i], err = position(a, size.(int)); err != nil {
			return nil, err
		}
	}
	if bounds[0] > bounds[1] {
		return nil, fmt.Errorf("invalid slice index: %d > %d", bounds[0], bounds[1])
	}
	if s, ok := args[0].(string); ok {
		return s[bounds[0]:bounds[1]], nil
	}
	return args[0].([]string)[bounds[0]:bounds[1]], nil
}

// position returns an index up to a limit.
func position(v any, most int) (int, error) {
	i, ok := v.(int)
	if !ok {
		return 0, fmt.Errorf("cannot index with %v, expected a whole number", v)
	}
	if i < 0 || i > most {
		return 0, fmt.Errorf("index out of range: %d", i)
	}
	return i, nil
}

// compare compares two values of the same kind.
func compare(a, b any) (int, error) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b), nil
		}
	case int:
		if b, ok := b.(int); ok {
			return cmp.Compare(a, b), nil
		}
	case float64:
		if b, ok := b.(float64); ok {
			return cmp.Compare(a, b), nil
		}
	default:
		return 0, fmt.Errorf("invalid type for comparison: %v", a)
	}
	return 0, fmt.Errorf("incompatible types for comparison: %v and %v", a, b)
}

// differ reports whether two values are different; bools and nil can also be compared.
func differ(a, b any) (bool, error) {
	if a == nil || b == nil {
		return a != b, nil
	}
	if x, ok := a.(bool); ok {
		y, ok := b.(bool)
		if !ok {
			return false, fmt.Errorf("incompatible types for comparison: %v and %v", a, b)
		}
		return x != y, nil
	}
	c, err := compare(a, b)
	return c != 0, err
}

// equal reports whether the first argument equals any of the others.
func equal(args []any) (any, error) {
	if len(args) < 2 {
		return nil, errors.New("missing argument for comparison")
	}
	for _, b := range args[1:] {
		d, err := differ(args[0], b)
		if err != nil {
			return nil, err
		}
		if !d {
			return true, nil
		}
	}
	return false, nil
}

func ordered(args []any, want func(int) bool) (any, error) {
	return two(args, func(a, b any) (bool, error) {
		c, err := compare(a, b)
		return err == nil && want(c), err
	})
}
