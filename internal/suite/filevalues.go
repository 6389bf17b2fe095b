package suite

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
)

// fileValues evaluates the variables that a file sets or declares, for one run. They can refer to each other, to
// external variables, and to runs that have ended.
type fileValues struct {
	of     *attempt
	global map[string]cty.Value
	// values holds the evaluated values and the external ones; broken holds the problems of the others.
	values map[string]cty.Value
	broken map[string]diag.List
	state  map[string]evaluation
}

// evaluation is the progress of a variable's evaluation.
type evaluation uint8

const (
	underWay evaluation = iota + 1
	evaluated
)

// fileValues evaluates all variables of the file.
func (a *attempt) fileValues(global map[string]cty.Value) *fileValues {
	f := &fileValues{of: a, global: global, values: maps.Clone(global), broken: map[string]diag.List{},
		state: map[string]evaluation{}}
	for _, name := range f.names() {
		f.need(name)
	}
	return f
}

// names returns the names of all variables that the file sets or declares.
func (f *fileValues) names() []string {
	list := slices.Collect(maps.Keys(f.of.file.file.Variables))
	return slices.Sorted(slices.Values(slices.AppendSeq(list, maps.Keys(f.of.file.file.Declared))))
}

// rangeOf returns the source range of a variable's value in the file.
func (f *fileValues) rangeOf(name string) hcl.Range {
	if attr := f.of.file.file.Variables[name]; attr != nil {
		return attr.Expr.Range()
	}
	return f.of.file.file.Declared[name].Range
}

// need evaluates a variable after its dependencies.
func (f *fileValues) need(name string) {
	attr, declared := f.of.file.file.Variables[name], f.of.file.file.Declared[name]
	if f.state[name] != 0 || attr == nil && declared == nil {
		return
	}
	f.state[name] = underWay
	defer func() { f.state[name] = evaluated }()
	_, given := f.global[name]
	switch {
	case attr != nil:
		f.evaluate(name, attr)
	case given:
	case declared.Required():
		f.broken[name] = diag.List{}.Errorf(&declared.Range, "Required variable not set",
			"The variable %q of the file has no default and is not set. Set it with -var or -var-file, or give it a "+
				"default.", name)
	default:
		f.values[name] = declared.Default
	}
}

func (f *fileValues) evaluate(name string, attr *hcl.Attribute) {
	var diags diag.List
	for _, t := range attr.Expr.Variables() {
		other, named := nameOf(t, 1)
		if t.RootName() != "var" || !named || other == name { // its own name means the external value
			continue
		}
		if f.need(other); f.state[other] == underWay {
			diags = diags.Errorf(attr.Expr.Range().Ptr(), "Variables that refer to each other",
				"The variable %q of the "+
					"file refers to %q, which refers back to it. Set one of them to another value.", name, other)
		}
		diags = diags.Extend(f.broken[other])
	}
	if diags.HasErrors() {
		f.broken[name] = diags
		return
	}
	v, diags := f.of.value(attr.Expr, f.of.scope(f.values), inFile)
	if diags.HasErrors() {
		f.broken[name] = diags
		return
	}
	f.values[name] = v
}
