package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// evalVariable sets the value of an input variable: the argument of the call or the caller's input, converted,
// validated, marked.
func (i *Instance) evalVariable(s *linking.Slot) error {
	raw, rng, diags := i.rawVariable(s)
	v := s.Variable
	if diags.HasErrors() {
		return i.report(diags)
	}
	val, more := i.walk.arguments.converted(s, raw, func() (cty.Value, diag.List) {
		val, diags := i.convertVariable(s, raw, rng)
		switch {
		case diags.HasErrors():
		case i.Addr.IsRoot():
			i.walk.Inputs.Secrets.Learn(val)
		default:
			i.walk.Inputs.Secrets.LearnDerived(val) // its argument is an expression
		}
		return val, diags
	})
	if diags = diags.Extend(more); more.HasErrors() {
		return i.report(diags)
	}
	i.values[s.Index] = val
	if i.walk.Inputs.Validating {
		// The configuration has to be valid for every value, so conditions such as count = var.on ? 1 : 0 stay unknown,
		// and the argument's marks are ignored like its value. Only the variable's own validations use the argument.
		i.values[s.Index] = declaredMarks(cty.UnknownVal(v.Type), v.Sensitive, v.Ephemeral)
	}
	if d := s.Faulty(linking.PartValidations); d != nil {
		diags = diags.Extend(d)
	} else if len(v.Validations) > 0 {
		diags = diags.Extend(i.validateVariable(s, val, *rng))
	}
	return i.report(diags)
}

// convertVariable returns the value of a variable for an argument, with the marks that it declares; rng is the source
// range for errors.
func (i *Instance) convertVariable(s *linking.Slot, raw cty.Value, rng *hcl.Range) (cty.Value, diag.List) {
	v := s.Variable
	val, diags := v.Convert(raw)
	for _, d := range diags {
		if d.Subject == nil || d.Subject.Filename == "" || i.parent != nil {
			d.Subject = rng
		}
	}
	if diags.HasErrors() {
		return val, diags
	}
	if i.parent != nil && !v.Ephemeral && value.HasDeepEphemeral(val) {
		return val, diags.Errorf(rng, "Ephemeral value not allowed", "The input variable %q does not accept "+
			"ephemeral values, because it is not declared with \"ephemeral = true\".", v.Name)
	}
	return declaredMarks(val, v.Sensitive, v.Ephemeral), diags
}

// rawVariable returns the value before conversion and the range for messages, or cty.NilVal if it is not set.
func (i *Instance) rawVariable(s *linking.Slot) (cty.Value, *hcl.Range, diag.List) {
	rng := s.Variable.Range
	if i.parent == nil {
		if i.walk.Inputs.Validating {
			return cty.UnknownVal(s.Variable.Type), &rng, nil // whatever the caller will pass
		}
		if v, ok := i.walk.Inputs.Variables[s.Name]; ok {
			if written, ok := i.walk.Inputs.VariableRanges[s.Name]; ok {
				rng = written
			}
			return v, &rng, nil
		}
		return cty.NilVal, &rng, nil
	}
	if s.Arg == nil {
		return cty.NilVal, &rng, nil // a missing required argument was reported by the loader
	}
	argRange := s.Arg.Range()
	if d := s.Faulty(s.Arg); d != nil {
		return cty.NilVal, &argRange, d
	}
	v, hclDiags := funcs.Evaluate(s.Arg, i.rep.Context(i.parent.Scope(s.ArgRefs)))
	return v, &argRange, diag.List(nil).AppendHCL(hclDiags)
}

// validateVariable runs the validation blocks; rng is the source range of the value for messages.
func (i *Instance) validateVariable(s *linking.Slot, val cty.Value, rng hcl.Range) diag.List {
	ctx := i.Scope(s.Refs)
	vars, ok := ctx.Variables["var"]
	all := map[string]cty.Value{}
	if ok {
		all = vars.AsValueMap()
	}
	all[s.Name] = val
	ctx.Variables["var"] = cty.ObjectVal(all)
	var diags diag.List
	outcome := outcome{}
	for _, c := range s.Variable.Validations {
		r := evalValidation(c, ctx, i.walk.Inputs.Validating)
		outcome.add(r)
		diags = diags.Extend(r.diags)
		if r.status == statusFail {
			diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Invalid value for variable",
				Subject:    &rng,
				Detail:     r.detail() + "\n\nThis was checked by the validation rule at " + diag.Line(c.Range) + ".",
				Expression: c.Condition, EvalContext: ctx, Extra: Checked{"var", instanceAddr(i, "var."+s.Name)}})
		}
	}
	i.walk.checks.report("var", s.Addr(), instanceAddr(i, "var."+s.Name), outcome)
	return diags
}

// evalOutput evaluates an output value after its preconditions.
func (i *Instance) evalOutput(s *linking.Slot) error {
	o := s.Output
	if i.parent == nil && o.Ephemeral {
		return i.report(diag.List(nil).Errorf(&o.Range, "Ephemeral output not allowed", "The outputs of the root "+
			"module are stored in the state, so %q cannot be ephemeral. Only child modules can have such outputs.",
			o.Name))
	}
	ctx := i.Scope(s.Refs)
	diags := i.outputPreconditions(s, ctx)
	if diags.HasErrors() {
		return i.report(diags)
	}
	if d := s.Faulty(o.Expr, linking.PartDependsOn); d != nil {
		return i.report(diags.Extend(d))
	}
	v, hclDiags := funcs.Evaluate(o.Expr, ctx)
	diags = diags.AppendHCL(hclDiags)
	if hclDiags.HasErrors() {
		return i.report(diags)
	}
	if o.Type != nil {
		converted, err := o.Type.Convert(v)
		if err != nil {
			rng := o.Expr.Range()
			return i.report(diags.Errorf(&rng, "Invalid output value", "The value does not fit the type that "+
				"the output %q declares: %s.", o.Name, err))
		}
		v = converted
	}
	if problems := i.outputMarks(s, v); problems.HasErrors() {
		return i.report(diags.Extend(problems))
	}
	v = declaredMarks(v, o.Sensitive, o.Ephemeral)
	i.settle(s, v)
	if err := i.report(diags); err != nil {
		return err
	}
	if i.parent == nil {
		return i.walk.driver.RootOutput(s, v)
	}
	return nil
}

// outputPreconditions evaluates and records the preconditions of an output.
func (i *Instance) outputPreconditions(s *linking.Slot, ctx *hcl.EvalContext) (diags diag.List) {
	if len(s.Output.Preconditions) == 0 {
		return nil
	}
	outcome := outcome{}
	for _, c := range s.Output.Preconditions {
		r := evalCondition(s, c, ctx)
		outcome.add(r)
		diags = diags.Extend(r.diags)
		if r.status == statusFail {
			d := i.walk.conditionFailed(Checked{"output", instanceAddr(i, "output."+s.Name)},
				"Module output value precondition failed", r, c, ctx)
			if i.walk.Inputs.StrictOutputs {
				d.Severity = diag.Error
			}
			diags = append(diags, d)
		}
	}
	i.walk.checks.report("output", s.Addr(), instanceAddr(i, "output."+s.Name), outcome)
	return diags
}

// outputMarks checks that the value of an output is only sensitive or ephemeral if the output declares it.
func (i *Instance) outputMarks(s *linking.Slot, v cty.Value) (diags diag.List) {
	o := s.Output
	rng, exprRange := o.Range, o.Expr.Range()
	ephemeral := value.HasDeepEphemeral(v)
	switch {
	case !o.Ephemeral && ephemeral:
		return diags.Errorf(&exprRange, "Ephemeral value not allowed", "The value is derived from an ephemeral "+
			"value, but this output is stored. In a child module, add \"ephemeral = true\".")
	case o.Ephemeral && !ephemeral && !(i.walk.Inputs.Validating && s.PassesEphemeral()):
		return diags.Errorf(&exprRange, "Value not allowed in ephemeral output", "The output value %q is declared as "+
			"ephemeral, but its value is not derived from an ephemeral value. Remove \"ephemeral = true\".",
			o.Name)
	case i.parent == nil && !o.Sensitive && value.HasDeepSensitive(v):
		return diags.Errorf(&rng, "Output refers to sensitive values", "The value of this output is sensitive, or "+
			"derived from a sensitive value. To allow that, add\n    sensitive = true\nIf the value contains no "+
			"secrets, remove the mark with nonsensitive(...).")
	}
	return nil
}

// declaredMarks adds the marks to a value that the block of a variable or output value declares.
func declaredMarks(v cty.Value, sensitive, ephemeral bool) cty.Value {
	if sensitive {
		v = v.Mark(value.Sensitive)
	}
	if ephemeral {
		v = v.Mark(value.Ephemeral)
	}
	return v
}

// instanceAddr returns the address of an object in a module instance.
func instanceAddr(i *Instance, local string) string {
	if i.Addr.IsRoot() {
		return local
	}
	return i.Addr.String() + "." + local
}

// StandIns mocks providers and modules for a walk, for tests. Its methods are called concurrently.
type StandIns interface {
	// Provider returns the mock for a provider configuration whose block has Mock. real is the provider itself, which
	// is not configured.
	Provider(a addr.AbsProviderConfig, real provider.Provider) provider.Provider
	// Instance returns the provider for an instance: p, or a mock.
	Instance(a addr.AbsResourceInstance, cfg addr.AbsProviderConfig, p provider.Provider) provider.Provider
	// Outputs returns the output values that replace a module instance; missing ones are null.
	Outputs(a addr.ModuleInstance) (outputs map[string]cty.Value, replaced bool)
}

// standIn determines whether output values replace a module instance or one around it.
func (i *Instance) standIn() {
	in := i.walk.Inputs
	if in.StandIns == nil || in.Validating || i.parent == nil {
		return
	}
	if i.parent.replaced != nil {
		i.replaced = map[string]cty.Value{}
		return
	}
	if outputs, ok := in.StandIns.Outputs(i.Addr); ok {
		i.replaced = outputs
		if outputs == nil {
			i.replaced = map[string]cty.Value{}
		}
	}
}

// evalReplaced sets the values of the slots of a replaced module instance.
func (i *Instance) evalReplaced(s *linking.Slot) error {
	i.values[s.Index] = cty.DynamicVal
	if s.Kind != linking.SlotOutput {
		return nil
	}
	v, ok := i.replaced[s.Name]
	if !ok {
		v = cty.NullVal(cty.DynamicPseudoType)
	}
	if s.Output.Sensitive {
		v = v.Mark(value.Sensitive)
	}
	i.settle(s, v)
	return nil
}

// ProviderOf returns the provider of an instance, or its mock.
func (in Inputs) ProviderOf(a addr.AbsResourceInstance, cfg addr.AbsProviderConfig,
	p provider.Provider) provider.Provider {
	if in.StandIns == nil || p == nil {
		return p
	}
	return in.StandIns.Instance(a, cfg, p)
}
