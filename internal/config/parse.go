package config

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	version "github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/iteration"
	"github.com/tombolo-iac/tombolo/internal/nesting"
)

// parsedFile is one parsed file of a module.
type parsedFile struct {
	name     string
	source   []byte // nil if it could not be read
	override bool
	flavor   flavor.Flavor
	body     hcl.Body // nil if no part of it could be parsed
	diags    diag.List
	content  fileContent

	parseDiags diag.List // the diagnostics of parsing only
}

// fileContent holds the declarations of a file, in their order.
type fileContent struct {
	requiredVersions []VersionConstraint
	requirements     []*requirements
	backends         []*Backend
	encryption       []*Encryption
	clouds           []*Cloud
	providers        []*ProviderConfig
	providerMetas    []*ProviderMeta
	types            []*NamedType
	functions        []*Function
	variables        []*variableDecl
	locals           []*Local
	outputs          []*outputDecl
	calls            []*callDecl
	resources        []*Resource
	checks           []*Check
	moved            []*Moved
	removed          []*removedDecl
	refactorings     []*refactoring
	imports          []*Import
}

// parseFiles reads and decodes all files of a module, as many concurrently as there are processors. The first primary
// files are ordinary ones, and the others override files.
func (l *loader) parseFiles(ctx context.Context, names []string, primary int) []*parsedFile {
	parsed := make([]*parsedFile, len(names))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for i, name := range names {
		parsed[i] = &parsedFile{name: name, override: i >= primary, flavor: l.flavor}
		if ctx.Err() != nil {
			continue
		}
		known := l.parsed[name]
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			f := parsed[i]
			if known != nil {
				f.source, f.body, f.diags = known.source, known.body, slices.Clone(known.diags)
			} else {
				f.read(l.files)
			}
			f.decode()
		})
	}
	wait.Wait()
	for _, f := range parsed {
		if l.parsed[f.name] == nil && f.source != nil {
			l.parsed[f.name] = &parsedFile{source: f.source, body: f.body, diags: f.parseDiags}
		}
	}
	return parsed
}

// read sets source and body.
func (f *parsedFile) read(files Files) {
	src, err := files.ReadFile(f.name)
	if err != nil {
		f.diags = f.diags.Errorf(nil, "Failed to read file", "The file %s cannot be read: %s.", f.name, reason(err))
		return
	}
	f.source = src
	var diags diag.List
	f.body, diags = parseBody(src, f.name)
	f.parseDiags = diags
	f.diags = f.diags.Extend(diags)
}

// parseBody parses the text of a file in the syntax of its extension. The body is nil if nothing could be parsed.
func parseBody(src []byte, name string) (hcl.Body, diag.List) {
	if src == nil {
		src = []byte{}
	}
	if diags := nesting.Check(src, name); diags.HasErrors() {
		return nil, diags
	}
	var file *hcl.File
	var hclDiags hcl.Diagnostics
	if strings.HasSuffix(name, ".json") {
		file, hclDiags = hcljson.Parse(src, name)
	} else {
		file, hclDiags = hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	}
	diags := diag.List(nil).AppendSyntax(hclDiags, src)
	if file == nil || file.Body == nil {
		return nil, diags
	}
	iteration.Guard(file.Body)
	return file.Body, diags
}

// outsideOfBlocks returns advice about an argument outside of all blocks.
func outsideOfBlocks(diags diag.List) diag.List {
	for _, d := range diags {
		if d.Summary == "Unsupported argument" && strings.HasSuffix(d.Detail, "is not expected here.") {
			d.Detail += " Put arguments into blocks, and values of variables into files that end in .tfvars."
		}
		for _, kind := range []string{"type", "function"} {
			if d.Summary == "Unsupported block type" && strings.Contains(d.Detail, fmt.Sprintf(" %q ", kind)) {
				d.Detail += fmt.Sprintf(OnlyInOwn, kind+" blocks")
			}
		}
	}
	return diags
}

var fileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "terraform"},
	{Type: "language"},
	{Type: "required_providers"}, // never valid, but a common mistake
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "locals"},
	{Type: "output", LabelNames: []string{"name"}},
	{Type: "module", LabelNames: []string{"name"}},
	{Type: "resource", LabelNames: []string{"type", "name"}},
	{Type: "data", LabelNames: []string{"type", "name"}},
	{Type: "ephemeral", LabelNames: []string{"type", "name"}},
	{Type: "action", LabelNames: []string{"type", "name"}},
	{Type: "check", LabelNames: []string{"name"}},
	{Type: "moved"},
	{Type: "removed"},
	{Type: "import"},
}}

// ownSchema is the schema of files that only Tombolo reads.
var ownSchema = &hcl.BodySchema{Blocks: append(slices.Clip(fileSchema.Blocks),
	hcl.BlockHeaderSchema{Type: "type", LabelNames: []string{"name"}},
	hcl.BlockHeaderSchema{Type: "function", LabelNames: []string{"name"}},
)}

// decode sets the content.
func (f *parsedFile) decode() {
	if f.body == nil {
		return
	}
	schema := fileSchema
	switch {
	case isQuery(f.name):
		schema = querySchema
	case IsOwn(f.name):
		schema = ownSchema
	}
	content, hclDiags := f.body.Content(schema)
	f.diags = f.diags.Extend(outsideOfBlocks(diag.List(nil).AppendHCL(hclDiags))).Extend(f.ownCalls())
	for _, block := range content.Blocks {
		f.diags = f.diags.Extend(f.decodeBlock(block))
	}
}

func (f *parsedFile) decodeBlock(block *hcl.Block) diag.List {
	c := &f.content
	switch block.Type {
	case "terraform":
		return c.terraform(block, f.flavor)
	case "language":
		return checkLanguageBlock(block, f.override)
	case "required_providers":
		return diag.List(nil).Errorf(block.DefRange.Ptr(), "Invalid required_providers block",
			"A required_providers block must be in a terraform block: terraform { required_providers { ... } }.")
	case "provider":
		return add(&c.providers, block, decodeProvider)
	case "type":
		return add(&c.types, block, decodeType)
	case "function":
		return add(&c.functions, block, decodeFunction)
	case "variable":
		return add(&c.variables, block, func(b *hcl.Block) (*variableDecl, diag.List) {
			return decodeVariable(b, f.override)
		})
	case "locals":
		return c.addLocals(block)
	case "output":
		return add(&c.outputs, block, func(b *hcl.Block) (*outputDecl, diag.List) {
			return decodeOutput(b, f.override)
		})
	case "module":
		return add(&c.calls, block, func(b *hcl.Block) (*callDecl, diag.List) {
			return decodeCall(b, f.override, f.flavor)
		})
	case "resource":
		return add(&c.resources, block, func(b *hcl.Block) (*Resource, diag.List) {
			return decodeManaged(b, f.override)
		})
	case "data":
		return add(&c.resources, block, func(b *hcl.Block) (*Resource, diag.List) {
			return decodeReadOnly(b, addr.Data, f.override, false)
		})
	case "ephemeral":
		return add(&c.resources, block, func(b *hcl.Block) (*Resource, diag.List) {
			return decodeReadOnly(b, addr.Ephemeral, f.override, false)
		})
	case "action":
		return add(&c.resources, block, func(b *hcl.Block) (*Resource, diag.List) {
			return decodeAction(b, f.override)
		})
	case "list":
		return add(&c.resources, block, decodeList)
	case "check":
		return add(&c.checks, block, decodeCheck)
	case "moved":
		return c.addMoved(block, IsOwn(f.name))
	case "removed":
		return c.addRemoved(block, IsOwn(f.name))
	case "import":
		return add(&c.imports, block, func(b *hcl.Block) (*Import, diag.List) { return decodeImport(b, IsOwn(f.name)) })
	}
	panic("config: no decoder for block type " + block.Type)
}

func (c *fileContent) addLocals(block *hcl.Block) diag.List {
	locals, diags := decodeLocals(block)
	c.locals = append(c.locals, locals...)
	return diags
}

// add decodes a block and keeps the result unless it is nil.
func add[T any](list *[]*T, block *hcl.Block, decode func(*hcl.Block) (*T, diag.List)) diag.List {
	decoded, diags := decode(block)
	if decoded != nil {
		*list = append(*list, decoded)
	}
	return diags
}

// checkVersions checks every required_version of a module. It decodes only that argument, so that even for a file in
// the syntax of a newer version, the required version is reported; newer is true if a constraint is not met. Overriding
// files replace the constraints of the others.
func (l *loader) checkVersions(parsed []*parsedFile, path addr.Module) (diags diag.List, newer bool) {
	var constraints []VersionConstraint
	for _, f := range parsed {
		if f.body == nil {
			continue
		}
		found, moreDiags := sniffVersions(f.body, f.name, l.flavor)
		diags = diags.Extend(moreDiags)
		if f.override && len(found) > 0 {
			constraints = nil
		}
		constraints = append(constraints, found...)
	}
	for _, c := range constraints {
		if bad := prereleaseOf(c.Parsed); bad != "" {
			diags = diags.Errorf(c.Range.Ptr(), "Invalid required_version constraint", "The constraint %s names a "+
				"prerelease. Remove the dash and everything after it: a prerelease counts as the release it "+
				"precedes.", bad)
			continue
		}
		if l.version == nil || c.Parsed.Check(l.version) {
			continue
		}
		newer = true
		who := "This configuration"
		if !path.IsRoot() {
			who = path.String()
		}
		diags = diags.Errorf(c.Range.Ptr(), l.flavor.VersionProblem(), "%s requires version %s of the language, but "+
			"this program implements version %s. Use a program that implements a matching version, or relax the "+
			"constraint if the configuration allows it.", who, c.Text,
			l.version)
	}
	return diags, newer
}

// prereleaseOf returns the first constraint on a prerelease, or "".
func prereleaseOf(constraints version.Constraints) string {
	for _, c := range constraints {
		if c.Prerelease() {
			return c.String()
		}
	}
	return ""
}

// decodeVersion reads a version constraint from a literal string. Its range is that of the expression.
func decodeVersion(attr *hcl.Attribute) (VersionConstraint, diag.List) {
	c := VersionConstraint{Range: attr.Expr.Range()}
	v, hclDiags := attr.Expr.Value(nil)
	if hclDiags.HasErrors() {
		return c, diag.List(nil).AppendHCL(hclDiags)
	}
	v, err := convert.Convert(v, cty.String)
	if err != nil {
		return c, diag.List(nil).Errorf(&c.Range, badConstraint,
			"The %s argument is a string such as \"~> 1.2\", but this is not: %s.", attr.Name, err)
	}
	if v.IsNull() || !v.IsKnown() {
		return c, nil
	}
	return parseConstraint(v.AsString(), c.Range)
}

const badConstraint = "Invalid version constraint"

func parseConstraint(text string, rng hcl.Range) (VersionConstraint, diag.List) {
	c := VersionConstraint{Text: text, Range: rng}
	parsed, err := version.NewConstraint(text)
	if err != nil {
		return c, diag.List(nil).Errorf(&rng, badConstraint, "%q is not a version constraint. Expected comparisons "+
			"with versions, separated by commas, such as \"~> 1.2\" or \">= 1.0, < 2.0\".", text)
	}
	c.Parsed = parsed
	return c, nil
}

// Functions for blocks that other kinds of files, such as test files, have in common with configuration files.

// ParseBody parses the text of a file in the syntax of its extension. The body is nil if nothing could be parsed.
func ParseBody(src []byte, name string) (hcl.Body, diag.List) { return parseBody(src, name) }

// DecodeProvider reads a provider block. The name of its provider is not resolved.
func DecodeProvider(block *hcl.Block) (*ProviderConfig, diag.List) { return decodeProvider(block) }

// DecodeVariable reads a variable block, or returns nil if it is invalid.
func DecodeVariable(block *hcl.Block) (*Variable, diag.List) {
	v, diags := decodeVariable(block, false)
	if v.named != nil {
		rng := v.named.Range()
		diags = diags.Errorf(&rng, "Invalid type specification", "Named types can only be used inside of a module. "+
			"Write the type out here.")
	}
	if diags.HasErrors() {
		return nil, diags
	}
	return v.finish(), diags
}

// DecodeCondition reads an assert block, or returns nil if it is invalid.
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
