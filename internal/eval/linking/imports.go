package linking

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/provider"
)

// compileImports connects import blocks to the resources that they import, and reports invalid addresses.
func (p *Program) compileImports() diag.List {
	var diags diag.List
	for _, u := range p.order {
		diags = diags.Extend(p.compileImportsOf(u))
	}
	return diags
}

func (p *Program) compileImportsOf(u *Unit) diag.List {
	var diags diag.List
	for _, s := range u.slots {
		if s.Kind != SlotImport {
			continue
		}
		at := s.Import.ToExpr.Range().Ptr()
		target := p.ResourceSlot(s.Import.To)
		if target == nil {
			p.usedByImport(s.Import)
			diags = diags.Extend(generatable(s.Import))
			if problem := p.identityProblem(s.Import); problem != nil {
				diags = append(diags, problem)
			}
			continue
		}
		if problem := p.identityProblem(s.Import); problem != nil {
			diags = append(diags, problem)
			continue
		}
		if problem := keyProblem(s.Import.ToExpr, target.Resource); problem != "" {
			diags = diags.Errorf(at, "Invalid import 'to' expression", "%s", problem)
			continue
		}
		target.imports = append(target.imports, u.base+s.Index)
	}
	return diags
}

// ImportedType returns the resource type of the objects that a block imports, or nil if it is unknown.
func (p *Program) ImportedType(b *config.Import) *provider.ResourceType {
	if target := p.ResourceSlot(b.To); target != nil {
		return target.Type
	}
	if schema, _ := p.Schemas.Schema(p.importingConfig(b).Provider); schema != nil {
		return schema.Type(provider.ManagedResource, b.To.Resource.Type)
	}
	return nil
}

// identityProblem reports an identity for objects of a type that has none.
func (p *Program) identityProblem(b *config.Import) *diag.Diagnostic {
	rt := p.ImportedType(b)
	if b.Identity == nil || rt == nil || rt.Identity != nil {
		return nil
	}
	return &diag.Diagnostic{Severity: diag.Error, Summary: "Invalid import identity argument",
		Subject: b.Identity.Range().Ptr(), Detail: fmt.Sprintf("The provider does not define an identity for the "+
			"type %s. Write the object's \"id\" instead.", b.To.Resource.Type)}
}

// generatable returns an error for an import without a resource block for which none can be generated.
func generatable(b *config.Import) (diags diag.List) {
	const summary, advice = "Configuration for import target does not exist", "Write the block yourself"
	at, keyed := b.ToExpr.Range().Ptr(), endsInKey(b.ToExpr)
	switch {
	case !b.To.Module.IsRoot():
		return diags.Errorf(at, summary,
			"There is no block %s. Write one first: -generate-config-out works only for resources of the root module.",
			b.To)
	case keyed && b.ForEach != nil:
		return diags.Errorf(at, "Invalid import 'to' expression", "There is no block %s with a for_each for these "+
			"keys, and -generate-config-out cannot generate blocks with for_each. %s, or an import block for each "+
			"object.", b.To, advice)
	case b.ForEach != nil:
		return diags.Errorf(at, summary, "There is no block %s, and -generate-config-out cannot generate blocks with "+
			"for_each. %s, or an import block for each object.", b.To, advice)
	case keyed:
		return diags.Errorf(at, summary,
			"There is no block %s, and -generate-config-out cannot generate blocks with count or for_each. %s.", b.To,
			advice)
	}
	return nil // a plan may generate it
}

// usedByImport records that an import block without a resource block, for which configuration may be generated, uses
// its provider configuration.
func (p *Program) usedByImport(b *config.Import) {
	if s := p.providers[p.importingConfig(b)]; s != nil {
		s.Used = true
	}
}

// importingConfig returns the provider configuration of an import block without a resource block.
func (p *Program) importingConfig(b *config.Import) addr.AbsProviderConfig {
	cfg := addr.AbsProviderConfig{Provider: b.Provider}
	if b.ProviderRef != nil {
		cfg, _ = p.Config.Root.ResolveProvider(*b.ProviderRef)
	}
	return cfg
}

// keyProblem returns the problem of the key at the end of an address, as far as it can be found without evaluation.
func keyProblem(to hcl.Expression, r *config.Resource) string {
	keyed := endsInKey(to)
	switch {
	case keyed && r.Count == nil && r.ForEach == nil:
		return "The target resource has neither count nor for_each, so the address must not have a key."
	case !keyed && r.Count != nil:
		return "The target resource uses count, so the address needs the number of an instance."
	case !keyed && r.ForEach != nil:
		return "The target resource uses for_each, so the address needs the key of an instance."
	}
	return ""
}

// endsInKey reports whether an address has an instance key at its end, literal or not.
func endsInKey(to hcl.Expression) bool {
	var steps hcl.Traversal
	switch e := to.(type) {
	case *hclsyntax.IndexExpr:
		return true
	case *hclsyntax.ParenthesesExpr:
		return endsInKey(e.Expression)
	case *hclsyntax.RelativeTraversalExpr:
		steps = e.Traversal
	default:
		steps, _ = hcl.AbsTraversalForExpr(to)
	}
	if len(steps) == 0 {
		return false
	}
	_, keyed := steps[len(steps)-1].(hcl.TraverseIndex)
	return keyed
}

// importBlock adds the references of an import block. The address is not a reference, but its keys may contain some.
func (l *linker) importBlock(b *config.Import) {
	l.expr(b.ForEach)
	l.expr(b.ProviderKey)
	if b.ProviderKey != nil {
		if i, ok := l.u.providers[*b.ProviderRef]; ok {
			l.deps[i] = true // the instances of the block must be known before the key is checked
		}
	}
	name, _ := b.Name()
	l.expr(name)
	l.traversals(b.ToExpr, slices.DeleteFunc(funcs.Mentions(b.ToExpr), func(t hcl.Traversal) bool {
		ref, diags := addr.ParseReference(t)
		return diags.HasErrors() || ref.Kind == addr.RefResource || ref.Kind == addr.RefModule ||
			ref.Kind == addr.RefOutput
	}))
}
