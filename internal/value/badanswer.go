package value

import (
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// ProviderBug is the end of messages about responses that violate the contract.
const ProviderBug = "This is a bug in the provider. Please report it to its maintainers."

// BadAnswer returns the error for an invalid response of a provider, with provider, object and attribute.
func BadAnswer(o addr.Object, cfg addr.AbsProviderConfig, summary string, errs []PathError) diag.List {
	var diags diag.List
	for _, e := range errs {
		diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: summary, Address: o.String(),
			Path: e.Path,
			Detail: "Provider " + cfg.Provider.ForDisplay() + " answered for " + o.String() +
				" with an invalid value: " + e.Error() +
				".\n\n" + ProviderBug})
	}
	return diags
}

// Undeferred returns an error for a deferred response, which the engine does not support. The rest of such a response
// does not describe the object. For other responses it returns nil.
func Undeferred(o addr.Object, cfg addr.AbsProviderConfig, reason provider.DeferredReason) diag.List {
	var why string
	switch reason {
	case provider.NotDeferred:
		return nil
	case provider.DeferredConfigUnknown:
		why = "the configuration of the object is not fully known"
	case provider.DeferredProviderUnknown:
		why = "the configuration of the provider is not fully known"
	case provider.DeferredAbsentPrerequisite:
		why = "something that the object needs does not exist"
	default:
		why = "without a reason"
	}
	return diag.List{{Severity: diag.Error, Summary: "Provider deferred changes when deferrals are not allowed",
		Address: o.String(),
		Detail: "Provider " + cfg.Provider.ForDisplay() + " answered for " + o.String() +
			" with a deferral (" + why +
			"), although the request did not allow deferred changes.\n\n" + ProviderBug}}
}
