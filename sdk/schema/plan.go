package schema

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// planning is one plan for a managed object that is not deleted.
type planning struct {
	typ                   *resourceType
	prior, config, filled cty.Value // filled is the configuration with defaults
	diff                  *ResourceDiff
}

// Plan merges the configuration into the stored object, calls CustomizeDiff, and marks the values that only the
// callback will know.
func (s *server) Plan(ctx context.Context, req provider.PlanRequest) provider.PlanResponse {
	t := s.managed[req.Type]
	if t == nil {
		return s.Base.Plan(ctx, req)
	}
	resp := provider.PlanResponse{Planned: req.Proposed, Private: req.PriorPrivate, Identity: req.PriorIdentity}
	if req.Proposed.IsNull() {
		return resp
	}
	resp.Diagnostics = s.guard(ctx, t, "plan", func(ctx context.Context) diag.List {
		if !req.Client.ComputedBlocksAllowed {
			if diags := t.mustBeWritten(req.Config); diags.HasErrors() {
				return diags
			}
		}
		p := planning{typ: t, prior: req.Prior, config: req.Config}
		var diags diag.List
		resp.Planned, resp.RequiresReplace, diags = p.run(ctx, s.meta())
		return diags
	})
	return resp
}

func (p *planning) run(ctx context.Context, meta interface{}) (cty.Value, []cty.Path, diag.List) {
	t := p.typ
	filled, err := t.withDefaults(p.config)
	if err != nil {
		return cty.NilVal, nil, diag.List{setProblem(err)}
	}
	p.filled = filled
	creating := p.prior.IsNull()
	planned := p.merge(creating)
	p.diff = newDiff(t, p.prior, planned, p.config)
	if custom := t.resource.CustomizeDiff; custom != nil {
		diags := diag.FromErr(custom(ctx, p.diff, meta))
		if diags = dropped(p.diff.mistakes, diags); diags.HasErrors() {
			return cty.NilVal, nil, diags
		}
		planned = p.diff.over(planned)
	}
	if !creating && t.changes(p.prior, planned) {
		planned = p.diff.over(p.merge(true))
	}
	if errs := value.CheckPlan(t.block(), p.prior, p.config, planned, everything); len(errs) > 0 {
		return cty.NilVal, nil, invalidResponse("Invalid plan from the provider", errs)
	}
	return planned, p.replacements(planned), nil
}

// merge returns the planned object: the stored object, overlaid with the configuration and defaults. With unknowns,
// computed values that an update may change are unknown.
func (p *planning) merge(unknowns bool) cty.Value {
	t, config := p.typ, p.filled
	if unknowns {
		creating := p.prior.IsNull()
		config = value.SetUnknownsWhere(t.block(), config, func(a *provider.Attribute) bool {
			f := t.fields[a]
			return f != nil && f.schema.Computed && (creating || !f.schema.Stable)
		})
		config = value.SetUnknownBlocks(t.block(), config, func(nb *provider.NestedBlock) bool {
			return creating || !t.blocks[nb].schema.Stable
		})
	}
	planned := value.NullWriteOnly(t.block(), value.ProposeKept(t.block(), p.prior, config))
	if p.prior.IsNull() {
		return planned
	}
	d := newData(t, reader{object: t.object, old: p.prior, now: planned, config: p.config, unknown: planned})
	return t.object.suppress("", p.prior, p.config, planned, d)
}

// mustBeWritten reports computed blocks that are not configured, for engines in which the provider cannot set them.
func (t *resourceType) mustBeWritten(config cty.Value) diag.List {
	var names []string
	value.SetUnknownBlocks(t.block(), value.ForPlan(t.block(), config), func(nb *provider.NestedBlock) bool {
		names = append(names, t.blocks[nb].name)
		return false
	})
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return diag.List{&diag.Diagnostic{Severity: diag.Error, Summary: "Blocks must be written",
		Detail: fmt.Sprintf("The provider would compute these blocks, which this program does not support: %s. Write "+
			"them, or use Terraform 1.16 or Tombolo.", strings.Join(slices.Compact(names), ", "))}}
}

// changes reports whether a plan changes anything except timeouts.
func (t *resourceType) changes(prior, planned cty.Value) bool {
	for name, f := range t.object.fields {
		if f.implicit && name == timeoutsField {
			continue
		}
		if !prior.GetAttr(name).RawEquals(planned.GetAttr(name)) {
			return true
		}
	}
	return false
}

// replacements returns the paths of changes that require a replacement.
func (p *planning) replacements(planned cty.Value) []cty.Path {
	if p.prior.IsNull() {
		return nil
	}
	t := p.typ
	cannot := t.resource.update() == nil
	var paths []cty.Path
	for _, path := range value.Diff(p.prior, planned) {
		name := path[0].(cty.GetAttrStep).Name
		f := t.object.fields[name]
		if f.implicit && name == timeoutsField {
			continue
		}
		if found := f.forced(path, 1); found != nil {
			paths = append(paths, found)
		} else if cannot && !p.computedOnly(f, path) {
			paths = append(paths, path)
		}
	}
	return value.UnionPaths(paths, p.diff.forced)
}

// computedOnly reports whether only the provider changes a value, because another one changes.
func (p *planning) computedOnly(f *field, path cty.Path) bool {
	return f.schema.Computed && member(p.filled, f.name, f.ty).IsNull() && !p.diff.decided(f.name)
}

// forced returns the path of the outermost field with ForceNew on a path or below its end, or nil.
func (f *field) forced(path cty.Path, i int) cty.Path {
	if f.schema.ForceNew {
		return path[:i]
	}
	for i < len(path) {
		if get, ok := path[i].(cty.GetAttrStep); ok && f.object != nil {
			return f.object.fields[get.Name].forced(path, i+1)
		}
		if f.elem != nil {
			if f.elem.schema.ForceNew {
				return path[:i+1]
			}
			f = f.elem
		}
		i++
	}
	if f.forcedInside() {
		return path
	}
	return nil
}

func (f *field) forcedInside() bool {
	if f.elem != nil {
		return f.elem.schema.ForceNew || f.elem.forcedInside()
	}
	if f.object != nil {
		for _, inner := range f.object.fields {
			if inner.schema.ForceNew || inner.forcedInside() {
				return true
			}
		}
	}
	return false
}

// withDefaults returns a configuration with the defaults of unset arguments.
func (t *resourceType) withDefaults(config cty.Value) (cty.Value, error) {
	if !t.hasDefaults() {
		return config, nil
	}
	var failed error
	filled := value.Fill(t.block(), config, func(a *provider.Attribute) cty.Value {
		f := t.fields[a]
		if f == nil || !f.schema.defaults() {
			return cty.NilVal
		}
		v, err := f.defaultValue()
		if err != nil && failed == nil {
			failed = err
		}
		return v
	})
	return filled, failed
}

func (t *resourceType) hasDefaults() bool {
	for _, f := range t.fields {
		if f.schema.defaults() {
			return true
		}
	}
	return false
}

// defaultValue returns the value of a default, or cty.NilVal if there is none. A string, such as from the environment,
// may contain a number or a bool.
func (f *field) defaultValue() (cty.Value, error) {
	v, err := f.schema.DefaultValue()
	if err != nil || v == nil {
		return cty.NilVal, err
	}
	if text, ok := v.(string); ok && f.schema.DefaultFunc != nil {
		switch f.schema.Type {
		case TypeBool:
			if b, err := strconv.ParseBool(text); err == nil {
				v = b
			}
		case TypeInt, TypeFloat:
			if n, err := cty.ParseNumberVal(text); err == nil && (f.schema.Type == TypeFloat || isInt(n)) {
				return n, nil
			}
		}
	}
	encoded, err := f.encode(cty.GetAttrPath(f.name), v, cty.NilVal)
	if err != nil {
		return cty.NilVal, err
	}
	return encoded, nil
}

// suppress replaces new values by the old ones with the same meaning. Elements of lists are matched by index, and those
// of maps by key; elements of sets are not matched.
func (o *object) suppress(prefix string, prior, config, planned cty.Value, d *ResourceData) cty.Value {
	if prior.IsNull() || !prior.IsKnown() || planned.IsNull() || !planned.IsKnown() {
		return planned
	}
	var vals map[string]cty.Value
	for _, name := range o.names {
		f := o.fields[name]
		if !f.mayKeep() {
			continue
		}
		was, now := prior.GetAttr(name), planned.GetAttr(name)
		if kept := f.suppressIn(prefix+name, versions{was, member(config, name, f.ty), now}, d); !kept.RawEquals(now) {
			if vals == nil {
				vals = planned.AsValueMap()
			}
			vals[name] = kept
		}
	}
	if vals == nil {
		return planned
	}
	return cty.ObjectVal(vals)
}

// mayKeep reports whether a change of the field, or within it, may be suppressed.
func (f *field) mayKeep() bool {
	if f.schema.DiffSuppressFunc != nil || f.schema.StateFunc != nil || f.elem != nil && f.elem.mayKeep() {
		return true
	}
	if f.object != nil {
		for _, inner := range f.object.fields {
			if inner.mayKeep() {
				return true
			}
		}
	}
	return false
}

// versions are the values of one field: stored, configured and planned.
type versions struct{ was, config, now cty.Value }

// suppressIn returns the planned value of a field: now, or the stored value was if the field's functions report that
// they are equal. A list of objects is compared object by object.
func (f *field) suppressIn(key string, v versions, d *ResourceData) cty.Value {
	// An argument that was removed from the configuration always changes, unless the provider or a default sets its
	// value.
	if v.config.IsNull() && !f.schema.Computed && !f.schema.defaults() {
		return v.now
	}
	if v.was.IsNull() || !v.was.IsWhollyKnown() || v.was.RawEquals(v.now) {
		return v.now // there is nothing to keep
	}
	if v.now.IsWhollyKnown() && f.schema.DiffSuppressFunc != nil && f.suppressed(key, v.was, v.now, d) {
		return v.was
	}
	switch {
	case v.now.IsNull() || !v.now.IsKnown():
		return v.now // it has no parts to compare
	case f.schema.Type.primitive():
		if s := f.schema.StateFunc; s != nil && s(f.decode(v.was)) == s(f.decode(v.now)) {
			return v.was
		}
		return v.now
	case f.schema.Type != TypeList || f.object == nil || !f.ty.IsListType():
		return v.now // elements of sets and maps have no counterparts, and other lists have no functions
	}
	vals := v.now.AsValueSlice()
	before, configured := v.was.AsValueSlice(), elementsOf(v.config)
	for i := range vals {
		if i < len(before) && i < len(configured) {
			vals[i] = f.object.suppress(key+"."+strconv.Itoa(i)+".", before[i], configured[i], vals[i], d)
		}
	}
	if len(vals) == 0 {
		return v.now
	}
	return cty.ListVal(vals)
}

func elementsOf(v cty.Value) []cty.Value {
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	return v.AsValueSlice()
}

// suppressed calls a field's DiffSuppressFunc. For lists and maps of values, it must suppress every element.
func (f *field) suppressed(key string, was, now cty.Value, d *ResourceData) bool {
	ask := f.schema.DiffSuppressFunc
	if f.schema.Type.primitive() {
		return ask(key, textOf(was), textOf(now), d)
	}
	if f.elem == nil || !f.elem.schema.Type.primitive() || was.IsNull() || now.IsNull() || f.schema.Type == TypeSet ||
		f.schema.Type == TypeAny {
		return false
	}
	before, after := texts(was), texts(now)
	if len(before) != len(after) {
		count := map[bool]string{true: ".%", false: ".#"}[f.schema.Type == TypeMap]
		if !ask(key+count, strconv.Itoa(len(before)), strconv.Itoa(len(after)), d) {
			return false
		}
	}
	for k, v := range after {
		if before[k] != v && !ask(key+"."+k, before[k], v, d) {
			return false
		}
	}
	for k, v := range before {
		if _, ok := after[k]; !ok && !ask(key+"."+k, v, "", d) {
			return false
		}
	}
	return true
}

func texts(v cty.Value) map[string]string {
	out := map[string]string{}
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		out[textOf(k)] = textOf(e)
	}
	return out
}

// textOf formats a primitive value as in legacy states.
func textOf(v cty.Value) string {
	switch {
	case v.IsNull() || !v.IsKnown():
		return ""
	case v.Type() == cty.String:
		return v.AsString()
	case v.Type() == cty.Bool:
		return strconv.FormatBool(v.True())
	case v.Type() == cty.Number:
		return v.AsBigFloat().Text('f', -1)
	}
	return ""
}
