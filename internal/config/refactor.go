package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
)

var movedSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "from", Required: true},
	{Name: "to", Required: true}, {Name: "for_each"}}}

// addMoved decodes a moved block. own means that the file is one of Tombolo's own, whose addresses may have to be
// evaluated.
func (c *fileContent) addMoved(block *hcl.Block, own bool) diag.List {
	content, hclDiags := block.Body.Content(movedSchema)
	diags := diag.List(nil).AppendHCL(hclDiags)
	from, to, forEach := content.Attributes["from"], content.Attributes["to"], content.Attributes["for_each"]
	if forEach != nil && !own {
		diags = diags.Extend(refusedArgument(forEach))
	}
	if own && from != nil && to != nil && (forEach != nil || isDynamic(from.Expr) || isDynamic(to.Expr)) {
		r := &refactoring{kind: "moved", ends: []hcl.Expression{from.Expr, to.Expr}, rng: block.DefRange,
			done: func(m *Module, ends []Endpoint) diag.List {
				moved := &Moved{From: ends[0], To: ends[1], Range: block.DefRange}
				m.Moved = append(m.Moved, moved)
				return moved.check()
			}}
		if forEach != nil {
			r.forEach = forEach.Expr
		}
		c.refactorings = append(c.refactorings, r)
		return diags
	}
	moved, diags := decodeMoved(block, content, diags)
	if moved != nil {
		c.moved = append(c.moved, moved)
	}
	return diags
}

func decodeMoved(block *hcl.Block, content *hcl.BodyContent, diags diag.List) (*Moved, diag.List) {
	m := &Moved{Range: block.DefRange}
	ok := true
	for _, name := range []string{"from", "to"} {
		end, attr := &m.From, content.Attributes[name]
		if name == "to" {
			end = &m.To
		}
		if attr == nil {
			ok = false
			continue
		}
		decoded, moreDiags := decodeEndpoint(attr.Expr)
		diags = diags.Extend(moreDiags)
		ok = ok && !moreDiags.HasErrors()
		*end = decoded
	}
	if !ok {
		return nil, diags
	}
	if more := m.check(); more.HasErrors() {
		return nil, diags.Extend(more)
	}
	return m, diags
}

// check returns an error for a block whose addresses are of different kinds.
func (m *Moved) check() (diags diag.List) {
	if m.From.IsModule() != m.To.IsModule() {
		return diags.Errorf(&m.Range, `Invalid "moved" addresses`,
			"Both addresses must be of resources, or both of modules: %s and %s are of different kinds.", m.From, m.To)
	}
	return nil
}

// reservedRoots cannot start the address of a resource.
var reservedRoots = []string{
	"var", "local", "path", "terraform", "self", "each", "count", "template", "lazy", "arg", "run", "output", "check",
	"provider",
}

// decodeEndpoint reads the static address of a module or resource.
func decodeEndpoint(expr hcl.Expression) (Endpoint, diag.List) {
	traversal, hclDiags := hcl.AbsTraversalForExpr(expr)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() {
		diags[0].Fix = withoutQuotes(expr)
		return Endpoint{}, refusedKeys(expr, "moved", diags)
	}
	target, moreDiags := decodeAddress(traversal)
	return Endpoint{Target: target, Range: expr.Range()}, diags.Extend(moreDiags)
}

func decodeAddress(traversal hcl.Traversal) (addr.Target, diag.List) {
	rng := traversal.SourceRange()
	if root := traversal.RootName(); slices.Contains(reservedRoots, root) {
		return addr.Target{}, diag.List(nil).Errorf(&rng, "Invalid address", "%q is a reserved word and cannot begin "+
			"an address. If it is the type of a resource, write resource.%s.", root, root)
	}
	return addr.TargetFromTraversal(traversal)
}

var removedSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "from", Required: true}, {Name: "for_each"}},
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "lifecycle"}, {Type: "connection"}, {Type: "provisioner", LabelNames: []string{"type"}},
	},
}

// removedDecl is a removed block whose address is still relative to its own module.
type removedDecl struct {
	Removed
	calls []string // the path from the block's module
}

// addRemoved decodes a removed block. own means that the file is one of Tombolo's own, whose addresses may have
// instance keys.
func (c *fileContent) addRemoved(block *hcl.Block, own bool) diag.List {
	content, hclDiags := block.Body.Content(removedSchema)
	diags := diag.List(nil).AppendHCL(hclDiags)
	from, forEach := content.Attributes["from"], content.Attributes["for_each"]
	if forEach != nil && !own {
		diags = diags.Extend(refusedArgument(forEach))
	}
	r := &removedDecl{Removed: Removed{Destroy: true, Range: block.DefRange}}
	ok := false
	switch {
	case from == nil:
	case own && (forEach != nil || hasKeys(from.Expr)):
		c.refactorings = append(c.refactorings, r.instances(from.Expr, forEach))
		diags = diags.Extend(noProvisioners(content))
	default:
		more := r.setFrom(from.Expr)
		diags = diags.Extend(more)
		if ok = !more.HasErrors(); ok {
			c.removed = append(c.removed, r)
		}
	}
	return diags.Extend(r.decode(content, ok))
}

// decode decodes the blocks in a removed block; ok means that its address is valid.
func (r *removedDecl) decode(content *hcl.BodyContent, ok bool) (diags diag.List) {
	managed := r.Resource.Mode == addr.Managed
	var lifecycle *hcl.Block
	for _, b := range content.Blocks {
		switch b.Type {
		case "lifecycle":
			if lifecycle != nil {
				diags = diags.Warnf(b.DefRange.Ptr(), "Duplicate lifecycle block",
					"This removed block already has a lifecycle block at %s. The last one is used.", lifecycle.DefRange)
			}
			lifecycle = b
			lc, hclDiags := b.Body.Content(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "destroy"}}})
			diags = diags.AppendHCL(hclDiags).Extend(decodeFlag(lc.Attributes, "destroy", &r.Destroy))
		case "connection":
			switch {
			case ok && !managed:
				diags = diags.Errorf(b.DefRange.Ptr(), "Invalid connection block",
					"Only a removed block for a managed resource can have a connection block.")
			case r.Connection != nil:
				diags = diags.Errorf(b.DefRange.Ptr(), "Duplicate connection block",
					"This removed block already has a connection block at %s.", r.Connection.Range)
			default:
				r.Connection = &Connection{Body: b.Body, Range: b.DefRange}
			}
		case "provisioner":
			diags = diags.Extend(r.addProvisioner(b, !ok || managed))
		}
	}
	return diags.Extend(checkDestroyConnection(r.Connection, r.Provisioners))
}

func (r *removedDecl) addProvisioner(b *hcl.Block, managed bool) (diags diag.List) {
	const summary = "Invalid provisioner block"
	if !managed {
		return diags.Errorf(b.DefRange.Ptr(), summary,
			"Only a removed block for a managed resource can have provisioners.")
	}
	p, diags := decodeProvisioner(b)
	if p == nil {
		return diags
	}
	if p.When != WhenDestroy {
		return diags.Errorf(b.DefRange.Ptr(), summary,
			"A removed block never creates objects, so its provisioners need \"when = destroy\".")
	}
	r.Provisioners = append(r.Provisioners, p)
	return diags
}

// setFrom reads the address: a module or managed resource, without instance keys.
func (r *removedDecl) setFrom(expr hcl.Expression) diag.List {
	traversal, hclDiags := hcl.AbsTraversalForExpr(expr)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() {
		return refusedKeys(expr, "removed", diags)
	}
	r.FromRange = expr.Range()
	target, moreDiags := decodeAddress(traversal)
	if moreDiags.HasErrors() {
		return diags.Extend(moreDiags)
	}
	for i, step := range traversal {
		index, ok := step.(hcl.TraverseIndex)
		if !ok {
			continue
		}
		kind := "Module"
		if i == len(traversal)-1 && !target.IsModule() {
			kind = "Resource"
		}
		diags = diags.Errorf(index.SrcRange.Ptr(), kind+" instance keys not allowed",
			"A removed block applies to all instances. Remove the key, or move the block to a file whose name "+
				"ends in \".tombolo\", which other tools do not read: there, it may name one instance.")
	}
	r.calls, r.Resource = target.Module.Config().Calls(), target.Resource
	return diags.Extend(r.checkMode())
}

// checkMode returns errors for addresses of objects that are never destroyed.
func (r *removedDecl) checkMode() (diags diag.List) {
	switch r.Resource.Mode {
	case addr.Data:
		diags = diags.Errorf(&r.FromRange, "Data source address not allowed",
			"Data sources are never destroyed. Remove their block; nothing else is needed.")
	case addr.Ephemeral:
		diags = diags.Errorf(&r.FromRange, "Ephemeral resource address not allowed",
			"Ephemeral resources are never stored. Remove their block; nothing else is needed.")
	}
	return diags
}

// in returns the block with an address relative to the root.
func (r *removedDecl) in(m addr.Module) *Removed {
	out := r.Removed
	out.Module = m
	for _, call := range r.calls {
		out.Module = out.Module.Child(call)
	}
	return &out
}

var importSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "to", Required: true}, {Name: "id"}, {Name: "identity"}, {Name: "for_each"}, {Name: "provider"},
	{Name: "optional"},
}}

// decodeImport decodes an import block. own means that the file is one of Tombolo's own, in which the import may be
// optional.
func decodeImport(block *hcl.Block, own bool) (*Import, diag.List) {
	content, hclDiags := block.Body.Content(importSchema)
	diags := diag.List(nil).AppendHCL(hclDiags)
	i := &Import{Range: block.DefRange}
	if attr, ok := content.Attributes["optional"]; ok && !own {
		diags = diags.Extend(refusedArgument(attr))
	} else {
		diags = diags.Extend(decodeFlag(content.Attributes, "optional", &i.Optional))
	}
	if attr, ok := content.Attributes["id"]; ok {
		i.ID = attr.Expr
	}
	if attr, ok := content.Attributes["identity"]; ok {
		i.Identity = attr.Expr
	}
	named := (i.ID == nil) != (i.Identity == nil)
	switch {
	case named:
	case i.ID == nil:
		diags = diags.Errorf(&i.Range, "Invalid import block", "An import block identifies the object by its "+
			"\"id\", or by its \"identity\" if its resource type has identities. This one has neither.")
	default:
		diags = diags.Errorf(&i.Range, "Invalid import block", "An import block has either an "+
			"\"id\" or an \"identity\", but this one has both. Remove one of them.")
	}
	if attr, ok := content.Attributes["for_each"]; ok {
		i.ForEach = attr.Expr
	}
	if attr, ok := content.Attributes["provider"]; ok {
		ref, key, moreDiags := decodeProviderRef(attr.Expr, "provider")
		i.ProviderKey = key
		diags = diags.Extend(moreDiags)
		if !moreDiags.HasErrors() {
			i.ProviderRef, i.ProviderRefRange = &ref, attr.Range
		}
	}
	ok := false
	if attr, has := content.Attributes["to"]; has {
		moreDiags := i.setTo(attr)
		diags = diags.Extend(moreDiags)
		ok = !moreDiags.HasErrors()
	}
	if !ok || !named {
		return nil, diags
	}
	return i, diags
}

// Name returns the expression that identifies the object, and the name of its argument.
func (i *Import) Name() (e hcl.Expression, argument string) {
	if i.Identity != nil {
		return i.Identity, "identity"
	}
	return i.ID, "id"
}

// setTo reads the address of the import's target, whose keys may be any expression if there is a for_each.
func (i *Import) setTo(attr *hcl.Attribute) diag.List {
	expr := attr.Expr
	var diags diag.List
	if isJSON(expr) {
		if expr, diags = unquote(expr, "references"); diags.HasErrors() {
			return diags
		}
	}
	steps, dynamic, ok := addressSteps(expr)
	if !ok || dynamic && i.ForEach == nil {
		problem := "The target must be the address of a resource, such as terraform_data.a or " +
			"module.m.terraform_data.a[0]."
		if ok {
			problem += " Keys that are not literals need a for_each argument."
		}
		return diags.Errorf(attr.Expr.Range().Ptr(), "Invalid expression", "%s", problem)
	}
	target, moreDiags := decodeAddress(steps)
	if moreDiags.HasErrors() {
		return diags.Extend(moreDiags)
	}
	if target.IsModule() || target.Resource.Mode != addr.Managed {
		return diags.Errorf(attr.Range.Ptr(), "Invalid import address",
			"Only managed resources can be imported, but %s is not one.", target)
	}
	i.To = addr.ConfigResource{Module: target.Module.Config(), Resource: target.Resource}
	i.ToExpr = expr
	return diags
}

// addressSteps splits an address expression, omitting keys that are not literal; dynamic reports whether there was one.
func addressSteps(expr hcl.Expression) (steps hcl.Traversal, dynamic, ok bool) {
	switch e := expr.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return slices.Clone(e.Traversal), false, true
	case *hclsyntax.IndexExpr:
		steps, _, ok = addressSteps(e.Collection)
		return steps, true, ok
	case *hclsyntax.RelativeTraversalExpr:
		steps, dynamic, ok = addressSteps(e.Source)
		return append(steps, e.Traversal...), dynamic, ok
	case *hclsyntax.ParenthesesExpr:
		return addressSteps(e.Expression)
	}
	return nil, false, false
}

var checkSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "data", LabelNames: []string{"type", "name"}}, {Type: "assert"},
}}

func decodeCheck(block *hcl.Block) (*Check, diag.List) {
	content, hclDiags := block.Body.Content(checkSchema)
	diags := diag.List(nil).AppendHCL(hclDiags)
	c := &Check{Name: block.Labels[0], Range: block.DefRange}
	diags = diags.Extend(checkName(c.Name, block.LabelRanges[0], "Invalid check block name"))
	asserts := 0
	for _, b := range content.Blocks {
		switch b.Type {
		case "data":
			if c.Data != nil {
				diags = diags.Errorf(b.DefRange.Ptr(), "Multiple data resource blocks",
					"A check block can have one data block; this one already has one at %s.", c.Data.DeclRange)
				continue
			}
			data, moreDiags := decodeReadOnly(b, addr.Data, false, true)
			diags = diags.Extend(moreDiags)
			data.Check = c
			c.Data = data
		case "assert":
			asserts++
			assert, moreDiags := decodeConditionBlock(b, false)
			diags = diags.Extend(moreDiags)
			if assert != nil {
				c.Asserts = append(c.Asserts, assert)
			}
		}
	}
	if asserts == 0 {
		diags = diags.Errorf(&c.Range, "Zero assert blocks", "A check block without an assert block checks nothing.")
	}
	return c, diags
}
