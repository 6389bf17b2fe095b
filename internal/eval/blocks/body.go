package blocks

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/provider"
)

// Body is the content of a block, compiled once against its schema: the expression of each attribute, and the nested
// blocks, static or dynamic, of each value. Evaluating an instance does not parse anything.
type Body struct {
	schema *provider.Block
	attrs  []bodyAttr
	groups []*blockGroup
	rng    hcl.Range
	diags  diag.List // mismatches with the schema; reported by the first evaluation

	traversals []hcl.Traversal // all references in the body
	nulls      map[string]cty.Value
}

type bodyAttr struct {
	name  string
	expr  hcl.Expression
	ty    cty.Type
	want  cty.Type // ty, with optional attributes in nested attributes
	local bool     // refers to each, count, self or caller, so that instances differ
	rng   hcl.Range
	// seen is the type of the last evaluated value, if the schema leaves it open: instances share it.
	seen *ctyfast.LastType
}

// Compile compiles a body against a schema. Mismatches are reported by the evaluation.
func Compile(body hcl.Body, schema *provider.Block) *Body {
	b := &Body{schema: schema, nulls: make(map[string]cty.Value, len(schema.Attributes)), rng: body.MissingItemRange()}
	asBlocks := attributesAsBlocks(body, schema)
	want := &hcl.BodySchema{}
	names := slices.Sorted(maps.Keys(schema.Attributes))
	for _, name := range names {
		a := schema.Attributes[name]
		b.nulls[name] = cty.NullVal(a.ImpliedType())
		if asBlocks[name] == nil {
			want.Attributes = append(want.Attributes, hcl.AttributeSchema{Name: name, Required: a.Required})
		}
	}
	groups := b.blockGroups(asBlocks)
	for _, g := range groups {
		want.Blocks = append(want.Blocks, g.header())
	}
	want.Blocks = append(want.Blocks, dynamicHeader)
	content, hclDiags := body.Content(want)
	b.diags = b.diags.Extend(withArguments(diag.List(nil).AppendHCL(hclDiags), schema))
	for _, name := range names {
		attr, ok := content.Attributes[name]
		if !ok {
			continue
		}
		vars, a := funcs.Mentions(attr.Expr), schema.Attributes[name]
		b.attrs = append(b.attrs, bodyAttr{name, attr.Expr, a.ImpliedType(), a.ConfigType(), mentionsLocal(vars),
			attr.Range, &ctyfast.LastType{}})
		b.traversals = append(b.traversals, vars...)
	}
	b.compileBlocks(groups, content)
	return b
}

// maxArguments is the maximum number of arguments to list.
const maxArguments = 12

// withArguments adds the list of existing arguments to problems about an unknown one without a similar name.
func withArguments(diags diag.List, schema *provider.Block) diag.List {
	for _, d := range diags {
		if d.Summary == "Unsupported block type" && strings.HasSuffix(d.Detail, "are not expected here.") {
			d.Detail += blocksOf(schema)
			continue
		}
		if d.Summary != "Unsupported argument" || !strings.HasSuffix(d.Detail, "is not expected here.") {
			continue
		}
		switch d.Detail {
		case notExpected("lifecycle"), notExpected("connection"), notExpected("provisioner"):
			d.Detail += " It is a block: write it without an equals sign."
			continue
		}
		var names []string
		for _, name := range slices.Sorted(maps.Keys(schema.Attributes)) {
			if a := schema.Attributes[name]; a.Required || a.Optional {
				names = append(names, name)
			}
		}
		if len(names) > 0 && len(names) <= maxArguments {
			d.Detail += " The arguments here are: " + strings.Join(names, ", ") + "."
		}
	}
	return diags
}

// blocksOf returns the list of existing blocks, for a problem about an unexpected one.
func blocksOf(schema *provider.Block) string {
	switch n := len(schema.Blocks); {
	case n == 0:
		return " No nested blocks are allowed here. Write an argument with an equals sign."
	case n > maxArguments:
		return ""
	}
	return " The blocks here are: " + strings.Join(slices.Sorted(maps.Keys(schema.Blocks)), ", ") + "."
}

func notExpected(name string) string {
	return fmt.Sprintf("An argument named %q is not expected here.", name)
}

// mentionsLocal reports whether any traversal starts with a name whose value differs between instances.
func mentionsLocal(vars []hcl.Traversal) bool {
	for _, t := range vars {
		switch t.RootName() {
		case "each", "count", "self", "caller":
			return true
		}
	}
	return false
}

// Evaluation evaluates a body for the instances of one block in one module instance. Prepare evaluates the parts that
// do not refer to each, count or self once for all instances.
type Evaluation struct {
	body   *Body
	base   *hcl.EvalContext
	shared map[string]cty.Value // by attribute or block type
	// first holds values that Prepare has evaluated and that are for one instance only, because functions such as uuid
	// were called; the first instance takes them.
	first atomic.Pointer[map[string]cty.Value]
}

// Prepare evaluates the shared part of the body.
func (b *Body) Prepare(base *hcl.EvalContext) (*Evaluation, diag.List) {
	e := &Evaluation{body: b, base: base, shared: make(map[string]cty.Value, len(b.attrs)+len(b.groups))}
	diags := slices.Clone(b.diags)
	var first map[string]cty.Value // nil for most bodies
	evaluate := func(name string, value func(*hcl.EvalContext) (cty.Value, diag.List)) {
		before := funcs.ImpureCalls(base)
		v, d := value(base)
		diags = diags.Extend(d)
		if len(d) == 0 && funcs.ImpureCalls(base) != before {
			if first == nil {
				first = map[string]cty.Value{}
			}
			first[name] = v
			return
		}
		e.shared[name] = v
	}
	for i := range b.attrs {
		if a := &b.attrs[i]; !a.local {
			evaluate(a.name, a.value)
		}
	}
	for _, g := range b.groups {
		if !g.local {
			evaluate(g.name, g.value)
		}
	}
	if first != nil {
		e.first.Store(&first)
	}
	return e, diags
}

// Instance evaluates the body for one instance; ctx is a child of the base context with each, count or self, or the
// base itself.
func (e *Evaluation) Instance(ctx *hcl.EvalContext) (cty.Value, diag.List) {
	shared := e.shared
	if first := e.first.Swap(nil); first != nil {
		shared = maps.Clone(shared)
		maps.Copy(shared, *first)
	}
	vals, diags := e.body.values(ctx, shared)
	if diags.HasErrors() {
		return cty.UnknownVal(e.body.schema.ImpliedType()), diags
	}
	return cty.ObjectVal(vals), diags
}

// values evaluates the parts that are not in shared.
func (b *Body) values(ctx *hcl.EvalContext, shared map[string]cty.Value) (map[string]cty.Value, diag.List) {
	var diags diag.List
	vals := make(map[string]cty.Value, len(b.nulls)+len(b.groups))
	maps.Copy(vals, b.nulls)
	for i := range b.attrs {
		a := &b.attrs[i]
		v, ok := shared[a.name]
		if !ok {
			var d diag.List
			v, d = a.value(ctx)
			diags = diags.Extend(d)
		}
		vals[a.name] = v
	}
	for _, g := range b.groups {
		v, ok := shared[g.name]
		if !ok {
			var d diag.List
			v, d = g.value(ctx)
			diags = diags.Extend(d)
		}
		vals[g.name] = v
	}
	return vals, diags
}

// unknown returns the value of a body with an unknown number of instances: the attributes that are set in the body are
// unknown.
func (b *Body) unknown() cty.Value {
	vals := make(map[string]cty.Value, len(b.nulls)+len(b.groups))
	maps.Copy(vals, b.nulls)
	for i := range b.attrs {
		vals[b.attrs[i].name] = cty.UnknownVal(b.attrs[i].ty)
	}
	for _, g := range b.groups {
		vals[g.name] = g.unknown()
	}
	return cty.ObjectVal(vals)
}

// value evaluates an attribute and converts it to the type of the schema.
func (a *bodyAttr) value(ctx *hcl.EvalContext) (cty.Value, diag.List) {
	v, hclDiags := funcs.Evaluate(a.expr, ctx)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if hclDiags.HasErrors() {
		return cty.UnknownVal(a.ty), diags
	}
	if a.ty == cty.DynamicPseudoType {
		return a.typed(v), diags
	}
	if v.Type().Equals(a.ty) {
		return v, diags
	}
	converted, err := ctyfast.Convert(v, a.want)
	if err != nil {
		rng := a.expr.Range()
		return cty.UnknownVal(a.ty),
			diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: "Incorrect attribute value type",
				Detail:  `Inappropriate value for attribute "` + a.name + `": ` + ConversionMessage(err) + ".",
				Subject: &rng, Expression: a.expr, EvalContext: ctx})
	}
	return converted, diags
}

// typed returns a value with the type of another instance's value, if they are equal.
func (a *bodyAttr) typed(v cty.Value) cty.Value {
	ty := v.Type()
	if !ty.IsObjectType() && !ty.IsTupleType() {
		return v
	}
	return a.seen.Share(v)
}

// ConversionMessage returns the reason for a failed conversion, with the path within the value.
func ConversionMessage(err error) string {
	if pe, ok := err.(cty.PathError); ok && len(pe.Path) > 0 {
		return pathText(pe.Path) + ": " + pe.Error()
	}
	return err.Error()
}

// pathText returns a path for a message, such as: element 0: attribute "x".
func pathText(path cty.Path) string {
	out := ""
	for i, step := range path {
		if i > 0 {
			out += ": "
		}
		switch s := step.(type) {
		case cty.GetAttrStep:
			out += `attribute "` + s.Name + `"`
		case cty.IndexStep:
			if k, err := addr.KeyFromValue(s.Key); err == nil {
				if str, ok := k.Str(); ok {
					out += `element "` + str + `"`
				} else if n, ok := k.Int(); ok {
					out += "element " + cty.NumberIntVal(int64(n)).AsBigFloat().String()
				}
			} else {
				out += "element"
			}
		}
	}
	return out
}

// Traversals returns all references in the body.
func (b *Body) Traversals() []hcl.Traversal { return b.traversals }

// Sets reports whether the body has an argument with a name, even a null one.
func (b *Body) Sets(name string) bool {
	return slices.ContainsFunc(b.attrs, func(a bodyAttr) bool { return a.name == name })
}

// ArgumentAt returns the argument, of the body or of blocks in it, that contains a range, or nil.
func (b *Body) ArgumentAt(at hcl.Range) hcl.Expression {
	for _, a := range b.attrs {
		if a.expr.Range().Overlaps(at) {
			return a.expr
		}
	}
	for _, g := range b.groups {
		for _, item := range g.items {
			if e := item.body.ArgumentAt(at); e != nil {
				return e
			}
		}
	}
	return nil
}

// Mentions returns the references of an attribute, or of the nested blocks with one name.
func (b *Body) Mentions(name string) []hcl.Traversal {
	for i := range b.attrs {
		if b.attrs[i].name == name {
			return funcs.Mentions(b.attrs[i].expr)
		}
	}
	for _, g := range b.groups {
		if g.name == name {
			return g.traversals
		}
	}
	return nil
}

// Locate returns a provider's diagnostics with source ranges: that of the attribute at their path, otherwise that of
// the nearest body.
func (b *Body) Locate(diags diag.List) diag.List {
	out := slices.Clone(diags)
	for i, d := range out {
		if d != nil && d.Subject == nil {
			located := *d
			located.Subject, located.Context = b.place(d.Path, b.rng)
			out[i] = &located
		}
	}
	return out
}

func (b *Body) place(path cty.Path, header hcl.Range) (subject, context *hcl.Range) {
	if len(path) == 0 {
		return &header, nil
	}
	step, ok := path[0].(cty.GetAttrStep)
	if !ok {
		return &header, nil
	}
	for i := range b.attrs {
		if a := &b.attrs[i]; a.name == step.Name {
			rng := a.expr.Range()
			return &rng, &a.rng
		}
	}
	for _, g := range b.groups {
		if g.name != step.Name {
			continue
		}
		if item, rest := g.item(path[1:]); item != nil {
			return item.body.place(rest, item.def)
		}
	}
	return &header, nil
}

// Range returns the source range for messages about missing arguments.
func (b *Body) Range() hcl.Range { return b.rng }

// Problem returns an error about an expression, with the values of its operands.
func Problem(expr hcl.Expression, ctx *hcl.EvalContext, summary, format string, args ...any) diag.List {
	rng := expr.Range()
	return diag.List{&diag.Diagnostic{Severity: diag.Error, Summary: summary, Detail: fmt.Sprintf(format, args...),
		Subject: &rng, Expression: expr, EvalContext: ctx}}
}
