package tombolo

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// unsupported reports what a configuration asks for that this version does not do yet. Passing over it could create or destroy
// something that was meant otherwise.
func unsupported(cfg *config.Config) diag.List {
	var diags diag.List
	refuse := func(rng hcl.Range, what, instead string) {
		diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Not supported yet", Subject: &rng,
			Detail: fmt.Sprintf("This version of Tombolo does not know %s yet. %s", what, instead)})
	}
	for _, m := range cfg.SortedModules() {
		for _, b := range m.ProviderMeta {
			refuse(b.Range, "provider_meta blocks", "Remove the block.")
		}
	}
	return diags
}
