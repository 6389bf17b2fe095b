package value

import (
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
)

// ProviderBug ends what is said of an answer that no provider may give.
const ProviderBug = "The mistake is in the provider: please tell those who maintain it."

// BadAnswer words what a provider got wrong about an object, naming provider, object and attribute.
func BadAnswer(o addr.Object, cfg addr.AbsProviderConfig, summary string, errs []PathError) diag.List {
	var diags diag.List
	for _, e := range errs {
		diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: summary, Address: o.String(), Path: e.Path,
			Detail: "Provider " + cfg.Provider.ForDisplay() + " answered for " + o.String() + " with something that cannot be: " + e.Error() +
				".\n\n" + ProviderBug})
	}
	return diags
}
