package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

var outputSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "description"}, {Name: "value", Required: true}, {Name: "depends_on"}, {Name: "sensitive"},
		{Name: "ephemeral"}, {Name: "type"}, {Name: "deprecated"},
	},
	Blocks: []hcl.BlockHeaderSchema{{Type: "precondition"}, {Type: "postcondition"}},
}

// outputDecl is an output block with the attributes that it sets, for overrides.
type outputDecl struct {
	Output
	attrs hcl.Attributes
}

func decodeOutput(block *hcl.Block, override bool) (*outputDecl, diag.List) {
	content, hclDiags := block.Body.Content(schemaFor(outputSchema, override))
	diags := diag.List(nil).AppendHCL(hclDiags)
	o := &outputDecl{attrs: content.Attributes}
	o.Name, o.Range = block.Labels[0], block.DefRange
	diags = diags.Extend(checkName(o.Name, block.LabelRanges[0], "Invalid output name"))
	diags = diags.Extend(decodeOptional(o.attrs, "description", &o.Description))
	diags = diags.Extend(decodeFlag(o.attrs, "sensitive", &o.Sensitive))
	diags = diags.Extend(decodeFlag(o.attrs, "ephemeral", &o.Ephemeral))
	diags = diags.Extend(decodeDeprecated(o.attrs, &o.Deprecated, &o.DeprecatedRange))
	if attr, ok := o.attrs["type"]; ok {
		ty, more := writtenType(attr.Expr)
		if diags = diags.Extend(more); !more.HasErrors() {
			o.Type = ty
		}
	}
	if attr, ok := o.attrs["value"]; ok {
		o.Expr = attr.Expr
	}
	if attr, ok := o.attrs["depends_on"]; ok {
		if override {
			diags = diags.Extend(noOverride(attr))
		}
		var moreDiags diag.List
		o.DependsOn, moreDiags = decodeDependsOn(attr)
		diags = diags.Extend(moreDiags)
	}
	for _, b := range content.Blocks {
		if b.Type == "postcondition" {
			diags = diags.Errorf(b.TypeRange.Ptr(), "Postconditions are not allowed", "An output value can only have "+
				"preconditions. Use a precondition, which is checked before the value is stored.")
			continue
		}
		c, moreDiags := decodeConditionBlock(b, override)
		diags = diags.Extend(moreDiags)
		if c != nil {
			o.Preconditions = append(o.Preconditions, c)
		}
	}
	if o.Expr == nil && !override {
		o.Expr = hcl.StaticExpr(dynamicNull, block.DefRange) // reported; the name still counts as declared
	}
	return o, diags
}

// Convert returns a value of the type. An error shows no marked values.
func (t *OutputType) Convert(v cty.Value) (cty.Value, error) {
	given := v
	if t.Defaults != nil && v.IsKnown() && !v.IsNull() {
		v = t.Defaults.Apply(v)
	}
	out, err := ctyfast.Convert(v, t.Constraint)
	switch {
	case err == nil:
		return out, nil
	case given.ContainsMarked():
		return out, fmt.Errorf("it cannot be converted to %s", t.Constraint.FriendlyNameForConstraint())
	}
	return out, errors.New(strings.TrimSuffix(describeConversion(err), "."))
}

func (o *outputDecl) merge(over *outputDecl) {
	if over.has("description") {
		o.Description = over.Description
	}
	if over.has("sensitive") {
		o.Sensitive = over.Sensitive
	}
	if over.has("ephemeral") {
		o.Ephemeral = over.Ephemeral
	}
	if over.has("deprecated") {
		o.Deprecated, o.DeprecatedRange = over.Deprecated, over.DeprecatedRange
	}
	if over.has("type") {
		o.Type = over.Type
	}
	if over.has("value") {
		o.Expr = over.Expr
	}
}

func (o *outputDecl) has(name string) bool { _, ok := o.attrs[name]; return ok }

// schemaFor returns the schema of a block; overriding blocks need not repeat required arguments.
func schemaFor(schema *hcl.BodySchema, override bool) *hcl.BodySchema {
	if !override {
		return schema
	}
	loose := &hcl.BodySchema{Blocks: schema.Blocks, Attributes: make([]hcl.AttributeSchema, len(schema.Attributes))}
	for i, attr := range schema.Attributes {
		attr.Required = false
		loose.Attributes[i] = attr
	}
	return loose
}

// noOverride returns an error for depends_on in an overriding block, at its first element.
func noOverride(attr *hcl.Attribute) diag.List {
	exprs, hclDiags := hcl.ExprList(attr.Expr)
	if hclDiags.HasErrors() || len(exprs) == 0 {
		return nil // invalid, or without an effect
	}
	return diag.List(nil).Errorf(exprs[0].Range().Ptr(), "Unsupported override",
		"An override file cannot change %s. Change it in the file with the original block.", attr.Name)
}
