package eval

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// RepetitionMode is the way in which a block is repeated.
type RepetitionMode uint8

// The modes. With lifecycle.enabled, a block has one instance without a key, or none. Unknown is the mode of a repeated
// block during validation, when nothing is expanded, and of a deferred block, which has no instances yet.
const (
	Single RepetitionMode = iota
	Counted
	Keyed
	Switched
	Unknown
)

// Repeats holds the argument that repeats a block; at most one of the expressions is set.
type Repeats struct {
	Count, ForEach, Enabled hcl.Expression
}

// Expansion lists the instances of a block.
type Expansion struct {
	Mode RepetitionMode
	Keys []addr.Key
	each map[string]cty.Value
}

// Repetition holds the values of count, each and self for one instance.
type Repetition struct {
	Key  addr.Key
	Each cty.Value // value of each.value; cty.NilVal without for_each
	// unknown marks the only instance of a repeated block during validation.
	unknown RepetitionMode
}

// Repetition returns the values of count and each for an instance key.
func (e Expansion) Repetition(key addr.Key) Repetition {
	r := Repetition{Key: key}
	if e.Mode == Unknown {
		r.unknown = Unknown
	}
	if s, ok := key.Str(); ok {
		r.Each = e.each[s]
	}
	return r
}

// Has reports whether the key is in the expansion.
func (e Expansion) Has(key addr.Key) bool {
	switch e.Mode {
	case Single:
		return key.IsNone()
	case Switched:
		return key.IsNone() && len(e.Keys) > 0
	case Counted:
		n, ok := key.Int()
		return ok && n < len(e.Keys)
	case Keyed:
		s, ok := key.Str()
		_, has := e.each[s]
		return ok && has
	}
	return false
}

// Context returns a child context with count or each, or the base itself without either.
func (r Repetition) Context(base *hcl.EvalContext) *hcl.EvalContext {
	var vars map[string]cty.Value
	if n, ok := r.Key.Int(); ok {
		vars = map[string]cty.Value{"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(int64(n))})}
	} else if s, ok := r.Key.Str(); ok {
		vars = map[string]cty.Value{
			"each": cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(s), "value": r.Each})}
	} else if r.unknown == Unknown {
		vars = map[string]cty.Value{
			"count": cty.ObjectVal(map[string]cty.Value{"index": cty.UnknownVal(cty.Number)}),
			"each":  cty.ObjectVal(map[string]cty.Value{"key": cty.UnknownVal(cty.String), "value": cty.DynamicVal}),
		}
	} else {
		return base
	}
	child := base.NewChild()
	child.Variables = vars
	return child
}

// withSelf adds self to a context.
func withSelf(ctx *hcl.EvalContext, self cty.Value) *hcl.EvalContext { return with(ctx, "self", self) }

// withCaller adds caller to a context.
func withCaller(ctx *hcl.EvalContext, caller cty.Value) *hcl.EvalContext {
	return with(ctx, "caller", caller)
}

// with adds an object that an operation may have changed to a context.
func with(ctx *hcl.EvalContext, name string, object cty.Value) *hcl.EvalContext {
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{name: object}
	funcs.AfterApply(child)
	return child
}

// expansion evaluates the argument that repeats a slot. A validating walk checks it as far as possible, and has one
// instance.
func (i *Instance) expansion(s *linking.Slot, r Repeats, ctx *hcl.EvalContext) (Expansion, diag.List) {
	validating := i.walk.Inputs.Validating
	exp := Expansion{Mode: Single, Keys: []addr.Key{addr.NoKey}}
	var diags diag.List
	switch {
	case r.Count != nil:
		if diags = s.Faulty(r.Count); diags == nil {
			exp, diags = expandCount(r.Count, ctx, validating)
		}
	case r.ForEach != nil:
		if diags = s.Faulty(r.ForEach); diags == nil {
			exp, diags = expandForEach(r.ForEach, ctx, validating)
		}
	case r.Enabled != nil:
		if diags = s.Faulty(r.Enabled); diags == nil {
			exp, diags = expandEnabled(r.Enabled, ctx, validating)
		}
	default:
		return exp, nil
	}
	switch {
	case validating:
		exp = Expansion{Mode: Unknown, Keys: []addr.Key{addr.NoKey}}
	case i.walk.Inputs.Defers && onlyUnknown(diags):
		return Expansion{Mode: Unknown}, nil
	}
	return exp, diags
}

// Deferred reports whether the instances are unknown, in a walk that defers.
func (e Expansion) Deferred() bool { return e.Mode == Unknown && len(e.Keys) == 0 }

// onlyUnknown reports whether the only error is that something is unknown.
func onlyUnknown(diags diag.List) bool {
	return diags.HasErrors() && !slices.ContainsFunc(diags, func(d *diag.Diagnostic) bool {
		return d.Severity == diag.Error && d.Extra != diag.CausedByUnknown
	})
}

// because sets the cause in problems whose operands matter.
func because(cause diag.Cause, diags diag.List) diag.List {
	for _, d := range diags {
		d.Extra = cause
	}
	return diags
}

// maxCount is far more instances than fit into memory; a higher count is a mistake that would crash the process.
const maxCount = 10_000_000

// expandCount evaluates count. While validating, an unknown number is accepted.
func expandCount(expr hcl.Expression, ctx *hcl.EvalContext, validating bool) (Expansion, diag.List) {
	none := Expansion{Mode: Counted}
	v, hclDiags := funcs.Evaluate(expr, ctx)
	if hclDiags.HasErrors() {
		return none, diag.List(nil).AppendHCL(hclDiags)
	}
	if value.HasDeepEphemeral(v) {
		return none, blocks.Problem(expr, ctx, "Invalid count argument",
			"The value of \"count\" is ephemeral. The number of instances must be the same in every run.")
	}
	v, _ = v.Unmark() // a sensitive value is allowed here
	switch {
	case v.IsNull():
		return none, blocks.Problem(expr, ctx, "Invalid count argument",
			`The value of "count" is null. It must be a whole number.`)
	case !v.IsKnown() && !validating:
		return none, because(diag.CausedByUnknown, blocks.Problem(expr, ctx, "Invalid count argument",
			"The value of \"count\" depends on attributes that are known only after apply, but the number of "+
				"instances must be known during planning. Compute it from values in the configuration, or plan "+
				"and apply in rounds with -allow-deferral."))
	}
	num, err := convert.Convert(v, cty.Number)
	if err != nil {
		advice := ""
		if ty := v.Type(); ty.IsCollectionType() || ty.IsTupleType() || ty.IsObjectType() {
			advice = " To create one instance for each element, use length(...)."
		}
		return none, blocks.Problem(expr, ctx, "Incorrect value type", `Invalid expression value: %s.%s`, err, advice)
	}
	if !num.IsKnown() {
		return none, diag.List(nil).AppendHCL(hclDiags)
	}
	var n int
	if err := gocty.FromCtyValue(num, &n); err != nil {
		return none, blocks.Problem(expr, ctx, "Invalid count argument", `The value of "count" cannot be used: %s.`,
			err)
	}
	if n < 0 {
		return none, blocks.Problem(expr, ctx, "Invalid count argument",
			`The value of "count" is negative. It must be 0 or more.`)
	}
	if n > maxCount {
		return none, blocks.Problem(expr, ctx, "Invalid count argument",
			`The value of "count" is %[2]d, but a block can have at most %[1]d instances.`, maxCount, n)
	}
	keys := make([]addr.Key, n)
	for k := range keys {
		keys[k] = addr.IntKey(k)
	}
	return Expansion{Mode: Counted, Keys: keys}, diag.List(nil).AppendHCL(hclDiags)
}

// expandForEach evaluates for_each. While validating, unknown keys are accepted.
func expandForEach(expr hcl.Expression, ctx *hcl.EvalContext, validating bool) (Expansion, diag.List) {
	none := Expansion{Mode: Keyed}
	v, hclDiags := funcs.Evaluate(expr, ctx)
	if hclDiags.HasErrors() {
		return none, diag.List(nil).AppendHCL(hclDiags)
	}
	if diags := suitableForEach(v, expr, ctx); diags != nil {
		return none, diags
	}
	ty := v.Type()
	if !v.IsKnown() || ty.IsSetType() && !ctyfast.WhollyKnown(v) {
		if validating {
			return none, diag.List(nil).AppendHCL(hclDiags)
		}
		if ty.IsSetType() {
			return none, because(diag.CausedByUnknown, blocks.Problem(expr, ctx, "Invalid for_each argument",
				"The set in \"for_each\" holds values that are known only after apply, but its elements are the keys "+
					"of the instances, which must be known during planning. Use a map with keys from the "+
					"configuration and unknown values only as its values. Or plan and apply in rounds with "+
					"-allow-deferral."))
		}
		return none, because(diag.CausedByUnknown, blocks.Problem(expr, ctx, "Invalid for_each argument",
			"Keys of the map in \"for_each\" are known only after apply, but they are the keys of the instances, "+
				"which must be known during planning. Use keys from the configuration and unknown values only as "+
				"values of the map. Or plan and apply in rounds with -allow-deferral."))
	}
	each := make(map[string]cty.Value, v.LengthInt())
	keys := make([]addr.Key, 0, v.LengthInt())
	for k, ev := range ctyfast.Each(v) {
		if ty.IsSetType() {
			k = ev
		}
		if k.IsNull() {
			return none, blocks.Problem(expr, ctx, "Invalid for_each set argument",
				`The set in "for_each" holds null, which cannot be the key of an instance.`)
		}
		each[k.AsString()] = ev
		keys = append(keys, addr.StringKey(k.AsString()))
	}
	slices.SortFunc(keys, addr.Key.Compare)
	return Expansion{Mode: Keyed, Keys: keys, each: each}, diag.List(nil).AppendHCL(hclDiags)
}

// suitableForEach checks the marks and the type of a for_each value, which may be unknown.
func suitableForEach(v cty.Value, expr hcl.Expression, ctx *hcl.EvalContext) diag.List {
	bad := func(format string, args ...any) diag.List {
		return blocks.Problem(expr, ctx, "Invalid for_each argument", format, args...)
	}
	if value.IsEphemeral(v) {
		return bad(
			`The value of "for_each" is derived from an ephemeral value. The instances must be the same in every run.`)
	}
	if value.IsSensitive(v) {
		return because(diag.CausedBySensitive, bad("The value of \"for_each\" is sensitive, and its keys would be "+
			"visible in the addresses of the instances. If only the values are secret, use the keys, as in "+
			"nonsensitive(toset(keys(...))), and look up the values with each.key."))
	}
	ty := v.Type()
	switch {
	case v.IsNull():
		return bad(`The value of "for_each" is null. A map, an object or a set of strings is needed; an empty one ` +
			`makes no instances.`)
	case ty == cty.DynamicPseudoType:
		return nil // its type is unknown, too
	case !(ty.IsMapType() || ty.IsObjectType() || ty.IsSetType()):
		const text = `The value of "for_each" has the type %s. It must be a map, an object or a set of strings.%s`
		if ty == cty.String {
			return bad(text, ty.FriendlyName(), " For one string, write a set with one element.").
				Fixed(diag.Around(expr.Range(), "toset([", "])")...)
		}
		if !ty.IsListType() && !ty.IsTupleType() {
			return bad(text, ty.FriendlyName(), "")
		}
		diags := bad(text, ty.FriendlyName(), " Convert a list of strings to a set with toset(...).")
		if set, err := convert.Convert(v, cty.Set(cty.String)); err == nil && ctyfast.WhollyKnown(set) {
			return diags.Fixed(diag.Around(expr.Range(), "toset(", ")")...)
		}
		return diags
	case ty.IsSetType() && ctyfast.WhollyKnown(v) && v.LengthInt() > 0 && ty.ElementType() != cty.String &&
		ty.ElementType() != cty.DynamicPseudoType:
		return blocks.Problem(expr, ctx, "Invalid for_each set argument",
			`The value of "for_each" is a set of %s. Keys of instances are strings: use a set of strings, or a map.`,
			ty.ElementType().FriendlyName())
	}
	return nil
}
