package handler

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// withDefaults returns the configuration with defaults for unset attributes.
func (h *handler) withDefaults(b *provider.Block, config cty.Value) cty.Value {
	if config.IsNull() || !config.IsKnown() {
		return config
	}
	return value.ProposeUnset(b, cty.NullVal(b.ImpliedType()), config, h.defaultOr)
}

func (h *handler) defaultOr(a *provider.Attribute, was cty.Value) cty.Value {
	if d := h.m().Words(a).Default; d != cty.NilVal {
		return d
	}
	return was
}

// unset returns a function for the planned values of unset attributes that the provider determines.
func (h *handler) unset(creating bool) func(a *provider.Attribute, was cty.Value) cty.Value {
	return func(a *provider.Attribute, was cty.Value) cty.Value {
		w := h.m().Words(a)
		switch {
		case w.Default != cty.NilVal:
			return w.Default
		case !creating && (w.Stable || w.ForceNew) && !was.IsNull():
			// A value that only changes with the object itself stays the same while the object exists.
			return was
		}
		return cty.UnknownVal(a.ImpliedType())
	}
}

// defaultPlan returns the plan if the program does not implement plan: configured and stable values, and unknown for
// all others. A change of an attribute with force_new, or any change if the type has no update, requires a replacement.
func (h *handler) defaultPlan(rt *provider.ResourceType, t *manifest.Type, prior, config cty.Value) (planned cty.Value,
	replace []cty.Path) {
	config = value.NullWriteOnly(rt.Block, config)
	if prior.IsNull() {
		return value.ProposeUnset(rt.Block, prior, config, h.unset(true)), nil
	}
	wanted := value.ProposeUnset(rt.Block, prior, config, h.defaultOr)
	if wanted.RawEquals(prior) {
		return prior, nil
	}
	if !t.Does("update") {
		replace = value.Diff(prior, wanted)
	} else if t.ForcesNew {
		f := replacementFinder{words: h.m().Words}
		f.object(nil, rt.Block.Attributes, rt.Block.Blocks, prior, wanted)
		replace = f.found
		value.SortPaths(replace)
	}
	return value.ProposeUnset(rt.Block, prior, config, h.unset(false)), replace
}

// Plan implements provider.Provider.
func (h *handler) Plan(ctx context.Context, req provider.PlanRequest) provider.PlanResponse {
	rt, t := h.typeOf(provider.ManagedResource, req.Type)
	if rt == nil {
		return h.Base.Plan(ctx, req)
	}
	resp := provider.PlanResponse{Planned: req.Proposed, Private: req.PriorPrivate, Identity: req.PriorIdentity}
	if req.Proposed.IsNull() {
		return resp
	}
	// Values that were unknown during validation may be known by now.
	if resp.Diagnostics = h.check(rt.Block, req.Config); resp.Diagnostics.HasErrors() {
		return resp
	}
	resp.Planned, resp.RequiresReplace = h.defaultPlan(rt, t, req.Prior, req.Config)
	if !t.Does("plan") {
		return resp
	}
	r := h.requestFor(ctx, "plan", rt, t, req.Type, req.Object)
	r.reads = true
	r.object("config", rt.Block, req.Config, true)
	r.object("prior", rt.Block, req.Prior, false)
	r.object("proposed", rt.Block, resp.Planned, true)
	r.private(req.PriorPrivate)
	r.identity(rt, req.PriorIdentity)
	a, diags := r.call(`{"planned": {…}, "planned_unknown": {…}, "replace": [[…]]}, or {}`)
	resp.Diagnostics = resp.Diagnostics.Extend(diags)
	if resp.Diagnostics.HasErrors() {
		return resp
	}
	var problems []value.PathError
	resp.Planned, problems = h.codec(rt.Block).Overlay(resp.Planned, a.get("planned"), a.get("planned_unknown"), a.text)
	resp.Planned = value.NullWriteOnly(rt.Block, resp.Planned)
	resp.Diagnostics = resp.Diagnostics.Extend(r.problems(a, "planned", problems))
	if len(problems) == 0 {
		resp.Diagnostics = resp.Diagnostics.Extend(r.problems(a, "planned", value.CheckPlan(rt.Block, req.Prior,
			req.Config, resp.Planned)))
	}
	paths, problem := r.replaced(a)
	if problem != nil {
		resp.Diagnostics = resp.Diagnostics.Append(problem)
	}
	if !req.Prior.IsNull() {
		resp.RequiresReplace = value.UnionPaths(resp.RequiresReplace, paths)
	}
	resp.Private = a.remembered(req.PriorPrivate)
	return resp
}

// replaced returns the paths that require a replacement according to the program.
func (r *request) replaced(a *answer) ([]cty.Path, *diag.Diagnostic) {
	given := a.get("replace")
	if given == nil || given.Kind == strictjson.Null {
		return nil, nil
	}
	if given.Kind != strictjson.Array {
		return nil, r.badAnswer(a, fmt.Sprintf(`"replace" must be an array of paths such as [["name"]], not %s`,
			given.Kind))
	}
	var paths []cty.Path
	for _, item := range given.Items {
		path, err := message.Path(r.block.ImpliedType(), item)
		if err != nil {
			return nil, r.badAnswer(a, `"replace" has a path that does not exist: `+r.redactIn(err.Error(),
				words(item)...))
		}
		if len(path) == 0 {
			return nil,
				r.badAnswer(a,
					`"replace" has an empty path; expected a path such as ["name"]`)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// check reports values that the schema or the keywords of the manifest do not allow. The engine has already checked
// that required attributes are set, but not that they are not null.
func (h *handler) check(b *provider.Block, config cty.Value) diag.List {
	if config == cty.NilVal || config.IsNull() || !config.IsKnown() {
		return nil
	}
	c := checking{words: h.m().Words, block: b, redact: h.opts.Redact}
	for _, p := range value.CheckConfig(b, config) {
		c.diags = append(c.diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Invalid value",
			Path:   reachable(b, p.Path),
			Detail: fmt.Sprintf("The configuration does not fit the schema: %s.", p.Error())})
	}
	c.object(nil, false, b.Attributes, b.Blocks, config)
	return c.diags
}

type checking struct {
	block  *provider.Block
	words  func(*provider.Attribute) *manifest.Words
	redact func(string) string
	diags  diag.List
}

func (c *checking) clean(text string) string {
	if c.redact == nil {
		return text
	}
	return c.redact(text)
}

func (c *checking) object(path cty.Path, secret bool, attrs map[string]*provider.Attribute,
	blocks map[string]*provider.NestedBlock, v cty.Value) {
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		a, at, av := attrs[name], path.GetAttr(name), v.GetAttr(name)
		hide := secret || a.Sensitive || a.WriteOnly || a.Nested != nil &&
			(&provider.Block{Attributes: a.Nested.Attributes}).HasSensitive()
		if check := c.words(a).Check; check != nil {
			if problem := check.Problem(av, !hide); problem != "" {
				c.diags = append(c.diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Invalid value",
					Path: reachable(c.block, at), Clean: c.redact != nil,
					Detail: fmt.Sprintf("The attribute %s has a value that the provider does not allow: %s.",
						value.FormatPath(at), c.clean(problem))})
			}
		}
		if a.Nested != nil {
			members(a.Nested.Nesting, at, av, func(path cty.Path, v cty.Value) {
				c.object(path, secret || a.Sensitive, a.Nested.Attributes, nil, v)
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		nb := blocks[name]
		members(nb.Nesting, path.GetAttr(name), v.GetAttr(name), func(path cty.Path, v cty.Value) {
			c.object(path, secret, nb.Attributes, nb.Blocks, v)
		})
	}
}

// members calls visit for each object of a nested attribute or of blocks. The path of an element of a set is that of
// the set.
func members(nesting provider.Nesting, path cty.Path, v cty.Value, visit func(cty.Path, cty.Value)) {
	if v.IsNull() || !v.IsKnown() {
		return
	}
	one := func(path cty.Path, v cty.Value) {
		if !v.IsNull() && v.IsKnown() {
			visit(path.Copy(), v)
		}
	}
	switch nesting {
	case provider.NestingSingle, provider.NestingGroup:
		one(path, v)
	case provider.NestingMap:
		for key, ev := range ctyfast.Each(v) {
			one(path.IndexString(key.AsString()), ev)
		}
	case provider.NestingSet:
		for _, ev := range v.AsValueSlice() {
			one(path, ev)
		}
	default:
		for i, ev := range v.AsValueSlice() {
			one(path.IndexInt(i), ev)
		}
	}
}

// PlanAction implements provider.Provider.
func (h *handler) PlanAction(ctx context.Context, req provider.PlanActionRequest) provider.PlanActionResponse {
	rt, t := h.typeOf(provider.Action, req.Type)
	if rt == nil {
		return h.Base.PlanAction(ctx, req)
	}
	config := h.withDefaults(rt.Block, req.Config)
	diags := h.check(rt.Block, config)
	if diags.HasErrors() || !t.Does("plan") {
		return provider.PlanActionResponse{Diagnostics: diags}
	}
	r := h.requestFor(ctx, "plan", rt, t, req.Type, addr.Object{})
	r.reads = true
	r.object("config", rt.Block, config, true)
	_, more := r.call(`{"diagnostics": […]}, or {}`)
	return provider.PlanActionResponse{Diagnostics: diags.Extend(more)}
}
