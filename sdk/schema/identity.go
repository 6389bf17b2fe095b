package schema

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// ResourceIdentity describes the permanent identity of an object: a few attributes of primitive types, or lists of
// them. An attribute with the same name as one of the resource has its value, unless a callback sets it.
type ResourceIdentity struct {
	Version    int64
	SchemaFunc func() map[string]*Schema
	// IdentityUpgraders upgrade stored identities to the current version.
	IdentityUpgraders []IdentityUpgrader
}

// IdentityUpgrader upgrades a stored identity from Version to the version after it.
type IdentityUpgrader struct {
	Version int64
	Type    cty.Type
	Upgrade StateUpgradeFunc
}

func identitySchema(r *ResourceIdentity) *provider.IdentitySchema {
	if r == nil {
		return nil
	}
	out := &provider.IdentitySchema{Version: r.Version, Attributes: map[string]*provider.IdentityAttribute{}}
	for name, f := range r.fields() {
		out.Attributes[name] = &provider.IdentityAttribute{
			Type: f.ty, Description: f.schema.Description, RequiredForImport: f.schema.RequiredForImport,
			OptionalForImport: f.schema.OptionalForImport,
		}
	}
	return out
}

func (r *ResourceIdentity) fields() map[string]*field {
	c := compiler{fields: map[*provider.Attribute]*field{}}
	if r.SchemaFunc == nil {
		return nil
	}
	return c.object(r.SchemaFunc(), true).fields
}

// IdentityData is the identity of an object.
type IdentityData struct {
	typ      *resourceType
	fields   map[string]*field
	now      cty.Value // an object whose attributes may be null
	mistakes []error
}

func (t *resourceType) identityData(v cty.Value) *IdentityData {
	if t.resource.Identity == nil {
		return nil
	}
	id := &IdentityData{typ: t, fields: t.resource.Identity.fields()}
	vals := map[string]cty.Value{}
	for name, f := range id.fields {
		vals[name] = value.UnknownAsNull(member(v, name, f.ty))
	}
	id.now = cty.ObjectVal(vals)
	return id
}

// Identity returns the identity of the object, to be read and set. It returns an error for a type without one.
func (d *ResourceData) Identity() (*IdentityData, error) {
	if d.identity == nil {
		return nil, fmt.Errorf("%s has no identity", d.typ.name)
	}
	return d.identity, nil
}

// ImportStatePassthroughWithIdentity imports by the id or, if the user gave an identity, by one of its attributes,
// which becomes the id.
func ImportStatePassthroughWithIdentity(attribute string) StateContextFunc {
	return func(_ context.Context, d *ResourceData, _ interface{}) ([]*ResourceData, error) {
		if d.Id() != "" {
			return []*ResourceData{d}, nil
		}
		identity, err := d.Identity()
		if err != nil {
			return nil, err
		}
		id, ok := identity.Get(attribute).(string)
		if !ok || id == "" {
			return nil,
				fmt.Errorf(
					"the attribute %q of the identity of %s must be a string that is not empty: it becomes the id",
					attribute, d.typ.name)
		}
		d.SetId(id)
		return []*ResourceData{d}, nil
	}
}

// Get returns an attribute of the identity; null is zero.
func (id *IdentityData) Get(key string) interface{} {
	f := id.fields[key]
	if f == nil {
		fail(nil, "Unknown attribute", "The provider reads %q, which the identity does not have. %s", key,
			value.ProviderBug)
	}
	return f.decode(member(id.now, key, f.ty))
}

// GetOk is like Get, and reports whether the value is neither null nor zero.
func (id *IdentityData) GetOk(key string) (interface{}, bool) {
	v := id.Get(key)
	return v, !isZero(v)
}

// Set sets an attribute of the identity. As with ResourceData, an error makes the operation fail even if it is ignored.
func (id *IdentityData) Set(key string, v interface{}) error {
	f := id.fields[key]
	if f == nil {
		err := &setError{fmt.Errorf("set %q: the identity has no such attribute.%s", key,
			diag.DidYouMean(key, slices.Sorted(maps.Keys(id.fields))))}
		id.mistakes = append(id.mistakes, err)
		return err
	}
	encoded, err := f.encode(nil, v, cty.NilVal)
	if err != nil {
		err = &setError{fmt.Errorf("set %q of the identity: %w", key, err)}
		id.mistakes = append(id.mistakes, err)
		return err
	}
	vals := id.now.AsValueMap()
	vals[key] = encoded
	id.now = cty.ObjectVal(vals)
	return nil
}

// text returns a string of the identity, or "" if there is none.
func (id *IdentityData) text(key string) string {
	if f := id.fields[key]; f != nil && f.ty == cty.String {
		return id.Get(key).(string)
	}
	return ""
}

// complete reports whether any attribute of the identity is set.
func (id *IdentityData) complete() bool {
	if id == nil {
		return false
	}
	for _, v := range id.now.AsValueMap() {
		if !v.IsNull() {
			return true
		}
	}
	return false
}

// result returns the identity of a stored object, with unset attributes filled from the object.
func (id *IdentityData) result(state cty.Value) (cty.Value, diag.List) {
	if id == nil || state.IsNull() {
		return cty.NilVal, nil
	}
	vals := id.now.AsValueMap()
	for name, f := range id.fields {
		if v := memberOf(state, name); vals[name].IsNull() && v != cty.NilVal && v.Type().Equals(f.ty) {
			vals[name] = v
		}
	}
	id.now = cty.ObjectVal(vals)
	diags := dropped(id.mistakes, nil)
	if !id.complete() {
		diags = diags.Errorf(nil, "No identity",
			"The provider's callback for %s did not set the identity of the object. %s", id.typ.name, value.ProviderBug)
	}
	return id.now, diags
}

// UpgradeIdentity upgrades a stored identity to the current version of its schema.
func (s *server) UpgradeIdentity(ctx context.Context,
	req provider.UpgradeIdentityRequest) provider.UpgradeIdentityResponse {
	t := s.managed[req.Type]
	if t == nil || t.resource.Identity == nil {
		return s.Base.UpgradeIdentity(ctx, req)
	}
	var resp provider.UpgradeIdentityResponse
	resp.Diagnostics = s.guard(ctx, t, "upgrade the identity of", func(ctx context.Context) diag.List {
		v, err := t.upgradeIdentity(ctx, req, s.meta())
		resp.Identity = v
		return diag.FromError("Stored identity cannot be used", err)
	})
	return resp
}

func (t *resourceType) upgradeIdentity(ctx context.Context, req provider.UpgradeIdentityRequest, meta interface{}) (
	cty.Value, error) {
	r := t.resource.Identity
	if req.Version > r.Version {
		return cty.NilVal,
			fmt.Errorf("the stored identity of %s has version %d, but this provider supports versions up to %d", t.name,
				req.Version, r.Version)
	}
	raw := req.JSON
	if req.Version < r.Version {
		members, err := readStored(raw)
		if err != nil {
			return cty.NilVal, fmt.Errorf("the stored identity of %s is not a JSON object: %w", t.name, err)
		}
		for v := req.Version; v < r.Version; v++ {
			i := slices.IndexFunc(r.IdentityUpgraders, func(u IdentityUpgrader) bool { return u.Version == v })
			if i < 0 {
				continue
			}
			if members, err = r.IdentityUpgraders[i].Upgrade(ctx, members, meta); err != nil {
				return cty.NilVal, fmt.Errorf("the stored identity of %s cannot be upgraded from version %d to %d: %w",
					t.name, v, v+1, err)
			}
		}
		if raw, err = writeStored(members); err != nil {
			return cty.NilVal, err
		}
	}
	v, err := ctyjson.Unmarshal(raw, t.wire.Identity.ImpliedType())
	if err != nil {
		return cty.NilVal, fmt.Errorf("the stored identity of %s does not fit its schema: %w", t.name, err)
	}
	return v, nil
}
