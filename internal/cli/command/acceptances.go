package command

import (
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/nesting"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/view/drift"
)

// maxAcceptances is the maximum size of a file with acceptances, in bytes.
const maxAcceptances = 1 << 20

// Acceptances reads a file with accept blocks, which list known drift. It returns errors with their places.
func Acceptances(name string) (list []drift.Acceptance, diags diag.List) {
	src, err := regular.Read(name, maxAcceptances)
	if err != nil {
		return nil, diags.Errorf(nil, "Failed to read the accepted drift", "The file %s cannot be read: %s.", name, err)
	}
	if deep := nesting.Check(src, name); deep.HasErrors() {
		return nil, deep
	}
	f, problems := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if diags = diags.AppendHCL(problems); diags.HasErrors() {
		return nil, diags
	}
	content, problems := f.Body.Content(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "accept", LabelNames: []string{"address"}}}})
	diags = diags.AppendHCL(problems)
	for _, block := range content.Blocks {
		a, more := acceptance(block)
		list, diags = append(list, a), diags.Extend(more)
	}
	return list, diags
}

// acceptance parses one block.
func acceptance(block *hcl.Block) (a drift.Acceptance, diags diag.List) {
	content, problems := block.Body.Content(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{
		{Name: "attributes"}, {Name: "reason", Required: true}, {Name: "until", Required: true}}})
	if diags = diags.AppendHCL(problems); diags.HasErrors() {
		return a, diags
	}
	pattern, err := addr.ParsePattern(block.Labels[0])
	if err != nil {
		diags = diags.Errorf(&block.LabelRanges[0], "Invalid address", "%s", err)
	}
	a.Objects = pattern
	text := func(name string) string {
		v, problems := content.Attributes[name].Expr.Value(nil)
		rng := content.Attributes[name].Expr.Range()
		diags = diags.AppendHCL(problems)
		if problems.HasErrors() {
			return ""
		}
		if v.Type() != cty.String || v.IsNull() || v.AsString() == "" {
			diags = diags.Errorf(&rng, "Invalid "+name, "The argument %q must be a string that is not empty.", name)
			return ""
		}
		return v.AsString()
	}
	a.Reason = text("reason")
	if until := text("until"); until != "" {
		day, err := time.Parse(time.DateOnly, until)
		if err != nil {
			rng := content.Attributes["until"].Expr.Range()
			diags = diags.Errorf(&rng, "Invalid until", "%q is not a date such as 2027-01-31.", until)
		}
		a.Until = day.AddDate(0, 0, 1)
	}
	if attr := content.Attributes["attributes"]; attr != nil {
		v, problems := attr.Expr.Value(nil)
		diags = diags.AppendHCL(problems)
		if !problems.HasErrors() {
			names, ok := textsOf(v)
			if !ok {
				rng := attr.Expr.Range()
				diags = diags.Errorf(&rng, "Invalid attributes", "Expected a list of names of attributes, such as "+
					"[\"tags\"]. To accept any difference, remove the argument.")
			}
			a.Attributes = names
		}
	}
	return a, diags
}

// textsOf returns the elements of a nonempty list of strings.
func textsOf(v cty.Value) (list []string, ok bool) {
	if v.IsNull() || !v.Type().IsTupleType() || v.LengthInt() == 0 {
		return nil, false
	}
	for _, e := range v.Elements() {
		if e.IsNull() || e.Type() != cty.String {
			return nil, false
		}
		list = append(list, e.AsString())
	}
	return list, true
}
