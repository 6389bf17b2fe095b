package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/nesting"
)

var variableSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "description"}, {Name: "default"}, {Name: "type"}, {Name: "sensitive"}, {Name: "ephemeral"},
		{Name: "nullable"}, {Name: "const"}, {Name: "deprecated"},
	},
	Blocks: []hcl.BlockHeaderSchema{{Type: "validation"}},
}

// reservedVariables have a meaning in module blocks, where variables are set.
var reservedVariables = []string{"source", "version", "providers", "count", "for_each", "lifecycle", "depends_on",
	"locals", "_"}

// variableDecl is a variable block before the overriding ones are merged into it, after which the default is converted.
type variableDecl struct {
	Variable
	attrs hcl.Attributes
}

func decodeVariable(block *hcl.Block, override bool) (*variableDecl, diag.List) {
	content, hclDiags := block.Body.Content(variableSchema)
	diags := diag.List(nil).AppendHCL(hclDiags)
	v := &variableDecl{attrs: content.Attributes}
	v.Name, v.Range = block.Labels[0], block.DefRange
	v.Nullable = true
	v.Type, v.ConstraintType, v.ParsingMode = cty.DynamicPseudoType, cty.DynamicPseudoType, ParseLiteral

	nameRange := block.LabelRanges[0]
	if slices.Contains(reservedVariables, v.Name) {
		diags = diags.Errorf(&nameRange, "Invalid variable name",
			"A variable cannot be called %q, because that word has a special meaning in module blocks.",
			v.Name)
	} else {
		diags = diags.Extend(checkName(v.Name, nameRange, "Invalid variable name"))
	}
	diags = diags.Extend(decodeOptional(v.attrs, "description", &v.Description))
	diags = diags.Extend(decodeFlag(v.attrs, "sensitive", &v.Sensitive))
	diags = diags.Extend(decodeFlag(v.attrs, "ephemeral", &v.Ephemeral))
	diags = diags.Extend(decodeFlag(v.attrs, "nullable", &v.Nullable))
	diags = diags.Extend(decodeFlag(v.attrs, "const", &v.Const))
	diags = diags.Extend(decodeDeprecated(v.attrs, &v.Deprecated, &v.DeprecatedRange))
	if v.Const && v.Sensitive {
		diags = diags.Errorf(&v.Range, "Const variable cannot be sensitive", "The variable %q is a const variable, "+
			"whose value may be recorded and shown. Remove \"sensitive\" or \"const\".", v.Name)
	}
	if v.Const && v.Ephemeral {
		diags = diags.Errorf(&v.Range, "Const variable cannot be ephemeral", "The variable %q is a const variable, "+
			"whose value may be recorded and shown. Remove \"ephemeral\" or \"const\".", v.Name)
	}
	typeOK := true
	if attr, ok := v.attrs["type"]; ok {
		moreDiags := v.setType(attr.Expr)
		diags, typeOK = diags.Extend(moreDiags), !moreDiags.HasErrors()
	}
	diags = diags.Extend(v.setDefault(typeOK && (!override || v.has("type")), override))
	for _, b := range content.Blocks {
		c, moreDiags := readConditionBlock(b, override)
		diags = diags.Extend(moreDiags)
		if c != nil && c.Condition != nil {
			diags = diags.Extend(v.checkCondition(c))
		}
		if c.whole() {
			v.Validations = append(v.Validations, c)
		}
	}
	return v, diags
}

// setDefault decodes the default argument. It is checked against the type if that is fully known.
func (v *variableDecl) setDefault(judged, override bool) diag.List {
	attr, ok := v.attrs["default"]
	if !ok {
		return nil
	}
	raw, hclDiags := attr.Expr.Value(nil)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if hclDiags.HasErrors() {
		raw = cty.DynamicVal // there is a default, but it is invalid
	} else if judged {
		moreDiags := v.checkDefault(raw, attr.Expr.Range(), "The default value")
		if diags = diags.Extend(moreDiags); override && moreDiags.HasErrors() {
			raw = cty.DynamicVal // so that the merge does not report it again
		}
	}
	v.raw, v.rawRange = raw, attr.Expr.Range()
	return diags
}

// checkCondition returns an error for a validation that does not refer to the variable.
func (v *variableDecl) checkCondition(c *Condition) (diags diag.List) {
	for _, traversal := range c.Condition.Variables() {
		if len(traversal) < 2 || traversal.RootName() != "var" {
			continue
		}
		if attr, ok := traversal[1].(hcl.TraverseAttr); ok && attr.Name == v.Name {
			return nil
		}
	}
	return diags.Errorf(c.Condition.Range().Ptr(), "Invalid variable validation condition",
		"The condition must refer to var.%s, the variable that it validates.", v.Name)
}

// setType reads the type argument.
func (v *Variable) setType(expr hcl.Expression) diag.List {
	var diags diag.List
	if text, ok := literalString(expr); ok {
		if !isJSON(expr) {
			return quotedTypeProblem(text, expr.Range())
		}
		if diags = nesting.CheckQuoted(text, expr.Range()); diags.HasErrors() {
			return diags
		}
	}
	v.ParsingMode = ParseHCL
	switch hcl.ExprAsKeyword(expr) {
	case "list": // from versions without element types: short for list(any)
		v.ConstraintType, v.Type = cty.List(cty.DynamicPseudoType), cty.List(cty.DynamicPseudoType)
		return nil
	case "map":
		v.ConstraintType, v.Type = cty.Map(cty.DynamicPseudoType), cty.Map(cty.DynamicPseudoType)
		return nil
	}
	ty, more := writtenType(expr)
	if diags = diags.Extend(more); more.HasErrors() {
		v.ParsingMode = ParseLiteral
		return diags
	}
	v.take(ty)
	v.named = ty.named
	return diags
}

// quotedTypeProblem returns the replacement for a quoted type of old versions.
func quotedTypeProblem(text string, rng hcl.Range) (diags diag.List) {
	const summary = "Invalid quoted type constraints"
	switch text {
	case "string", "number", "bool", "any":
		return diags.Errorf(&rng, summary, "Types are written without quotes: type = %s.", text).
			Fixed(diag.Edit{Range: rng, New: text})
	case "list", "map":
		return diags.Errorf(&rng, summary,
			"Types are written without quotes and with the type of their elements: type = %s(string).", text)
	}
	diags = diags.Errorf(&rng, "Invalid legacy variable type hint",
		"Types are written without quotes, as bare words or constructor calls such as list(string).")
	if name := diag.TypeMeant(text); name != "" {
		return diags.Fixed(diag.Edit{Range: rng, New: name})
	}
	return diags
}

// checkDefault reports whether a default fits the type; what describes it in the text.
func (v *Variable) checkDefault(raw cty.Value, rng hcl.Range, what string) (diags diag.List) {
	kind := "variable"
	if v.parameter {
		kind = "parameter"
	}
	summary := "Invalid default value for " + kind
	converted, err := v.convertDefault(raw)
	if err != nil {
		diags = diags.Errorf(&rng, summary, "%s does not fit the type constraint of the %s %q: %s.", what, kind, v.Name,
			strings.TrimSuffix(v.conversionError(err).Error(), "."))
		if !raw.IsNull() && raw.Type().IsPrimitiveType() {
			if _, err := v.convertDefault(cty.TupleVal([]cty.Value{raw})); err == nil {
				return diags.Fixed(diag.Around(rng, "[", "]")...)
			}
		}
		return diags
	}
	if !v.Nullable && converted.IsNull() {
		return diags.Errorf(&rng, summary, "The default value is null, which nullable = false excludes.")
	}
	return nil
}

// conversionError returns the reason why a value cannot be converted to the variable's type. It shows no secrets: the
// keys of a map may be secret, too.
func (v *Variable) conversionError(err error) error {
	if v.Sensitive || v.Ephemeral {
		return fmt.Errorf("it cannot be converted to %s", v.ConstraintType.FriendlyNameForConstraint())
	}
	return errors.New(describeConversion(err))
}

// convertDefault converts a default to the variable's type.
func (v *Variable) convertDefault(raw cty.Value) (cty.Value, error) {
	if v.TypeDefaults != nil && !raw.IsNull() && raw.IsKnown() {
		raw = v.TypeDefaults.Apply(raw)
	}
	return ctyfast.Convert(raw, v.ConstraintType)
}

// finish merges a block and its overrides into the variable.
func (v *variableDecl) finish() *Variable {
	v.Default = cty.NilVal
	if v.raw != cty.NilVal {
		converted, err := v.convertDefault(v.raw)
		if err != nil {
			converted = cty.UnknownVal(v.Type) // already reported; the variable is still not a required one
		}
		v.Default = converted
	}
	out := v.Variable
	return &out
}

// merge applies an overriding block.
func (v *variableDecl) merge(over *variableDecl) (diags diag.List) {
	if over.has("description") {
		v.Description = over.Description
	}
	if over.has("sensitive") {
		v.Sensitive = over.Sensitive
	}
	if over.has("ephemeral") {
		v.Ephemeral = over.Ephemeral
	}
	if over.has("nullable") {
		v.Nullable = over.Nullable
	}
	if over.has("const") {
		v.Const = over.Const
	}
	if over.has("deprecated") {
		v.Deprecated, v.DeprecatedRange = over.Deprecated, over.DeprecatedRange
	}
	if over.has("default") {
		v.raw, v.rawRange = over.raw, over.rawRange
	}
	if over.has("type") {
		v.Type, v.ConstraintType, v.TypeDefaults, v.ParsingMode = over.Type, over.ConstraintType, over.TypeDefaults,
			over.ParsingMode
		v.named = over.named
	}
	if v.raw == cty.NilVal || !v.raw.IsKnown() || !over.has("type") && !over.has("default") && !over.has("nullable") {
		return nil
	}
	what := "The overriding default value"
	if !over.has("default") {
		what = "With the overriding arguments, the default value"
	}
	return v.checkDefault(v.raw, over.Range, what)
}

// decodeDeprecated reads the message about the replacement of a deprecated object.
func decodeDeprecated(attrs hcl.Attributes, text *string, rng **hcl.Range) diag.List {
	attr, ok := attrs["deprecated"]
	if !ok {
		return nil
	}
	*rng = &attr.Range
	return decodeLiteral(attr.Expr, text)
}

func (v *variableDecl) has(name string) bool { _, ok := v.attrs[name]; return ok }

func decodeLocals(block *hcl.Block) ([]*Local, diag.List) {
	attrs, hclDiags := block.Body.JustAttributes()
	diags := diag.List(nil).AppendHCL(hclDiags)
	var out []*Local
	for _, attr := range inOrder(attrs) {
		diags = diags.Extend(checkName(attr.Name, attr.NameRange, "Invalid local value name"))
		out = append(out, &Local{Name: attr.Name, Expr: attr.Expr, Range: attr.Range})
	}
	return out, diags
}
