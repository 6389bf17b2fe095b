package testfile

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// WithoutNamespaces rewords the diagnostics about unknown functions with a namespace: except in assertions, a test file
// can only call built-in functions. It changes the list.
func WithoutNamespaces(diags diag.List) diag.List {
	for i, d := range diags {
		call, ok := d.Extra.(hclsyntax.FunctionCallUnknownDiagExtra)
		if !ok || call.CalledFunctionNamespace() == "" {
			continue
		}
		named := *d
		namespace := strings.Trim(call.CalledFunctionNamespace(), ":") + "::"
		where, whose := "assertions", "providers"
		if namespace == config.OwnFunctions || strings.HasPrefix(namespace, config.CalledFunctions) {
			where, whose = "assertions in *.tombolotest.hcl files", "modules"
		}
		named.Summary = "Unknown function"
		named.Detail = fmt.Sprintf("Only %s can call functions of %s, such as %s. Other values in a test file can "+
			"call built-in functions.", where, whose, namespace+call.CalledFunctionName())
		diags[i] = &named
	}
	return diags
}
