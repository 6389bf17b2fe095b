package eval

import (
	"sort"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/dynblock"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// Body is the content of a block, compiled once against its schema. Attributes are taken apart here; nested blocks, static and
// dynamic, are left to the hcl library's decoder.
type Body struct {
	schema *provider.Block
	attrs  []bodyAttr
	blocks hcl.Body // what is left for nested blocks; nil when the schema has none
	spec   hcldec.Spec
	rng    hcl.Range

	traversals []hcl.Traversal // everything that is mentioned anywhere in the body
	nulls      map[string]cty.Value
	// local tells that nested blocks mention each, count or self, so that they must be evaluated for each instance.
	blocksLocal bool
}

type bodyAttr struct {
	name  string
	expr  hcl.Expression
	ty    cty.Type
	local bool // mentions each, count or self: differs from instance to instance
	rng   hcl.Range
}

// CompileBody checks a body against a schema and finds its expressions. The result is never nil.
func CompileBody(body hcl.Body, schema *provider.Block) (*Body, diag.List) {
	var diags diag.List
	b := &Body{schema: schema, nulls: map[string]cty.Value{}, rng: body.MissingItemRange()}
	want := &hcl.BodySchema{}
	names := make([]string, 0, len(schema.Attributes))
	for name := range schema.Attributes {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		a := schema.Attributes[name]
		want.Attributes = append(want.Attributes, hcl.AttributeSchema{Name: name, Required: a.Required})
		b.nulls[name] = cty.NullVal(a.ImpliedType())
	}
	var content *hcl.BodyContent
	var hclDiags hcl.Diagnostics
	if len(schema.Blocks) == 0 {
		content, hclDiags = body.Content(want)
	} else {
		content, b.blocks, hclDiags = body.PartialContent(want)
		b.spec = blockSpec(schema, false)
	}
	diags = diags.AppendHCL(hclDiags)
	for _, name := range names {
		attr, ok := content.Attributes[name]
		if !ok {
			continue
		}
		a := schema.Attributes[name]
		vars := attr.Expr.Variables()
		b.attrs = append(b.attrs, bodyAttr{name, attr.Expr, a.ImpliedType(), mentionsLocal(vars), attr.Range})
		b.traversals = append(b.traversals, vars...)
	}
	if b.blocks != nil {
		vars := dynblock.VariablesHCLDec(b.blocks, b.spec)
		b.blocksLocal = mentionsLocal(vars)
		b.traversals = append(b.traversals, vars...)
	}
	return b, diags
}

// mentionsLocal tells whether any traversal starts with a name that differs between instances.
func mentionsLocal(vars []hcl.Traversal) bool {
	for _, t := range vars {
		switch t.RootName() {
		case "each", "count", "self":
			return true
		}
	}
	return false
}

// blockSpec describes nested blocks to hcl's decoder; attributes included below the top level.
func blockSpec(b *provider.Block, attributes bool) hcldec.ObjectSpec {
	spec := hcldec.ObjectSpec{}
	if attributes {
		for name, a := range b.Attributes {
			spec[name] = &hcldec.AttrSpec{Name: name, Type: a.ImpliedType(), Required: a.Required}
		}
	}
	for name, nb := range b.Blocks {
		nested := blockSpec(&nb.Block, true)
		dynamic := nb.Block.ImpliedType().HasDynamicTypes()
		switch nb.Nesting {
		case provider.NestingSingle:
			spec[name] = &hcldec.BlockSpec{TypeName: name, Nested: nested, Required: nb.MinItems > 0}
		case provider.NestingGroup:
			spec[name] = &hcldec.DefaultSpec{
				Primary: &hcldec.BlockSpec{TypeName: name, Nested: nested, Required: nb.MinItems > 0},
				Default: &hcldec.LiteralSpec{Value: nb.Block.EmptyValue()},
			}
		case provider.NestingList:
			if dynamic {
				spec[name] = &hcldec.BlockTupleSpec{TypeName: name, Nested: nested, MinItems: nb.MinItems, MaxItems: nb.MaxItems}
			} else {
				spec[name] = &hcldec.BlockListSpec{TypeName: name, Nested: nested, MinItems: nb.MinItems, MaxItems: nb.MaxItems}
			}
		case provider.NestingSet:
			spec[name] = &hcldec.BlockSetSpec{TypeName: name, Nested: nested, MinItems: nb.MinItems, MaxItems: nb.MaxItems}
		case provider.NestingMap:
			if dynamic {
				spec[name] = &hcldec.BlockObjectSpec{TypeName: name, Nested: nested, LabelNames: []string{"key"}}
			} else {
				spec[name] = &hcldec.BlockMapSpec{TypeName: name, Nested: nested, LabelNames: []string{"key"}}
			}
		}
	}
	return spec
}

// Evaluation evaluates a body for the instances of one block in one module instance. What does not mention each, count or self
// is evaluated by Prepare, once for all of them.
type Evaluation struct {
	body   *Body
	base   *hcl.EvalContext
	shared map[string]cty.Value
	blocks map[string]cty.Value // shared nested blocks; nil when they are local
}

// Prepare evaluates the shared part of the body.
func (b *Body) Prepare(base *hcl.EvalContext) (*Evaluation, diag.List) {
	e := &Evaluation{body: b, base: base, shared: map[string]cty.Value{}}
	var diags diag.List
	for i := range b.attrs {
		if a := &b.attrs[i]; !a.local {
			v, d := a.value(base)
			diags = diags.Extend(d)
			e.shared[a.name] = v
		}
	}
	if b.blocks != nil && !b.blocksLocal {
		v, d := b.decodeBlocks(base)
		diags = diags.Extend(d)
		e.blocks = v
	}
	return e, diags
}

// Instance evaluates the body for one instance; ctx is a child of the base context with each, count or self, or the base itself.
func (e *Evaluation) Instance(ctx *hcl.EvalContext) (cty.Value, diag.List) {
	b := e.body
	var diags diag.List
	vals := make(map[string]cty.Value, len(b.nulls)+len(b.schema.Blocks))
	for name, v := range b.nulls {
		vals[name] = v
	}
	for i := range b.attrs {
		a := &b.attrs[i]
		if !a.local {
			vals[a.name] = e.shared[a.name]
			continue
		}
		v, d := a.value(ctx)
		diags = diags.Extend(d)
		vals[a.name] = v
	}
	if b.blocks != nil {
		blocks := e.blocks
		if blocks == nil {
			var d diag.List
			blocks, d = b.decodeBlocks(ctx)
			diags = diags.Extend(d)
		}
		for name, v := range blocks {
			vals[name] = v
		}
	}
	if diags.HasErrors() {
		return cty.UnknownVal(b.schema.ImpliedType()), diags
	}
	return cty.ObjectVal(vals), diags
}

// value evaluates an attribute and converts it to the type that the schema wants.
func (a *bodyAttr) value(ctx *hcl.EvalContext) (cty.Value, diag.List) {
	v, hclDiags := a.expr.Value(ctx)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if hclDiags.HasErrors() {
		return cty.UnknownVal(a.ty), diags
	}
	if a.ty == cty.DynamicPseudoType || v.Type().Equals(a.ty) {
		return v, diags
	}
	converted, err := convert.Convert(v, a.ty)
	if err != nil {
		rng := a.expr.Range()
		return cty.UnknownVal(a.ty), diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: "Incorrect attribute value type",
			Detail:  `Inappropriate value for attribute "` + a.name + `": ` + conversionMessage(err) + ".",
			Subject: &rng, Expression: a.expr, EvalContext: ctx})
	}
	return converted, diags
}

// conversionMessage gives the reason of a failed conversion with the path inside of the value.
func conversionMessage(err error) string {
	if pe, ok := err.(cty.PathError); ok && len(pe.Path) > 0 {
		return pathText(pe.Path) + ": " + pe.Error()
	}
	return err.Error()
}

// pathText writes a path as people read it inside of a message: element 0: attribute "x".
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

// decodeBlocks evaluates the nested blocks.
func (b *Body) decodeBlocks(ctx *hcl.EvalContext) (map[string]cty.Value, diag.List) {
	v, hclDiags := hcldec.Decode(dynblock.Expand(b.blocks, ctx), b.spec, ctx)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() || v == cty.NilVal || !v.IsKnown() || v.IsNull() {
		out := map[string]cty.Value{}
		for name, nb := range b.schema.Blocks {
			out[name] = cty.UnknownVal(nb.ImpliedType())
		}
		return out, diags
	}
	v, marks := v.Unmark()
	out := v.AsValueMap()
	if len(marks) > 0 {
		for name := range out {
			out[name] = out[name].WithMarks(marks)
		}
	}
	return out, diags
}

// Traversals gives everything that the body mentions.
func (b *Body) Traversals() []hcl.Traversal { return b.traversals }

// Locate gives diagnostics that a provider answered a place in the source: that of the attribute which their path names, or else the
// header of the block.
func (b *Body) Locate(diags diag.List, header hcl.Range) diag.List {
	for _, d := range diags {
		if d.Subject != nil {
			continue
		}
		d.Subject = &header
		if len(d.Path) == 0 {
			continue
		}
		if step, ok := d.Path[0].(cty.GetAttrStep); ok {
			for i := range b.attrs {
				if b.attrs[i].name == step.Name {
					rng := b.attrs[i].expr.Range()
					d.Subject, d.Context = &rng, &b.attrs[i].rng
				}
			}
		}
	}
	return diags
}

// Range is where the body ends up in messages about what is missing in it.
func (b *Body) Range() hcl.Range { return b.rng }
