package config

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
)

var metaArguments = []hcl.AttributeSchema{{Name: "count"}, {Name: "for_each"}, {Name: "provider"}, {Name: "depends_on"}}

var managedSchema = &hcl.BodySchema{
	Attributes: metaArguments,
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "_"}, {Type: "locals"}, {Type: "lifecycle"}, {Type: "connection"},
		{Type: "provisioner", LabelNames: []string{"type"}},
	},
}

var readOnlySchema = &hcl.BodySchema{
	Attributes: metaArguments,
	Blocks:     []hcl.BlockHeaderSchema{{Type: "_"}, {Type: "locals"}, {Type: "lifecycle"}},
}

// decodeManaged reads a resource block.
func decodeManaged(block *hcl.Block, override bool) (*Resource, diag.List) {
	content, rest, hclDiags := block.Body.PartialContent(managedSchema)
	r, diags := newResource(block, addr.Managed, content, override)
	diags = diag.List(nil).AppendHCL(hclDiags).Extend(diags)
	var lifecycle *hcl.Block
	for _, b := range content.Blocks {
		switch b.Type {
		case "locals":
			diags = diags.Extend(reservedBlock(b, "resource"))
		case "lifecycle":
			if lifecycle != nil {
				diags = diags.Extend(twice(b, lifecycle, "This resource"))
				continue
			}
			lifecycle = b
			diags = diags.Extend(r.decodeLifecycle(b, override))
		case "connection":
			if r.Connection != nil {
				diags = diags.Errorf(b.DefRange.Ptr(), "Duplicate connection block",
					"This resource already has a connection block at %s.", r.Connection.Range)
				continue
			}
			r.Connection = &Connection{Body: b.Body, Range: b.DefRange}
		case "provisioner":
			p, moreDiags := decodeProvisioner(b)
			diags = diags.Extend(moreDiags)
			if p != nil {
				r.Provisioners = append(r.Provisioners, p)
			}
		}
	}
	diags = diags.Extend(checkDestroyConnection(r.Connection, r.Provisioners))
	body, moreDiags := escaped(rest, content.Blocks, "resource", "arguments of the provider")
	r.Body = body
	return r, diags.Extend(moreDiags).Extend(oneRepetition(r.Count, r.ForEach, r.Enabled))
}

// decodeReadOnly reads a data or ephemeral block, or a data block nested in a check block.
func decodeReadOnly(block *hcl.Block, mode addr.Mode, override, nested bool) (*Resource, diag.List) {
	content, rest, hclDiags := block.Body.PartialContent(readOnlySchema)
	r, diags := newResource(block, mode, content, override)
	diags = diag.List(nil).AppendHCL(hclDiags).Extend(diags)
	if nested {
		for _, name := range []string{"count", "for_each"} {
			if attr, ok := content.Attributes[name]; ok {
				diags = diags.Errorf(attr.NameRange.Ptr(), fmt.Sprintf("Invalid %q attribute", name),
					"A data block in a check block cannot be repeated. Move it out of the check block.")
			}
		}
	}
	var lifecycle *hcl.Block
	for _, b := range content.Blocks {
		switch b.Type {
		case "locals":
			diags = diags.Extend(reservedBlock(b, mode.String()))
		case "lifecycle":
			switch {
			case nested:
				diags = diags.Errorf(b.DefRange.Ptr(), "Invalid lifecycle block", "A data block in a check block "+
					"cannot have a lifecycle block, because it is part of the check block.")
			case lifecycle != nil:
				diags = diags.Extend(twice(b, lifecycle, "This resource"))
			default:
				lifecycle = b
				diags = diags.Extend(r.decodeLifecycle(b, override))
			}
		}
	}
	body, moreDiags := escaped(rest, content.Blocks, mode.String(), "arguments of the provider")
	r.Body = body
	return r, diags.Extend(moreDiags).Extend(oneRepetition(r.Count, r.ForEach, r.Enabled))
}

func twice(block, first *hcl.Block, owner string) diag.List {
	return diag.List(nil).Errorf(block.DefRange.Ptr(), fmt.Sprintf("Duplicate %s block", block.Type),
		"%s already has a %s block at %s.", owner, block.Type, first.DefRange)
}

var nameSummaries = map[addr.Mode][2]string{
	addr.Managed:   {"Invalid resource type name", "Invalid resource name"},
	addr.Data:      {"Invalid data source name", "Invalid data resource name"},
	addr.Ephemeral: {"Invalid ephemeral resource type", "Invalid ephemeral resource name"},
	addr.Action:    {"Invalid action type name", "Invalid action name"},
	addr.List:      {"Invalid list resource type name", "Invalid list resource name"},
}

// newResource decodes the parts that all modes have in common.
func newResource(block *hcl.Block, mode addr.Mode, content *hcl.BodyContent, override bool) (*Resource, diag.List) {
	r := &Resource{
		Addr:      addr.Resource{Mode: mode, Type: block.Labels[0], Name: block.Labels[1]},
		DeclRange: block.DefRange,
		TypeRange: block.LabelRanges[0],
	}
	diags := checkName(r.Addr.Type, block.LabelRanges[0], nameSummaries[mode][0])
	diags = diags.Extend(checkResourceName(r.Addr.Name, block.LabelRanges[1], nameSummaries[mode][1]))
	var moreDiags diag.List
	r.Count, r.ForEach, moreDiags = checkRepetition(content.Attributes)
	diags = diags.Extend(moreDiags)
	if attr, ok := content.Attributes["provider"]; ok {
		ref, key, moreDiags := decodeProviderRef(attr.Expr, "provider")
		diags = diags.Extend(moreDiags)
		if !moreDiags.HasErrors() {
			r.ProviderRef, r.ProviderKey, r.ProviderRefRange = &ref, key, attr.Expr.Range()
		}
	}
	if attr, ok := content.Attributes["depends_on"]; ok {
		if override {
			diags = diags.Extend(noOverride(attr))
		}
		r.DependsOn, moreDiags = decodeDependsOn(attr)
		diags = diags.Extend(moreDiags)
	}
	return r, diags
}

var lifecycleSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "create_before_destroy"}, {Name: "prevent_destroy"}, {Name: "ignore_changes"},
		{Name: "replace_triggered_by"}, {Name: "enabled"}, {Name: "destroy"},
	},
	Blocks: []hcl.BlockHeaderSchema{{Type: "precondition"}, {Type: "postcondition"}, {Type: "action_trigger"}},
}

// decodeLifecycle reads a lifecycle block of any mode.
func (r *Resource) decodeLifecycle(block *hcl.Block, override bool) diag.List {
	content, hclDiags := block.Body.Content(lifecycleSchema)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if attr, ok := content.Attributes["enabled"]; ok {
		r.Enabled = attr.Expr
		delete(content.Attributes, "enabled")
	}
	if r.Addr.Mode != addr.Managed {
		for _, attr := range inOrder(content.Attributes) {
			diags = diags.Errorf(attr.NameRange.Ptr(), fmt.Sprintf("Invalid %s resource lifecycle argument",
				r.Addr.Mode), "The lifecycle argument %q is for managed resources (\"resource\" blocks) only; "+
				"objects of this kind are never created, changed or destroyed.", attr.Name)
		}
	} else {
		diags = diags.Extend(r.decodeManagedLifecycle(content.Attributes))
	}
	for _, b := range content.Blocks {
		if b.Type == "action_trigger" {
			diags = diags.Extend(r.addTrigger(b))
			continue
		}
		c, moreDiags := decodeConditionBlock(b, override)
		diags = diags.Extend(moreDiags)
		if c != nil {
			diags = diags.Extend(r.checkOwnReferences(c, b.Type))
		}
		switch {
		case c == nil:
		case b.Type == "precondition":
			r.Preconditions = append(r.Preconditions, c)
		default:
			r.Postconditions = append(r.Postconditions, c)
		}
	}
	return diags
}

// addTrigger reads an action_trigger block.
func (r *Resource) addTrigger(b *hcl.Block) diag.List {
	if r.Addr.Mode != addr.Managed {
		return diag.List(nil).Errorf(b.DefRange.Ptr(), fmt.Sprintf("Invalid %s resource lifecycle nested block",
			r.Addr.Mode),
			"action_trigger blocks are for managed resources (\"resource\" blocks) only: objects of this "+
				"kind are never created or changed.")
	}
	t, diags := decodeActionTrigger(b)
	r.ActionTriggers = append(r.ActionTriggers, t)
	return diags
}

// checkOwnReferences returns errors for conditions that refer to the resource by its address instead of self.
func (r *Resource) checkOwnReferences(c *Condition, what string) (diags diag.List) {
	for _, expr := range []hcl.Expression{c.Condition, c.ErrorMessage} {
		for _, traversal := range expr.Variables() {
			ref, moreDiags := addr.ParseReference(traversal)
			if moreDiags.HasErrors() || ref.Kind != addr.RefResource || ref.Resource != r.Addr {
				continue
			}
			advice := "A precondition is checked before the instance is planned. Refer to the values that its " +
				"arguments use instead."
			if what == "postcondition" {
				advice = "Use self to refer to the planned or changed instance."
			}
			diags = diags.Errorf(expr.Range().Ptr(), "Invalid reference in "+what,
				"The conditions of %s cannot refer to it by its address. %s", r.Addr, advice)
		}
	}
	return diags
}

func (r *Resource) decodeManagedLifecycle(attrs hcl.Attributes) (diags diag.List) {
	if _, ok := attrs["create_before_destroy"]; ok {
		r.CreateBeforeDestroySet = true
		diags = diags.Extend(decodeFlag(attrs, "create_before_destroy", &r.CreateBeforeDestroy))
	}
	r.PreventDestroy, diags = decodeGuard(attrs, "prevent_destroy", diags)
	r.Destroy, diags = decodeGuard(attrs, "destroy", diags)
	if attr, ok := attrs["ignore_changes"]; ok {
		var more diag.List
		r.Ignored, more = decodeIgnored(attr)
		diags = diags.Extend(more)
	}
	if attr, ok := attrs["replace_triggered_by"]; ok {
		exprs, hclDiags := hcl.ExprList(attr.Expr)
		diags = diags.AppendHCL(hclDiags)
		for _, expr := range exprs {
			expr, moreDiags := decodeTrigger(expr)
			diags = diags.Extend(moreDiags)
			if !moreDiags.HasErrors() {
				r.ReplaceTriggeredBy = append(r.ReplaceTriggeredBy, expr)
			}
		}
	}
	return diags
}

// A Guard is a bool: an argument of a lifecycle block that controls whether an object may be destroyed, or a condition
// in ignore_changes.
type Guard struct {
	Name  string
	Value bool           // value of a constant
	Expr  hcl.Expression // nil for a constant
	Range hcl.Range
}

// decodeGuard decodes a guard, which in Terraform is constant. It returns nil if there is none.
func decodeGuard(attrs hcl.Attributes, name string, diags diag.List) (*Guard, diag.List) {
	attr, ok := attrs[name]
	if !ok {
		return nil, diags
	}
	g := &Guard{Name: name, Range: attr.Expr.Range()}
	if len(attr.Expr.Variables()) > 0 {
		g.Expr = attr.Expr
		return g, diags
	}
	return g, diags.Extend(decodeFlag(attrs, name, &g.Value))
}

// Ignored is the content of ignore_changes: changes of the configuration that are not applied to an object.
type Ignored struct {
	All   bool
	Paths []hcl.Traversal // relative to the resource
	// Choices are the parts that depend on a condition. Only Tombolo's own files have any.
	Choices []*IgnoredChoice
}

// IgnoredChoice is a part of ignore_changes that depends on a condition.
type IgnoredChoice struct {
	Condition   *Guard
	True, False Ignored
}

// IsZero reports whether nothing is ignored, whatever the values of conditions.
func (i *Ignored) IsZero() bool { return !i.All && len(i.Paths) == 0 && len(i.Choices) == 0 }

// EveryPath returns all paths that may be ignored.
func (i *Ignored) EveryPath() []hcl.Traversal {
	out := i.Paths
	for _, c := range i.Choices {
		out = append(append(out[:len(out):len(out)], c.True.EveryPath()...), c.False.EveryPath()...)
	}
	return out
}

// Conditions returns the conditions of all parts.
func (i *Ignored) Conditions() (out []*Guard) {
	for _, c := range i.Choices {
		out = append(append(append(out, c.Condition), c.True.Conditions()...), c.False.Conditions()...)
	}
	return out
}

// overriddenBy returns the argument with that of an overriding block merged in.
func (i *Ignored) overriddenBy(over *Ignored) Ignored {
	out := *i
	if len(over.Paths)+len(over.Choices) > 0 {
		out.Paths, out.Choices = over.Paths, over.Choices
	}
	out.All = i.All || over.All // a list does not override "all"
	return out
}

// decodeIgnored decodes a list of paths or the keyword all. In Tombolo's own files it may also be a conditional
// expression with these, or a call of concat with several.
func decodeIgnored(attr *hcl.Attribute) (Ignored, diag.List) {
	expr, own := attr.Expr, IsOwn(attr.Range.Filename)
	if isJSON(expr) {
		parsed, diags := unquote(expr, "lists")
		if diags.HasErrors() {
			return Ignored{}, diags
		}
		if isChosen(parsed) {
			expr = parsed
		}
	}
	if isChosen(expr) && !own {
		return Ignored{}, diag.List{}.Errorf(expr.Range().Ptr(), "Invalid expression", "Expected a literal list of "+
			"attributes, or the word all. Found an expression that selects one of several.%s", onlyOwn)
	}
	var out Ignored
	diags := out.add(expr)
	return out, diags
}

// isChosen reports whether an expression is a conditional expression or a call of concat.
func isChosen(expr hcl.Expression) bool {
	switch e := inParentheses(expr).(type) {
	case *hclsyntax.ConditionalExpr:
		return true
	case *hclsyntax.FunctionCallExpr:
		return e.Name == "concat"
	}
	return false
}

func inParentheses(expr hcl.Expression) hcl.Expression {
	for {
		p, ok := expr.(*hclsyntax.ParenthesesExpr)
		if !ok {
			return expr
		}
		expr = p.Expression
	}
}

// add adds the changes in an expression.
func (i *Ignored) add(expr hcl.Expression) (diags diag.List) {
	switch e := inParentheses(expr).(type) {
	case *hclsyntax.ConditionalExpr:
		c := &IgnoredChoice{Condition: &Guard{Name: "ignore_changes", Expr: e.Condition, Range: e.Condition.Range()}}
		i.Choices = append(i.Choices, c)
		return c.True.add(e.TrueResult).Extend(c.False.add(e.FalseResult))
	case *hclsyntax.FunctionCallExpr:
		if e.Name != "concat" {
			break
		}
		if e.ExpandFinal {
			return diags.Errorf(e.Range().Ptr(), "Invalid expression", "The arguments of concat in ignore_changes "+
				"must be literal lists: remove the dots after the last argument.")
		}
		for _, arg := range e.Args {
			diags = diags.Extend(i.add(arg))
		}
		return diags
	}
	if hcl.ExprAsKeyword(expr) == "all" {
		i.All = true
		return nil
	}
	exprs, hclDiags := hcl.ExprList(expr)
	diags = diags.AppendHCL(hclDiags)
	for _, element := range exprs {
		diags = diags.Extend(i.addPath(element, expr, len(exprs) == 1))
	}
	return diags
}

// addPath adds an element of a list.
func (i *Ignored) addPath(expr, list hcl.Expression, alone bool) (diags diag.List) {
	// Old versions of the language used a list with a star for the keyword all.
	if text, ok := literalString(expr); ok && text == "*" {
		i.All = true
		diags = diags.Errorf(list.Range().Ptr(), "Invalid ignore_changes wildcard", "An asterisk in the list is no "+
			"longer accepted. To ignore changes of all attributes, write ignore_changes = all.")
		if !alone {
			diags = diags.Errorf(expr.Range().Ptr(), "Invalid ignore_changes ruleset",
				"An asterisk covers all attributes, so the list cannot have other elements.")
		}
		return diags
	}
	path, diags := decodeRelTraversal(expr)
	if len(path) > 0 {
		i.Paths = append(i.Paths, path)
	}
	return diags
}

// decodeTrigger checks an element of replace_triggered_by: a resource, whose key may depend on the instance.
func decodeTrigger(expr hcl.Expression) (hcl.Expression, diag.List) {
	const what = "replace_triggered_by"
	var diags diag.List
	if isJSON(expr) {
		if expr, diags = unquote(expr, "references"); diags.HasErrors() {
			return expr, diags
		}
	}
	rng := expr.Range()
	resources := 0
	for _, traversal := range expr.Variables() {
		ref, moreDiags := addr.ParseReference(traversal)
		diags = diags.Extend(moreDiags)
		if moreDiags.HasErrors() {
			return expr, diags
		}
		switch {
		case ref.Kind == addr.RefResource:
			resources++
		case ref.Kind == addr.RefCount && ref.Name == "index", ref.Kind == addr.RefEach && ref.Name == "key":
		case ref.Kind == addr.RefEach:
			diags = diags.Errorf(&rng, "Invalid each reference in "+what+" expression",
				"Only each.key can be used here, not other attributes of each.")
		default:
			diags = diags.Errorf(&rng, "Invalid reference in "+what+" expression", "Only resources, count.index and "+
				"each.key can be used here. To trigger a replacement with another value, store it in a "+
				"terraform_data resource and refer to that.")
		}
	}
	switch {
	case resources == 0 && !diags.HasErrors():
		diags = diags.Errorf(&rng, "Invalid "+what+" expression",
			"Each element must refer to a resource, or to an instance or attribute of one.")
	case resources > 1:
		diags = diags.Errorf(&rng, "Invalid "+what+" expression", "Each element can refer to one resource only.")
	}
	return expr, diags
}

// merge applies an overriding block of the same address.
func (r *Resource) merge(over *Resource) {
	if over.Count != nil || over.ForEach != nil || over.Enabled != nil {
		r.Count, r.ForEach, r.Enabled = over.Count, over.ForEach, over.Enabled
	}
	if over.ProviderRef != nil {
		r.ProviderRef, r.ProviderKey, r.ProviderRefRange = over.ProviderRef, over.ProviderKey, over.ProviderRefRange
	}
	if over.CreateBeforeDestroySet {
		r.CreateBeforeDestroy, r.CreateBeforeDestroySet = over.CreateBeforeDestroy, true
	}
	r.PreventDestroy, r.Destroy = cmp.Or(over.PreventDestroy, r.PreventDestroy), cmp.Or(over.Destroy, r.Destroy)
	r.Ignored = r.Ignored.overriddenBy(&over.Ignored)
	// replace_triggered_by is kept: Terraform does not override it (conformance case overrides/lifecycle)
	if len(over.ActionTriggers) > 0 {
		r.ActionTriggers = over.ActionTriggers
	}
	if over.Connection != nil {
		r.Connection = over.Connection
	}
	if len(over.Provisioners) > 0 {
		r.Provisioners = over.Provisioners
	}
	r.Body = overrideBody(r.Body, over.Body)
}

// Query files have list blocks, which find objects, and the blocks that these need. Only the commands "query" and
// "validate -query" read them.
const (
	queryExtension     = ".tfquery.hcl"
	queryExtensionJSON = ".tfquery.json"
)

// isQuery reports whether a file is a query file.
func isQuery(name string) bool {
	return strings.HasSuffix(name, queryExtension) || strings.HasSuffix(name, queryExtensionJSON)
}

// queryFiles lists the query files in a directory by name.
func queryFiles(files Files, dir string, f flavor.Flavor) ([]string, error) {
	names, err := files.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range WithoutTwins(names, f) {
		if isQuery(name) && !IsLeftByEditor(name) {
			out = append(out, path.Join(dir, name))
		}
	}
	return out, nil
}

// querySchema is the schema of query files.
var querySchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "list", LabelNames: []string{"type", "name"}},
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "locals"},
}}

var listSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "count"}, {Name: "for_each"},
	{Name: "provider"}}}

// decodeList reads a list block. The Body has the arguments of the language that may be expressions (limit,
// include_resource), and the config block, which the provider's schema describes.
func decodeList(block *hcl.Block) (*Resource, diag.List) {
	content, rest, hclDiags := block.Body.PartialContent(listSchema)
	r, diags := newResource(block, addr.List, content, false)
	diags = diag.List(nil).AppendHCL(hclDiags).Extend(diags)
	if _, ok := content.Attributes["provider"]; !ok {
		diags = diags.Errorf(block.DefRange.Ptr(), "Missing \"provider\" attribute", "A list block needs a provider: "+
			"add an argument such as provider = %s.", impliedProvider(r.Addr.Type))
	}
	r.Body = rest
	return r, diags
}
