package config

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
)

var terraformSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "required_version"}, {Name: "experiments"}, {Name: "language"}},
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "backend", LabelNames: []string{"type"}},
		{Type: "cloud"},
		{Type: "encryption"},
		{Type: "required_providers"},
		{Type: "provider_meta", LabelNames: []string{"provider"}},
	},
}

// languageEdition is the only edition of the language.
const languageEdition = "TF2021"

// terraform decodes a terraform block.
func (c *fileContent) terraform(block *hcl.Block, f flavor.Flavor) diag.List {
	content, hclDiags := block.Body.Content(terraformSchema)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if attr, ok := content.Attributes["required_version"]; ok {
		// Its problems are reported by the check of the versions.
		if v, moreDiags := decodeVersion(attr); !moreDiags.HasErrors() {
			c.requiredVersions = append(c.requiredVersions, v)
		}
	}
	if attr, ok := content.Attributes["language"]; ok && f.HasEditions() {
		diags = diags.Extend(checkLanguage(attr))
	}
	if attr, ok := content.Attributes["experiments"]; ok && f.HasEditions() { // even an empty list
		diags = diags.Errorf(attr.NameRange.Ptr(), "Module uses experimental features", "No release of this "+
			"program has experimental features. Remove the argument, and everything that depends on it.")
	}
	for _, b := range content.Blocks {
		switch b.Type {
		case "backend":
			c.backends = append(c.backends, &Backend{Type: b.Labels[0], TypeRange: b.LabelRanges[0], Body: b.Body,
				Range: b.DefRange})
		case "cloud":
			c.clouds = append(c.clouds, &Cloud{Body: b.Body, Range: b.DefRange})
		case "encryption":
			diags = diags.Extend(add(&c.encryption, b, func(b *hcl.Block) (*Encryption, diag.List) {
				return &Encryption{Body: b.Body, Range: b.DefRange}, nil
			}))
		case "provider_meta":
			c.providerMetas = append(c.providerMetas, &ProviderMeta{LocalName: b.Labels[0], Body: b.Body,
				Range: b.DefRange, NameRange: b.LabelRanges[0]})
			diags = diags.Extend(checkProviderMeta(b))
		case "required_providers":
			diags = diags.Extend(add(&c.requirements, b, func(b *hcl.Block) (*requirements, diag.List) {
				return decodeRequirements(b, f.RegistryHost())
			}))
		}
	}
	return diags
}

// checkProviderMeta checks that a provider_meta block has a name and only constants: it describes the module, not a use
// of it.
func checkProviderMeta(b *hcl.Block) diag.List {
	diags := checkLocalProviderName(b.Labels[0], b.DefRange)
	attrs, hclDiags := b.Body.JustAttributes()
	for _, attr := range inOrder(attrs) {
		_, moreDiags := attr.Expr.Value(nil)
		hclDiags = hclDiags.Extend(moreDiags)
	}
	return diags.AppendHCL(hclDiags)
}

func checkLanguage(attr *hcl.Attribute) diag.List {
	var diags diag.List
	rng := attr.Expr.Range()
	switch word := hcl.ExprAsKeyword(attr.Expr); word {
	case languageEdition:
		return nil
	case "":
		return diags.Errorf(&rng, "Invalid language edition",
			"The language argument must be a bare word. The only edition is %s, which is the default.", languageEdition)
	default:
		return diags.Errorf(&rng, "Unsupported language edition",
			"This program supports only the language edition %s. The module needs a newer program.", languageEdition)
	}
}

// requirements is one required_providers block.
type requirements struct {
	entries []*RequiredProvider
	rng     hcl.Range
}

func decodeRequirements(block *hcl.Block, host string) (*requirements, diag.List) {
	attrs, hclDiags := block.Body.JustAttributes()
	diags := diag.List(nil).AppendHCL(hclDiags)
	out := &requirements{rng: block.DefRange}
	bySource := map[addr.Provider]string{}
	for _, attr := range inOrder(attrs) {
		if moreDiags := checkRequirementName(attr); moreDiags.HasErrors() {
			diags = diags.Extend(moreDiags)
			continue
		}
		entry, moreDiags := decodeRequirement(attr, host)
		diags = diags.Extend(moreDiags)
		if entry == nil {
			continue
		}
		if first, dup := bySource[entry.Source]; dup {
			diags = diags.Warnf(attr.Expr.Range().Ptr(), "Duplicate required provider", "The provider %s is required "+
				"twice: as %q and as %q. Keep one of the two. For a second configuration of the provider, use an "+
				"alias.",
				entry.Source.ForDisplay(), first, attr.Name)
		} else {
			bySource[entry.Source] = attr.Name
		}
		out.entries = append(out.entries, entry)
	}
	return out, diags
}

// checkRequirementName returns errors for names of entries that cannot be part of a provider address. The short form of
// an entry has no source, so that the name is the type of the provider: the two problems have different titles.
func checkRequirementName(attr *hcl.Attribute) diag.List {
	diags := checkLocalProviderName(attr.Name, attr.Expr.Range())
	_, short := hcl.ExprMap(attr.Expr)
	if problem := providerPartProblem(attr.Name); problem != "" && short.HasErrors() {
		return diag.List{}.Errorf(attr.Expr.Range().Ptr(), "Invalid provider name",
			"%q cannot be the name of a provider: it %s.", attr.Name, problem)
	}
	return diags
}

// inOrder returns attributes in the order of the file.
func inOrder(attrs hcl.Attributes) []*hcl.Attribute {
	return sortedBy(attrs, func(a, b string) int { return attrs[a].Range.Start.Byte - attrs[b].Range.Start.Byte })
}

const entryAdvice = "An entry must be an object with the attributes source, version and configuration_aliases, or a " +
	"version as a string."

// decodeRequirement reads one entry, or returns nil if it is invalid.
func decodeRequirement(attr *hcl.Attribute, host string) (*RequiredProvider, diag.List) {
	entry := &RequiredProvider{Name: attr.Name, Source: addr.DefaultProviderIn(attr.Name, host),
		Range: attr.Expr.Range()}
	pairs, hclDiags := hcl.ExprMap(attr.Expr)
	if hclDiags.HasErrors() {
		return decodeVersionRequirement(entry, attr)
	}
	var diags diag.List
	for _, pair := range pairs {
		key, keyDiags := pair.Key.Value(nil)
		if keyDiags.HasErrors() {
			diags = diags.AppendHCL(keyDiags)
			continue
		}
		if key.IsNull() || key.Type() != cty.String {
			diags = diags.Errorf(pair.Key.Range().Ptr(), "Invalid required_providers object",
				"The name of an attribute must be a string. %s", entryAdvice)
			continue
		}
		switch name := key.AsString(); name {
		case "version":
			diags = diags.Extend(entry.setVersion(pair.Value))
		case "source":
			diags = diags.Extend(entry.setSource(pair.Value, host))
		case "configuration_aliases":
			diags = diags.Extend(entry.setAliases(pair.Value))
		default:
			diags = diags.Errorf(pair.Key.Range().Ptr(), "Invalid required_providers object",
				"Unexpected attribute %q. %s Put the provider's own arguments into a provider block.", name,
				entryAdvice)
		}
	}
	return entry, diags
}

// decodeVersionRequirement decodes the short form: only a version.
func decodeVersionRequirement(entry *RequiredProvider, attr *hcl.Attribute) (*RequiredProvider, diag.List) {
	var diags diag.List
	v, hclDiags := attr.Expr.Value(nil)
	if hclDiags.HasErrors() || !v.Type().IsPrimitiveType() {
		return nil, diags.Errorf(attr.Expr.Range().Ptr(), "Invalid required_providers object", "%s", entryAdvice)
	}
	entry.Version, diags = decodeVersion(attr)
	return entry, diags
}

// constString returns the value of a literal string, or reports the problem.
func constString(expr hcl.Expression) (text, problem string) {
	v, hclDiags := expr.Value(nil)
	switch {
	case hclDiags.HasErrors():
		return "", hclDiags[0].Detail
	case v.IsNull() || !v.IsKnown() || v.Type() != cty.String:
		return "", "A literal string is required."
	}
	return v.AsString(), ""
}

func (r *RequiredProvider) setVersion(expr hcl.Expression) (diags diag.List) {
	text, problem := constString(expr)
	if problem != "" {
		return diags.Errorf(expr.Range().Ptr(), "Invalid version constraint",
			"A version must be a literal string, such as \"~> 1.2\". %s", problem)
	}
	r.Version, diags = parseConstraint(text, expr.Range())
	return diags
}

func (r *RequiredProvider) setSource(expr hcl.Expression, host string) (diags diag.List) {
	text, problem := constString(expr)
	if problem != "" {
		return diags.Errorf(expr.Range().Ptr(), "Invalid source",
			"A source must be a literal string, such as \"hashicorp/random\". %s", problem)
	}
	r.SourceText = text
	if summary, detail := providerSourceProblem(text); summary != "" {
		return diags.Errorf(expr.Range().Ptr(), summary, "%s", detail)
	}
	source, err := addr.ParseProviderIn(text, host)
	if err != nil {
		return diags.Errorf(expr.Range().Ptr(), "Invalid provider source string", "The source cannot be used: %s.", err)
	}
	r.Source = source
	return nil
}

// providerSourceProblem returns the problem of a provider source.
func providerSourceProblem(text string) (summary, detail string) {
	parts := strings.Split(text, "/")
	if text == "" || len(parts) > 3 {
		return "Invalid provider source string",
			fmt.Sprintf("%q is not a provider source: expected [HOSTNAME/][NAMESPACE/]TYPE.", text)
	}
	typ := parts[len(parts)-1]
	if problem := providerPartProblem(typ); problem != "" {
		return "Invalid provider type", fmt.Sprintf("The type %q in the source %q %s.", typ, text, problem)
	}
	if len(parts) == 1 {
		return "", ""
	}
	namespace := parts[len(parts)-2]
	if problem := namespaceProblem(namespace); problem != "" && namespace != "-" {
		return "Invalid provider namespace", fmt.Sprintf("The namespace %q in the source %q %s.", namespace, text,
			problem)
	}
	if short, ok := strings.CutPrefix(typ, "terraform-provider-"); ok {
		return "Invalid provider type", fmt.Sprintf("The source %q names a repository or program; the provider's "+
			"type is what follows \"terraform-provider-\". Write %q.", text, strings.TrimSuffix(text, typ)+short)
	}
	return "", ""
}

func (r *RequiredProvider) setAliases(expr hcl.Expression) diag.List {
	const summary = "Invalid configuration_aliases value"
	exprs, hclDiags := hcl.ExprList(expr)
	diags := diag.List(nil).AppendHCL(hclDiags)
	for _, e := range exprs {
		traversal, hclDiags := hcl.AbsTraversalForExpr(e)
		if hclDiags.HasErrors() {
			diags = diags.AppendHCL(hclDiags)
			continue
		}
		ref, moreDiags := providerRefOf(traversal, e.Range(), "Write a configuration alias as PROVIDER.ALIAS.")
		if moreDiags.HasErrors() {
			diags = diags.Extend(moreDiags)
			continue
		}
		if ref.LocalName != r.Name {
			diags = diags.Errorf(e.Range().Ptr(), summary,
				"The aliases of this entry must start with its own name: %q, not %q.", r.Name, ref.LocalName)
			continue
		}
		r.Aliases = append(r.Aliases, ref)
	}
	return diags
}
