package planning

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/provider"
)

// An optional import imports an object, or creates it if it does not exist. Most providers import any id, and only find
// out in the following read whether the object exists. Program providers and those of sdk/schema report it directly
// (provider.NoSuchObject). Others fail, whatever the reason: then a list of all objects shows whether there is one with
// the identity, if the provider can list them without arguments.

// mostListed is the maximum number of objects to list in order to find out whether one exists.
const mostListed = 10_000

// presence is the existence of an object, as far as a provider reports it.
type presence int

const (
	untold presence = iota
	absent
	present
)

// exists determines the existence of an object from the errors of its import.
func (p *planner) exists(o addr.Object, cfg addr.AbsProviderConfig, rt *provider.ResourceType, inst provider.Provider,
	sought eval.ImportID, failed diag.List) (presence, error) {
	for _, d := range failed {
		if d.Severity == diag.Error && d.Summary != provider.NoSuchObject {
			return p.isListed(o, cfg, rt, inst, sought)
		}
	}
	return absent, nil
}

// isListed reports whether a provider lists an object with an identity.
func (p *planner) isListed(o addr.Object, cfg addr.AbsProviderConfig, rt *provider.ResourceType,
	inst provider.Provider, sought eval.ImportID) (presence, error) {
	schema, err := p.Schema(cfg.Provider)
	if err != nil {
		return untold, err
	}
	typ := o.Instance.Resource.Type
	list := schema.Lists[typ]
	if list == nil || rt.Identity == nil || !sought.ByIdentity() || needsArguments(list.Block) {
		return untold, nil
	}
	config := list.Block.EmptyValue()
	if inst.ValidateResource(p.calls, provider.ValidateResourceRequest{Object: o, Kind: provider.ListResource,
		Type: typ, Config: config, IncludeObject: cty.False, Limit: cty.NumberIntVal(mostListed),
		Client: access.Client}).HasErrors() {
		return untold, nil // the list requires arguments
	}
	var resp provider.ListResponse
	if err := p.Ask(access.Of{Provider: cfg.Provider, Object: o}, func(int) diag.List {
		resp = inst.List(p.calls, provider.ListRequest{Type: typ, Config: config, Limit: mostListed})
		return resp.Diagnostics
	}); err != nil {
		return untold, err
	}
	if resp.Diagnostics.HasErrors() || len(resp.Results) >= mostListed {
		return untold, nil
	}
	for _, found := range resp.Results {
		switch sameIdentity(found.Identity, sought.Identity) {
		case present:
			return present, nil
		case untold:
			return untold, nil
		}
	}
	return absent, nil
}

// needsArguments reports whether a list cannot have an empty configuration.
func needsArguments(b *provider.Block) bool {
	for _, a := range b.Attributes {
		if a.Required {
			return true
		}
	}
	for _, nested := range b.Blocks {
		if nested.MinItems > 0 {
			return true
		}
	}
	return false
}

// sameIdentity compares the identity of an object with the identity to find, in which null attributes match any value.
func sameIdentity(found, sought cty.Value) presence {
	if found == cty.NilVal || found.IsNull() || !ctyfast.WhollyKnown(found) ||
		!found.Type().Equals(sought.Type()) {
		return untold
	}
	for name, v := range sought.AsValueMap() {
		if !v.IsNull() && !v.RawEquals(found.GetAttr(name)) {
			return absent
		}
	}
	return present
}

// undecided adds to the errors of an optional import that the existence of the object is unknown.
func undecided(diags diag.List) diag.List {
	out := make(diag.List, len(diags))
	copy(out, diags)
	for i, d := range out {
		if d.Severity != diag.Error {
			continue
		}
		explained := *d
		explained.Detail += "\n\nThe import is optional, but this answer does not show whether the object exists, so " +
			"it is neither imported nor created. If it does not exist, remove the import block."
		out[i] = &explained
		break
	}
	return out
}
