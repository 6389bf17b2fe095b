package handler

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// keyOf names the attribute by which an object is found again and that only the program can tell: the one that takes
// the id of an import, or else "id". It is empty for types that have none.
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

// blank reports that a value names nothing.
func blank(v cty.Value) bool {
	return !v.IsKnown() || v.IsNull() || v.Type() == cty.String && v.AsString() == ""
}

// nameless reports that an object cannot be found again: its key names nothing, and there is no identity.
func (r *request) nameless(rt *provider.ResourceType, v, identity cty.Value) bool {
	key := keyOf(rt, r.t)
	return key != "" && v != cty.NilVal && !v.IsNull() && blank(v.GetAttr(key)) &&
		(identity == cty.NilVal || identity.IsNull())
}

// named ensures that the object which a creation or an update leaves in the state can be found again. An object whose
// key was known keeps it. One that was made without a key is not stored: it could not be found to be read or deleted,
// and a program that asks its service for the object "null" may be told that it is gone. Its result is unknown then,
// which the engine reports. A program that reports a failure returns the object itself, with or without a key.
func (r *request) named(a *answer, rt *provider.ResourceType, req provider.ApplyRequest, resp *provider.ApplyResponse) {
	if !r.nameless(rt, resp.State, resp.Identity) {
		return
	}
	key, known := keyOf(rt, r.t), req.Planned
	if r.action == "update" {
		known = req.Prior
	}
	was := known.GetAttr(key)
	switch {
	case was.IsKnown() && !was.IsNull() && was.RawEquals(resp.State.GetAttr(key)):
		return // it is configured so
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

// withoutKey warns of an object that is stored though it cannot be found again.
func (r *request) withoutKey(rt *provider.ResourceType, problem string) *diag.Diagnostic {
	d := r.problem("Object has no id", fmt.Sprintf("%s, and %s. The stored object has no value for %q, probably "+
		"because its creation failed halfway. The state is not changed. If the object exists, import it instead, or "+
		"delete it by hand. If it does not exist, remove it from the state.",
		r.asked(), problem, keyOf(rt, r.t)))
	d.Severity = diag.Warning
	d.Advice = diag.Advise("To remove it, use %s.", diag.Means("state rm"))
	return d
}
