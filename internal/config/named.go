package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/nesting"
)

// The maximum numbers of parts and levels of a type with its names expanded: a few short definitions that each refer to
// another one twice form a huge type.
const (
	maxTypeSize  = 20_000
	maxTypeDepth = 500
)

// NamedType is a type block: a name for a type.
type NamedType struct {
	Name        string
	Description string
	Definition  hcl.Expression
	Range       hcl.Range // the block's header
}

// IsOwn reports whether a name is that of a file that only Tombolo reads, or of a text outside of files, such as a line
// in the console. Other tools would refuse files with features that they do not support, so these features are refused
// there.
func IsOwn(filename string) bool {
	for _, ext := range []string{"." + flavor.Own, "." + flavor.Own + "test.hcl"} {
		if strings.HasSuffix(filename, ext) || strings.HasSuffix(filename, strings.TrimSuffix(ext, ".hcl")+".json") {
			return true
		}
	}
	return strings.HasPrefix(filename, "<")
}

// OnlyInOwn is a sentence for messages about features that other tools do not support; its argument is the feature.
const OnlyInOwn = " Files that end in ." + flavor.Own + " can have %s; files that Terraform or OpenTofu read cannot."

var typeSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "description"}, {Name: "definition", Required: true},
}}

func decodeType(block *hcl.Block) (*NamedType, diag.List) {
	content, hclDiags := block.Body.Content(typeSchema)
	diags := diag.List(nil).AppendHCL(hclDiags)
	t := &NamedType{Name: block.Labels[0], Range: block.DefRange}
	diags = diags.Extend(checkName(t.Name, block.LabelRanges[0], "Invalid type name"))
	diags = diags.Extend(decodeOptional(content.Attributes, "description", &t.Description))
	t.Definition = anyType(block.DefRange)
	if attr, ok := content.Attributes["definition"]; ok {
		t.Definition = attr.Expr
	}
	return t, diags
}

// word returns the expression of a single word, such as that of a primitive type.
func word(name string, at hcl.Range) hclsyntax.Expression {
	return &hclsyntax.ScopeTraversalExpr{SrcRange: at,
		Traversal: hcl.Traversal{hcl.TraverseRoot{Name: name, SrcRange: at}}}
}

func anyType(at hcl.Range) hclsyntax.Expression { return word("any", at) }

// typeOf decodes a type expression without names. It reports whether the type can be used.
func typeOf(e hcl.Expression) (*OutputType, diag.List) {
	ty, defaults, hclDiags := typeexpr.TypeConstraintWithDefaults(e)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if hclDiags.HasErrors() {
		for _, d := range diags {
			d.Detail += hintOfName(e, d.Subject)
		}
		return &OutputType{Constraint: cty.DynamicPseudoType}, diags
	}
	return &OutputType{Constraint: ty, Defaults: defaults}, diags
}

// hintOfName returns a hint where a reference to a named type would be allowed, for an error in a file that cannot have
// any.
func hintOfName(e hcl.Expression, at *hcl.Range) string {
	for _, t := range namesIn(e) {
		if at != nil && *at == t.SourceRange() && refersToType(t) {
			return fmt.Sprintf(OnlyInOwn, "references to named types")
		}
	}
	return ""
}

// refersToType reports whether a reference within a type is to a type block or to a resource type.
func refersToType(t hcl.Traversal) bool {
	switch t.RootName() {
	case "type", "module", "resource", "data", "ephemeral":
		return true
	}
	return false
}

// namesIn returns the references to named types within a type expression: traversals with dots.
func namesIn(e hcl.Expression) []hcl.Traversal {
	x := &expander{}
	x.expand(e, 0)
	return x.found
}

// Types resolves the type names of a module. They are immutable once the module has been read.
type Types struct {
	module *Module
	// complete means that called modules have been read.
	complete bool
	called   map[string]*Types
	// schema returns the object type of a resource type; nil before schemas are known.
	schema func(m *Module, ref ResourceType) (cty.Type, diag.List)

	meanings map[string]*meaning
	within   []string // the names being expanded, outermost first
	diags    diag.List
}

// meaning is an expanded named type.
type meaning struct {
	expr hclsyntax.Expression // nil while it is being expanded
	size int
	// depth is its nesting depth.
	depth int
	// open means that parts of it are not known yet, and are replaced by any.
	open bool
}

// ResourceType is a reference to a resource type within a type expression.
type ResourceType struct {
	Mode  addr.Mode
	Type  string
	Range hcl.Range
}

func newTypes(m *Module) *Types {
	return &Types{module: m, called: map[string]*Types{}, meanings: map[string]*meaning{}}
}

// all expands every type of the module, so that each error in them is reported once, at its position.
func (t *Types) all() {
	for _, name := range slices.Sorted(maps.Keys(t.module.Types)) {
		t.meaning(name, t.module.Types[name].Range)
	}
}

// meaning returns the definition of a type name in the module. It returns nil if there is none or it is unknown, after
// reporting that.
func (t *Types) meaning(name string, at hcl.Range) *meaning {
	m, ok := t.meanings[name]
	if ok && m.expr != nil {
		return m
	}
	if ok {
		from := slices.Index(t.within, name)
		chain := append(slices.Clone(t.within[from:]), name)
		t.diags = t.diags.Errorf(&at, "Type refers to itself", "The type %q is defined by itself: type.%s. Types "+
			"cannot be recursive. Use \"any\" in one of these definitions.",
			name, strings.Join(chain, " refers to type."))
		return nil
	}
	def := t.module.Types[name]
	if def == nil {
		t.diags = t.diags.Errorf(&at, "Reference to undeclared type", "There is no type block %q in %s.%s", name,
			inModule(t.module), diag.DidYouMean(name, slices.Collect(maps.Keys(t.module.Types))))
		return nil
	}
	m = &meaning{}
	t.meanings[name] = m
	if len(t.within) >= maxTypeDepth {
		t.diags = t.diags.Errorf(&at, "Types nested too deep", "This is a chain of more than %d named types. Write "+
			"some of them out.", maxTypeDepth)
		m.expr = anyType(at)
		return m
	}
	t.within = append(t.within, name)
	x := &expander{types: t}
	expr, ok := x.expand(def.Definition, 0).(hclsyntax.Expression)
	t.within = t.within[:len(t.within)-1]
	x.finish(def.Definition.Range())
	t.diags = t.diags.Extend(x.diags)
	if ok && !x.diags.HasErrors() {
		_, diags := typeOf(expr)
		t.diags = t.diags.Extend(diags)
		ok = !diags.HasErrors()
	} else if !ok && !x.diags.HasErrors() {
		_, diags := typeOf(def.Definition) // a JSON value that is not a string
		t.diags = t.diags.Extend(diags)
	}
	if !ok || x.diags.HasErrors() {
		expr, x.size, x.depth = anyType(at), 1, 0
	}
	m.expr, m.size, m.depth, m.open = expr, x.size, x.depth, x.open
	return m
}

// inModule returns the name of a module for a sentence.
func inModule(m *Module) string {
	if m.Path.IsRoot() {
		return "the root module"
	}
	return m.Path.String()
}

// read decodes a type expression in the module's files, with or without names.
func (t *Types) read(e hcl.Expression) (ty *OutputType, open bool, diags diag.List) {
	x := &expander{types: t}
	before := len(t.diags)
	out := x.expand(e, 0)
	x.finish(e.Range())
	diags = t.diags[before:].Extend(x.diags)
	t.diags = t.diags[:before]
	if diags.HasErrors() {
		return &OutputType{Constraint: cty.DynamicPseudoType}, x.open, diags
	}
	ty, more := typeOf(out)
	return ty, x.open, diags.Extend(more)
}

// Expand returns a type expression with all type names replaced by their definitions. It may be called concurrently.
func (t *Types) Expand(e hcl.Expression) (hcl.Expression, hcl.Diagnostics) {
	if len(namesIn(e)) == 0 || !IsOwn(e.Range().Filename) {
		return e, nil
	}
	own := *t // with its own problems: all types of the module are already expanded
	own.diags, own.within = nil, nil
	x := &expander{types: &own}
	out := x.expand(e, 0)
	x.finish(e.Range())
	var diags hcl.Diagnostics
	for _, d := range own.diags.Extend(x.diags) {
		diags = append(diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: d.Summary, Detail: d.Detail,
			Subject: d.Subject})
	}
	return out, diags
}

// expander expands the names in one type.
type expander struct {
	types *Types // nil to only find the names
	found []hcl.Traversal
	size  int
	depth int
	open  bool
	diags diag.List
}

// finish reports a type that is too large after expansion.
func (x *expander) finish(at hcl.Range) {
	if x.size > maxTypeSize || x.depth > maxTypeDepth {
		x.diags = x.diags.Errorf(&at, "Type too large", "With its names resolved, this type has more than %d parts, "+
			"or more than %d levels. Use \"any\" for some of its parts.", maxTypeSize, maxTypeDepth)
	}
}

// expand returns an expression with its type names replaced.
func (x *expander) expand(e hcl.Expression, depth int) hcl.Expression {
	x.size++
	x.depth = max(x.depth, depth)
	if text, ok := literalString(e); ok && isJSON(e) {
		rng := e.Range()
		if diags := nesting.CheckQuoted(text, rng); diags.HasErrors() {
			x.diags = x.diags.Extend(diags)
			return e
		}
		start := hcl.Pos{Line: rng.Start.Line, Column: rng.Start.Column + 1, Byte: rng.Start.Byte + 1}
		native, hclDiags := hclsyntax.ParseExpression([]byte(text), rng.Filename, start)
		if hclDiags.HasErrors() {
			return e // the library reports the error
		}
		return x.native(native, depth)
	}
	if native, ok := e.(hclsyntax.Expression); ok {
		return x.native(native, depth)
	}
	return e
}

func (x *expander) native(e hclsyntax.Expression, depth int) hclsyntax.Expression {
	inside := func(e hclsyntax.Expression) hclsyntax.Expression {
		return x.expand(e, depth+1).(hclsyntax.Expression)
	}
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		if len(e.Traversal) < 2 {
			return e
		}
		x.found = append(x.found, e.Traversal)
		if x.types == nil {
			return e
		}
		return x.name(e.Traversal, depth)
	case *hclsyntax.FunctionCallExpr:
		c := *e
		c.Args = slices.Clone(e.Args)
		for i, arg := range c.Args {
			if e.Name == "optional" && i > 0 {
				break // the default is a value, not a type
			}
			c.Args[i] = inside(arg)
		}
		return &c
	case *hclsyntax.ObjectConsExpr:
		c := *e
		c.Items = slices.Clone(e.Items)
		for i := range c.Items {
			c.Items[i].ValueExpr = inside(c.Items[i].ValueExpr)
		}
		return &c
	case *hclsyntax.TupleConsExpr:
		c := *e
		c.Exprs = slices.Clone(e.Exprs)
		for i := range c.Exprs {
			c.Exprs[i] = inside(c.Exprs[i])
		}
		return &c
	}
	return e
}

// name returns the definition of a reference. Unknown types are replaced by any.
func (x *expander) name(t hcl.Traversal, depth int) hclsyntax.Expression {
	rng := t.SourceRange()
	wrong := func(summary, format string, args ...any) hclsyntax.Expression {
		x.diags = x.diags.Errorf(&rng, summary, format, args...)
		return anyType(rng)
	}
	var steps []string
	for _, step := range t[1:] {
		attr, ok := step.(hcl.TraverseAttr)
		if !ok {
			return wrong("Invalid type specification", "The name of a type cannot have an index. Write \"type.NAME\".")
		}
		steps = append(steps, attr.Name)
	}
	root, text := t.RootName(), t.RootName()+"."+strings.Join(steps, ".")
	switch {
	case root == "type" && len(steps) == 1:
		return x.put(x.types.meaning(steps[0], rng), rng, depth)
	case root == "module" && len(steps) == 2:
		called, open, diags := x.types.calledModule(steps[0], rng)
		x.diags = x.diags.Extend(diags)
		x.open = x.open || open
		if called == nil {
			return anyType(rng)
		}
		if called.module.Types[steps[1]] == nil {
			return wrong("Reference to undeclared type", "There is no type block %q in %s.%s", steps[1],
				inModule(called.module), diag.DidYouMean(steps[1], slices.Collect(maps.Keys(called.module.Types))))
		}
		return x.put(called.meaning(steps[1], rng), rng, depth)
	case (root == "resource" || root == "data" || root == "ephemeral") && len(steps) == 1:
		mode := map[string]addr.Mode{"resource": addr.Managed, "data": addr.Data, "ephemeral": addr.Ephemeral}[root]
		return x.resource(ResourceType{Mode: mode, Type: steps[0], Range: rng}, depth)
	case !refersToType(t):
		return wrong("Invalid type specification", "There is no type %s. A type is a word such as \"string\", a call "+
			"such as list(string), or the name of a type: type.NAME, module.CALL.NAME or resource.TYPE.", text)
	}
	return wrong("Invalid type specification", "%s is not the name of a type. Write type.NAME for a type of this "+
		"module, module.CALL.NAME for a type of a called module, or resource.TYPE for the type of a resource's "+
		"objects.",
		text)
}

// put returns a named type in place of its name. Its parts count towards the limits.
func (x *expander) put(m *meaning, at hcl.Range, depth int) hclsyntax.Expression {
	if m == nil || m.expr == nil {
		return anyType(at)
	}
	x.size += m.size
	x.depth = max(x.depth, depth+m.depth)
	x.open = x.open || m.open
	if x.size > maxTypeSize || x.depth > maxTypeDepth {
		return anyType(at) // reported by finish
	}
	return m.expr
}

// calledModule returns the types of a called module; open means that it has not been decoded yet.
func (t *Types) calledModule(name string, at hcl.Range) (_ *Types, open bool, diags diag.List) {
	if t.module.Calls[name] == nil {
		return nil, false, diags.Errorf(&at, "Reference to undeclared module", "No module call named %q is declared "+
			"in %s.%s", name, inModule(t.module), diag.DidYouMean(name, slices.Collect(maps.Keys(t.module.Calls))))
	}
	return t.called[name], !t.complete, nil
}

// resource returns the object type of a resource type.
func (x *expander) resource(ref ResourceType, depth int) hclsyntax.Expression {
	if x.types.schema == nil {
		x.open = true
		x.diags = x.diags.Extend(x.types.module.checkResourceType(ref))
		return anyType(ref.Range)
	}
	ty, diags := x.types.schema(x.types.module, ref)
	if x.diags = x.diags.Extend(diags); diags.HasErrors() {
		return anyType(ref.Range)
	}
	m := &meaning{}
	m.expr = m.write(ty, ref.Range, 0)
	return x.put(m, ref.Range, depth)
}

// checkResourceType returns an error for a resource type of a provider that the module does not use, and which would
// not be installed.
func (m *Module) checkResourceType(ref ResourceType) diag.List {
	local := impliedProvider(ref.Type)
	if m.RequiredProviders[local] != nil || m.ProviderFor(local).IsBuiltin() {
		return nil
	}
	for _, r := range m.Resources {
		if r.ProviderConfig().LocalName == local {
			return nil
		}
	}
	return diag.List(nil).Errorf(&ref.Range, "Resource type of an unknown provider", "The type %s belongs to the "+
		"provider %q, which this module neither requires nor has resources of. Add it to required_providers.", ref.Type,
		local)
}

// ProviderOf returns the provider of a resource type.
func (m *Module) ProviderOf(ref ResourceType) addr.Provider {
	return m.ProviderFor(impliedProvider(ref.Type))
}

// write returns the expression of a type.
func (m *meaning) write(ty cty.Type, at hcl.Range, depth int) hclsyntax.Expression {
	m.size++
	m.depth = max(m.depth, depth)
	call := func(name string, arg hclsyntax.Expression) hclsyntax.Expression {
		return &hclsyntax.FunctionCallExpr{Name: name, Args: []hclsyntax.Expression{arg}, NameRange: at,
			OpenParenRange: at, CloseParenRange: at}
	}
	switch {
	case ty.IsObjectType():
		o := &hclsyntax.ObjectConsExpr{SrcRange: at, OpenRange: at}
		for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) {
			o.Items = append(o.Items, hclsyntax.ObjectConsItem{
				KeyExpr:   &hclsyntax.ObjectConsKeyExpr{Wrapped: word(name, at)},
				ValueExpr: m.write(ty.AttributeType(name), at, depth+2),
			})
		}
		return call("object", o)
	case ty.IsTupleType():
		o := &hclsyntax.TupleConsExpr{SrcRange: at, OpenRange: at}
		for _, element := range ty.TupleElementTypes() {
			o.Exprs = append(o.Exprs, m.write(element, at, depth+2))
		}
		return call("tuple", o)
	case ty.IsListType():
		return call("list", m.write(ty.ElementType(), at, depth+1))
	case ty.IsSetType():
		return call("set", m.write(ty.ElementType(), at, depth+1))
	case ty.IsMapType():
		return call("map", m.write(ty.ElementType(), at, depth+1))
	case ty.IsPrimitiveType():
		return word(ty.FriendlyName(), at)
	}
	return anyType(at)
}
