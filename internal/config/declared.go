package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/nesting"
)

// Declared holds the declarations of a module that have types: variables, output values and functions. Types may have
// names, so they are decoded when the whole module is known, again when the modules that it calls are, and again with
// the schemas of providers (Config.Typed). Until a part of a type is known, it is any.
type Declared struct {
	Variables map[string]*Variable
	Outputs   map[string]*Output
	Functions map[string]*Function
	Types     *Types
	// Own means that the module has files that only Tombolo reads: only these can use names of types, or call functions
	// of modules.
	Own bool

	module *Module
	open   bool
}

// declare decodes the types of a module's declarations.
func (m *Module) declare(t *Types) (*Declared, diag.List) {
	if !m.declared.Own {
		return &Declared{Variables: m.Variables, Outputs: m.Outputs, Functions: m.Functions, Types: t, module: m}, nil
	}
	d := &Declared{Variables: maps.Clone(m.Variables), Outputs: maps.Clone(m.Outputs),
		Functions: maps.Clone(m.Functions), Types: t, Own: true, module: m}
	t.all()
	diags := t.diags
	t.diags = nil
	for _, meaning := range t.meanings {
		d.open = d.open || meaning.open
	}
	read := func(e hcl.Expression) (ty *OutputType, judged bool) {
		ty, open, more := t.read(e)
		diags, d.open = diags.Extend(more), d.open || open
		return ty, !open && !more.HasErrors()
	}
	variable := func(v *Variable) *Variable {
		if v.named == nil {
			return v
		}
		typed := *v
		ty, judged := read(v.named)
		typed.take(ty)
		if more := typed.retake(); judged {
			diags = diags.Extend(more)
		}
		return &typed
	}
	result := func(ty *OutputType) *OutputType {
		if ty == nil || ty.named == nil {
			return ty
		}
		typed, _ := read(ty.named)
		typed.named = ty.named
		return typed
	}
	for _, name := range slices.Sorted(maps.Keys(m.Variables)) {
		d.Variables[name] = variable(m.Variables[name])
	}
	for _, name := range slices.Sorted(maps.Keys(m.Outputs)) {
		o := *m.Outputs[name]
		o.Type = result(o.Type)
		d.Outputs[name] = &o
	}
	for _, name := range slices.Sorted(maps.Keys(m.Functions)) {
		f := *m.Functions[name]
		f.Parameters = slices.Clone(f.Parameters)
		for i, p := range f.Parameters {
			f.Parameters[i] = variable(p)
		}
		if f.Variadic != nil {
			f.Variadic = variable(f.Variadic)
		}
		f.Type = result(f.Type)
		d.Functions[name] = &f
	}
	return d, diags
}

// take sets the type of a variable.
func (v *Variable) take(ty *OutputType) {
	v.ConstraintType, v.TypeDefaults = ty.Constraint, ty.Defaults
	v.Type = ty.Constraint.WithoutOptionalAttributesDeep()
	v.ParsingMode = ParseHCL
	if v.Type.IsPrimitiveType() {
		v.ParsingMode = ParseLiteral
	}
}

// retake converts the default of a variable to its type.
func (v *Variable) retake() (diags diag.List) {
	if v.raw == cty.NilVal || !v.raw.IsKnown() {
		return nil
	}
	if diags = v.checkDefault(v.raw, v.rawRange, "The default value"); diags.HasErrors() {
		v.Default = cty.UnknownVal(v.Type)
		return diags
	}
	v.Default, _ = v.convertDefault(v.raw)
	return nil
}

// settleTypes decodes the types of the module's own declarations.
func (m *Module) settleTypes() diag.List {
	declared, diags := m.declare(newTypes(m))
	m.adopt(declared)
	if !declared.open {
		return diags
	}
	for _, v := range m.SortedVariables() {
		if !v.Const || v.named == nil {
			continue
		}
		if _, open, _ := declared.Types.read(v.named); open {
			rng := v.named.Range()
			diags = diags.Errorf(&rng, "Invalid type of const variable", "The value of the const variable %q is "+
				"needed before modules and providers are installed, so its type cannot be that of a called module or "+
				"of a resource.", v.Name)
		}
	}
	return diags
}

func (m *Module) adopt(d *Declared) {
	m.declared, m.Variables, m.Outputs, m.Functions = d, d.Variables, d.Outputs, d.Functions
}

// settleTypes decodes the types of all modules again that were incomplete.
func (c *Config) settleTypes() diag.List {
	again := map[*Module]bool{}
	for _, m := range c.Modules {
		again[m] = m.declared.open
	}
	typed, diags := c.typed(again, nil)
	for m, d := range typed {
		m.adopt(d)
	}
	return diags
}

// Typed returns the declarations of all modules with resource types in them resolved. schema returns the object type of
// a resource type; expressions with types call it later, too.
func (c *Config) Typed(schema func(*Module, ResourceType) (cty.Type, diag.List)) (map[*Module]*Declared, diag.List) {
	again := map[*Module]bool{}
	for _, m := range c.Modules {
		again[m] = true
	}
	return c.typed(again, schema)
}

// typed decodes the types of modules again, called modules first.
func (c *Config) typed(again map[*Module]bool,
	schema func(*Module, ResourceType) (cty.Type, diag.List)) (out map[*Module]*Declared, diags diag.List) {
	out = map[*Module]*Declared{}
	for _, m := range slices.Backward(c.SortedModules()) {
		if !again[m] {
			continue
		}
		t := newTypes(m)
		t.complete, t.schema = true, schema
		for name, child := range m.Children {
			t.called[name] = child.declared.Types
			if d := out[child]; d != nil {
				t.called[name] = d.Types
			}
		}
		declared, more := m.declare(t)
		out[m] = declared
		diags = diags.Extend(more)
	}
	return out, diags
}

// writtenType decodes the type that an output value or a function declares. One with names is decoded later.
func writtenType(e hcl.Expression) (*OutputType, diag.List) {
	if len(namesIn(e)) > 0 && IsOwn(e.Range().Filename) {
		return &OutputType{Constraint: cty.DynamicPseudoType, named: e}, nil
	}
	return typeOf(e)
}

// ownCalls reports calls of functions that modules define in files for other tools, which do not support them.
func (f *parsedFile) ownCalls() diag.List {
	if IsOwn(f.name) || !bytes.Contains(f.source, []byte("::")) {
		return nil
	}
	if !strings.HasSuffix(f.name, ".json") {
		return refuseCalls(f.name, funcs.CallsIn(f.body))
	}
	return refuseCalls(f.name, callsInJSON(f.source, f.name))
}

// callsInJSON returns the calls in all templates of a JSON file. Their ranges are those of the strings.
func callsInJSON(src []byte, name string) (out []funcs.Call) {
	d := json.NewDecoder(bytes.NewReader(src))
	for {
		token, err := d.Token()
		if err != nil {
			return out // the end, or an error that was already reported
		}
		text, ok := token.(string)
		if !ok || !strings.Contains(text, "::") {
			continue
		}
		end := int(d.InputOffset())
		begin := max(0, bytes.LastIndexByte(src[:end-1], '\n')+1)
		at := hcl.Pos{Line: 1 + bytes.Count(src[:begin], []byte("\n")), Column: 1, Byte: begin}
		rng := hcl.Range{Filename: name, Start: at, End: at}
		if nesting.CheckQuoted(text, rng).HasErrors() {
			continue
		}
		template, _ := hclsyntax.ParseTemplate([]byte(text), name, at)
		for _, call := range funcs.CallsIn(template) {
			out = append(out, funcs.Call{Name: call.Name, Range: rng})
		}
	}
}
