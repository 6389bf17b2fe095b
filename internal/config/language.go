package config

import (
	"github.com/hashicorp/hcl/v2"

	version "github.com/hashicorp/go-version"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
)

// languageSchema is the schema of OpenTofu's language blocks.
var languageSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "edition"}, {Name: "experiments"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "compatible_with"}},
}

// compatibleSchema is the part of compatible_with blocks that is about OpenTofu. The rest is for other programs.
var compatibleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "opentofu"}}}

// opentofuEdition is the only edition of OpenTofu's language.
const opentofuEdition = "tofu2024"

// beforeLanguageBlocks is a version of OpenTofu that does not support language blocks.
var beforeLanguageBlocks = version.Must(version.NewVersion("1.11.0"))

// checkLanguageBlock checks a language block, except for the versions, which checkVersions checks. Its content is not
// stored.
func checkLanguageBlock(b *hcl.Block, override bool) diag.List {
	if override {
		return diag.List(nil).Errorf(&b.DefRange, "Language selections in override file", "A language block applies "+
			"to the whole module, so it cannot be in an override file. Move it to another file.")
	}
	content, hclDiags := b.Body.Content(languageSchema)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if attr, ok := content.Attributes["edition"]; ok {
		diags = diags.Extend(checkEdition(attr))
	}
	if attr, ok := content.Attributes["experiments"]; ok {
		diags = diags.Extend(checkExperiments(attr))
	}
	found := false
	for _, inner := range content.Blocks {
		c, at, _ := compatibleWith(inner) // its errors are reported by the check of the versions
		switch {
		case found:
			diags = diags.Errorf(&b.DefRange, "Duplicate compatible_with block", "No compatible_with block can follow "+
				"one that has the argument \"opentofu\". Write one block, with comparisons separated by commas, "+
				"such "+
				"as \">= 1.12, < 1.14\".")
			continue
		case at != nil && c.Parsed.Check(beforeLanguageBlocks):
			diags = diags.Warnf(&at.Range, "Ineffective version constraint", "The constraint allows versions of "+
				"OpenTofu before 1.12, which do not support language blocks. Exclude them with a constraint such as "+
				"\">= 1.12\", or write required_version in the terraform block of a file that ends in .tofu, which "+
				"older versions read.")
		}
		found = at != nil
	}
	return diags
}

// compatibleWith returns the constraint of a compatible_with block on OpenTofu; at is nil if there is none, or an
// invalid one.
func compatibleWith(b *hcl.Block) (c VersionConstraint, at *hcl.Attribute, diags diag.List) {
	content, _, hclDiags := b.Body.PartialContent(compatibleSchema)
	diags = diags.AppendHCL(hclDiags)
	attr, ok := content.Attributes["opentofu"]
	if !ok {
		return c, nil, diags
	}
	c, more := decodeVersion(attr)
	if diags = diags.Extend(more); more.HasErrors() {
		return c, nil, diags
	}
	c.Range = attr.Range
	return c, attr, diags
}

func checkEdition(attr *hcl.Attribute) diag.List {
	rng := attr.Expr.Range()
	switch word := hcl.ExprAsKeyword(attr.Expr); word {
	case opentofuEdition:
		return nil
	case "":
		return diag.List(nil).Errorf(&rng, "Invalid language edition",
			"The edition must be a bare word. The only edition is %s, which is the default.", opentofuEdition)
	default:
		return diag.List(nil).Errorf(&rng, "Unsupported language edition", "There is no edition %s of the language, "+
			"only %s. The module needs a newer or another program.", word, opentofuEdition)
	}
}

func checkExperiments(attr *hcl.Attribute) diag.List {
	list, hclDiags := hcl.ExprList(attr.Expr)
	diags := diag.List(nil).AppendHCL(hclDiags)
	for _, e := range list {
		rng := e.Range()
		if word := hcl.ExprAsKeyword(e); word == "" {
			diags = diags.Errorf(&rng, "Invalid experiment keyword", "The name of an experiment must be a bare word. "+
				"No release has experiments: remove the argument, and everything that depends on it.")
		} else {
			diags = diags.Errorf(&rng, "Unknown experiment keyword", "There is no experiment %s. No release has "+
				"experiments: remove the argument, and everything that depends on it.", word)
		}
	}
	return diags
}

// sniffVersions returns the version constraints of a file that apply to its flavor: the arguments required_version, and
// those in language blocks. Other problems of the blocks may come from the syntax of a later version.
func sniffVersions(body hcl.Body, name string, f flavor.Flavor) ([]VersionConstraint, diag.List) {
	var out []VersionConstraint
	var diags diag.List
	root, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "terraform"},
		{Type: "language"}}})
	if root == nil {
		return nil, nil
	}
	for _, block := range root.Blocks {
		if block.Type == "language" {
			content, _, _ := block.Body.PartialContent(languageSchema)
			for _, inner := range content.Blocks {
				c, at, more := compatibleWith(inner)
				if diags = diags.Extend(more); at != nil && f == flavor.OpenTofu {
					out = append(out, c)
				}
			}
			continue
		}
		content, _, _ := block.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{
			{Name: "required_version"}}})
		if attr, ok := content.Attributes["required_version"]; ok && f.Requires(name) {
			c, more := decodeVersion(attr)
			if diags = diags.Extend(more); !more.HasErrors() && c.Text != "" {
				c.Range = attr.Range
				out = append(out, c)
			}
		}
	}
	return out, diags
}
