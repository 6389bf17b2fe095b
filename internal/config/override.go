package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
)

// override applies the content of an override file to the declarations before it.
func (a *assembly) override(c *fileContent) {
	if len(c.requiredVersions) > 0 {
		a.RequiredVersions = c.requiredVersions
	}
	for _, r := range c.requirements {
		for _, entry := range r.entries {
			a.RequiredProviders[entry.Name] = entry
		}
	}
	a.overrideBackend(c)
	for _, p := range c.providers {
		a.overrideProvider(p)
	}
	a.overrideNamed(c)
	for _, v := range c.variables {
		if base := a.variables[v.Name]; base != nil {
			a.diags = a.diags.Extend(base.merge(v))
			continue
		}
		a.noBase(v.Range, "Missing base variable declaration to override", "variable", v.Name)
	}
	for _, l := range c.locals {
		if base := a.Locals[l.Name]; base != nil {
			a.Locals[l.Name] = l
			continue
		}
		a.noBase(l.Range, "Missing base local value definition to override", "local value", l.Name)
	}
	for _, o := range c.outputs {
		if base := a.outputs[o.Name]; base != nil {
			base.merge(o)
			continue
		}
		a.noBase(o.Range, "Missing base output definition to override", "output value", o.Name)
	}
	for _, call := range c.calls {
		if base := a.calls[call.Name]; base != nil {
			base.merge(call)
			continue
		}
		a.noBase(call.Range, "Missing module call to override", "module call", call.Name)
	}
	for _, r := range c.resources {
		if base := a.Resources[r.Addr]; base != nil {
			base.merge(r)
			continue
		}
		if r.Addr.Mode == addr.Ephemeral { // only a warning, because Terraform ignores them silently
			a.diags = a.diags.Warnf(&r.DeclRange, "Missing ephemeral resource to override",
				"There is no %s in the other files, so this block has no effect.", r.Addr)
			continue
		}
		a.noBase(r.DeclRange, missingResource[r.Addr.Mode], r.Addr.Mode.String()+" resource", r.Addr.String())
	}
	a.refuseOverrides(c)
}

// overrideNamed replaces types and functions with the same name.
func (a *assembly) overrideNamed(c *fileContent) {
	for _, t := range c.types {
		if put(a.Types, t.Name, t) == nil {
			a.noBase(t.Range, "Missing base type to override", "type", t.Name)
		}
	}
	for _, f := range c.functions {
		if put(a.Functions, f.Name, f) == nil {
			a.noBase(f.Range, "Missing base function to override", "function", f.Name)
		}
	}
}

var missingResource = map[addr.Mode]string{
	addr.Managed: "Missing resource to override",
	addr.Data:    "Missing data resource to override",
	addr.Action:  "Missing action to override",
}

func (a *assembly) noBase(rng hcl.Range, summary, what, name string) {
	a.diags = a.diags.Errorf(&rng, summary,
		"There is no %s %q in the other files. An override file changes what they declare; it cannot add to it.", what,
		name)
}

// overrideBackend replaces a backend or cloud block by either. An encryption block is merged over the existing ones.
func (a *assembly) overrideBackend(c *fileContent) {
	a.Encryption = append(a.Encryption, c.encryption...)
	for i, b := range c.backends {
		if i > 0 {
			a.duplicate(b.Range, c.backends[0].Range, "Duplicate backend configuration", "The overriding backend")
			continue
		}
		a.Backend, a.Cloud = b, nil
	}
	for i, b := range c.clouds {
		if i > 0 {
			a.duplicate(b.Range, c.clouds[0].Range, "Duplicate HCP Terraform configurations",
				"The overriding cloud block")
			continue
		}
		a.Backend, a.Cloud = nil, b
	}
}

// overrideProvider merges a provider block, or adds it: a default configuration exists without any block.
func (a *assembly) overrideProvider(p *ProviderConfig) {
	base := a.ProviderConfigs[p.Addr()]
	switch {
	case base != nil:
		merged := *base
		merged.Body = overrideBody(base.Body, p.Body)
		if p.Version.Text != "" {
			merged.Version = p.Version
		}
		if p.ForEach != nil {
			merged.ForEach = p.ForEach
		}
		a.ProviderConfigs[p.Addr()] = &merged
	case p.Alias == "":
		a.ProviderConfigs[p.Addr()] = p
	default:
		a.noBase(p.Range, "Missing base provider configuration for override", "configuration of the provider "+
			p.LocalName+" with the alias", p.Alias)
	}
}

// refuseOverrides reports the blocks that only make sense once.
func (a *assembly) refuseOverrides(c *fileContent) {
	refuse := func(rng hcl.Range, summary, kind string) {
		a.diags = a.diags.Errorf(&rng, summary,
			"An override file cannot hold %s blocks. Move this one to an ordinary file.", kind)
	}
	for _, b := range c.removed { // only a warning, because Terraform ignores them silently
		a.diags = a.diags.Warnf(&b.Range, "Cannot override 'removed' blocks",
			"Removed blocks in an override file have no effect. Move this one to an ordinary file.")
	}
	for _, b := range c.checks {
		refuse(b.Range, "Can't override check blocks", "check")
	}
	for _, r := range c.refactorings {
		refuse(r.rng, fmt.Sprintf("Cannot override '%s' blocks", r.kind), r.kind)
	}
	for _, b := range c.moved {
		refuse(b.Range, "Cannot override 'moved' blocks", "moved")
	}
	for _, b := range c.imports {
		refuse(b.Range, "Cannot override 'import' blocks", "import")
	}
	for _, b := range c.providerMetas {
		a.ProviderMeta[b.LocalName] = b
	}
}

// overrideBody returns a body in which the arguments of over replace those of base, and the blocks of each type in over
// replace all blocks of that type in base.
func overrideBody(base, over hcl.Body) hcl.Body { return mergedBody{base: base, over: over} }

// mergedBody is an hcl.Body that combines two others.
type mergedBody struct{ base, over hcl.Body }

func (b mergedBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	loose := schemaFor(schema, true)
	base, diags := forgivingContent(b.base, loose)
	over, moreDiags := forgivingContent(b.over, loose)
	merged := mergeContent(base, over)
	return merged, append(append(diags, moreDiags...), b.missing(schema, merged)...)
}

// forgivingContent returns the content of one of the two bodies of a block. Content that the schema does not have is
// dropped with a warning: Terraform drops it silently in an overridden block, so some working configurations have such
// content.
func forgivingContent(body hcl.Body, schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	_, _, allowed := body.PartialContent(schema)
	content, diags := body.Content(schema)
	for i, d := range diags {
		if d.Severity != hcl.DiagError || slices.ContainsFunc(allowed, func(a *hcl.Diagnostic) bool {
			return sameProblem(a, d)
		}) {
			continue
		}
		dropped := *d
		dropped.Severity = hcl.DiagWarning
		dropped.Detail += " It has no effect, because an override file changes the block around it."
		diags[i] = &dropped
	}
	return content, diags
}

func sameProblem(a, b *hcl.Diagnostic) bool {
	return a.Summary == b.Summary && a.Subject != nil && b.Subject != nil && *a.Subject == *b.Subject
}

func (b mergedBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	loose := schemaFor(schema, true)
	base, baseRest, diags := b.base.PartialContent(loose)
	over, overRest, moreDiags := b.over.PartialContent(loose)
	merged := mergeContent(base, over)
	diags = append(append(diags, moreDiags...), b.missing(schema, merged)...)
	return merged, mergedBody{base: baseRest, over: overRest}, diags
}

func (b mergedBody) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
	base, diags := b.base.JustAttributes()
	over, moreDiags := b.over.JustAttributes()
	return mergeAttributes(base, over), append(diags, moreDiags...)
}

func (b mergedBody) MissingItemRange() hcl.Range { return b.base.MissingItemRange() }

// missing reports the required arguments that neither body sets.
func (b mergedBody) missing(schema *hcl.BodySchema, content *hcl.BodyContent) (diags hcl.Diagnostics) {
	for _, attr := range schema.Attributes {
		if _, ok := content.Attributes[attr.Name]; attr.Required && !ok {
			diags = append(diags, &hcl.Diagnostic{
				Severity: hcl.DiagError,
				Summary:  "Missing required argument",
				Detail: "The argument \"" + attr.Name +
					"\" is required, but neither this block nor those that override it set it.",
				Subject: b.MissingItemRange().Ptr(),
			})
		}
	}
	return diags
}

func mergeContent(base, over *hcl.BodyContent) *hcl.BodyContent {
	out := &hcl.BodyContent{
		Attributes:       mergeAttributes(base.Attributes, over.Attributes),
		MissingItemRange: base.MissingItemRange,
	}
	replaced := map[string]bool{}
	for _, block := range over.Blocks {
		replaced[effectiveType(block)] = true
	}
	for _, block := range base.Blocks {
		if !replaced[effectiveType(block)] {
			out.Blocks = append(out.Blocks, block)
		}
	}
	out.Blocks = append(out.Blocks, over.Blocks...)
	return out
}

// effectiveType returns the type of block that a block creates: for a dynamic block, its label.
func effectiveType(block *hcl.Block) string {
	if block.Type == "dynamic" && len(block.Labels) == 1 {
		return block.Labels[0]
	}
	return block.Type
}

func mergeAttributes(base, over hcl.Attributes) hcl.Attributes {
	out := make(hcl.Attributes, len(base)+len(over))
	for name, attr := range base {
		out[name] = attr
	}
	for name, attr := range over {
		out[name] = attr
	}
	return out
}
