package eval

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Import is one existing object that an import block imports.
type Import struct {
	Target addr.AbsResourceInstance
	Wanted ImportID
	// Sensitive means that the id or identity comes from a sensitive value.
	Sensitive bool
	Block     *config.Import
	// ProviderKey is the key of the provider instance that the block names.
	ProviderKey addr.Key
	// Deps are the resources that the block refers to, directly or not.
	Deps []addr.ConfigResource
	seen bool
}

// ImportID identifies the object to import by its id or its identity (of the schema's type, without marks).
type ImportID struct {
	ID       string
	Identity cty.Value // cty.NilVal if there is an id
}

// ByIdentity reports whether the object is identified by its identity.
func (s ImportID) ByIdentity() bool { return s.Identity != cty.NilVal }

func (s ImportID) equals(other ImportID) bool {
	return s.ID == other.ID && s.ByIdentity() == other.ByIdentity() &&
		(!s.ByIdentity() || s.Identity.RawEquals(other.Identity))
}

// String returns the id or identity for messages.
func (s ImportID) String() string {
	if s.ByIdentity() {
		return "the identity " + state.IdentityText(s.Identity)
	}
	return fmt.Sprintf("the id %q", s.ID)
}

// evalImport evaluates the targets and ids of an import block.
func (i *Instance) evalImport(s *linking.Slot) error {
	b := s.Import
	checking := i.walk.Inputs.Validating
	if !i.walk.Inputs.Importing && !checking {
		return nil
	}
	name, _ := b.Name()
	if diags := s.Faulty(b.ForEach, name, b.ToExpr); diags.HasErrors() {
		return i.report(diags)
	}
	base := i.Scope(s.Refs)
	if checking && !settledIn(base, b) {
		return nil
	}
	if b.ForEach == nil {
		diags := i.addImport(s, base)
		if i.deferred(s, diags) {
			return nil
		}
		return i.report(diags)
	}
	v, diags := importEach(b, base)
	if i.deferred(s, diags) {
		return nil
	}
	if err := i.report(diags); err != nil {
		return err
	}
	for key, elem := range ctyfast.Each(v) {
		if v.Type().IsSetType() {
			key = elem
		}
		ctx := base.NewChild()
		ctx.Variables = map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": elem})}
		diags := i.addImport(s, ctx)
		if i.deferred(s, diags) {
			return nil
		}
		if err := i.report(diags); err != nil {
			return err
		}
	}
	return nil
}

// settledIn reports whether everything that an import block depends on is known, so that it can be checked without a
// plan.
func settledIn(ctx *hcl.EvalContext, b *config.Import) bool {
	e, unknownToo := b.ForEach, false
	if e == nil {
		e, _ = b.Name()
		unknownToo = b.Identity != nil // its type may already be wrong
	}
	v, diags := funcs.Evaluate(e, ctx)
	return diags.HasErrors() || unknownToo || ctyfast.WhollyKnown(v) && !v.IsNull()
}

// importEach returns the collection of an import block's for_each.
func importEach(b *config.Import, ctx *hcl.EvalContext) (cty.Value, diag.List) {
	const summary = "Invalid for_each argument"
	v, hclDiags := funcs.Evaluate(b.ForEach, ctx)
	if hclDiags.HasErrors() {
		return v, diag.List(nil).AppendHCL(hclDiags)
	}
	switch {
	case value.IsEphemeral(v):
		return v, blocks.Problem(b.ForEach, ctx, summary,
			`The "for_each" value is ephemeral, which cannot be used here.`)
	case value.IsSensitive(v):
		return v, blocks.Problem(b.ForEach, ctx, summary,
			`The "for_each" value is sensitive. Its keys would be visible in the addresses of objects.`)
	case v.IsNull():
		return cty.EmptyObjectVal, nil // as in Terraform
	case !v.IsKnown():
		return v, because(diag.CausedByUnknown, blocks.Problem(b.ForEach, ctx, summary,
			"The \"for_each\" expression depends on values that are known only after apply. Imported objects must be "+
				"known during the plan."))
	case !v.CanIterateElements():
		return v, blocks.Problem(b.ForEach, ctx, summary,
			`The value of "for_each" must be a map, an object or a set.`)
	case v.Type().IsSetType() && !ctyfast.WhollyKnown(v):
		return v, because(diag.CausedByUnknown, blocks.Problem(b.ForEach, ctx, summary,
			"The \"for_each\" set holds values that are known only after apply. Imported objects must be known "+
				"during the plan."))
	}
	return v, nil
}

// addImport adds one target of an import block.
func (i *Instance) addImport(s *linking.Slot, ctx *hcl.EvalContext) diag.List {
	b, w := s.Import, i.walk
	steps, diags := staticTraversal(b.ToExpr, ctx)
	if diags.HasErrors() {
		return diags
	}
	for _, step := range steps {
		index, ok := step.(hcl.TraverseIndex)
		switch {
		case !ok:
		case !index.Key.IsKnown():
			return because(diag.CausedByUnknown, blocks.Problem(b.ToExpr, ctx, "Invalid import 'to' expression",
				"The keys of the address must be known while planning, and must not be sensitive."))
		case index.Key.IsMarked():
			return blocks.Problem(b.ToExpr, ctx, "Invalid import 'to' expression",
				"The keys of the address must be known while planning, and must not be sensitive.")
		default:
			if _, err := addr.KeyFromValue(index.Key); err != nil {
				return diag.List{}.Errorf(index.SrcRange.Ptr(), "Invalid address",
					"This cannot be the key of an instance: %s.", err)
			}
		}
	}
	target, diags := addr.TargetFromTraversal(steps)
	if diags.HasErrors() || w.Inputs.Validating && !i.Addr.IsRoot() && unknownID(b, ctx) {
		return diags // the arguments of calls are not known yet
	}
	sought, secret, diags := w.importTarget(b, ctx)
	if diags.HasErrors() || sought.ByIdentity() && !sought.Identity.IsWhollyKnown() {
		return diags
	}
	a := addr.AbsResourceInstance{Module: i.Addr.Join(target.Module.Steps()), Resource: target.Resource,
		Key: target.Key}
	var providerKey addr.Key
	if b.ProviderKey != nil && !w.Inputs.Validating {
		if block := i.Unit.Provider(*b.ProviderRef); block != nil && block.Provider.ForEach != nil {
			if providerKey, diags = i.providerKey(block, b.ProviderKey, ctx); diags.HasErrors() {
				return diags
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.imports == nil {
		w.imports = map[addr.AbsResourceInstance]*Import{}
	}
	if other := w.imports[a]; other != nil && !other.Wanted.equals(sought) {
		summary := "Duplicate import configuration for \"" + a.String() + "\""
		if secret || other.Sensitive {
			return blocks.Problem(b.ToExpr, ctx, summary,
				"Two different objects are to be imported as %s. An address can only have one object.", a)
		}
		return blocks.Problem(b.ToExpr, ctx, summary, "Both %s and %s are to be imported as %s. An address can only "+
			"have one object.", other.Wanted, sought, a)
	}
	w.imports[a] = &Import{Target: a, Wanted: sought, Sensitive: secret, Block: b, ProviderKey: providerKey,
		Deps: s.ResourceDeps()}
	return nil
}

// unknownID reports whether the id of an import block is unknown, but has no errors.
func unknownID(b *config.Import, ctx *hcl.EvalContext) bool {
	if b.ID == nil {
		return false
	}
	v, diags := funcs.Evaluate(b.ID, ctx)
	return !diags.HasErrors() && !v.IsKnown()
}

// importTarget evaluates the id or identity of an import block, and reports whether it is sensitive. While validating,
// an identity may be unknown.
func (w *Walk) importTarget(b *config.Import, ctx *hcl.EvalContext) (s ImportID, secret bool, diags diag.List) {
	if b.Identity == nil {
		if s.ID, secret, diags = importID(b.ID, ctx); secret {
			w.Inputs.Secrets.Add(cty.StringVal(s.ID), []cty.Path{{}})
		}
		return s, secret, diags
	}
	rt := w.Program.ImportedType(b)
	if rt == nil || rt.Identity == nil {
		return s, false, nil // reported
	}
	s.Identity, secret, diags = importIdentity(b.Identity, rt.Identity, ctx, w.Inputs.Validating)
	if secret && !diags.HasErrors() {
		w.Inputs.Secrets.Add(s.Identity, []cty.Path{{}})
	}
	return s, secret, diags
}

// importIdentity returns the identity of an import block, and whether it is sensitive.
func importIdentity(e hcl.Expression, schema *provider.IdentitySchema, ctx *hcl.EvalContext,
	unknowns bool) (identity cty.Value, secret bool, diags diag.List) {
	const summary = "Invalid import identity argument"
	v, hclDiags := funcs.Evaluate(e, ctx)
	if hclDiags.HasErrors() {
		return cty.NilVal, false, diag.List(nil).AppendHCL(hclDiags)
	}
	if value.HasDeepEphemeral(v) {
		return cty.NilVal, false, blocks.Problem(e, ctx, summary,
			"The import identity is ephemeral, but the plan must store it.")
	}
	secret = value.HasDeepSensitive(v)
	v, _ = v.UnmarkDeep()
	if v.IsNull() {
		return cty.NilVal, false, blocks.Problem(e, ctx, summary, "The import identity cannot be null.")
	}
	var optional []string
	for name, a := range schema.Attributes {
		if !a.RequiredForImport {
			optional = append(optional, name)
		}
	}
	ty := schema.ImpliedType()
	identity, err := convert.Convert(v, cty.ObjectWithOptionalAttrs(ty.AttributeTypes(), optional))
	if err != nil {
		return cty.NilVal, false, blocks.Problem(e, ctx, "Incorrect value type",
			"The value does not have the type of the object's identity: %s.", blocks.ConversionMessage(err))
	}
	if !unknowns && !ctyfast.WhollyKnown(identity) {
		return cty.NilVal, false, because(diag.CausedByUnknown, blocks.Problem(e, ctx, summary,
			"The import block's \"identity\" depends on values that are known only after apply, so the object cannot "+
				"be read during the plan."))
	}
	return identity, secret, nil
}

// importID returns the id of an import block, and whether it is sensitive.
func importID(e hcl.Expression, ctx *hcl.EvalContext) (id string, secret bool, diags diag.List) {
	const summary = "Invalid import id argument"
	v, hclDiags := funcs.Evaluate(e, ctx)
	if hclDiags.HasErrors() {
		return "", false, diag.List(nil).AppendHCL(hclDiags)
	}
	if value.HasDeepEphemeral(v) {
		return "", false, blocks.Problem(e, ctx, summary,
			"The import id is ephemeral, but the plan must store it.")
	}
	secret = value.HasDeepSensitive(v)
	v, _ = v.Unmark()
	switch {
	case v.IsNull():
		return "", false, blocks.Problem(e, ctx, summary, "The import id cannot be null.")
	case !v.IsKnown():
		return "", false, because(diag.CausedByUnknown, blocks.Problem(e, ctx, summary,
			"The import block's \"id\" depends on values that are known only after apply, so the object cannot be "+
				"read during the plan."))
	}
	text, err := convert.Convert(v, cty.String)
	switch {
	case err != nil:
		return "", false, blocks.Problem(e, ctx, "Incorrect value type", "The import id must be a string: %s.", err)
	case text.AsString() == "":
		return "", false, blocks.Problem(e, ctx, summary, "The import id is an empty string.")
	}
	return text.AsString(), secret, nil
}

// ImportOf returns the import for an instance, or nil if there is none.
func (w *Walk) ImportOf(a addr.AbsResourceInstance) *Import {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.imports[a]
	if i != nil {
		i.seen = true
	}
	return i
}

// UnseenImports returns, after a run, the imports that no block has used, in the order of their addresses.
func (w *Walk) UnseenImports() []*Import {
	var out []*Import
	for _, i := range w.imports {
		if !i.seen {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b *Import) int { return a.Target.Compare(b.Target) })
	return out
}
