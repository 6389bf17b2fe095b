package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/nesting"
)

// decodeLiteral decodes an expression without references to a Go value.
func decodeLiteral(expr hcl.Expression, target any) diag.List {
	diags := diag.List(nil).AppendHCL(gohcl.DecodeExpression(expr, nil, target))
	if len(diags) > 1 {
		return diags[:1] // the second error would be that an invalid expression has no value
	}
	return diags
}

// decodeOptional decodes an attribute, if it is set, like decodeLiteral.
func decodeOptional(attrs hcl.Attributes, name string, target any) diag.List {
	if attr, ok := attrs[name]; ok {
		return decodeLiteral(attr.Expr, target)
	}
	return nil
}

// decodeFlag reads a bool argument.
func decodeFlag(attrs hcl.Attributes, name string, target *bool) diag.List {
	return decodeOptional(attrs, name, target)
}

const nameRule = "A name begins with a letter or an underscore; letters, digits, underscores and dashes may follow."

// checkName reports a name that is not an identifier.
func checkName(name string, rng hcl.Range, summary string) diag.List {
	if plainName(name) || hclsyntax.ValidIdentifier(name) {
		return nil
	}
	return diag.List(nil).Errorf(&rng, summary, "%q is not a name. %s", name, nameRule)
}

// checkResourceName is checkName with a suggestion, in which words are joined, and one that is written twice is there
// once.
func checkResourceName(name string, rng hcl.Range, summary string) diag.List {
	diags := checkName(name, rng, summary)
	words := slices.Compact(strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" ./:", r) }))
	meant := strings.Join(words, "_")
	if !hclsyntax.ValidIdentifier(meant) {
		meant = "_" + meant
	}
	quoted := rng.End.Byte-rng.Start.Byte == len(name)+2
	if diags.HasErrors() && quoted && len(words) > 0 && hclsyntax.ValidIdentifier(meant) {
		return diags.Fixed(diag.Edit{Range: rng, New: `"` + meant + `"`})
	}
	return diags
}

// plainName recognizes common names without the lexer, which is slow for short texts.
func plainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != ""
}

// checkLocalProviderName returns errors for local names that cannot be part of a provider address.
func checkLocalProviderName(name string, rng hcl.Range) diag.List {
	const summary = "Invalid provider local name"
	var diags diag.List
	if problem := providerPartProblem(name); problem != "" {
		return diags.Errorf(&rng, summary, "%q cannot be the local name of a provider: it %s.", name, problem)
	}
	if lower := strings.ToLower(name); lower != name {
		return diags.Errorf(&rng, summary, "Local names of providers are written in lower case: replace %q by %q.",
			name, lower)
	}
	return nil
}

// providerPartProblem returns the problem of a part of a provider address, or "".
func providerPartProblem(part string) string {
	switch {
	case part == "":
		return "is empty"
	case strings.HasPrefix(part, "-") || strings.HasSuffix(part, "-"):
		return "cannot start or end with a dash"
	case strings.Contains(part, "--"):
		return "cannot have two dashes in a row"
	}
	for _, r := range part {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r >= 0x80
		if !ok {
			return "can have only letters, digits and dashes"
		}
	}
	return ""
}

// namespaceProblem is like providerPartProblem for a namespace, which may also contain underscores.
func namespaceProblem(namespace string) string {
	if strings.HasPrefix(namespace, "_") || strings.HasSuffix(namespace, "_") {
		return "cannot start or end with an underscore"
	}
	return providerPartProblem(strings.ReplaceAll(namespace, "_", "x"))
}

// isJSON reports whether an expression is in a JSON file, where strings replace bare expressions.
func isJSON(expr hcl.Expression) bool {
	_, native := expr.(hclsyntax.Expression)
	return !native
}

// literalString returns the text of a string without any interpolation; in native syntax it must be quoted.
func literalString(expr hcl.Expression) (string, bool) {
	switch e := expr.(type) {
	case *hclsyntax.TemplateExpr:
		if !e.IsStringLiteral() {
			return "", false
		}
	case *hclsyntax.ObjectConsKeyExpr:
		return literalString(e.Wrapped)
	case hclsyntax.Expression:
		return "", false
	default:
		if len(expr.Variables()) > 0 {
			return "", false
		}
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}

// unquote parses the expression in a quoted string, as in old configurations and in JSON. Other expressions are
// returned unchanged.
func unquote(expr hcl.Expression, what string) (hcl.Expression, diag.List) {
	text, ok := literalString(expr)
	if !ok {
		return expr, nil
	}
	var diags diag.List
	rng := expr.Range()
	start := rng.Start
	start.Column++
	start.Byte++
	if diags := nesting.CheckQuoted(text, rng); diags.HasErrors() {
		return expr, diags
	}
	if isJSON(expr) {
		parsed, hclDiags := hclsyntax.ParseExpression([]byte(text), rng.Filename, start)
		if hclDiags.HasErrors() {
			return expr, nil // the caller's message has the range of the whole string, because its parts have none
		}
		return parsed, nil
	}
	diags = diags.Warnf(&rng, fmt.Sprintf("Quoted %s are deprecated", what), "Write %s here without quotes. Quotes "+
		"are deprecated here and will be an error in the future: remove them.", what)
	traversal, hclDiags := hclsyntax.ParseTraversalAbs([]byte(text), rng.Filename, start)
	if hclDiags.HasErrors() {
		return expr, diags.AppendHCL(hclDiags)
	}
	return &hclsyntax.ScopeTraversalExpr{Traversal: traversal, SrcRange: rng}, diags
}

// decodeTraversal reads a reference that must be static: only names and literal keys.
func decodeTraversal(expr hcl.Expression) (hcl.Traversal, diag.List) {
	expr, diags := unquote(expr, "references")
	if diags.HasErrors() {
		return nil, diags
	}
	traversal, hclDiags := hcl.AbsTraversalForExpr(expr)
	return traversal, diags.AppendHCL(hclDiags)
}

// decodeRelTraversal reads a path into an object in the same way.
func decodeRelTraversal(expr hcl.Expression) (hcl.Traversal, diag.List) {
	expr, diags := unquote(expr, "references")
	if diags.HasErrors() {
		return nil, diags
	}
	traversal, hclDiags := hcl.RelTraversalForExpr(expr)
	return traversal, diags.AppendHCL(hclDiags)
}

// decodeKeyword reads a bare word.
func decodeKeyword(expr hcl.Expression) (string, diag.List) {
	expr, diags := unquote(expr, "keywords")
	return hcl.ExprAsKeyword(expr), diags
}

// decodeDependsOn reads a list of references.
func decodeDependsOn(attr *hcl.Attribute) ([]hcl.Traversal, diag.List) {
	var out []hcl.Traversal
	exprs, hclDiags := hcl.ExprList(attr.Expr)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() {
		diags[0].Detail = "The argument \"depends_on\" is a list of references in brackets, even if there is only one."
		diags[0].Fix = asList(attr.Expr)
	}
	for _, expr := range exprs {
		traversal, moreDiags := decodeTraversal(expr)
		if moreDiags.HasErrors() {
			moreDiags[0].Fix = withoutQuotes(expr)
		}
		diags = diags.Extend(moreDiags)
		if len(traversal) > 0 {
			out = append(out, traversal)
		}
	}
	return out, diags
}

// asList returns the change that puts a reference, which may be in quotes, into brackets.
func asList(expr hcl.Expression) diag.Fix {
	at := expr.Range()
	if _, diags := hcl.AbsTraversalForExpr(expr); !diags.HasErrors() {
		return diag.Around(at, "[", "]")
	}
	fix := withoutQuotes(expr)
	if len(fix) == 2 {
		fix[0].New, fix[1].New = "[", "]"
	}
	return fix
}

// withoutQuotes returns the change of "x.y" or "${x.y}" to x.y, or nil.
func withoutQuotes(expr hcl.Expression) diag.Fix {
	var inner hcl.Range
	switch e := expr.(type) {
	case *hclsyntax.TemplateWrapExpr:
		if _, diags := hcl.AbsTraversalForExpr(e.Wrapped); diags.HasErrors() {
			return nil
		}
		inner = e.Wrapped.Range()
	case *hclsyntax.TemplateExpr:
		if len(e.Parts) != 1 {
			return nil
		}
		inner = e.Parts[0].Range()
		text, _ := e.Parts[0].Value(nil)
		if text.IsNull() || !text.IsKnown() || text.Type() != cty.String {
			return nil
		}
		if _, diags := hclsyntax.ParseTraversalAbs([]byte(text.AsString()), "", hcl.InitialPos); diags.HasErrors() {
			return nil
		}
	default:
		return nil
	}
	outer := expr.Range()
	return diag.Fix{{Range: hcl.Range{Filename: outer.Filename, Start: outer.Start, End: inner.Start}},
		{Range: hcl.Range{Filename: outer.Filename, Start: inner.End, End: outer.End}}}
}

// checkRepetition returns an error for count and for_each in the same block.
func checkRepetition(attrs hcl.Attributes) (count, forEach hcl.Expression, diags diag.List) {
	if attr, ok := attrs["count"]; ok {
		count = attr.Expr
	}
	if attr, ok := attrs["for_each"]; ok {
		forEach = attr.Expr
		if count != nil {
			diags = diags.Errorf(attr.NameRange.Ptr(), `Invalid combination of "count" and "for_each"`,
				`A block can have either "count" or "for_each". Remove one of them.`)
		}
	}
	return count, forEach, diags
}

// oneRepetition returns an error for enabled together with count or for_each.
func oneRepetition(count, forEach, enabled hcl.Expression) (diags diag.List) {
	if enabled == nil {
		return nil
	}
	for _, other := range []struct {
		name string
		expr hcl.Expression
	}{{"count", count}, {"for_each", forEach}} {
		if other.expr != nil {
			names := []string{other.name, "enabled"}
			slices.Sort(names)
			diags = diags.Errorf(other.expr.Range().Ptr(), fmt.Sprintf("Invalid combination of %q and %q", names[0],
				names[1]), "With %q the block already sets the number of instances, which can be 0. Remove it, or "+
				"\"enabled\" from the lifecycle block.", other.name)
		}
	}
	return diags
}

// decodeConditionBlock reads a validation, precondition, postcondition or assert block.
func decodeConditionBlock(block *hcl.Block, override bool) (*Condition, diag.List) {
	c, diags := readConditionBlock(block, override)
	if !c.whole() {
		return nil, diags
	}
	return c, diags
}

// whole reports whether a condition has both of its arguments.
func (c *Condition) whole() bool { return c != nil && c.Condition != nil && c.ErrorMessage != nil }

// readConditionBlock is decodeConditionBlock for those who judge what there is. It returns nil for no condition at all.
func readConditionBlock(block *hcl.Block, override bool) (*Condition, diag.List) {
	var diags diag.List
	if override {
		return nil, diags.Errorf(block.DefRange.Ptr(), fmt.Sprintf("Can't override %s blocks", block.Type),
			"An override file cannot have %q blocks. Move it to the file with the original block.", block.Type)
	}
	content, hclDiags := block.Body.Content(conditionSchema)
	diags = diags.AppendHCL(hclDiags)
	c := &Condition{Range: block.DefRange}
	if attr, ok := content.Attributes["condition"]; ok {
		c.Condition = attr.Expr
		if block.Type != "validation" && len(attr.Expr.Variables()) == 0 && !(block.Type == "assert" &&
			slices.ContainsFunc(funcs.Calls(attr.Expr), isOfModule)) {
			diags = diags.Errorf(attr.Expr.Range().Ptr(), fmt.Sprintf("Invalid %s expression", block.Type),
				"The condition does not refer to anything in the configuration, so its result is always the same. "+
					"Refer to at least one object.")
		}
	}
	if attr, ok := content.Attributes["error_message"]; ok {
		c.ErrorMessage = attr.Expr
	}
	return c, diags
}

// isOfModule reports whether the function of a call is defined in a module.
func isOfModule(c funcs.Call) bool {
	return strings.HasPrefix(c.Name, OwnFunctions) || strings.HasPrefix(c.Name, CalledFunctions)
}

var conditionSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "condition", Required: true},
	{Name: "error_message", Required: true},
}}

// escaped merges the content of a "_" block, which holds arguments rather than meta-arguments, into the rest.
func escaped(rest hcl.Body, blocks hcl.Blocks, owner, meaning string) (hcl.Body, diag.List) {
	var diags diag.List
	var first *hcl.Block
	for _, block := range blocks {
		if block.Type != "_" {
			continue
		}
		if first != nil {
			diags = diags.Errorf(block.DefRange.Ptr(), "Duplicate escaping block", "A %s block may have one \"_\" "+
				"block, whose content is read as %s even if the language reserves a name. The first one is at %s.",
				owner, meaning, first.DefRange)
			continue
		}
		first = block
		rest = hcl.MergeBodies([]hcl.Body{rest, block.Body})
	}
	return rest, diags
}

// reservedBlock returns the error for block types that the language reserves.
func reservedBlock(block *hcl.Block, owner string) diag.List {
	return diag.List(nil).Errorf(block.TypeRange.Ptr(), fmt.Sprintf("Reserved block type name in %s block", owner),
		"The block type %q is reserved in %s blocks. If it is an argument of the provider, put it in a block \"_ { "+
			"... }\".", block.Type, owner)
}
