package eval

import (
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// resourceValue is the value of a resource block in one module instance: one object, a list of them, or a map.
type resourceValue struct {
	slot  *linking.Slot
	exp   Expansion
	byKey map[addr.Key]cty.Value

	once  sync.Once
	whole cty.Value
}

// value builds the value of the whole block once; every reference shares it.
func (r *resourceValue) value() cty.Value {
	r.once.Do(func() { r.whole = collect(r.exp.Mode, r.keys(), r.byKey, r.missing()) })
	return r.whole
}

// keys returns the instance keys of the value: those of the expansion and, in a refresh-only plan, of other existing
// instances.
func (r *resourceValue) keys() []addr.Key {
	keys := slices.Clip(r.exp.Keys)
	for k := range r.byKey {
		n, isInt := k.Int()
		_, isString := k.Str()
		switch {
		case r.exp.Has(k):
		case r.exp.Mode == Keyed && isString:
			keys = append(keys, k)
		case r.exp.Mode == Counted && isInt && n < maxCount:
			for i := len(keys); i <= n; i++ {
				keys = append(keys, addr.IntKey(i))
			}
		}
	}
	return keys
}

// missing returns the value of an instance that does not exist and is not created by this run.
func (r *resourceValue) missing() cty.Value {
	if r.slot.Type == nil {
		return cty.DynamicVal
	}
	return cty.UnknownVal(r.slot.Type.Block.ImpliedType())
}

// collect returns an object, a tuple or an object of objects from the values of instances. Instances without a value
// are omitted; in a tuple, missing replaces them.
func collect(mode RepetitionMode, keys []addr.Key, byKey map[addr.Key]cty.Value, missing cty.Value) cty.Value {
	switch mode {
	case Unknown:
		return cty.DynamicVal
	case Counted:
		vals := make([]cty.Value, 0, len(keys))
		last := 0
		for _, k := range keys {
			v, ok := byKey[k]
			if !ok {
				v = missing
			}
			vals = append(vals, v)
			if ok {
				last = len(vals)
			}
		}
		return cty.TupleVal(vals[:last])
	case Keyed:
		vals := make(map[string]cty.Value, len(keys))
		for _, k := range keys {
			s, _ := k.Str()
			if v, ok := byKey[k]; ok {
				vals[s] = v
			}
		}
		return cty.ObjectVal(vals)
	}
	if v, ok := byKey[addr.NoKey]; ok {
		return v
	}
	if mode == Switched && len(keys) == 0 {
		return cty.NullVal(missing.Type())
	}
	return missing
}

// callValue is the value of a module call in one module instance.
type callValue struct {
	slot     *linking.Slot
	unit     *linking.Unit
	mode     RepetitionMode
	keys     []addr.Key
	children map[addr.Key]*Instance
	expanded bool // keys are complete
	// validating means that outputs have unknown values.
	validating bool

	once  sync.Once
	whole cty.Value
}

func newCallValue(s *linking.Slot, u *linking.Unit, validating bool) *callValue {
	return &callValue{slot: s, unit: u, children: map[addr.Key]*Instance{}, validating: validating}
}

// value builds the value with all outputs once.
func (c *callValue) value() cty.Value {
	c.once.Do(func() {
		if c.validating {
			c.whole = c.unknownValue()
			return
		}
		byKey := make(map[addr.Key]cty.Value, len(c.keys))
		for _, k := range c.keys {
			byKey[k] = c.children[k].outputs(nil)
		}
		c.whole = collect(c.mode, c.keys, byKey, cty.DynamicVal)
	})
	return c.whole
}

// outputs returns an object of output values: all, or those in only.
func (i *Instance) outputs(only map[string]bool) cty.Value {
	vals := map[string]cty.Value{}
	for name, slot := range i.Unit.Outputs {
		if only == nil || only[name] {
			vals[name] = i.values[slot]
		}
	}
	return cty.ObjectVal(vals)
}

// unknownValue returns the value while validating: only the names of the outputs and the kind of repetition are known.
func (c *callValue) unknownValue() cty.Value {
	atys := map[string]cty.Type{}
	vals := map[string]cty.Value{}
	if c.unit != nil {
		for name := range c.unit.Outputs {
			atys[name], vals[name] = cty.DynamicPseudoType, cty.DynamicVal
		}
	}
	switch {
	case c.slot.Call.Count != nil:
		return cty.UnknownVal(cty.List(cty.Object(atys)))
	case c.slot.Call.ForEach != nil:
		return cty.UnknownVal(cty.Map(cty.Object(atys)))
	case c.slot.Call.Enabled != nil:
		return cty.UnknownVal(cty.Object(atys))
	}
	return cty.ObjectVal(vals)
}

// key returns the instance key of a reference: an index is converted to the collection's key type, so ["0"] is the
// first of a list, and [0] is "0" of a map.
func (c *callValue) key(k addr.Key) addr.Key {
	want := cty.Number
	if c.mode == Keyed {
		want = cty.String
	}
	if converted, err := convert.Convert(k.Value(), want); err == nil {
		if key, err := addr.KeyFromValue(converted); err == nil {
			return key
		}
	}
	return k
}

// partial returns a value with only the outputs and instances in refs: others may not have been evaluated yet.
func (c *callValue) partial(refs []addr.Reference) cty.Value {
	if c.validating {
		return c.value()
	}
	names := map[addr.Key]map[string]bool{}
	top, missing := 0, false
	for _, r := range refs {
		key := c.key(r.Key)
		if names[key] == nil {
			names[key] = map[string]bool{}
		}
		names[key][r.Output] = true
		if c.children[key] == nil {
			missing = true // an error that lists the keys
		} else if n, ok := key.Int(); ok {
			top = max(top, n+1)
		}
	}
	switch c.mode {
	case Single, Switched:
		if i := c.children[addr.NoKey]; i != nil {
			return i.outputs(names[addr.NoKey])
		}
		if c.mode == Switched {
			return cty.NullVal(cty.DynamicPseudoType)
		}
	case Counted:
		if missing {
			top = len(c.keys)
		}
		vals := make([]cty.Value, top)
		for n := range vals {
			vals[n] = cty.EmptyObjectVal
			if want := names[addr.IntKey(n)]; want != nil {
				vals[n] = c.children[addr.IntKey(n)].outputs(want)
			}
		}
		return cty.TupleVal(vals)
	case Keyed:
		vals := map[string]cty.Value{}
		const shown = 100 // the maximum number of keys, so that a try around each of many such references is cheap
		if missing && len(c.keys) <= shown {
			for _, k := range c.keys {
				s, _ := k.Str()
				vals[s] = cty.EmptyObjectVal
			}
		}
		for k, want := range names {
			if s, ok := k.Str(); ok && c.children[k] != nil {
				vals[s] = c.children[k].outputs(want)
			}
		}
		return cty.ObjectVal(vals)
	}
	return cty.DynamicVal
}

// Scope returns the context for expressions that mention refs. each, count and self are not in it: see
// Repetition.Context.
func (i *Instance) Scope(refs []addr.Reference) *hcl.EvalContext { return i.scope(refs, nil) }

// scope is like Scope, with the value of an object that the walk does not have yet; own may be nil.
func (i *Instance) scope(refs []addr.Reference, own *ownValue) *hcl.EvalContext {
	var s scope
	if own != nil {
		s.resource(own.addr, own.value)
	}
	for _, ref := range refs {
		switch ref.Kind {
		case addr.RefVariable:
			s.set(&s.vars, ref.Name, i.values[i.Unit.Variables[ref.Name]])
		case addr.RefLocal:
			s.set(&s.locals, ref.Name, i.values[i.Unit.Locals[ref.Name]])
		case addr.RefResource:
			s.resource(ref.Resource, i.resources[i.Unit.Resources[ref.Resource]].value())
		case addr.RefModule:
			s.set(&s.modules, ref.Name, i.calls[ref.Name].value())
		case addr.RefOutput:
			c := i.calls[ref.Name]
			if !ref.HasKey && c.mode != Single && c.mode != Switched {
				s.set(&s.modules, ref.Name, c.value())
			} else {
				s.output(ref)
			}
		case addr.RefPath:
			s.set(&s.path, ref.Name, i.pathValue(ref.Name))
		case addr.RefTerraform:
			s.set(&s.terraform, ref.Name, i.terraformValue(ref.Name))
		}
	}
	for name, refs := range s.partial {
		if _, whole := s.modules[name]; !whole {
			s.set(&s.modules, name, i.calls[name].partial(refs))
		}
	}
	return funcs.Share(&hcl.EvalContext{Variables: s.variables(), Functions: i.walk.functions(i.Unit)})
}

// scope collects values by the root names of the language.
type scope struct {
	vars, locals, modules, path, terraform map[string]cty.Value
	managed, data, ephemeral, lists        map[string]map[string]cty.Value
	partial                                map[string][]addr.Reference
}

func (s *scope) set(m *map[string]cty.Value, name string, v cty.Value) {
	if *m == nil {
		*m = map[string]cty.Value{}
	}
	(*m)[name] = v
}

func (s *scope) output(ref addr.Reference) {
	if s.partial == nil {
		s.partial = map[string][]addr.Reference{}
	}
	s.partial[ref.Name] = append(s.partial[ref.Name], ref)
}

func (s *scope) resource(r addr.Resource, v cty.Value) {
	m := &s.managed
	switch r.Mode {
	case addr.Data:
		m = &s.data
	case addr.Ephemeral:
		m = &s.ephemeral
	case addr.List:
		m = &s.lists
	}
	if *m == nil {
		*m = map[string]map[string]cty.Value{}
	}
	if (*m)[r.Type] == nil {
		(*m)[r.Type] = map[string]cty.Value{}
	}
	(*m)[r.Type][r.Name] = v
}

func (s *scope) variables() map[string]cty.Value {
	out := map[string]cty.Value{}
	for typ, byName := range s.managed {
		out[typ] = cty.ObjectVal(byName)
	}
	if s.managed != nil {
		out["resource"] = objectOfObjects(s.managed)
	}
	if s.data != nil {
		out["data"] = objectOfObjects(s.data)
	}
	if s.ephemeral != nil {
		out["ephemeral"] = objectOfObjects(s.ephemeral)
	}
	if s.lists != nil {
		out["list"] = objectOfObjects(s.lists)
	}
	for name, m := range map[string]map[string]cty.Value{
		"var": s.vars, "local": s.locals, "module": s.modules, "path": s.path, "terraform": s.terraform,
		"tofu": s.terraform,
	} {
		if m != nil {
			out[name] = cty.ObjectVal(m)
		}
	}
	return out
}

func objectOfObjects(m map[string]map[string]cty.Value) cty.Value {
	vals := make(map[string]cty.Value, len(m))
	for name, inner := range m {
		vals[name] = cty.ObjectVal(inner)
	}
	return cty.ObjectVal(vals)
}

func (i *Instance) pathValue(name string) cty.Value {
	switch name {
	case "module":
		return cty.StringVal(i.Unit.Module.Dir)
	case "root":
		return cty.StringVal(i.walk.Program.Config.Root.Dir)
	}
	return cty.StringVal(i.walk.Inputs.Cwd)
}

func (i *Instance) terraformValue(name string) cty.Value {
	if name == "applying" {
		return cty.BoolVal(i.walk.Inputs.Applying).Mark(value.Ephemeral)
	}
	return cty.StringVal(i.walk.Inputs.Workspace)
}

// Settle prepares an ended walk for Expression: values that failed nodes did not compute become unknown.
func (w *Walk) Settle() {
	for _, i := range w.instances {
		for n, v := range i.values {
			if v == cty.NilVal {
				i.values[n] = cty.DynamicVal
			}
		}
	}
}

// ExtraScope holds additional values for an expression, by the first two names of a reference, such as "run" and the
// name of a run; cty.NilVal if it has no value yet. Variables of the module override those here.
type ExtraScope map[string]map[string]cty.Value

// own reports whether a reference is to one of these values, and returns the problem of one that does not exist.
func (b ExtraScope) own(t hcl.Traversal, u *linking.Unit) (own bool, diags diag.List) {
	values, ok := b[t.RootName()]
	if t.RootName() == "check" && len(t) > 1 {
		rng := hcl.RangeBetween(t[0].SourceRange(), t[1].SourceRange())
		return true, diags.Errorf(&rng, `Reference to "check" in invalid context`,
			"A check block has no value. To test that it fails, add it to expect_failures.")
	}
	if !ok {
		return false, nil
	}
	var name string
	if len(t) > 1 {
		if step, ok := t[1].(hcl.TraverseAttr); ok {
			name = step.Name
		}
	}
	if name == "" {
		return false, nil // otherwise it would be reported as a resource reference without a name
	}
	if t.RootName() == "var" {
		_, declared := u.Variables[name]
		_, given := values[name]
		return given && !declared, nil
	}
	rng := hcl.RangeBetween(t[0].SourceRange(), t[1].SourceRange())
	what := map[string]string{"run": "run block", "output": "output value"}[t.RootName()]
	switch v, ok := values[name]; {
	case !ok:
		return true, diags.Errorf(&rng, "Reference to undeclared "+what, "There is no %s named %q here.%s", what, name,
			diag.DidYouMean(name, slices.Sorted(maps.Keys(values))))
	case v == cty.NilVal:
		return true, diags.Errorf(&rng, "Reference to unevaluated "+what,
			"The %s %q has no value yet: an expression can refer only to earlier ones.", what, name)
	}
	return true, nil
}

// Assert evaluates, after a walk, a condition that is not part of the configuration: src is the text of it and of its
// message. It returns no diagnostics if the condition is true.
func (i *Instance) Assert(c *config.Condition, src []byte, table map[string]function.Function,
	beside ExtraScope) diag.List {
	ctx, diags := i.inExtraScope([]hcl.Expression{c.Condition, c.ErrorMessage}, src, table, beside)
	if diags.HasErrors() {
		return diags
	}
	r := holds(c, ctx, "Invalid condition run")
	// The message must be valid even if the condition is true.
	text, _, broken, unsuitable := errorMessage(c, ctx, diag.Warning)
	for _, d := range r.diags.Extend(broken).Extend(unsuitable) {
		diags = append(diags, nameProviderFunction(d))
	}
	rng := c.Condition.Range()
	switch {
	case r.status == statusUnknown:
		diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Unknown condition value", Subject: &rng,
			Expression: c.Condition, EvalContext: ctx,
			Detail: `The condition cannot be evaluated, because a part of it is not known after this run. If the run ` +
				`only plans, write "command = apply", or override the value with "override_during = plan". If it has ` +
				`targets, all other objects have no value.`})
	case r.status == statusFail && !broken.HasErrors() && !unsuitable.HasErrors():
		diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Test assertion failed", Detail: text,
			Subject: &rng, Expression: c.Condition, EvalContext: ctx, Extra: Failed{}})
	}
	for n, d := range diags {
		diags[n] = i.walk.hide(d)
	}
	return diags
}

// Failed marks the diagnostic of an assertion that is false, rather than one that cannot be evaluated.
type Failed struct{}

// AssertsCondition makes the views show the operands of a comparison.
func (Failed) AssertsCondition() bool { return true }

// inExtraScope returns the scope for expressions that are not part of the configuration.
func (i *Instance) inExtraScope(list []hcl.Expression, src []byte, table map[string]function.Function,
	extra ExtraScope) (*hcl.EvalContext, diag.List) {
	refs, warnings, diags := i.walk.Program.LinkOutside(i.Unit, list, extra.own)
	if diags.HasErrors() {
		return nil, diags
	}
	ctx := i.Scope(refs)
	for root, values := range extra {
		all := map[string]cty.Value{}
		for name, v := range values {
			if v != cty.NilVal {
				all[name] = v
			}
		}
		if have, ok := ctx.Variables[root]; ok && root == "var" {
			maps.Copy(all, have.AsValueMap())
		}
		ctx.Variables[root] = cty.ObjectVal(all)
	}
	ctx.Functions = i.walk.outside(i.Unit, table, src, list[len(list)-1].Range().Filename)
	return ctx, diags.Extend(warnings)
}

// Outputs returns, after a walk, the output values of the module, with marks.
func (i *Instance) Outputs() map[string]cty.Value {
	out := make(map[string]cty.Value, len(i.Unit.Outputs))
	for name, slot := range i.Unit.Outputs {
		if v := i.values[slot]; v != cty.NilVal {
			out[name] = v
		}
	}
	return out
}

// Excluded returns the names of output values that the walk excludes: untargeted or held ones.
func (i *Instance) Excluded() (names []string) {
	for name, slot := range i.Unit.Outputs {
		if only := i.walk.Inputs.Only; only != nil && !only[i.Unit.Slots()[slot]] || i.held != nil &&
			i.held[slot] != nil {
			names = append(names, name)
		}
	}
	return names
}

// Expression evaluates, after a walk, an expression that is not part of the configuration but uses the names of the
// module. src is its text, which is searched for provider function calls; table holds the core functions, which may
// differ from those of the configuration.
func (i *Instance) Expression(e hcl.Expression, src []byte, table map[string]function.Function) (cty.Value, diag.List) {
	refs, _, diags := i.walk.Program.LinkOutside(i.Unit, []hcl.Expression{e}, nil)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	ctx := i.Scope(refs)
	ctx.Functions = i.walk.outside(i.Unit, table, src, e.Range().Filename)
	v, hclDiags := funcs.Evaluate(e, ctx)
	diags = diags.AppendHCL(hclDiags)
	for n, d := range diags {
		diags[n] = i.walk.hide(nameProviderFunction(d))
	}
	return v, diags
}
