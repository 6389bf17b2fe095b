// Package blocks compiles the body of a block against its schema once, and evaluates it for each instance: attributes,
// nested blocks, dynamic blocks. The caller passes the evaluation context for the expressions.
//
//	body := blocks.Compile(block.Body, schema)
//	shared, diags := body.Prepare(scope)     // the parts without count, each and self
//	value, diags := shared.Instance(instance) // the complete value of one instance
package blocks

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// blockGroup holds all nested blocks with one name, which form one value.
type blockGroup struct {
	name   string
	nested *provider.NestedBlock
	// ty is the type of the value. For an attribute that is written as blocks, it is the type of the attribute, and the
	// value is null without any block.
	ty       cty.Type
	attrLike bool
	required bool // a required attribute

	items      []blockItem
	missing    hcl.Range // range of the error for too few blocks
	traversals []hcl.Traversal
	local      bool // refers to each, count or self
}

// blockItem is one block in the source: static, or dynamic with a block for each element of its for_each.
type blockItem struct {
	label   string
	def     hcl.Range
	body    *Body
	dynamic *dynamicBlock
}

// blockGroups returns the groups of blocks of a schema: its nested blocks, and the attributes that the body writes as
// blocks.
func (b *Body) blockGroups(asBlocks map[string]*provider.NestedBlock) []*blockGroup {
	out := make([]*blockGroup, 0, len(b.schema.Blocks)+len(asBlocks))
	for _, name := range slices.Sorted(maps.Keys(b.schema.Blocks)) {
		nb := b.schema.Blocks[name]
		out = append(out, &blockGroup{name: name, nested: nb, ty: nb.ImpliedType(), missing: b.rng})
	}
	for _, name := range slices.Sorted(maps.Keys(asBlocks)) {
		a := b.schema.Attributes[name]
		out = append(out, &blockGroup{name: name, nested: asBlocks[name], ty: a.ImpliedType(), attrLike: true,
			required: a.Required, missing: b.rng})
	}
	return out
}

func (g *blockGroup) header() hcl.BlockHeaderSchema {
	h := hcl.BlockHeaderSchema{Type: g.name}
	if g.nested.Nesting == provider.NestingMap {
		h.LabelNames = []string{"key"}
	}
	return h
}

// compileBlocks assigns the blocks of a body to their groups, in the order of the source.
func (b *Body) compileBlocks(groups []*blockGroup, content *hcl.BodyContent) {
	byName := make(map[string]*blockGroup, len(groups))
	for _, g := range groups {
		byName[g.name] = g
	}
	for _, block := range content.Blocks {
		if block.Type == "dynamic" {
			b.diags = b.diags.Extend(addDynamic(byName, block))
			continue
		}
		g := byName[block.Type]
		item := blockItem{def: block.DefRange, body: Compile(block.Body, &g.nested.Block)}
		if len(block.Labels) > 0 {
			item.label = block.Labels[0]
		}
		g.add(item, item.body.traversals)
	}
	for _, g := range groups {
		g.local = mentionsLocal(g.traversals)
		b.traversals = append(b.traversals, g.traversals...)
		if g.attrLike && len(g.items) == 0 {
			if g.required {
				b.diags = b.diags.Errorf(&b.rng, "Missing required argument",
					"The argument %q is required, but no definition was found.", g.name)
			}
			continue // the attribute is null
		}
		b.groups = append(b.groups, g)
	}
}

func (g *blockGroup) add(item blockItem, traversals []hcl.Traversal) {
	g.items = append(g.items, item)
	g.traversals = append(g.traversals, traversals...)
}

// element is the value of one block.
type element struct {
	item    *blockItem
	label   string
	value   cty.Value
	unknown bool // stands for any number of blocks
}

// value evaluates all blocks of the group and returns their value.
func (g *blockGroup) value(ctx *hcl.EvalContext) (cty.Value, diag.List) {
	var elems []element
	var diags diag.List
	for i := range g.items {
		item := &g.items[i]
		if item.dynamic != nil {
			more, d := item.expand(g, ctx)
			elems, diags = append(elems, more...), diags.Extend(d)
			continue
		}
		vals, d := item.body.values(ctx, nil)
		diags = diags.Extend(item.body.diags).Extend(d)
		elems = append(elems, element{item: item, label: item.label, value: cty.ObjectVal(vals)})
	}
	v, d := g.collect(elems)
	if diags = diags.Extend(d); diags.HasErrors() {
		return cty.UnknownVal(g.ty), diags
	}
	return v, diags
}

// collect checks the number of blocks and returns the value.
func (g *blockGroup) collect(elems []element) (cty.Value, diag.List) {
	single := g.nested.Nesting == provider.NestingSingle || g.nested.Nesting == provider.NestingGroup
	if single {
		return g.single(elems)
	}
	if slices.ContainsFunc(elems, func(e element) bool { return e.unknown }) {
		return cty.UnknownVal(g.ty), nil
	}
	if g.attrLike && len(elems) == 0 {
		return cty.NullVal(g.ty), nil
	}
	if g.nested.Nesting == provider.NestingMap {
		return g.keyed(elems)
	}
	diags := g.checkNumber(elems)
	vals := make([]cty.Value, len(elems))
	for i, e := range elems {
		vals[i] = e.value
	}
	switch {
	case g.nested.Nesting == provider.NestingList && g.ty == cty.DynamicPseudoType:
		return cty.TupleVal(vals), diags
	case len(vals) == 0:
		return g.nested.EmptyValue(), diags
	case g.nested.Nesting == provider.NestingList:
		return cty.ListVal(vals), diags
	}
	return cty.SetVal(vals), diags
}

func (g *blockGroup) checkNumber(elems []element) diag.List {
	if n := len(elems); n < g.nested.MinItems {
		return diag.List(nil).Errorf(&g.missing, "Insufficient "+g.name+" blocks",
			"At least %d %q blocks are required.", g.nested.MinItems, g.name)
	} else if limit := g.nested.MaxItems; limit > 0 && n > limit {
		at := elems[limit].item.body.rng
		return diag.List(nil).Errorf(&at, "Too many "+g.name+" blocks", "No more than %d %q blocks are allowed.", limit,
			g.name)
	}
	return nil
}

// single returns the value of a block that may occur at most once.
func (g *blockGroup) single(elems []element) (cty.Value, diag.List) {
	var diags diag.List
	switch {
	case len(elems) > 1:
		diags = diags.Errorf(&elems[1].item.def, "Duplicate "+g.name+" block",
			"Only one block of type %q is allowed. The first one is at %s.", g.name, elems[0].item.def)
	case len(elems) == 1:
		return elems[0].value, nil
	case g.nested.MinItems > 0:
		diags = diags.Errorf(&g.missing, "Missing "+g.name+" block", "A block of type %q is required here.", g.name)
	case g.nested.Nesting == provider.NestingGroup:
		return g.nested.Block.EmptyValue(), nil
	}
	return cty.NullVal(g.ty), diags
}

// keyed returns the value of blocks with a label.
func (g *blockGroup) keyed(elems []element) (cty.Value, diag.List) {
	var diags diag.List
	vals := make(map[string]cty.Value, len(elems))
	marks := cty.ValueMarks{}
	for _, e := range elems {
		if _, twice := vals[e.label]; twice {
			diags = diags.Errorf(&e.item.def, "Duplicate "+g.name+" block",
				"A block for %s %q was already defined. The %s labels must be unique.", g.name, e.label, g.name)
			continue
		}
		vals[e.label] = e.value
		for m := range e.value.Marks() {
			marks[m] = struct{}{} // labels depend on the for_each, too
		}
	}
	switch {
	case len(vals) == 0:
		return g.nested.EmptyValue(), diags
	case !g.ty.IsMapType():
		return cty.ObjectVal(vals).WithMarks(marks), diags
	}
	return cty.MapVal(vals).WithMarks(marks), diags
}

// unknown returns the value of the group within an unknown block.
func (g *blockGroup) unknown() cty.Value {
	if len(g.items) == 0 {
		v, _ := g.collect(nil)
		return v
	}
	if g.nested.Nesting == provider.NestingSingle || g.nested.Nesting == provider.NestingGroup {
		return g.items[0].body.unknown()
	}
	return cty.UnknownVal(g.ty)
}

// item returns the block at a path, and the rest of the path.
func (g *blockGroup) item(path cty.Path) (*blockItem, cty.Path) {
	if len(g.items) == 0 {
		return nil, nil
	}
	if g.nested.Nesting == provider.NestingSingle || g.nested.Nesting == provider.NestingGroup {
		return &g.items[0], path
	}
	if len(path) == 0 {
		return &g.items[0], nil
	}
	step, ok := path[0].(cty.IndexStep)
	if !ok || !step.Key.IsKnown() || step.Key.IsNull() {
		return nil, nil
	}
	for i := range g.items {
		item := &g.items[i]
		switch {
		case item.dynamic != nil:
			return item, path[1:] // stands for any number of blocks
		case step.Key.Type() == cty.Number && step.Key.RawEquals(cty.NumberIntVal(int64(i))):
			return item, path[1:]
		case step.Key.Type() == cty.String && step.Key.AsString() == item.label:
			return item, path[1:]
		}
	}
	return nil, nil
}

// attributesAsBlocks describes the attributes that a body may write as blocks, which old plugin libraries allowed for
// lists and sets of objects. Those that are written as attributes are left out; in JSON syntax all are.
func attributesAsBlocks(body hcl.Body, schema *provider.Block) map[string]*provider.NestedBlock {
	var out map[string]*provider.NestedBlock
	probe := &hcl.BodySchema{}
	for name, a := range schema.Attributes {
		if nb := blockOfAttribute(a); nb != nil {
			if out == nil {
				out = map[string]*provider.NestedBlock{}
			}
			out[name] = nb
			probe.Attributes = append(probe.Attributes, hcl.AttributeSchema{Name: name})
		}
	}
	if out == nil {
		return nil
	}
	content, _, _ := body.PartialContent(probe)
	for name := range content.Attributes {
		delete(out, name)
	}
	return out
}

// blockOfAttribute describes an attribute as nested blocks, or returns nil if it is not a list or set of objects.
func blockOfAttribute(a *provider.Attribute) *provider.NestedBlock {
	ty := a.Type
	if a.Nested != nil || ty == cty.NilType || !ty.IsListType() && !ty.IsSetType() || !ty.ElementType().IsObjectType() {
		return nil
	}
	nb := &provider.NestedBlock{Nesting: provider.NestingList, Block: provider.Block{
		Attributes: map[string]*provider.Attribute{}}}
	if ty.IsSetType() {
		nb.Nesting = provider.NestingSet
	}
	for name, aty := range ty.ElementType().AttributeTypes() {
		nb.Attributes[name] = &provider.Attribute{Type: aty, Optional: true}
	}
	return nb
}
