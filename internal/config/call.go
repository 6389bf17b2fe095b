package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
)

var dynamicNull = cty.NullVal(cty.DynamicPseudoType)

var callSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "source", Required: true}, {Name: "version"}, {Name: "count"}, {Name: "for_each"}, {Name: "depends_on"},
		{Name: "providers"}, {Name: "ignore_nested_deprecations"},
	},
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "_"}, {Type: "lifecycle"}, {Type: "locals"}, {Type: "provider", LabelNames: []string{"type"}},
	},
}

// callDecl is a module block with the attributes that it sets, for overrides.
type callDecl struct {
	ModuleCall
	attrs hcl.Attributes
}

func decodeCall(block *hcl.Block, override bool, f flavor.Flavor) (*callDecl, diag.List) {
	content, rest, hclDiags := block.Body.PartialContent(schemaFor(callSchema, override))
	diags := diag.List(nil).AppendHCL(hclDiags)
	c := &callDecl{attrs: content.Attributes}
	c.Name, c.Range, c.host = block.Labels[0], block.DefRange, f.RegistryHost()
	diags = diags.Extend(checkName(c.Name, block.LabelRanges[0], "Invalid module instance name"))
	attr, ok := c.attrs["version"]
	if c.hasVersion = ok; ok && isComputed(attr.Expr) {
		c.versionExpr = attr.Expr
	} else if ok {
		v, _ := attr.Expr.Value(nil) // it has no errors
		c.hasVersion = !v.IsNull()
		var moreDiags diag.List
		c.Version, moreDiags = decodeVersion(attr)
		diags = diags.Extend(moreDiags)
	}
	if attr, ok := c.attrs["source"]; ok {
		diags = diags.Extend(c.setSource(attr))
	}
	var moreDiags diag.List
	c.Count, c.ForEach, moreDiags = checkRepetition(c.attrs)
	diags = diags.Extend(moreDiags)
	if attr, ok := c.attrs["depends_on"]; ok {
		if override {
			diags = diags.Extend(noOverride(attr))
		}
		c.DependsOn, moreDiags = decodeDependsOn(attr)
		diags = diags.Extend(moreDiags)
	}
	diags = diags.Extend(decodeFlag(c.attrs, "ignore_nested_deprecations", &c.IgnoreNestedDeprecations))
	if attr, ok := c.attrs["providers"]; ok {
		c.HasProviders = true
		c.Providers, moreDiags = decodePassedProviders(attr)
		diags = diags.Extend(moreDiags)
	}
	for _, b := range content.Blocks {
		switch {
		case b.Type == "lifecycle" && c.Enabled == nil:
			diags = diags.Extend(c.decodeLifecycle(b))
		case b.Type != "_":
			diags = diags.Extend(reservedBlock(b, "module"))
		}
	}
	c.Body, moreDiags = escaped(rest, content.Blocks, "module", "input variables")
	return c, diags.Extend(moreDiags).Extend(oneRepetition(c.Count, c.ForEach, c.Enabled))
}

var callLifecycleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "enabled"}}}

// decodeLifecycle decodes the lifecycle block of a module call.
func (c *callDecl) decodeLifecycle(block *hcl.Block) diag.List {
	content, hclDiags := block.Body.Content(callLifecycleSchema)
	if attr, ok := content.Attributes["enabled"]; ok {
		c.Enabled = attr.Expr
	}
	return diag.List(nil).AppendHCL(hclDiags)
}

// setSource decodes the source argument. Kind stays zero if the source is invalid or not a literal.
func (c *callDecl) setSource(attr *hcl.Attribute) (diags diag.List) {
	c.SourceRange = attr.Expr.Range()
	if isComputed(attr.Expr) {
		c.sourceExpr = attr.Expr
		return nil
	}
	if diags = decodeLiteral(attr.Expr, &c.SourceRaw); diags.HasErrors() {
		return diags
	}
	return c.setKind()
}

// SourcePlace returns the source range for problems of the source. It is the head of the block if the source contains a
// secret, because errors show the source line.
func (c *ModuleCall) SourcePlace() *hcl.Range {
	if ShownSource(c.SourceRaw) != c.SourceRaw {
		return &c.Range
	}
	return &c.SourceRange
}

// isComputed reports whether an expression has references or function calls or, in native syntax, is not a literal.
func isComputed(e hcl.Expression) bool {
	if len(e.Variables()) > 0 {
		return true
	}
	_, diags := e.Value(nil)
	return diags.HasErrors()
}

// setKind parses the text of the source.
func (c *ModuleCall) setKind() (diags diag.List) {
	kind, normal, err := ParseSourceIn(c.SourceRaw, c.hasVersion, c.host)
	if err != nil {
		summary := "Invalid module source address"
		if c.hasVersion {
			summary = "Invalid registry module source address"
		}
		return diags.Errorf(c.SourcePlace(), summary, "The source cannot be used: %s.", err)
	}
	c.Kind, c.Source = kind, normal
	return diags
}

// decodePassedProviders decodes the providers argument.
func decodePassedProviders(attr *hcl.Attribute) ([]PassedProvider, diag.List) {
	pairs, hclDiags := hcl.ExprMap(attr.Expr)
	diags := diag.List(nil).AppendHCL(hclDiags)
	seen := map[addr.LocalProviderConfig]hcl.Range{}
	var out []PassedProvider
	for _, pair := range pairs {
		child, childKey, childDiags := decodeProviderRef(pair.Key, "providers")
		parent, key, parentDiags := decodeProviderRef(pair.Value, "providers")
		if childKey != nil {
			childDiags = childDiags.Errorf(childKey.Range().Ptr(), "Invalid provider configuration reference",
				"A called module has one provider configuration for each name. Only the name on the right, in this "+
					"module, can have a key.")
		}
		diags = diags.Extend(childDiags).Extend(parentDiags)
		if childDiags.HasErrors() || parentDiags.HasErrors() {
			continue
		}
		rng := hcl.RangeBetween(pair.Key.Range(), pair.Value.Range())
		if first, dup := seen[child]; dup {
			diags = diags.Errorf(pair.Value.Range().Ptr(), "Duplicate provider address",
				"A configuration for %s is already passed at %s. Each can be passed to the child module only once.",
				child, first)
			continue
		}
		seen[child] = rng
		out = append(out, PassedProvider{InChild: child, InParent: parent, Key: key,
			InChildRange: localNameRange(pair.Key), InParentRange: localNameRange(pair.Value)})
	}
	return out, diags
}

// localNameRange returns the range of a local name, without an alias.
func localNameRange(expr hcl.Expression) hcl.Range {
	expr, _ = splitKey(expr)
	if traversal, diags := hcl.AbsTraversalForExpr(expr); !diags.HasErrors() {
		return traversal[0].SourceRange()
	}
	return expr.Range()
}

func (c *callDecl) merge(over *callDecl) {
	if over.has("source") {
		c.Source, c.SourceRaw, c.Kind, c.SourceRange = over.Source, over.SourceRaw, over.Kind, over.SourceRange
		c.sourceExpr = over.sourceExpr
	}
	if over.has("version") {
		c.Version, c.versionExpr, c.hasVersion = over.Version, over.versionExpr, over.hasVersion
	}
	if over.has("ignore_nested_deprecations") {
		c.IgnoreNestedDeprecations = over.IgnoreNestedDeprecations
	}
	if over.Count != nil || over.ForEach != nil || over.Enabled != nil {
		c.Count, c.ForEach, c.Enabled = over.Count, over.ForEach, over.Enabled
	}
	if over.HasProviders {
		c.Providers, c.HasProviders = over.Providers, true
	}
	c.Body = overrideBody(c.Body, over.Body)
}

func (c *callDecl) has(name string) bool { _, ok := c.attrs[name]; return ok }

// CheckCalls reports missing and unknown arguments of module calls. Load leaves this check to its callers, so that
// modules can be installed and listed before their arguments are complete.
func (c *Config) CheckCalls() diag.List {
	var diags diag.List
	for _, m := range c.SortedModules() {
		diags = diags.Extend(m.inputs)
	}
	return distinct(diags)
}

// decodeInputs collects the values for the child's variables from the call, and reports missing and unknown ones.
func (c *ModuleCall) decodeInputs(child *Module) diag.List {
	schema := &hcl.BodySchema{}
	for _, v := range child.SortedVariables() {
		schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: v.Name, Required: v.Required()})
	}
	content, hclDiags := c.Body.Content(schema)
	c.Inputs = content.Attributes
	for _, d := range hclDiags {
		if d.Summary == "Missing required argument" {
			d.Detail = fmt.Sprintf("%s The module in %s declares it as a variable without a default.", d.Detail,
				child.Dir)
		}
	}
	return diag.List(nil).AppendHCL(hclDiags)
}

// manifestName is the path of the module manifest within the data directory.
const manifestName = "modules/modules.json"

// Manifest is the record of installed modules: modules/modules.json in the data directory.
type Manifest struct {
	Modules []ManifestModule
}

// ManifestModule is one installed module. The field order is that of the file.
type ManifestModule struct {
	Key     string `json:"Key"` // call names joined by dots; "" for the root module
	Source  string `json:"Source"`
	Version string `json:"Version,omitempty"`
	Dir     string `json:"Dir"` // relative to the working directory
}

// ManifestKey returns the key of a module in the manifest.
func ManifestKey(m addr.Module) string { return strings.Join(m.Calls(), ".") }

// ParseManifest parses a manifest file.
func ParseManifest(src []byte) (*Manifest, error) {
	m := &Manifest{}
	if len(bytes.TrimSpace(src)) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(src, m); err != nil {
		return nil, fmt.Errorf("parse module manifest: %w", err)
	}
	seen := map[string]bool{}
	for i, entry := range m.Modules {
		if seen[entry.Key] {
			return nil, fmt.Errorf("two records for module %q", entry.Key)
		}
		seen[entry.Key] = true
		m.Modules[i].Dir = path.Clean(filepath.ToSlash(entry.Dir))
		// Older records have no hosts in registry sources.
		if kind, normal, err := ParseSource(entry.Source, entry.Version != ""); err == nil && kind == SourceRegistry {
			m.Modules[i].Source = normal
		}
	}
	return m, nil
}

// Encode returns the content of the manifest file: one line, ordered by key.
func (m *Manifest) Encode() ([]byte, error) {
	sorted := Manifest{Modules: slices.Clone(m.Modules)}
	slices.SortFunc(sorted.Modules, func(a, b ManifestModule) int { return strings.Compare(a.Key, b.Key) })
	return json.Marshal(sorted)
}
