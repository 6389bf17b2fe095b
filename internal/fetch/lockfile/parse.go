package lockfile

import (
	"fmt"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
	"github.com/tombolo-iac/tombolo/internal/nesting"
	"github.com/tombolo-iac/tombolo/internal/regex"
)

var noPos = hcl.Pos{Line: 1, Column: 1}

var fileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "provider", LabelNames: []string{"source_addr"}},
	{Type: "module", LabelNames: []string{"path"}},
}}

var entrySchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "version", Required: true}, {Name: "constraints"}, {Name: "hashes"},
}}

// Parse parses a lock file, and reports every problem with its position.
func Parse(filename string, src []byte) (File, diag.List) {
	if diags := nesting.Check(src, filename); diags.HasErrors() {
		return File{}, diags
	}
	file, hclDiags := hclsyntax.ParseConfig(src, filename, noPos)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() {
		return File{}, diags
	}
	content, hclDiags := file.Body.Content(fileSchema)
	diags = append(diags, diag.List(nil).AppendHCL(hclDiags)...)
	entries := map[addr.Provider]Entry{}
	places := map[addr.Provider]hcl.Range{}
	for _, block := range content.Blocks {
		if block.Type == "module" {
			diags = diags.Warnf(&block.DefRange, "Dependency locks for modules are not yet supported",
				"This lock file has an entry for a module, but only providers can be locked. A later version may "+
					"have written it. The next write of the file removes it.")
			continue
		}
		entry, more := parseEntry(block)
		diags = append(diags, more...)
		if more.HasErrors() {
			continue
		}
		if first, again := places[entry.Provider]; again {
			diags = diags.Errorf(&block.DefRange, "Duplicate provider lock",
				"Provider %s is locked at %s already. Remove one of the two blocks.", entry.Provider, first)
			continue
		}
		entries[entry.Provider], places[entry.Provider] = entry, block.DefRange
	}
	if diags.HasErrors() {
		return File{}, diags
	}
	return File{entries: entries}, diags
}

func parseEntry(block *hcl.Block) (Entry, diag.List) {
	var diags diag.List
	var e Entry
	label := block.Labels[0]
	p, err := addr.ParseProvider(label)
	switch {
	case err != nil:
		diags = diags.Errorf(&block.LabelRanges[0], "Invalid provider source address", "%s.", err)
	case p.IsBuiltin():
		diags = diags.Errorf(&block.LabelRanges[0], "Invalid provider source address",
			"Provider %s is part of this program, so it has no selectable version. Remove the block.", p)
	case p.String() != label:
		diags = diags.Errorf(&block.LabelRanges[0], "Non-normalized provider source address",
			"The address of this provider must be written in full, as %q.", p)
	}
	e.Provider = p
	content, hclDiags := block.Body.Content(entrySchema)
	diags = append(diags, diag.List(nil).AppendHCL(hclDiags)...)
	if attr := content.Attributes["version"]; attr != nil {
		var more diag.List
		e.Version, more = parseVersion(attr, p)
		diags = append(diags, more...)
	}
	if attr := content.Attributes["constraints"]; attr != nil {
		var more diag.List
		e.Constraints, more = parseConstraints(attr, p)
		diags = append(diags, more...)
	}
	if attr := content.Attributes["hashes"]; attr != nil {
		var more diag.List
		e.Hashes, more = parseHashes(attr)
		diags = append(diags, more...)
	}
	return e, diags
}

func parseVersion(attr *hcl.Attribute, p addr.Provider) (versions.Version, diag.List) {
	text, diags := stringOf(attr)
	if diags.HasErrors() {
		return versions.Version{}, diags
	}
	v, err := versions.ParseVersion(text)
	switch {
	case err != nil:
		diags = diags.Errorf(attr.Expr.Range().Ptr(), "Invalid provider version number",
			"The version of provider %s is %q: %s.", p, text, err)
	case v.String() != text:
		diags = diags.Errorf(attr.Expr.Range().Ptr(), "Invalid provider version number",
			"The version of provider %s must be written in normalized form: %q.", p, v)
	}
	return v, diags
}

func parseConstraints(attr *hcl.Attribute, p addr.Provider) (require.Constraints, diag.List) {
	text, diags := stringOf(attr)
	if diags.HasErrors() {
		return require.Constraints{}, diags
	}
	c, err := require.Parse(text)
	switch {
	case err != nil:
		diags = diags.Errorf(attr.Expr.Range().Ptr(), "Invalid provider version constraints",
			"The constraints of provider %s cannot be read: %s.", p, err)
	case c.String() != text:
		diags = diags.Errorf(attr.Expr.Range().Ptr(), "Invalid provider version constraints",
			"The constraints of provider %s must be written in normalized form: %q.", p, c)
	}
	return c, diags
}

func parseHashes(attr *hcl.Attribute) ([]Hash, diag.List) {
	var diags diag.List
	items, hclDiags := hcl.ExprList(attr.Expr)
	if hclDiags.HasErrors() {
		return nil, diags.Errorf(attr.Expr.Range().Ptr(), "Invalid provider hash set",
			"The argument \"hashes\" must be a list of hash strings in brackets.")
	}
	if len(items) == 0 {
		return nil, diags.Errorf(attr.Expr.Range().Ptr(), "Invalid provider hash set", "The argument \"hashes\" must "+
			"have at least one hash. An empty list would accept every package: remove the argument, or restore the "+
			"file from version control.")
	}
	var hashes []Hash
	for _, item := range items {
		var text string
		if more := diag.List(nil).AppendHCL(gohcl.DecodeExpression(item, nil, &text)); more.HasErrors() {
			diags = append(diags, more...)
			continue
		}
		if !hashForm().MatchString(text) {
			diags = diags.Errorf(item.Range().Ptr(), "Invalid provider hash string",
				"%q is not a hash: expected a scheme, a colon and a value, such as \"h1:…\". Restore the file from "+
					"version control, or remove the line.", text)
			continue
		}
		hashes = append(hashes, Hash(text))
	}
	return sortHashes(hashes), diags
}

var hashForm = regex.Lazy(`^[a-z0-9]+:.`)

// stringOf evaluates a constant expression that converts to a string.
func stringOf(attr *hcl.Attribute) (string, diag.List) {
	value, hclDiags := attr.Expr.Value(nil)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() {
		return "", diags
	}
	value, err := convert.Convert(value, cty.String)
	if err != nil || value.IsNull() || !value.IsKnown() {
		return "", diags.Errorf(attr.Expr.Range().Ptr(), "Unsuitable value type", "The argument %q must be a string%s.",
			attr.Name, because(err))
	}
	return value.AsString(), diags
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf(": %s", err)
}
