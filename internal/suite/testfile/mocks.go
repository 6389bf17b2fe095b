package testfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// provider parses a provider or mock_provider block. It returns nil if the block is invalid.
func (r *reader) provider(b *hcl.Block) *Provider {
	if b.Type == "provider" {
		p, more := config.DecodeProvider(b)
		if r.diags = r.diags.Extend(more); p == nil {
			return nil
		}
		return &Provider{ProviderConfig: p}
	}
	p := &Provider{
		ProviderConfig: &config.ProviderConfig{LocalName: b.Labels[0], Mock: true, Body: hcl.EmptyBody(),
			Range: b.DefRange, NameRange: b.LabelRanges[0]},
		Mock: &Mock{Resources: map[string]*Default{}, Data: map[string]*Default{}},
	}
	if _, err := addr.ParseProvider(p.LocalName); err != nil {
		r.errorf(p.NameRange, "Invalid provider local name", "%q cannot be the local name of a provider: %s.",
			p.LocalName, err)
		return nil
	}
	content, hclDiags := b.Body.Content(mockSchema)
	r.hcl(hclDiags)
	if a := content.Attributes["alias"]; a != nil {
		alias, more := asText(a)
		r.diags = r.diags.Extend(more)
		if !more.HasErrors() && !hclsyntax.ValidIdentifier(alias) {
			r.errorf(a.Expr.Range(), "Invalid provider configuration alias", "%q cannot be an alias. A name begins "+
				"with a letter or an underscore; letters, digits, underscores and dashes may follow.", alias)
		}
		p.Alias, p.AliasRange = alias, a.Expr.Range().Ptr()
	}
	if a := content.Attributes["for_each"]; a != nil {
		if p.ForEach = a.Expr; p.Alias == "" {
			r.errorf(a.Expr.Range(), "Alias required when using \"for_each\"", "A mock_provider block with "+
				"\"for_each\" needs an \"alias\" too: it replaces a provider block with both.")
		}
	}
	p.Mock.AtPlan = r.atPlan(content.Attributes, false)
	r.mockBlocks(p.Mock, content.Blocks, p.Mock.AtPlan)
	if a := content.Attributes["source"]; a != nil {
		source, more := asText(a)
		if r.diags = r.diags.Extend(more); !more.HasErrors() {
			r.mockFiles(p.Mock, source, b.DefRange)
		}
	}
	return p
}

var mockSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "alias"}, {Name: "for_each"}, {Name: "source"}, {Name: "override_during"}},
	Blocks:     mockFileSchema.Blocks,
}

var mockFileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "mock_resource", LabelNames: []string{"type"}},
	{Type: "mock_data", LabelNames: []string{"type"}},
	{Type: "override_resource"}, {Type: "override_data"},
}}

var defaultSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "defaults"}, {Name: "override_during"}}}

// mockBlocks adds the blocks of a mock provider or of a mock file.
func (r *reader) mockBlocks(m *Mock, blocks hcl.Blocks, atPlan bool) {
	for _, b := range blocks {
		if b.Type == "override_resource" || b.Type == "override_data" {
			m.Overrides = r.override(m.Overrides, b, atPlan)
			continue
		}
		to := m.Resources
		if b.Type == "mock_data" {
			to = m.Data
		}
		if first := to[b.Labels[0]]; first != nil {
			summary := fmt.Sprintf("Duplicate %s block", b.Type)
			if first.Range.Filename != b.DefRange.Filename {
				summary = "Duplicate mock resource block" // as Terraform calls it between files
			}
			r.errorf(b.LabelRanges[0], summary, "A %s block for %s already exists at %s.", b.Type, b.Labels[0],
				first.Range)
			continue
		}
		content, hclDiags := b.Body.Content(defaultSchema)
		r.hcl(hclDiags)
		d := &Default{Range: b.DefRange, AtPlan: r.atPlan(content.Attributes, atPlan)}
		if a := content.Attributes["defaults"]; a != nil {
			d.Values = r.object(a, b.Type, "defaults")
		}
		to[b.Labels[0]] = d
	}
}

// mockFiles adds the mock files in a folder. The block itself overrides them.
func (r *reader) mockFiles(m *Mock, dir string, at hcl.Range) {
	dir = path.Clean(strings.ReplaceAll(dir, `\`, "/"))
	names, err := r.files.ReadDir(dir)
	if err != nil {
		why := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			why = "there is no such directory"
		}
		r.errorf(at, "Failed to read mock data directory",
			"The directory %s, set by source, cannot be read: %s. It is relative to the working directory.", dir, why)
		return
	}
	slices.Sort(names)
	found := &Mock{Resources: map[string]*Default{}, Data: map[string]*Default{}}
	for _, name := range names {
		if config.IsLeftByEditor(name) ||
			!strings.HasSuffix(name, ".tfmock.hcl") && !strings.HasSuffix(name, ".tfmock.json") {
			continue
		}
		name = path.Join(dir, name)
		src, err := r.files.ReadFile(name)
		if err != nil {
			r.diags = r.diags.AppendError("Failed to read file", fmt.Errorf("read %s: %w", name, err))
			continue
		}
		r.file.Sources[name] = src
		body, more := config.ParseBody(src, name)
		if r.diags = r.diags.Extend(more); body == nil {
			continue
		}
		content, hclDiags := body.Content(mockFileSchema)
		r.hcl(hclDiags)
		r.mockBlocks(found, content.Blocks, m.AtPlan)
	}
	for _, pair := range []struct{ to, from map[string]*Default }{{m.Resources, found.Resources},
		{m.Data, found.Data}} {
		for _, typ := range sortedNames(pair.from) {
			if pair.to[typ] == nil {
				pair.to[typ] = pair.from[typ]
			}
		}
	}
	for _, o := range found.Overrides {
		if !slices.ContainsFunc(m.Overrides, func(have *Override) bool {
			return have.Target.String() == o.Target.String()
		}) {
			m.Overrides = append(m.Overrides, o)
		}
	}
}

var overrideSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "target"}, {Name: "values"},
	{Name: "override_during"}}}
var overrideModuleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "target"}, {Name: "outputs"},
	{Name: "override_during"}}}

// override parses an override block and adds it to a list. atPlan is the enclosing override_during.
func (r *reader) override(list []*Override, b *hcl.Block, atPlan bool) []*Override {
	o := &Override{Kind: Resource, Range: b.DefRange}
	schema, argument := overrideSchema, "values"
	switch b.Type {
	case "override_data":
		o.Kind = Data
	case "override_module":
		o.Kind, schema, argument = Module, overrideModuleSchema, "outputs"
	}
	content, hclDiags := b.Body.Content(schema)
	r.hcl(hclDiags)
	if a := content.Attributes[argument]; a != nil {
		o.Values = r.object(a, b.Type, argument)
	}
	o.AtPlan = r.atPlan(content.Attributes, atPlan)
	a := content.Attributes["target"]
	if a == nil {
		r.errorf(b.DefRange, "Missing target attribute", "An %s block needs the argument target, the address of the "+
			"object that it overrides.",
			b.Type)
		return list
	}
	o.TargetRange = a.Range
	t, more := Target(a.Expr)
	if r.diags = r.diags.Extend(more); more.HasErrors() {
		return list
	}
	o.Target = t
	if !o.suits() {
		what := map[Kind]string{Resource: "resources", Data: "data sources", Module: "modules"}[o.Kind]
		r.errorf(o.TargetRange, "Invalid override target", "An %s block is for %s, and %s is not one.", b.Type, what, t)
		return list
	}
	for _, first := range list {
		if first.Kind == o.Kind && first.Target.String() == t.String() {
			r.errorf(b.DefRange, fmt.Sprintf("Duplicate %s block", b.Type), "An %s block for %s already exists at %s.",
				b.Type, t, first.Range)
			return list
		}
	}
	return append(list, o)
}

// suits reports whether the kind of the target matches the block.
func (o *Override) suits() bool {
	switch o.Kind {
	case Resource:
		return !o.Target.IsModule() && o.Target.Resource.Mode == addr.Managed
	case Data:
		return !o.Target.IsModule() && o.Target.Resource.Mode == addr.Data
	}
	return o.Target.IsModule()
}

// Target parses the address of an object or module from a static expression.
func Target(expr hcl.Expression) (addr.Target, diag.List) {
	t, diags := config.DecodeReference(expr)
	if diags.HasErrors() {
		return addr.Target{}, diags
	}
	target, more := addr.TargetFromTraversal(t)
	return target, diags.Extend(more)
}
