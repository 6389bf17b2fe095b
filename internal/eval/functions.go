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
	// Loose is the table for provider blocks; nil means Table. Values in provider blocks, such as tokens, may change
	// after the plan.
	Loose map[string]function.Function
	// OfProvider returns the functions of a provider by name, or nil if it cannot be started. It is called
	// concurrently, and only for providers whose functions a module calls.
	OfProvider func(addr.Provider) map[string]function.Function
	// LooseOfProvider is to OfProvider as Loose is to Table.
	LooseOfProvider func(addr.Provider) map[string]function.Function
}

// providerNamespace is the prefix of provider functions: provider::LOCALNAME::NAME.
const providerNamespace = "provider::"

// functions returns the function table of a module: the core functions, those of the providers that it calls, and those
// that function blocks define.
func (w *Walk) functions(u *linking.Unit) map[string]function.Function {
	return w.table(u, w.Inputs.Functions.Table, w.Inputs.Functions.OfProvider, &w.tables)
}

// loosely returns the scope with the functions for provider blocks.
func (w *Walk) loosely(ctx *hcl.EvalContext, u *linking.Unit) *hcl.EvalContext {
	in := w.Inputs.Functions
	if in.Loose != nil {
		ctx.Functions = w.table(u, in.Loose, in.LooseOfProvider, &w.looseTables)
	}
	return ctx
}

// table returns the function table of a module, based on a common one. It is built once.
func (w *Walk) table(u *linking.Unit, core map[string]function.Function, of ofProvider,
	made *map[*linking.Unit]map[string]function.Function) map[string]function.Function {
	if len(u.Called) == 0 && !u.Declared.Own {
		return core
	}
	w.tablesMu.Lock()
	defer w.tablesMu.Unlock()
	if *made == nil {
		*made = map[*linking.Unit]map[string]function.Function{}
	}
	return tableOf(u, core, of, *made)
}

// tableOf returns the table of a module, and builds the tables of the modules that it calls.
func tableOf(u *linking.Unit, core map[string]function.Function, of ofProvider,
	made map[*linking.Unit]map[string]function.Function) map[string]function.Function {
	table := made[u]
	if table == nil {
		table = maps.Clone(core)
		made[u] = table
		addProviderFunctions(table, u.Module, u.Called, of)
		addModuleFunctions(table, u, core, of, made)
	}
	return table
}

// addModuleFunctions adds the functions defined in a module and in the modules that it calls.
func addModuleFunctions(table map[string]function.Function, u *linking.Unit, core map[string]function.Function,
	of ofProvider, made map[*linking.Unit]map[string]function.Function) {
	u.Declared.AddFunctions(table, func(call string) (*config.Declared, map[string]function.Function) {
		child := u.Calls[call]
		if child == nil || len(child.Declared.Functions) == 0 {
			return nil, nil
		}
		return child.Declared, tableOf(child, core, of, made)
	})
}

// outside returns the table for expressions that are not part of the configuration but use the names of a module. src
// is their text, which determines the providers whose functions they call. Files that other tools read can call none of
// the module's own functions.
func (w *Walk) outside(u *linking.Unit, core map[string]function.Function, src []byte,
	filename string) map[string]function.Function {
	table := maps.Clone(core)
	of := w.Inputs.Functions.OfProvider
	addProviderFunctions(table, u.Module, linking.CalledProviders(src, filename), of)
	if config.IsOwn(filename) {
		addModuleFunctions(table, u, core, of, map[*linking.Unit]map[string]function.Function{})
	}
	return table
}

// checkFunctions evaluates the functions defined in the configuration with unknown arguments.
func (w *Walk) checkFunctions() {
	done := map[string]bool{}
	for _, u := range w.Program.Units() {
		if done[u.Module.Dir] {
			continue
		}
		done[u.Module.Dir] = true
		for _, name := range slices.Sorted(maps.Keys(u.Declared.Functions)) {
			_ = w.Report(u.Declared.Functions[name].Check(w.functions(u))) // nothing depends on it
		}
	}
}

// ofProvider returns the functions of a provider.
type ofProvider = func(addr.Provider) map[string]function.Function

// addProviderFunctions adds the functions of some required providers of a module. Providers that cannot be started add
// none, so that their functions are unknown.
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

// whose returns the module for a namespace of functions.
func whose(namespace string) string {
	if called, ok := strings.CutPrefix(namespace, config.CalledFunctions); ok {
		return "module." + strings.TrimSuffix(called, "::")
	}
	return "this module"
}

// nameProviderFunction rewords the diagnostic about an unknown function with a namespace, which the hcl library does
// not support; it returns others unchanged.
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
	if namespace == config.OwnFunctions || strings.HasPrefix(namespace, config.CalledFunctions) {
		d.Summary = "Unknown function"
		if d.Subject != nil && !config.IsOwn(d.Subject.Filename) {
			d.Detail = fmt.Sprintf("There is no function %s here."+config.OnlyInOwn,
				namespace+call.CalledFunctionName(), "calls of functions of modules")
			return d
		}
		d.Detail = fmt.Sprintf("There is no function block %q in %s.%s", call.CalledFunctionName(), whose(namespace),
			diag.DidYouMean(call.CalledFunctionName(), have))
		return d
	}
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
