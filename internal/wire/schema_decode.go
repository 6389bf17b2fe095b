package wire

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/provider"
)

// decodeSchema decodes a schema. It reports all problems, and returns a schema only if there are none.
func decodeSchema(m *plugin6.SchemaResponse, identities map[string]*plugin6.IdentitySchema) (*provider.Schema,
	[]error) {
	d := &schemaDecoder{}
	caps := m.GetServerCapabilities()
	s := &provider.Schema{
		Provider:  d.top("provider", m.GetProvider()).Block,
		Resources: decodeEach("resource ", m.GetResources(), d.top),
		Data:      decodeEach("data source ", m.GetDataSources(), d.top),
		Ephemeral: decodeEach("ephemeral resource ", m.GetEphemeralResources(), d.top),
		Functions: decodeEach("function ", m.GetFunctions(), d.function),
		Lists:     decodeEach("list resource ", m.GetListResources(), d.top),
		Actions: decodeEach("action ", m.GetActions(),
			func(where string, m *plugin6.ActionSchema) *provider.ResourceType {
				return d.top(where, m.GetSchema())
			}),

		PlanDestroy: caps.GetPlanDestroy(), GetProviderSchemaOptional: caps.GetGetProviderSchemaOptional(),
		MoveResourceState: caps.GetMoveResourceState(), GenerateConfig: caps.GetGenerateResourceConfig(),
	}
	typeNames(d, "resource ", m.GetResources())
	typeNames(d, "data source ", m.GetDataSources())
	typeNames(d, "ephemeral resource ", m.GetEphemeralResources())
	typeNames(d, "list resource ", m.GetListResources())
	typeNames(d, "action ", m.GetActions())
	if m.GetProvider() == nil {
		d.fail("provider", errNoSchema)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Functions)) {
		d.functionNames(name, s.Functions[name])
	}
	if m.GetProviderMeta() != nil {
		d.meta = true
		s.Meta = d.top("provider_meta", m.GetProviderMeta()).Block
	}
	for _, name := range slices.Sorted(maps.Keys(identities)) {
		identity := d.identity("identity of "+name, identities[name])
		if rt := s.Resources[name]; rt != nil {
			rt.Identity = identity
		}
	}
	if len(d.errs) > 0 {
		return nil, d.errs
	}
	return s, nil
}

// schemaDecoder collects problems, up to a limit.
type schemaDecoder struct {
	errs []error
	meta bool // in provider_meta, where Terraform does not check who sets an attribute
}

func (d *schemaDecoder) fail(where string, err error) {
	if err != nil && len(d.errs) < 10 {
		d.errs = append(d.errs, fmt.Errorf("%s: %w", where, err))
	}
}

func decodeEach[M, T any](what string, in map[string]M, decode func(where string, m M) T) map[string]T {
	out := make(map[string]T, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		out[name] = decode(what+shownName(name), in[name])
	}
	return out
}

// typeNames checks the names of the types in a schema.
func typeNames[M any](d *schemaDecoder, what string, in map[string]M) {
	for _, name := range slices.Sorted(maps.Keys(in)) {
		d.name(what+shownName(name), name)
	}
}

// name refuses a name that cannot be written in a configuration. A leading digit is allowed, because attributes that
// only the provider sets need not be written.
func (d *schemaDecoder) name(where, name string) {
	if !writable(name) {
		d.fail(where, errCharacters)
	}
}

func writable(name string) bool { return name != "" && hclsyntax.ValidIdentifier("a"+name) }

// shownName returns a name for problems. It is quoted if it could be mistaken for something else.
func shownName(name string) string {
	if writable(name) {
		return name
	}
	return strconv.QuoteToASCII(name)
}

func (d *schemaDecoder) top(where string, m *plugin6.Schema) *provider.ResourceType {
	rt := &provider.ResourceType{Version: d.version(where, m.GetVersion()), Block: &provider.Block{}}
	d.block(where, m.GetBlock(), rt.Block, 0)
	return rt
}

func (d *schemaDecoder) block(where string, m *plugin6.Block, b *provider.Block, depth int) {
	b.Description, b.DescriptionKind = m.GetDescription(), decodeKind(m.GetDescriptionKind())
	b.Deprecated, b.DeprecationMessage, b.Computed = m.GetDeprecated(), m.GetDeprecationMessage(), m.GetComputed()
	b.Attributes = d.attributes(where, m.GetAttributes(), depth)
	b.Blocks = make(map[string]*provider.NestedBlock, len(m.GetBlocks()))
	if depth > maxSchemaDepth {
		d.fail(where, errSchemaDepth)
		return
	}
	for _, nm := range m.GetBlocks() {
		name := nm.GetName()
		where := where + ", block " + shownName(name)
		if name == "" || b.Attributes[name] != nil || b.Blocks[name] != nil {
			d.fail(where, errName)
			continue
		}
		d.name(where, name)
		nb := &provider.NestedBlock{Nesting: d.nesting(where, nm.GetNesting()),
			MinItems: d.count(where, nm.GetMinItems()), MaxItems: d.count(where, nm.GetMaxItems())}
		if nb.MaxItems > 0 && nb.MinItems > nb.MaxItems {
			d.fail(where, fmt.Errorf("at least %d blocks are required, but at most %d are allowed", nb.MinItems,
				nb.MaxItems))
		}
		d.block(where, nm.GetBlock(), &nb.Block, depth+1)
		if nb.Computed {
			d.fail(where, filledIn(nb))
		}
		b.Blocks[name] = nb
	}
	if b.Computed {
		d.fail(where, allComputed(b))
	}
}

// filledIn returns an error if the provider cannot fill in omitted nested blocks.
func filledIn(nb *provider.NestedBlock) error {
	switch {
	case nb.MinItems > 0:
		return errors.New("computed blocks cannot be required in the configuration")
	case nb.Nesting == provider.NestingGroup:
		return errors.New("a group always exists, so the provider cannot compute it")
	}
	return nil
}

// allComputed returns an error that names a part of a computed block that is not computed.
func allComputed(b *provider.Block) error {
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		if !b.Attributes[name].Computed {
			return fmt.Errorf("the block is computed, but its attribute %s is not", shownName(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		if !b.Blocks[name].Computed {
			return fmt.Errorf("the block is computed, but the block %s in it is not", shownName(name))
		}
	}
	return nil
}

var (
	errName        = errors.New("the name is missing or used twice")
	errCharacters  = errors.New("the name has characters other than letters, digits, - and _")
	errNoSchema    = errors.New("there is no schema for its configuration, not even an empty one")
	errIdentifier  = errors.New("the name is not an identifier: a letter, then letters, digits, - and _")
	errNobodySets  = errors.New("it must be required, optional or computed")
	errTwoSet      = errors.New("a required attribute can be neither optional nor computed")
	errNoType      = errors.New("there must be either a type or nested attributes")
	errSchemaDepth = fmt.Errorf("the schema is nested more than %d levels deep", maxSchemaDepth)
)

func (d *schemaDecoder) attributes(where string, in []*plugin6.Attribute, depth int) map[string]*provider.Attribute {
	out := make(map[string]*provider.Attribute, len(in))
	for _, m := range in {
		name := m.GetName()
		where := where + ", attribute " + shownName(name)
		if name == "" || out[name] != nil {
			d.fail(where, errName)
			continue
		}
		d.name(where, name)
		out[name] = d.attribute(where, m, depth)
	}
	return out
}

func (d *schemaDecoder) attribute(where string, m *plugin6.Attribute, depth int) *provider.Attribute {
	a := &provider.Attribute{
		Required: m.GetRequired(), Optional: m.GetOptional(), Computed: m.GetComputed(), Sensitive: m.GetSensitive(),
		WriteOnly:   m.GetWriteOnly(),
		Description: m.GetDescription(), DescriptionKind: decodeKind(m.GetDescriptionKind()),
		Deprecated: m.GetDeprecated(), DeprecationMessage: m.GetDeprecationMessage(),
	}
	switch {
	case d.meta:
	case a.Required && (a.Optional || a.Computed):
		d.fail(where, errTwoSet)
	case !a.Required && !a.Optional && !a.Computed:
		d.fail(where, errNobodySets)
	}
	nested := m.GetNested()
	switch {
	case (nested == nil) == (len(m.GetType()) == 0):
		d.fail(where, errNoType)
	case nested == nil:
		var err error
		a.Type, err = decodeType(m.GetType())
		d.fail(where, err)
	case depth > maxSchemaDepth:
		d.fail(where, errSchemaDepth)
	default:
		a.Nested = &provider.NestedObject{Nesting: d.nesting(where, nested.GetNesting()),
			Attributes: d.attributes(where, nested.GetAttributes(), depth+1)}
		if a.Nested.Nesting == provider.NestingGroup {
			d.fail(where, errors.New("attributes cannot be nested as a group"))
		}
	}
	return a
}

func (d *schemaDecoder) nesting(where string, m plugin6.NestingMode) provider.Nesting {
	for n, mode := range nestingModes {
		if mode == m {
			return n
		}
	}
	d.fail(where, fmt.Errorf("there is no nesting mode %d", m))
	return 0
}

func (d *schemaDecoder) count(where string, n int64) int {
	if n < 0 || n > math.MaxInt32 {
		d.fail(where, fmt.Errorf("%d is not a valid number of blocks", n))
		return 0
	}
	return int(n)
}

// version refuses a version that a state cannot contain.
func (d *schemaDecoder) version(where string, n int64) int64 {
	if n < 0 {
		d.fail(where, fmt.Errorf("%d is not a valid version of a schema", n))
	}
	return n
}

func (d *schemaDecoder) identity(where string, m *plugin6.IdentitySchema) *provider.IdentitySchema {
	s := &provider.IdentitySchema{Version: d.version(where, m.GetVersion()),
		Attributes: map[string]*provider.IdentityAttribute{}}
	for _, am := range m.GetAttributes() {
		name := am.GetName()
		where := where + ", attribute " + shownName(name)
		if name == "" || s.Attributes[name] != nil {
			d.fail(where, errName)
			continue
		}
		d.name(where, name)
		ty, err := decodeType(am.GetType())
		d.fail(where, err)
		s.Attributes[name] = &provider.IdentityAttribute{
			Type: ty, Description: am.GetDescription(), RequiredForImport: am.GetRequiredForImport(),
			OptionalForImport: am.GetOptionalForImport(),
		}
	}
	return s
}

func (d *schemaDecoder) function(where string, m *plugin6.Function) *provider.Function {
	ty, err := decodeType(m.GetReturn().GetType())
	d.fail(where+", result", err)
	f := &provider.Function{
		Return: ty, Summary: m.GetSummary(), Description: m.GetDescription(),
		DescriptionKind: decodeKind(m.GetDescriptionKind()), Deprecated: m.GetDeprecationMessage(),
	}
	for _, p := range m.GetParameters() {
		f.Params = append(f.Params, d.parameter(where, p))
	}
	if m.GetVariadicParameter() != nil {
		p := d.parameter(where, m.GetVariadicParameter())
		f.VarParam = &p
	}
	return f
}

// functionNames checks that a function can be called and that its parameters have different names.
func (d *schemaDecoder) functionNames(name string, f *provider.Function) {
	where := "function " + strconv.Quote(name)
	if !hclsyntax.ValidIdentifier(name) {
		d.fail(where, errIdentifier)
	}
	params := slices.Clip(f.Params)
	if f.VarParam != nil {
		params = append(params, *f.VarParam)
	}
	seen := make(map[string]bool, len(params))
	for i, p := range params {
		where := fmt.Sprintf("%s, parameter %d %q", where, i+1, p.Name)
		switch {
		case !hclsyntax.ValidIdentifier(p.Name):
			d.fail(where, errIdentifier)
		case seen[p.Name]:
			d.fail(where, errName)
		}
		seen[p.Name] = true
	}
}

func (d *schemaDecoder) parameter(where string, m *plugin6.Function_Parameter) provider.FunctionParam {
	ty, err := decodeType(m.GetType())
	d.fail(where+", parameter "+m.GetName(), err)
	return provider.FunctionParam{
		Name: m.GetName(), Type: ty, AllowNull: m.GetAllowNull(), AllowUnknown: m.GetAllowUnknown(),
		Description: m.GetDescription(), DescriptionKind: decodeKind(m.GetDescriptionKind()),
	}
}

func decodeKind(k plugin6.TextKind) provider.DescriptionKind {
	if k == plugin6.TextKind_MARKDOWN {
		return provider.Markdown
	}
	return provider.PlainText
}

// schemaProblems converts the problems of a schema to diagnostics.
func schemaProblems(name string, errs []error) diag.List {
	var diags diag.List
	for _, err := range errs {
		diags = diags.Errorf(nil, "Invalid provider schema",
			"The schema of provider %s is invalid: %s. This is a bug in the provider.", name, err)
	}
	return diags
}
