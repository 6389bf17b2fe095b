package tfjson

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
	"github.com/tombolo-iac/tombolo/provider"
)

// configuration writes the content of the files, unevaluated: expressions as constants or as lists of their references.
func (s *stream) configuration(cfg *config.Config, schemas Schemas) {
	c := configWriter{stream: s, schemas: schemas}
	c.write(cfg)
}

func (c *configWriter) write(cfg *config.Config) {
	c.files, c.keys = cfg.Files, map[*config.Module]map[addr.LocalProviderConfig]string{}
	c.collectProviders(cfg.Root)
	c.open('{')
	c.providerConfigs()
	c.key("root_module")
	c.module(cfg.Root)
	c.close('}')
}

// Configuration writes the document of a configuration: that of plans, with the additional members of OpenTofu.
func Configuration(w io.Writer, cfg *config.Config, schemas Schemas) error {
	return configurationAlone(w, cfg, configWriter{schemas: schemas, more: true})
}

// Module writes the document of one module, which needs neither providers nor other modules: a configuration document
// without expressions.
func Module(w io.Writer, cfg *config.Config) error {
	return configurationAlone(w, cfg, configWriter{more: true, alone: true})
}

func configurationAlone(w io.Writer, cfg *config.Config, c configWriter) error {
	c.stream = newStream(w)
	c.write(cfg)
	return c.end()
}

type configWriter struct {
	*stream
	more    bool // additional members of OpenTofu
	alone   bool // only the declarations of a module
	files   map[string][]byte
	schemas Schemas
	// keys holds, for each module, the keys in provider_config of the configurations by local name.
	keys    map[*config.Module]map[addr.LocalProviderConfig]string
	entries map[string]providerEntry
}

// providerEntry is a member of provider_config: a provider block, or one that is only implied.
type providerEntry struct {
	local   addr.LocalProviderConfig
	source  addr.Provider
	module  addr.Module
	version string
	block   *config.ProviderConfig
}

// collectProviders collects the entries of a module and those below it. A module's own blocks have entries, including
// those that only declare a passed configuration; names that the caller passes or has itself resolve to the caller's
// entry; any other name has an entry without a block.
func (c *configWriter) collectProviders(m *config.Module) {
	if c.entries == nil {
		c.entries = map[string]providerEntry{}
	}
	keys := map[addr.LocalProviderConfig]string{}
	c.keys[m] = keys
	add := func(e providerEntry) {
		key := e.local.String()
		if !m.Path.IsRoot() {
			key = m.Path.String() + ":" + key
		}
		keys[e.local], c.entries[key] = key, e
	}
	for _, p := range m.SortedProviderConfigs() {
		add(providerEntry{local: p.Addr(), source: p.Provider, module: m.Path, version: versionOf(m, p.LocalName, p),
			block: p})
	}
	if m.Call != nil {
		for _, passed := range m.Call.Providers {
			key, ok := c.keys[m.Parent][passed.InParent]
			if own := m.ProviderConfigs[passed.InChild]; ok && own == nil {
				keys[passed.InChild] = key
			}
		}
	}
	imply := func(name string, source addr.Provider) {
		local := addr.LocalProviderConfig{LocalName: name}
		if _, known := keys[local]; known {
			return
		}
		if key, ok := c.keys[m.Parent][local]; ok && c.entries[key].source == source {
			keys[local] = key
			return
		}
		add(providerEntry{local: local, source: source, module: m.Path, version: versionOf(m, name, nil)})
	}
	used := usedProviders(m)
	names := slices.Sorted(maps.Keys(used))
	for _, name := range names {
		imply(name, used[name])
	}
	// A provider with another local name than its type also has an entry under its type.
	for _, name := range names {
		imply(used[name].Type, used[name])
	}
	for _, child := range m.SortedChildren() {
		c.collectProviders(child)
	}
}

// usedProviders returns the local names of the providers that a module requires or configures, or whose resources it
// has.
func usedProviders(m *config.Module) map[string]addr.Provider {
	used := map[string]addr.Provider{}
	for name, r := range m.RequiredProviders {
		used[name] = r.Source
	}
	for _, p := range m.ProviderConfigs {
		used[p.LocalName] = p.Provider
	}
	for _, r := range m.Resources {
		used[r.ProviderConfig().LocalName] = r.Provider
	}
	return used
}

func versionOf(m *config.Module, localName string, p *config.ProviderConfig) string {
	var parts []string
	if r := m.RequiredProviders[localName]; r != nil && r.Version.Text != "" {
		parts = append(parts, r.Version.Text)
	}
	if p != nil && p.Version.Text != "" {
		parts = append(parts, p.Version.Text)
	}
	text := strings.Join(parts, ", ")
	if normal, err := require.Parse(text); err == nil {
		return normal.String()
	}
	return text
}

func (c *configWriter) providerConfigs() {
	if len(c.entries) == 0 {
		return
	}
	c.key("provider_config")
	c.open('{')
	for _, key := range slices.Sorted(maps.Keys(c.entries)) {
		e := c.entries[key]
		c.key(key)
		c.open('{')
		c.member("name", e.local.LocalName)
		c.member("full_name", e.source.String())
		c.optional("alias", e.local.Alias)
		c.optional("version_constraint", e.version)
		c.optional("module_address", e.module.String())
		if schema := c.schemas[e.source]; e.block != nil && schema != nil && schema.Provider != nil {
			c.expressions(e.block.Body, schema.Provider)
		}
		c.close('}')
	}
	c.close('}')
}

func (c *configWriter) module(m *config.Module) {
	c.open('{')
	if outputs := m.SortedOutputs(); len(outputs) > 0 {
		c.key("outputs")
		c.open('{')
		for _, o := range outputs {
			c.output(o)
		}
		c.close('}')
	}
	if resources := c.resources(m); len(resources) > 0 {
		c.key("resources")
		c.open('[')
		for _, r := range resources {
			c.resource(r)
		}
		c.close(']')
	}
	c.declaredActions(m)
	if calls := m.SortedCalls(); len(calls) > 0 {
		c.key("module_calls")
		c.open('{')
		for _, call := range calls {
			c.key(call.Name)
			c.moduleCall(call, m.Children[call.Name])
		}
		c.close('}')
	}
	if variables := m.SortedVariables(); len(variables) > 0 {
		c.key("variables")
		c.open('{')
		for _, v := range variables {
			c.variable(v)
		}
		c.close('}')
	}
	c.close('}')
}

// declaredActions writes the action blocks of a module, without their configurations, like Terraform.
func (c *configWriter) declaredActions(m *config.Module) {
	some := false
	for _, r := range m.SortedResources() {
		if r.Addr.Mode != addr.Action {
			continue
		}
		if !some {
			c.key("actions")
			c.open('[')
			some = true
		}
		c.open('{')
		c.member("address", r.Addr.String())
		c.member("type", r.Addr.Type)
		c.member("name", r.Addr.Name)
		key := r.ProviderConfig().String()
		if !m.Path.IsRoot() { // whatever configuration that is
			key = m.Path.String() + ":" + key
		}
		c.member("provider_config_key", key)
		c.optionalExpression("count_expression", r.Count)
		c.optionalExpression("for_each_expression", r.ForEach)
		c.close('}')
	}
	if some {
		c.close(']')
	}
}

// resources returns those of a module that the document lists separately.
func (c *configWriter) resources(m *config.Module) []*config.Resource {
	if !c.alone {
		return stored(m.SortedResources())
	}
	return byMode(slices.DeleteFunc(m.SortedResources(), func(r *config.Resource) bool {
		return r.Addr.Mode == addr.Action
	}))
}

// stored returns the resources that have objects in the state, in the order of this document, which differs from that
// of the state and changes.
func stored(resources []*config.Resource) []*config.Resource {
	return byMode(slices.DeleteFunc(resources, func(r *config.Resource) bool {
		return r.Addr.Mode == addr.Ephemeral || r.Addr.Mode == addr.Action
	}))
}

func byMode(resources []*config.Resource) []*config.Resource {
	slices.SortStableFunc(resources, func(a, b *config.Resource) int { return cmp.Compare(a.Addr.Mode, b.Addr.Mode) })
	return resources
}

func (c *configWriter) output(o *config.Output) {
	c.key(o.Name)
	c.open('{')
	if o.Sensitive {
		c.memberBool("sensitive", true)
	}
	if c.more && o.Ephemeral {
		c.memberBool("ephemeral", true)
	}
	if c.more {
		c.optional("deprecated", o.Deprecated)
	}
	if !c.alone {
		c.key("expression")
		c.expression(o.Expr)
	}
	c.dependsOn(o.DependsOn)
	c.optional("description", o.Description)
	c.close('}')
}

func (c *configWriter) variable(v *config.Variable) {
	c.key(v.Name)
	c.open('{')
	if c.more {
		c.moreOfVariable(v)
	}
	if !v.Required() {
		c.key("default")
		c.value(v.Default)
	}
	c.optional("description", v.Description)
	if v.Sensitive {
		c.memberBool("sensitive", true)
	}
	c.close('}')
}

// moreOfVariable writes the members of a variable that only OpenTofu has.
func (c *configWriter) moreOfVariable(v *config.Variable) {
	if v.ConstraintType != cty.NilType && v.ConstraintType != cty.DynamicPseudoType {
		if b, err := ctyjson.MarshalType(v.ConstraintType); err == nil {
			c.key("type")
			c.rawBytes(b)
		}
	}
	for _, m := range []struct {
		name string
		is   bool
	}{{"required", v.Required()}, {"ephemeral", v.Ephemeral}} {
		if m.is {
			c.memberBool(m.name, true)
		}
	}
	c.optional("deprecated", v.Deprecated)
}

func (c *configWriter) resource(r *config.Resource) {
	c.open('{')
	c.member("address", r.Addr.String())
	c.member("mode", r.Addr.Mode.String())
	c.member("type", r.Addr.Type)
	c.member("name", r.Addr.Name)
	c.optional("provider_config_key", c.keys[r.Module][r.ProviderConfig()])
	if len(r.Provisioners) > 0 {
		c.key("provisioners")
		c.open('[')
		for _, p := range r.Provisioners {
			c.provisioner(p)
		}
		c.close(']')
	}
	if c.alone {
		c.close('}')
		return
	}
	if rt := c.schemas.ResourceType(r.Provider, r.Addr); rt != nil {
		c.expressions(r.Body, rt.Block)
		c.memberInt("schema_version", rt.Version)
	}
	c.optionalExpression("count_expression", r.Count)
	c.optionalExpression("for_each_expression", r.ForEach)
	c.dependsOn(r.DependsOn)
	c.close('}')
}

// provisioner writes the arguments of a provisioner. Its schema is not needed: provisioners only have attributes.
func (c *configWriter) provisioner(p *config.Provisioner) {
	c.open('{')
	c.member("type", p.Type)
	attributes, _ := p.Body.JustAttributes()
	if len(attributes) > 0 && !c.alone {
		c.key("expressions")
		c.open('{')
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			c.key(name)
			c.expression(attributes[name].Expr)
		}
		c.close('}')
	}
	c.close('}')
}

func (c *configWriter) moduleCall(call *config.ModuleCall, child *config.Module) {
	c.open('{')
	c.optional("source", call.SourceRaw)
	if child != nil {
		c.expressions(call.Body, variablesBlock(child))
	}
	if !c.alone {
		c.optionalExpression("count_expression", call.Count)
		c.optionalExpression("for_each_expression", call.ForEach)
	}
	if child != nil {
		c.key("module")
		c.module(child)
	}
	c.optional("version_constraint", call.Version.Text)
	c.dependsOn(call.DependsOn)
	c.close('}')
}

// variablesBlock describes the body of a module call.
func variablesBlock(m *config.Module) *provider.Block {
	b := &provider.Block{Attributes: map[string]*provider.Attribute{}}
	for name, v := range m.Variables {
		b.Attributes[name] = &provider.Attribute{Type: v.Type, Required: v.Required(), Optional: !v.Required()}
	}
	return b
}

func (c *configWriter) dependsOn(traversals []hcl.Traversal) {
	if len(traversals) == 0 {
		return
	}
	c.key("depends_on")
	c.open('[')
	for _, t := range traversals {
		ref, diags := addr.ParseReference(t)
		if diags.HasErrors() {
			continue
		}
		c.str(ref.String() + steps(ref.Remaining))
	}
	c.close(']')
}
