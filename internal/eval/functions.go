package eval

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
)

// Functions are the functions that expressions can call.
type Functions struct {
	// Table holds the core functions; see package funcs.
	Table map[string]function.Function
	// Loose is the table for provider blocks; nil means Table. Values that are read there, such as a token, may change
	// after the plan.
	Loose map[string]function.Function
	// OfProvider returns the functions of a provider by name; nil if it cannot be started. It is called only for
	// providers whose functions a module calls, and concurrently.
	OfProvider func(addr.Provider) map[string]function.Function
	// LooseOfProvider is the same for provider blocks, as Loose is for Table.
	LooseOfProvider func(addr.Provider) map[string]function.Function
}

// providerNamespace begins the names of functions of providers: provider::LOCALNAME::NAME.
const providerNamespace = "provider::"

// functions returns the function table of a module: the core functions and those of the providers that it calls.
func (w *Walk) functions(u *linking.Unit) map[string]function.Function {
	if len(u.Called) == 0 {
		return w.Inputs.Functions.Table
	}
	w.tablesMu.Lock()
	defer w.tablesMu.Unlock()
	table := w.tables[u]
	if table == nil {
		table = maps.Clone(w.Inputs.Functions.Table)
		addProviderFunctions(table, u.Module, u.Called, w.Inputs.Functions.OfProvider)
		if w.tables == nil {
			w.tables = map[*linking.Unit]map[string]function.Function{}
		}
		w.tables[u] = table
	}
	return table
}

// loosely returns a scope with the functions for provider blocks.
func (w *Walk) loosely(ctx *hcl.EvalContext, u *linking.Unit) *hcl.EvalContext {
	if w.Inputs.Functions.Loose == nil {
		return ctx
	}
	ctx.Functions = w.Inputs.Functions.Loose
	if len(u.Called) > 0 {
		ctx.Functions = maps.Clone(ctx.Functions)
		addProviderFunctions(ctx.Functions, u.Module, u.Called, w.Inputs.Functions.LooseOfProvider)
	}
	return ctx
}

// addProviderFunctions adds the functions of some of a module's required providers. Providers that cannot be started
// add nothing: the call is then one of an unknown function.
func addProviderFunctions(table map[string]function.Function, m *config.Module, localNames []string,
	of func(addr.Provider) map[string]function.Function) {
	if of == nil {
		return
	}
	for _, local := range localNames {
		required := m.RequiredProviders[local]
		if required == nil {
			continue
		}
		for name, f := range of(required.Source) {
			table[providerNamespace+local+"::"+name] = f
		}
	}
}

// nameProviderFunction rewords the diagnostic about an unknown function with a namespace, which the hcl library does
// not know; it returns others as they are.
func nameProviderFunction(d *diag.Diagnostic) *diag.Diagnostic {
	call, ok := d.Extra.(hclsyntax.FunctionCallUnknownDiagExtra)
	if !ok || call.CalledFunctionNamespace() == "" {
		return d
	}
	named := *d
	d = &named
	namespace := strings.Trim(call.CalledFunctionNamespace(), ":") + "::"
	var have []string
	for ctx := d.EvalContext; ctx != nil; ctx = ctx.Parent() {
		for name := range ctx.Functions {
			if rest, of := strings.CutPrefix(name, namespace); of && !strings.Contains(rest, "::") {
				have = append(have, rest)
			}
		}
	}
	slices.Sort(have)
	d.Summary = "Unknown provider function"
	d.Detail = fmt.Sprintf("There is no function named %q.", namespace+call.CalledFunctionName())
	local, ofProvider := strings.CutPrefix(namespace, providerNamespace)
	switch suggestion := diag.DidYouMean(call.CalledFunctionName(), have); {
	case suggestion != "":
		d.Detail += suggestion
	case len(have) > 0 && ofProvider:
		d.Detail += fmt.Sprintf(" The provider %q has the functions %s.", strings.Trim(local, ":"),
			strings.Join(have, ", "))
	case ofProvider:
		d.Detail += fmt.Sprintf(" This module has no provider with the local name %q that has functions. Add the "+
			"provider to its required_providers block, and check that the installed version has the function.",
			strings.Trim(local, ":"))
	case len(have) == 0:
		d.Detail += " Call functions of providers as provider::LOCALNAME::FUNCTION(...)."
	}
	return d
}
