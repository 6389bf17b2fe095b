package schema

import (
	"context"
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// Function is a function of the language. It has no side effects, needs no configuration, and returns the same result
// for the same arguments.
type Function struct {
	Parameters []Parameter
	// Variadic, if set, describes all further arguments.
	Variadic *Parameter
	// Return describes the result: its Type, and the Elem of a collection.
	Return *Schema
	// Call receives the Go forms of the arguments, with those of the variadic parameter last. ArgumentError reports an
	// invalid argument.
	Call func(ctx context.Context, args []interface{}) (interface{}, error)

	Summary     string
	Description string
	Deprecated  string
}

// Parameter describes a parameter. Arguments are never null or unknown unless the parameter allows it; such arguments
// are nil.
type Parameter struct {
	Name        string
	Type        ValueType
	Elem        interface{}
	AllowNull   bool
	Description string
}

// ArgumentError reports that the n-th argument, counted from zero, is invalid.
func ArgumentError(n int, format string, args ...interface{}) error {
	return function.NewArgErrorf(n, format, args...)
}

func (p Parameter) field() *field {
	c := compiler{fields: map[*provider.Attribute]*field{}}
	return c.field(p.Name, &Schema{Type: p.Type, Elem: p.Elem}, true)
}

func (p Parameter) wire() provider.FunctionParam {
	return provider.FunctionParam{Name: p.Name, Type: p.field().ty, AllowNull: p.AllowNull, Description: p.Description}
}

func (f *Function) result() *field {
	s := f.Return
	if s == nil {
		s = &Schema{}
	}
	c := compiler{fields: map[*provider.Attribute]*field{}}
	return c.field("result", s, true)
}

func (f *Function) wire() *provider.Function {
	out := &provider.Function{Return: f.result().ty, Summary: f.Summary, Description: f.Description,
		Deprecated: f.Deprecated}
	for _, p := range f.Parameters {
		out.Params = append(out.Params, p.wire())
	}
	if f.Variadic != nil {
		p := f.Variadic.wire()
		out.VarParam = &p
	}
	return out
}

// CallFunction calls a function.
func (s *server) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error) {
	f := s.p.Functions[name]
	if f == nil {
		return s.Base.CallFunction(ctx, name, args)
	}
	plain := make([]interface{}, len(args))
	for i, arg := range args {
		p := f.Variadic
		if i < len(f.Parameters) {
			p = &f.Parameters[i]
		}
		switch {
		case p == nil:
			return cty.DynamicVal, function.NewArgErrorf(i, "there are only %d parameters", len(f.Parameters))
		case arg.IsNull() && !p.AllowNull:
			return cty.DynamicVal, function.NewArgErrorf(i, "it must not be null")
		case !arg.IsNull():
			if p.Type == TypeInt && !isInt(arg) {
				return cty.DynamicVal, function.NewArgErrorf(i, "an integer is needed")
			}
			plain[i] = p.field().decode(arg)
		}
	}
	var out interface{}
	var failed error
	t := &resourceType{name: name, kind: callee}
	diags := s.guard(ctx, t, "call", func(ctx context.Context) diag.List {
		out, failed = f.Call(ctx, plain)
		return nil
	})
	switch {
	case diags.HasErrors():
		return cty.DynamicVal, errors.New(diags[0].Detail)
	case failed != nil:
		return cty.DynamicVal, failed
	}
	v, err := f.result().encode(nil, out, cty.NilVal)
	if err != nil {
		return cty.DynamicVal,
			fmt.Errorf("the provider's function %s returned a result that is not of its type: %w. %s",
				name, err, value.ProviderBug)
	}
	return v, nil
}
