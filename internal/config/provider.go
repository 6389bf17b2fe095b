package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
)

var providerSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "alias"}, {Name: "version"},
		{Name: "count"}, {Name: "depends_on"}, {Name: "for_each"}, {Name: "source"},
	},
	Blocks: []hcl.BlockHeaderSchema{{Type: "_"}, {Type: "lifecycle"}, {Type: "locals"}},
}

func decodeProvider(block *hcl.Block) (*ProviderConfig, diag.List) {
	content, rest, hclDiags := block.Body.PartialContent(providerSchema)
	diags := diag.List(nil).AppendHCL(hclDiags)
	p := &ProviderConfig{LocalName: block.Labels[0], Range: block.DefRange, NameRange: block.LabelRanges[0]}
	if moreDiags := checkLocalProviderName(p.LocalName, p.Range); moreDiags.HasErrors() {
		return nil, diags.Extend(moreDiags)
	}
	named := true
	if attr, ok := content.Attributes["alias"]; ok {
		moreDiags := decodeLiteral(attr.Expr, &p.Alias)
		if !moreDiags.HasErrors() && !hclsyntax.ValidIdentifier(p.Alias) {
			moreDiags = moreDiags.Errorf(attr.Expr.Range().Ptr(), "Invalid provider configuration alias",
				"%q cannot be an alias. %s", p.Alias, nameRule)
		}
		diags = diags.Extend(moreDiags)
		named = !moreDiags.HasErrors()
		p.AliasRange = attr.Expr.Range().Ptr()
	}
	if attr, ok := content.Attributes["version"]; ok {
		diags = diags.Warnf(attr.Expr.Range().Ptr(),
			"Version constraints inside provider configuration blocks are deprecated", "Set the version of the "+
				"provider in the required_providers block of the module instead.")
		var moreDiags diag.List
		p.Version, moreDiags = decodeVersion(attr)
		diags = diags.Extend(moreDiags)
	}
	if attr, ok := content.Attributes["for_each"]; ok {
		p.ForEach = attr.Expr
		if p.Alias == "" && named {
			diags = diags.Errorf(attr.Expr.Range().Ptr(), "Alias required when using \"for_each\"", "A provider "+
				"block with \"for_each\" needs an \"alias\" too: its instances are named as %s.ALIAS[\"KEY\"]. The "+
				"configuration without an alias always has a single instance.", p.LocalName)
		}
	}
	for _, name := range []string{"count", "depends_on", "source"} {
		if attr, ok := content.Attributes[name]; ok {
			diags = diags.Errorf(attr.NameRange.Ptr(), "Reserved argument name in provider block", "The name %q is "+
				"reserved in provider blocks. If it is an argument of the provider, put it in a block \"_ { ... }\".",
				name)
		}
	}
	for _, b := range content.Blocks {
		if b.Type != "_" {
			diags = diags.Extend(reservedBlock(b, "provider"))
		}
	}
	body, moreDiags := escaped(rest, content.Blocks, "provider", "arguments of the provider")
	p.Body = body
	if !named { // it would be taken for the default configuration
		return nil, diags.Extend(moreDiags)
	}
	return p, diags.Extend(moreDiags)
}

// isEmptyBody reports whether a body is empty.
func isEmptyBody(body hcl.Body) bool {
	content, rest, diags := body.PartialContent(&hcl.BodySchema{})
	if diags.HasErrors() || len(content.Blocks) > 0 {
		return false
	}
	attrs, diags := rest.JustAttributes()
	return len(attrs) == 0 && !diags.HasErrors()
}

// decodeProviderRef decodes a reference to a provider configuration: a local name, optionally with an alias, followed
// by an optional instance key in brackets (otherwise key is nil). argument is the name of the argument with the
// reference.
func decodeProviderRef(expr hcl.Expression, argument string) (ref addr.LocalProviderConfig, key hcl.Expression,
	diags diag.List) {
	rng := expr.Range()
	advice := "The " + argument + " argument takes the local name of a provider, optionally followed by a dot and an " +
		"alias, and by the key of an instance in brackets if the provider block has for_each."
	expr, diags = unquote(expr, "references")
	if !diags.HasErrors() {
		expr, key = splitKey(expr)
	}
	traversal, hclDiags := hcl.AbsTraversalForExpr(expr)
	if diags.HasErrors() || hclDiags.HasErrors() {
		// The syntax error in the quotes is less helpful than the expected form.
		var out diag.List
		for _, d := range diags {
			if d.Severity == diag.Warning {
				out = out.Append(d)
			}
		}
		return ref, nil, out.Errorf(&rng, "Invalid provider configuration reference", "%s", advice)
	}
	ref, moreDiags := providerRefOf(traversal, rng, advice)
	return ref, key, diags.Extend(moreDiags)
}

// splitKey splits the key in brackets off the end of a reference; key is nil if there is none.
func splitKey(expr hcl.Expression) (rest, key hcl.Expression) {
	switch e := expr.(type) {
	case *hclsyntax.IndexExpr:
		return e.Collection, e.Key
	case *hclsyntax.ScopeTraversalExpr:
		last := len(e.Traversal) - 1
		if step, ok := e.Traversal[last].(hcl.TraverseIndex); ok {
			rng := hcl.RangeBetween(e.Traversal[0].SourceRange(), e.Traversal[last-1].SourceRange())
			return &hclsyntax.ScopeTraversalExpr{Traversal: e.Traversal[:last], SrcRange: rng},
				&hclsyntax.LiteralValueExpr{Val: step.Key, SrcRange: step.SrcRange}
		}
	}
	return expr, nil
}

// providerRefOf converts a traversal to a reference; rng is the range of the whole reference in the file.
func providerRefOf(traversal hcl.Traversal, rng hcl.Range, advice string) (addr.LocalProviderConfig, diag.List) {
	var diags diag.List
	const summary = "Invalid provider configuration reference"
	ref := addr.LocalProviderConfig{LocalName: traversal.RootName()}
	if moreDiags := checkLocalProviderName(ref.LocalName, rng); moreDiags.HasErrors() {
		return ref, moreDiags
	}
	if len(traversal) > 1 {
		attr, ok := traversal[1].(hcl.TraverseAttr)
		if !ok {
			return ref, diags.Errorf(traversal[1].SourceRange().Ptr(), summary, "%s", advice)
		}
		ref.Alias = attr.Name
	}
	if len(traversal) > 2 {
		return ref, diags.Errorf(&rng, summary, "%s", advice)
	}
	return ref, nil
}

// ProviderFor returns the provider of a local name in the module: that of required_providers, or the default.
func (m *Module) ProviderFor(localName string) addr.Provider {
	if r := m.RequiredProviders[localName]; r != nil {
		return r.Source
	}
	return addr.DefaultProviderIn(strings.ToLower(localName), m.host) // that of a type such as Terraform_data
}

// assumedProvider returns the provider of a local name in a providers argument, where the built-in provider must be
// listed in required_providers (conformance modules/built_in_provider_passed).
func (m *Module) assumedProvider(localName string) addr.Provider {
	if r := m.RequiredProviders[localName]; r != nil {
		return r.Source
	}
	return addr.Provider{Host: m.host, Namespace: addr.DefaultProviderNamespace, Type: localName}
}

// LocalNameFor returns the name of a provider in required_providers; ok is false if it has none.
func (m *Module) LocalNameFor(p addr.Provider) (name string, ok bool) {
	name, ok = m.localNames[p]
	return name, ok
}

// ProviderConfigOf returns the block that configures a provider in this module, by the provider's address, or nil.
func (m *Module) ProviderConfigOf(p addr.Provider, alias string) *ProviderConfig {
	var found *ProviderConfig
	for _, pc := range m.ProviderConfigs {
		// Two local names may mean the same provider; the result must not depend on map order.
		if pc.Alias == alias && pc.Provider == p && (found == nil || pc.LocalName < found.LocalName) {
			found = pc
		}
	}
	return found
}

// ResolveProvider resolves a reference to a provider configuration to the module that defines it: through the providers
// arguments of the calls above and, for default configurations, by inheritance. It ends at a block, or at the root
// module's default configuration, which needs no block. If there is no such configuration, ok is false, and the address
// is where it was expected.
func (m *Module) ResolveProvider(ref addr.LocalProviderConfig) (config addr.AbsProviderConfig, ok bool) {
	config, _, ok = m.resolve(m.ProviderFor(ref.LocalName), ref.Alias)
	return config, ok
}

// PassedBy returns the last entry on the path to a block, which names the instance if the block has several. It returns
// nil if the path ends in the module itself, or no entry passes the configuration by name.
func (m *Module) PassedBy(ref addr.LocalProviderConfig) *PassedProvider {
	_, by, _ := m.resolve(m.ProviderFor(ref.LocalName), ref.Alias)
	return by
}

func (m *Module) resolve(p addr.Provider, alias string) (addr.AbsProviderConfig, *PassedProvider, bool) {
	here := addr.AbsProviderConfig{Module: m.Path, Provider: p, Alias: alias}
	if m.Parent != nil && m.Call != nil {
		for i := range m.Call.Providers {
			passed := &m.Call.Providers[i]
			if passed.InChild.Alias == alias && m.ProviderFor(passed.InChild.LocalName) == p {
				in := passed.InParent
				config, by, ok := m.Parent.resolve(m.Parent.ProviderFor(in.LocalName), in.Alias)
				if by == nil {
					by = passed
				}
				return config, by, ok
			}
		}
	}
	switch {
	case m.ProviderConfigOf(p, alias) != nil:
		return here, nil, true
	case m.Parent == nil:
		return here, nil, alias == ""
	case alias != "":
		return here, nil, false
	}
	return m.Parent.resolve(p, "")
}

// ProviderBlock returns the block at an address of ResolveProvider, or nil for an implied default configuration.
func (c *Config) ProviderBlock(a addr.AbsProviderConfig) *ProviderConfig {
	m := c.Modules[a.Module]
	if m == nil {
		return nil
	}
	return m.ProviderConfigOf(a.Provider, a.Alias)
}

// finishProviders sets the provider of everything in the module from its local names.
func (a *assembly) finishProviders() {
	a.localNames = map[addr.Provider]string{}
	for _, r := range a.SortedRequiredProviders() {
		if _, ok := a.localNames[r.Source]; !ok {
			a.localNames[r.Source] = r.Name
		}
	}
	for _, p := range a.ProviderConfigs {
		p.Provider = a.ProviderFor(p.LocalName)
	}
	a.finishMetas()
	// Terraform does not check the types of a root module with other errors; it checks those of any other module.
	judged := !a.Path.IsRoot() || !a.refused && !a.diags.HasErrors()
	warned := map[addr.Provider]bool{}
	for _, r := range a.SortedResources() {
		local := r.ProviderConfig().LocalName
		problem := providerPartProblem(local)
		if problem != "" && r.ProviderRef == nil && r.Addr.Mode != addr.Ephemeral && judged {
			a.diags = a.diags.Errorf(&r.DeclRange, "Invalid provider local name", "The part before the first "+
				"underscore of the type %q names its provider, and it %s. Correct the type, or set "+
				"\"provider\" in the block.", r.Addr.Type, problem)
		}
		if local == "" {
			continue
		}
		r.Provider = a.ProviderFor(local)
		name, listed := a.localNames[r.Provider]
		if listed && name != local && !warned[r.Provider] {
			warned[r.Provider] = true
			a.diags = a.diags.Warnf(&r.DeclRange, "Duplicate required provider", "%s belongs to the provider %s "+
				"because of its name %q, but required_providers calls that provider %q. Rename the entry, or set "+
				"provider = %s "+
				"in the block.", r.Addr, r.Provider.ForDisplay(), local, name, name)
		}
	}
	for _, i := range a.Imports {
		local := impliedProvider(i.To.Resource.Type)
		if i.ProviderRef != nil {
			local = i.ProviderRef.LocalName
		}
		i.Provider = a.ProviderFor(local)
	}
}

// finishMetas assigns provider_meta blocks their providers. Two local names for one provider do not allow two blocks.
func (a *assembly) finishMetas() {
	blocks := sortedBy(a.ProviderMeta, func(x, y string) int {
		return cmp.Or(strings.Compare(a.ProviderMeta[x].Range.Filename, a.ProviderMeta[y].Range.Filename),
			a.ProviderMeta[x].Range.Start.Byte-a.ProviderMeta[y].Range.Start.Byte)
	})
	first := map[addr.Provider]*ProviderMeta{}
	for _, b := range blocks {
		b.Provider = a.ProviderFor(b.LocalName)
		if checkLocalProviderName(b.LocalName, b.Range).HasErrors() {
			continue // which was reported
		}
		if other := first[b.Provider]; other != nil {
			a.duplicateMeta(b, other)
			delete(a.ProviderMeta, b.LocalName)
			continue
		}
		first[b.Provider] = b
	}
}

func (a *assembly) duplicateMeta(b, first *ProviderMeta) {
	a.duplicate(b.Range, first.Range, "Duplicate provider_meta block", fmt.Sprintf("A provider_meta block for %q",
		first.LocalName))
}

// checkTree reports problems that involve several modules.
func checkTree(c *Config) (diags diag.List) {
	for _, m := range c.SortedModules() {
		if m.Parent != nil {
			diags = diags.Extend(checkChild(m))
		}
		for _, r := range m.SortedResources() {
			if ref := r.ProviderConfig(); lacks(m, ref) {
				diags = diags.Extend(notPresent(m, ref, r.ProviderRefRange, r.Addr.String()))
			} else {
				diags = diags.Extend(c.checkInstance(m, ref, r.ProviderKey, user{"resource", r.Addr.String(), r.ForEach,
					r.ProviderRefRange}))
			}
		}
		for _, call := range m.SortedCalls() {
			for _, p := range call.Providers {
				diags = diags.Extend(c.checkInstance(m, p.InParent, p.Key, user{"module", "module." + call.Name,
					call.ForEach, p.InParentRange}))
			}
		}
		for _, i := range m.Imports {
			diags = diags.Extend(checkImportProvider(m, i))
		}
	}
	return diags
}

// checkInstance checks the instance key of a reference: for a block with for_each, the reference must name an instance;
// for any other, it must not.
func (c *Config) checkInstance(m *Module, ref addr.LocalProviderConfig, key hcl.Expression, by user) (diags diag.List) {
	block := m.ProviderConfigs[ref]
	several := block != nil && block.ForEach != nil
	switch {
	case several && key == nil:
		at := by.at // only the name
		at.End.Column = min(at.End.Column, at.Start.Column+len(ref.LocalName))
		at.End.Byte = min(at.End.Byte, at.Start.Byte+len(ref.LocalName))
		return diags.Errorf(&at, "Invalid "+by.kind+" provider configuration", "The provider block %s has "+
			"for_each, so it has several instances. Name one by its key, for example %s[each.key].", ref, ref)
	case !several && key != nil:
		return diags.Errorf(by.at.Ptr(), "Invalid "+by.kind+" provider configuration", "The provider configuration "+
			"%s has no instances in %s: only a provider block with for_each in the same module has them. Remove the "+
			"brackets.", ref, where(m.Path))
	case several && by.forEach != nil && len(by.forEach.Variables()) > 0 && c.sameText(block.ForEach, by.forEach):
		return diags.Warnf(by.forEach.Range().Ptr(), "Provider configuration for_each matches "+by.kind,
			"%s and the provider block %s have the same for_each. Removing an element then also removes the provider "+
				"instance that must destroy the objects, and the plan fails. Use a separate collection in the "+
				"provider block, and keep a removed element there until the next apply is done.", by.name,
			ref)
	}
	return nil
}

// user is the resource block or module call that refers to a provider configuration.
type user struct {
	kind, name string
	forEach    hcl.Expression // nil if not set
	at         hcl.Range      // range of the reference
}

// sameText reports whether two expressions have the same text, except for spaces.
func (c *Config) sameText(a, b hcl.Expression) bool {
	tokens := func(e hcl.Expression) []string {
		var out []string
		rng := e.Range()
		src := c.Files[rng.Filename]
		if !rng.CanSliceBytes(src) {
			return nil
		}
		list, _ := hclsyntax.LexExpression(rng.SliceBytes(src), rng.Filename, rng.Start)
		for _, t := range list {
			out = append(out, string(t.Bytes))
		}
		return out
	}
	return slices.Equal(tokens(a), tokens(b)) && tokens(a) != nil
}

// lacks reports whether a module refers to a configuration that it does not have. One that its caller should pass is
// reported at the call. The root module has no caller, but may be written for one: CheckUnpassed reports it.
func lacks(m *Module, ref addr.LocalProviderConfig) bool {
	missing, ok := m.ResolveProvider(ref)
	return !ok && missing.Module == m.Path && !declares(m.RequiredProviders[ref.LocalName], ref)
}

// CheckUnpassed reports users of a configuration that the root module expects from a caller. Load does not include this
// check, because a module that is written for callers can be installed and listed by itself.
func (c *Config) CheckUnpassed() (diags diag.List) {
	check := func(ref addr.LocalProviderConfig, rng hcl.Range, who string) {
		if _, ok := c.Root.ResolveProvider(ref); !ok && declares(c.Root.RequiredProviders[ref.LocalName], ref) {
			diags = diags.Extend(notPresent(c.Root, ref, rng, who))
		}
	}
	for _, r := range c.Root.SortedResources() {
		check(r.ProviderConfig(), r.ProviderRefRange, r.Addr.String())
	}
	for _, call := range c.Root.SortedCalls() {
		for _, p := range call.Providers {
			check(p.InParent, p.InParentRange, "The call of module."+call.Name)
		}
	}
	return diags
}

func notPresent(m *Module, ref addr.LocalProviderConfig, rng hcl.Range, who string) diag.List {
	missing, _ := m.ResolveProvider(ref)
	return diag.List(nil).Errorf(&rng, "Provider configuration not present", "%s uses the provider configuration %s, "+
		"but %s has no provider block for it. Add a block provider %q { alias = %q }, or let the caller of the "+
		"module pass one.", who, ref, where(missing.Module), ref.LocalName, missing.Alias)
}

func where(m addr.Module) string {
	if m.IsRoot() {
		return "the root module"
	}
	return m.String()
}

// checkImportProvider checks the provider configuration that an import block names for a generated block.
func checkImportProvider(m *Module, i *Import) diag.List {
	if i.ProviderRef == nil || i.To.Module != m.Path || m.Resources[i.To.Resource] != nil {
		return nil
	}
	if _, ok := m.ResolveProvider(*i.ProviderRef); ok {
		return nil
	}
	return notPresent(m, *i.ProviderRef, i.ProviderRefRange, "The import of "+i.To.String())
}

func checkChild(m *Module) diag.List {
	var diags diag.List
	// if partial, the variables may be in the part that could not be parsed
	if inputs := m.Call.decodeInputs(m); !m.partial {
		m.inputs = inputs
	}
	if m.Backend != nil {
		diags = diags.Warnf(&m.Backend.Range, "Backend configuration ignored",
			"Only the backend of the root module is used. This block in %s has no effect.", m.Path)
	}
	configured := false
	for _, p := range m.SortedProviderConfigs() {
		if !isEmptyBody(p.Body) {
			configured = true
			continue
		}
		p.Proxy = m.passed(p.Addr()) != nil
		diags = diags.Warnf(&p.Range, "Redundant empty provider block", "In old versions, an empty provider block in "+
			"a called module meant that the caller passes a configuration. Remove it, and list the provider in "+
			"required_providers%s.", aliasAdvice(p))
	}
	if configured {
		diags = diags.Extend(checkRepeatedCalls(m))
	}
	for _, r := range m.SortedRequiredProviders() {
		for _, alias := range r.Aliases {
			if m.passed(alias) == nil && m.ProviderConfigs[alias] == nil {
				diags = diags.Errorf(&m.Call.Range, "Missing required provider configuration", "The module in %s "+
					"needs an additional configuration of the provider %s, under the name %q. Pass one: providers = "+
					"{ %s = ... }.", m.Dir, r.Source.ForDisplay(), alias, alias)
			}
		}
	}
	for i := range m.Call.Providers {
		diags = diags.Extend(checkPassed(m, &m.Call.Providers[i]))
	}
	return diags
}

// CheckRoot reports configurations that the root module expects from a caller. There is none, so it cannot be planned,
// but it may be valid as a called module.
func (c *Config) CheckRoot() (diags diag.List) {
	for _, r := range c.Root.SortedRequiredProviders() {
		for _, alias := range r.Aliases {
			if c.Root.ProviderConfigs[alias] == nil {
				diags = diags.Errorf(&r.Range, "Undefined provider configuration", "The root module expects a "+
					"configuration of the provider %s from its caller, under the name %q, but it has no caller: add "+
					"a block provider %q { alias = %q }, or call this module from another.",
					r.Source.ForDisplay(), alias, alias.LocalName, alias.Alias)
			}
		}
	}
	return diags
}

func aliasAdvice(p *ProviderConfig) string {
	if p.Alias == "" {
		return ""
	}
	return " with configuration_aliases = [" + p.Addr().String() + "]"
}

// passed returns the caller's entry for a configuration of the module, or nil.
func (m *Module) passed(ref addr.LocalProviderConfig) *PassedProvider {
	for i := range m.Call.Providers {
		if m.Call.Providers[i].InChild == ref {
			return &m.Call.Providers[i]
		}
	}
	return nil
}

// checkRepeatedCalls returns errors for a module with its own provider configurations below a call with count, for_each
// or depends_on: the configurations could be removed before its objects are destroyed.
func checkRepeatedCalls(m *Module) (diags diag.List) {
	for caller := m; caller.Parent != nil; caller = caller.Parent {
		call := caller.Call
		var rng hcl.Range
		switch {
		case call.Count != nil:
			rng = call.Count.Range()
		case call.ForEach != nil:
			rng = call.ForEach.Range()
		case len(call.DependsOn) > 0:
			rng = call.DependsOn[0].SourceRange()
		default:
			continue
		}
		return diags.Errorf(&rng, "Module is incompatible with count, for_each, and depends_on", "The module %s (in "+
			"%s) has its own provider blocks, so no call that leads to it can use count, for_each or depends_on. "+
			"Move the provider blocks to the root module, and pass the configurations with the providers "+
			"argument.", m.Path,
			m.Dir)
	}
	return nil
}

// checkPassed compares both ends of an entry of the providers argument.
func checkPassed(m *Module, p *PassedProvider) (diags diag.List) {
	const undefined, mismatch = "Reference to undefined provider", "Provider type mismatch"
	parentType := m.Parent.assumedProvider(p.InParent.LocalName)
	childType := m.assumedProvider(p.InChild.LocalName)
	required, own := m.RequiredProviders[p.InChild.LocalName], m.ProviderConfigs[p.InChild]
	listed, proxy := m.Parent.RequiredProviders[p.InParent.LocalName] != nil, own != nil && own.Proxy
	switch {
	case required != nil && p.InChild.Alias != "" && own == nil && !declares(required, p.InChild):
		diags = diags.Errorf(&p.InChildRange, undefined, "The module in %s has no provider configuration %s. To let "+
			"callers pass one, add %s to configuration_aliases of the entry %q in its required_providers.", m.Dir,
			p.InChild, p.InChild, p.InChild.LocalName)
	case required == nil && !proxy:
		diags = diags.Warnf(&p.InChildRange, undefined, "The module in %s does not list a provider under the name %q "+
			"in required_providers, so %s is assumed. Add an entry for it there.", m.Dir, p.InChild.LocalName,
			childType.ForDisplay())
	}
	if own != nil && !proxy {
		diags = diags.Errorf(&p.InChildRange, "Cannot override provider configuration",
			"The module in %s has its own configuration of %s, so none can be passed to it.", m.Dir, p.InChild)
	}
	if configured := m.Parent.ProviderConfigs[p.InParent]; !listed && p.InParent.Alias == "" &&
		(configured == nil || isEmptyBody(configured.Body)) {
		diags = diags.Warnf(&p.InParentRange, undefined, "%s does not list a provider under the name %q in "+
			"required_providers, so %s is assumed. Add an entry for it there.",
			upperFirst(where(m.Parent.Path)), p.InParent.LocalName, parentType.ForDisplay())
	}
	if childType == parentType {
		if lacks(m.Parent, p.InParent) {
			diags = diags.Extend(notPresent(m.Parent, p.InParent, p.InParentRange, "The call of "+m.Path.String()))
		}
		return diags
	}
	if name, ok := m.LocalNameFor(parentType); ok {
		return diags.Errorf(&p.InChildRange, mismatch,
			"A configuration of %s is passed here, but %q is the local name of %s in the module. Use the module's "+
				"name for the first provider, %q.",
			parentType.ForDisplay(), p.InChild.LocalName, childType.ForDisplay(), name)
	}
	return diags.Errorf(&p.InParentRange, mismatch,
		"%q is the local name of %s in %s, but %q is the local name of %s in %s. Only a configuration of the same "+
			"provider can be passed.",
		p.InParent, parentType.ForDisplay(), where(m.Parent.Path), p.InChild, childType.ForDisplay(), m.Path)
}

// declares reports whether an entry, which may be nil, lists a configuration among its aliases.
func declares(r *RequiredProvider, ref addr.LocalProviderConfig) bool {
	return r != nil && slices.Contains(r.Aliases, ref)
}

func upperFirst(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}
