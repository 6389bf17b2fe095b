package eval

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/state"
)

// Block is a resource block in one module instance, passed to a Driver after everything that it refers to has been
// evaluated.
type Block struct {
	Instance *Instance
	Slot     *linking.Slot

	base *hcl.EvalContext
	eval *blocks.Evaluation
	exp  Expansion
	// shared holds the problems common to all instances; reportOnce is used when they are reported.
	shared     diag.List
	reportOnce sync.Once
}

// Addr names all instances of the block.
func (b *Block) Addr() addr.AbsResource {
	return addr.AbsResource{Module: b.Instance.Addr, Resource: b.Slot.Resource.Addr}
}

// Config returns the configuration of the block.
func (b *Block) Config() *config.Resource { return b.Slot.Resource }

// Expand evaluates count, for_each or enabled.
func (b *Block) Expand() (Expansion, diag.List) {
	b.base = b.Instance.Scope(b.Slot.Refs)
	r := b.Slot.Resource
	exp, diags := b.Instance.expansion(b.Slot, Repeats{r.Count, r.ForEach, r.Enabled}, b.base)
	b.exp = exp
	return exp, diags
}

// Prepare evaluates the parts that all instances share. Call it after Expand and before Evaluate, which reports its
// problems: if a precondition fails, it may be their cause, and is reported instead.
func (b *Block) Prepare() {
	if b.shared = b.Slot.Faulty(b.Slot.Resource, b.Slot.Body); b.shared == nil {
		b.eval, b.shared = b.Slot.Body.Prepare(b.base)
	}
	if !b.Instance.walk.Inputs.Validating {
		b.shared = b.shared.InAddress(b.Addr().String())
	}
}

// context returns the scope of one instance.
func (b *Block) context(key addr.Key) *hcl.EvalContext {
	return b.exp.Repetition(key).Context(b.base)
}

// Evaluate returns the configuration of one instance, with marks, or an unknown value if Prepare failed. It reports
// problems common to all instances only once.
func (b *Block) Evaluate(key addr.Key) (cty.Value, error) { return b.evaluate(key, b.context(key)) }

// EvaluateFor is like Evaluate, for an action that refers to its caller; caller is its value.
func (b *Block) EvaluateFor(key addr.Key, caller cty.Value) (cty.Value, error) {
	return b.evaluate(key, withCaller(b.context(key), caller))
}

func (b *Block) evaluate(key addr.Key, ctx *hcl.EvalContext) (cty.Value, error) {
	walk := b.Instance.walk
	var err error
	if b.shared.HasErrors() {
		err = ErrReported
	}
	b.reportOnce.Do(func() { _ = walk.Report(slices.Clone(b.shared)) })
	if b.eval == nil {
		return cty.DynamicVal, err
	}
	v, diags := b.eval.Instance(ctx)
	if !walk.Inputs.Validating { // otherwise it is about no instance
		diags = diags.InAddress(b.Addr().Instance(key).String())
	}
	if more := walk.Report(diags); more != nil {
		err = more
	}
	return v, err
}

// Preconditions checks the preconditions of one instance.
func (b *Block) Preconditions(key addr.Key) diag.List {
	return b.conditions(b.Slot.Resource.Preconditions, "Resource precondition failed", key, cty.NilVal)
}

// Postconditions checks the postconditions of one instance, whose value is self.
func (b *Block) Postconditions(key addr.Key, self cty.Value) diag.List {
	return b.conditions(b.Slot.Resource.Postconditions, "Resource postcondition failed", key, self)
}

func (b *Block) conditions(list []*config.Condition, summary string, key addr.Key, self cty.Value) diag.List {
	if len(list) == 0 {
		return nil
	}
	ctx := b.context(key)
	if self != cty.NilVal {
		ctx = withSelf(ctx, self)
	}
	var diags diag.List
	o := outcome{}
	for _, c := range list {
		r := evalCondition(b.Slot, c, ctx)
		o.add(r)
		diags = diags.Extend(r.diags)
		if r.status == statusFail {
			diags = append(diags, b.Instance.walk.conditionFailed(Checked{"resource", b.Addr().Instance(key).String()},
				summary, r, c, ctx))
		}
	}
	b.Instance.walk.checks.report("resource", b.Slot.Addr(), b.Addr().Instance(key).String(), o)
	return diags.InInstance(b.Addr().Instance(key).String())
}

// Unchecked records that the conditions of an instance are unknown.
func (b *Block) Unchecked(key addr.Key) {
	if r := b.Slot.Resource; len(r.Preconditions)+len(r.Postconditions) > 0 {
		b.Instance.walk.checks.report("resource", b.Slot.Addr(), b.Addr().Instance(key).String(), outcome{
			status: statusUnknown})
	}
}

// Set sets the values of all instances, marks included, for references to the block. Instances without a value do not
// exist; in a refresh-only plan, instances may exist that are not in the expansion.
func (b *Block) Set(exp Expansion, values map[addr.Key]cty.Value) {
	r := b.Instance.resources[b.Slot.Index]
	r.exp, r.byKey = exp, values
	if b.Config().Addr.Mode == addr.Ephemeral {
		return // who opened it knows which parts are secret
	}
	for _, v := range values {
		b.Instance.walk.Inputs.Secrets.Learn(v)
	}
}

// Triggers evaluates the replace_triggered_by references of one instance: each names a resource of the same module,
// optionally an instance of it, and an attribute path.
func (b *Block) Triggers(key addr.Key) ([]Trigger, diag.List) {
	var out []Trigger
	diags := b.Slot.Faulty(linking.PartTriggers)
	if diags.HasErrors() {
		return nil, diags
	}
	ctx := b.context(key)
	for _, e := range b.Slot.Resource.ReplaceTriggeredBy {
		t, d := parseTrigger(e, ctx)
		diags = diags.Extend(d)
		if !d.HasErrors() {
			out = append(out, t)
		}
	}
	return out, diags
}

// ReferencedSlots returns the resource slots of the module that the block's body refers to, and those in depends_on. A
// CallClose slot stands for everything within a module, and a CallOutput slot for the dependencies of an output value.
func (b *Block) ReferencedSlots() (direct, explicit []*linking.Slot) {
	for _, d := range b.Slot.Direct {
		direct = append(direct, b.Instance.Unit.Slots()[d])
	}
	for _, d := range b.Slot.Explicit {
		explicit = append(explicit, b.Instance.Unit.Slots()[d])
	}
	return direct, explicit
}

// CallDependsOn returns the slots in depends_on of the enclosing module calls, each with its instance.
func (i *Instance) CallDependsOn(visit func(*Instance, *linking.Slot)) {
	for c := i; c.parent != nil; c = c.parent {
		call := c.parent.Unit.Slots()[c.parent.Unit.CallSlots[c.Unit.Module.Call.Name]]
		for _, d := range call.Explicit {
			visit(c.parent, c.parent.Unit.Slots()[d])
		}
	}
}

// Provider returns the instance and slot of the provider block that manages the block; ok is false if there is none and
// the provider has an empty configuration.
func (b *Block) Provider() (i *Instance, s *linking.Slot, ok bool) {
	if b.Slot.ProviderSlot < 0 || b.Slot.ProviderUnit == nil {
		return nil, nil, false
	}
	return b.Instance.ancestor(b.Slot.ProviderUnit), b.Slot.ProviderUnit.Slots()[b.Slot.ProviderSlot], true
}

// Trigger is one evaluated reference of replace_triggered_by.
type Trigger struct {
	Resource addr.Resource
	Key      addr.Key
	HasKey   bool
	Path     cty.Path
}

func parseTrigger(e hcl.Expression, ctx *hcl.EvalContext) (Trigger, diag.List) {
	traversal, diags := staticTraversal(e, ctx)
	if diags.HasErrors() {
		return Trigger{}, diags
	}
	ref, diags := addr.ParseReference(traversal)
	if diags.HasErrors() || ref.Kind != addr.RefResource {
		rng := e.Range()
		return Trigger{}, diags.Errorf(&rng, "Invalid reference",
			"replace_triggered_by must refer to managed resources or their attributes.")
	}
	t := Trigger{Resource: ref.Resource, Key: ref.Key, HasKey: ref.HasKey}
	for _, step := range ref.Remaining {
		switch s := step.(type) {
		case hcl.TraverseAttr:
			t.Path = t.Path.GetAttr(s.Name)
		case hcl.TraverseIndex:
			t.Path = t.Path.Index(s.Key)
		}
	}
	return t, diags
}

// Recheck evaluates the conditions of an unchanged instance, because their references may have changed.
func (b *Block) Recheck(key addr.Key, self cty.Value) diag.List {
	r := b.Slot.Resource
	if len(r.Preconditions) == 0 && len(r.Postconditions) == 0 {
		return nil
	}
	return b.Preconditions(key).Extend(b.Postconditions(key, self))
}

// Locate returns a provider's diagnostics about an instance with its address and a source range.
func (b *Block) Locate(diags diag.List, key addr.Key) diag.List {
	if len(diags) == 0 {
		return nil
	}
	return b.Slot.Body.Locate(diags).InAddress(b.Addr().Instance(key).String())
}

// Persistable returns errors for ephemeral values that would be stored with the object: everywhere except in write-only
// attributes and in blocks that are never stored.
func (b *Block) Persistable(key addr.Key, ephemeral []cty.Path) diag.List {
	if b.Config().Addr.Mode == addr.Ephemeral {
		return nil
	}
	var diags diag.List
	for _, path := range ephemeral {
		if a := b.Slot.Type.Block.AttributeAt(path); a == nil || !a.WriteOnly {
			diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Invalid use of ephemeral value",
				Path: path,
				Detail: "The value of " + value.FormatPath(path) + " would be stored in the state, but ephemeral " +
					"values must not be stored. Use a write-only attribute."})
		}
	}
	return b.Locate(diags, key)
}

// Storable returns errors for numbers and nesting that a state or plan cannot hold, if the object would be stored.
func (b *Block) Storable(key addr.Key, config cty.Value) diag.List {
	if b.Config().Addr.Mode == addr.Ephemeral || !ctyfast.Unstorable(config) && !ctyfast.TooDeep(config) {
		return nil
	}
	var diags diag.List
	for _, name := range slices.Sorted(maps.Keys(config.Type().AttributeTypes())) {
		if v := config.GetAttr(name); ctyfast.TooDeep(v) {
			path := cty.GetAttrPath(name)
			diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Value nested too deep", Path: path,
				Detail: fmt.Sprintf("The value of %s is nested more than %d levels deep, which a state cannot store. "+
					"%s",
					value.FormatPath(path), ctyfast.MaxDepth, "Use a flatter structure, or store it as a string with "+
						"jsonencode.")})
		} else if ctyfast.Unstorable(v) {
			path := cty.GetAttrPath(name)
			diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Number cannot be stored", Path: path,
				Detail: "The value of " + value.FormatPath(path) + " is or contains a number that is infinite or has " +
					"an exponent of more than 5 digits (4 below zero), which a state cannot store. Use a " +
					"condition that returns another value."})
		}
	}
	return b.Locate(diags, key)
}

// staticTraversal converts an expression such as a.b[each.key].c to a traversal: indexes may refer to count and each.
func staticTraversal(e hcl.Expression, ctx *hcl.EvalContext) (hcl.Traversal, diag.List) {
	switch e := e.(type) {
	case *hclsyntax.RelativeTraversalExpr:
		source, diags := staticTraversal(e.Source, ctx)
		return append(source, e.Traversal...), diags
	case *hclsyntax.IndexExpr:
		collection, diags := staticTraversal(e.Collection, ctx)
		key, hclDiags := e.Key.Value(ctx)
		diags = diags.AppendHCL(hclDiags)
		if diags.HasErrors() {
			return nil, diags
		}
		return append(collection, hcl.TraverseIndex{Key: key, SrcRange: e.Key.Range()}), diags
	}
	t, hclDiags := hcl.AbsTraversalForExpr(e)
	return t, diag.List(nil).AppendHCL(hclDiags)
}

// Stored returns the value of a stored object for references to a block, with marks; ok is false if there is none.
func (b *Block) Stored(s *state.State, key addr.Key) (v cty.Value, ok bool) {
	o := s.Object(addr.Object{Instance: b.Addr().Instance(key)})
	if o == nil || b.Slot.Type == nil {
		return cty.DynamicVal, false
	}
	decoded, err := o.Value(b.Slot.Type.Block.ImpliedType())
	if err != nil {
		return cty.DynamicVal, false
	}
	return value.MarkSensitive(decoded, value.SensitivePaths(b.Slot.Type.Block, decoded, o.Sensitive)), true
}
