package handler

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// keyOf returns the attribute that identifies an object and that only the program can determine: the one with the ID of
// an import, or else "id". It is "" for types without one.
func keyOf(rt *provider.ResourceType, t *manifest.Type) string {
	name := "id"
	if t != nil && t.Import != "" {
		name = t.Import
	}
	if a := rt.Block.Attributes[name]; a == nil || !a.Computed {
		return ""
	}
	return name
}

// blank reports whether a value identifies nothing.
func blank(v cty.Value) bool {
	return !v.IsKnown() || v.IsNull() || v.Type() == cty.String && v.AsString() == ""
}

// lacksKey reports whether an object cannot be found again: its key is blank, and it has no identity.
func (r *request) lacksKey(rt *provider.ResourceType, v, identity cty.Value) bool {
	key := keyOf(rt, r.t)
	return key != "" && v != cty.NilVal && !v.IsNull() && blank(v.GetAttr(key)) &&
		(identity == cty.NilVal || identity.IsNull())
}

// named checks that the object which a create or update leaves in the state can be found again. An object with a key
// keeps it. An object that was created without a key is not stored, because it could not be read or deleted, and a
// program that asks its service for the object "null" may answer that it does not exist. The result is then unknown,
// which the engine reports. A program that reports a failure returns the object itself, with or without a key.
func (r *request) named(a *answer, rt *provider.ResourceType, req provider.ApplyRequest, resp *provider.ApplyResponse) {
	if !r.lacksKey(rt, resp.State, resp.Identity) {
		return
	}
	key, known := keyOf(rt, r.t), req.Planned
	if r.action == "update" {
		known = req.Prior
	}
	was := known.GetAttr(key)
	switch {
	case was.IsKnown() && !was.IsNull() && was.RawEquals(resp.State.GetAttr(key)):
		return // configured that way
	case !blank(was):
		vals := resp.State.AsValueMap()
		vals[key] = was
		resp.State = cty.ObjectVal(vals)
	case r.action == "create" && !a.failed:
		resp.State = cty.NilVal
	}
	if !resp.Diagnostics.HasErrors() {
		d := r.badAnswer(a,
			fmt.Sprintf("state.%s is not set, but it is needed to find the object again. Expected: {\"state\": {%q: "+
				"…}}",
				key, key))
		d.Path = cty.GetAttrPath(key)
		resp.Diagnostics = resp.Diagnostics.Append(d)
	}
}

// withoutKey returns a warning about an object that is stored although it cannot be found again.
func (r *request) withoutKey(rt *provider.ResourceType, problem string) *diag.Diagnostic {
	d := r.problem("Object has no id", fmt.Sprintf("%s, and %s. The stored object has no value for %q, probably "+
		"because its creation failed halfway. The state is not changed. If the object exists, import it instead, or "+
		"delete it by hand. If it does not exist, remove it from the state.",
		r.asked(), problem, keyOf(rt, r.t)))
	d.Severity = diag.Warning
	d.Advice = diag.Advise("To remove it, use %s.", diag.Means("state rm"))
	return d
}
