package config

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
)

// Parts that configuration shares with other kinds of files, such as test files, are read by the same code.

// ParseBody parses the text of a file in the syntax of its extension. The body is nil if nothing could be parsed.
func ParseBody(src []byte, name string) (hcl.Body, diag.List) { return parseBody(src, name) }

// DecodeProvider reads a provider block. The provider behind its name is not resolved.
func DecodeProvider(block *hcl.Block) (*ProviderConfig, diag.List) { return decodeProvider(block) }

// DecodeVariable reads a variable block; nil if it is unusable.
func DecodeVariable(block *hcl.Block) (*Variable, diag.List) {
	v, diags := decodeVariable(block, false)
	if v.named != nil {
		rng := v.named.Range()
		diags = diags.Errorf(&rng, "Invalid type specification", "Types have names only inside of a module. Write the "+
			"type out here.")
	}
	if diags.HasErrors() {
		return nil, diags
	}
	return v.finish(), diags
}

// DecodeCondition reads an assert block; nil if it is unusable.
func DecodeCondition(block *hcl.Block) (*Condition, diag.List) {
	return decodeConditionBlock(block, false)
}

// DecodePassedProviders reads a providers argument.
func DecodePassedProviders(attr *hcl.Attribute) ([]PassedProvider, diag.List) {
	return decodePassedProviders(attr)
}

// DecodeReference reads a reference that must be static: only names and literal keys.
func DecodeReference(expr hcl.Expression) (hcl.Traversal, diag.List) { return decodeTraversal(expr) }

// DecodeReferences reads a list of such references.
func DecodeReferences(attr *hcl.Attribute) ([]hcl.Traversal, diag.List) { return decodeDependsOn(attr) }

// DecodeLiteral reads an expression that may not refer to anything into a Go value.
func DecodeLiteral(expr hcl.Expression, target any) diag.List { return decodeLiteral(expr, target) }

// NewModuleCall returns the module call with the arguments source and version; the latter may be nil.
func NewModuleCall(name string, source, version *hcl.Attribute, at hcl.Range, f flavor.Flavor) (*ModuleCall,
	diag.List) {
	c := &callDecl{attrs: hcl.Attributes{}}
	c.Name, c.Range, c.Body, c.host = name, at, hcl.EmptyBody(), f.RegistryHost()
	var diags diag.List
	if version != nil {
		c.attrs["version"] = version
		c.Version, diags = decodeVersion(version)
	}
	diags = diags.Extend(c.setSource(source))
	return &c.ModuleCall, diags
}

// takeProviders adds provider configurations, replacing those of the same name.
func (m *Module) takeProviders(list []*ProviderConfig) {
	for _, p := range list {
		c := *p
		c.Provider = m.ProviderFor(c.LocalName)
		m.ProviderConfigs[c.Addr()] = &c
	}
}

// Uses lists the providers of a configuration: those that its modules require, configure, or have resources of.
func (c *Config) Uses() map[addr.Provider]bool {
	out := map[addr.Provider]bool{}
	for _, m := range c.Modules {
		for _, r := range m.RequiredProviders {
			out[r.Source] = true
		}
		for _, p := range m.ProviderConfigs {
			out[p.Provider] = true
		}
		for _, r := range m.Resources {
			out[r.Provider] = true
		}
	}
	return out
}
