package blocks

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// dynamicBlock holds the for_each, iterator and labels of a dynamic block.
type dynamicBlock struct {
	forEach  hcl.Expression
	iterator string
	label    hcl.Expression // nil if the block type has none
}

var (
	dynamicHeader = hcl.BlockHeaderSchema{Type: "dynamic", LabelNames: []string{"type"}}
	dynamicSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "for_each", Required: true}, {Name: "iterator"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "content"}},
	}
	labelledSchema = &hcl.BodySchema{
		Attributes: append([]hcl.AttributeSchema{{Name: "labels", Required: true}}, dynamicSchema.Attributes...),
		Blocks:     dynamicSchema.Blocks,
	}
)

// addDynamic compiles a dynamic block and adds it to its group.
func addDynamic(groups map[string]*blockGroup, block *hcl.Block) diag.List {
	name := block.Labels[0]
	g := groups[name]
	if g == nil {
		return diag.List(nil).Errorf(&block.LabelRanges[0], "Unsupported block type",
			"Blocks of type %q are not expected here.", name)
	}
	schema := dynamicSchema
	if g.nested.Nesting == provider.NestingMap {
		schema = labelledSchema
	}
	content, hclDiags := block.Body.Content(schema)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() {
		return diags
	}
	d := &dynamicBlock{forEach: content.Attributes["for_each"].Expr, iterator: name}
	if attr := content.Attributes["iterator"]; attr != nil {
		t, hclDiags := hcl.AbsTraversalForExpr(attr.Expr)
		if diags = diags.AppendHCL(hclDiags); diags.HasErrors() {
			return diags
		}
		if len(t) != 1 {
			rng := t.SourceRange()
			return diags.Errorf(&rng, "Invalid dynamic iterator name",
				"Dynamic iterator must be a single variable name.")
		}
		d.iterator = t.RootName()
	}
	if attr := content.Attributes["labels"]; attr != nil {
		label, problems := dynamicLabel(attr, name)
		if diags = diags.Extend(problems); diags.HasErrors() {
			return diags
		}
		d.label = label
	}
	switch {
	case len(content.Blocks) == 0:
		rng := content.MissingItemRange
		return diags.Errorf(&rng, "Missing dynamic content block",
			"A \"dynamic\" block needs a \"content\" block, which is the body of each block it creates.")
	case len(content.Blocks) > 1:
		return diags.Errorf(&content.Blocks[1].DefRange, "Extraneous dynamic content block",
			"A \"dynamic\" block can have only one \"content\" block. Remove this one.")
	}
	item := blockItem{def: block.DefRange, dynamic: d, body: Compile(content.Blocks[0].Body, &g.nested.Block)}
	inside := item.body.traversals
	if d.label != nil {
		inside = append(funcs.Mentions(d.label), inside...)
	}
	g.add(item, append(funcs.Mentions(d.forEach), without(inside, d.iterator)...))
	return diags
}

// dynamicLabel returns the single label in the argument "labels".
func dynamicLabel(attr *hcl.Attribute, name string) (hcl.Expression, diag.List) {
	exprs, hclDiags := hcl.ExprList(attr.Expr)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() {
		return nil, diags
	}
	switch rng := attr.Expr.Range(); {
	case len(exprs) > 1:
		rng = exprs[1].Range()
		return nil, diags.Errorf(&rng, "Extraneous dynamic block label", "Blocks of type %q require 1 label(s).", name)
	case len(exprs) == 0:
		return nil, diags.Errorf(&rng, "Insufficient dynamic block labels", "Blocks of type %q require 1 label(s).",
			name)
	}
	return exprs[0], diags
}

// without removes the traversals that start with a name.
func without(list []hcl.Traversal, name string) []hcl.Traversal {
	var out []hcl.Traversal
	for _, t := range list {
		if t.RootName() != name {
			out = append(out, t)
		}
	}
	return out
}

// expand evaluates a dynamic block: one element for each element of its for_each. Problems of the content are reported
// once, and only if there are elements: a block that an old provider does not support is allowed with an empty
// for_each.
func (item *blockItem) expand(g *blockGroup, ctx *hcl.EvalContext) ([]element, diag.List) {
	v, marks, diags := item.dynamic.over(ctx)
	if diags.HasErrors() {
		return nil, diags
	}
	if !v.IsKnown() {
		return []element{{item: item, value: item.body.unknown().WithMarks(marks), unknown: true}}, item.body.diags
	}
	var elems []element
	for key, val := range ctyfast.Each(v) {
		inner := ctx.NewChild()
		inner.Variables = map[string]cty.Value{
			item.dynamic.iterator: cty.ObjectVal(map[string]cty.Value{"key": key.WithMarks(marks),
				"value": val.WithMarks(marks)})}
		if len(elems) == 0 {
			diags = diags.Extend(item.body.diags)
		}
		label, d := item.dynamic.labelOf(inner, marks)
		vals, more := item.body.values(inner, nil)
		diags = diags.Extend(d).Extend(more)
		elems = append(elems, element{item: item, label: label, value: cty.ObjectVal(vals).WithMarks(marks)})
	}
	return elems, diags
}

// over evaluates for_each and returns its marks separately.
func (d *dynamicBlock) over(ctx *hcl.EvalContext) (cty.Value, cty.ValueMarks, diag.List) {
	v, hclDiags := funcs.Evaluate(d.forEach, ctx)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() {
		return cty.DynamicVal, nil, diags
	}
	if value.IsEphemeral(v) {
		return v, nil, diags.Extend(Problem(d.forEach, ctx, "Invalid use of ephemeral value", "An ephemeral value "+
			"cannot be used in the for_each of a dynamic block: the number of blocks must be the same in every run."))
	}
	v, marks := v.Unmark()
	switch {
	case v.IsNull():
		diags = diags.Extend(Problem(d.forEach, ctx, "Invalid dynamic for_each value",
			"The value of for_each is null. Use an empty collection for no blocks."))
	case !v.CanIterateElements() && v.Type() != cty.DynamicPseudoType:
		diags = diags.Extend(Problem(d.forEach, ctx, "Invalid dynamic for_each value",
			"The value of for_each is a %s; it must be a list, set, map, tuple or object.", v.Type().FriendlyName()))
	}
	return v, marks, diags
}

// labelOf evaluates the label of one block. A sensitive for_each makes the whole value sensitive, so its keys may be
// labels.
func (d *dynamicBlock) labelOf(ctx *hcl.EvalContext, allowed cty.ValueMarks) (string, diag.List) {
	if d.label == nil {
		return "", nil
	}
	v, hclDiags := funcs.Evaluate(d.label, ctx)
	if hclDiags.HasErrors() {
		return "", diag.List(nil).AppendHCL(hclDiags)
	}
	bad := func(format string, args ...any) (string, diag.List) {
		return "", Problem(d.label, ctx, "Invalid dynamic block label", format, args...)
	}
	v, marks := v.Unmark()
	v, err := convert.Convert(v, cty.String)
	switch {
	case err != nil:
		return bad("A label must be a string: %s.", err)
	case !subset(marks, allowed):
		return bad("A sensitive or ephemeral value cannot be a label: labels are part of the object's address.")
	case v.IsNull():
		return bad("This label is null. A label must be a string.")
	case !v.IsKnown():
		return bad("This label is known only after apply. Labels must be known during planning.")
	}
	return v.AsString(), nil
}

func subset(marks, of cty.ValueMarks) bool {
	for m := range marks {
		if _, ok := of[m]; !ok {
			return false
		}
	}
	return true
}
