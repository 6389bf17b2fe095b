package config

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
)

func newModule(dir string, path addr.Module, f flavor.Flavor) *Module {
	m := &Module{
		Path: path, Dir: dir, Children: map[string]*Module{}, flavor: f, host: f.RegistryHost(),
		RequiredProviders: map[string]*RequiredProvider{},
		ProviderConfigs:   map[addr.LocalProviderConfig]*ProviderConfig{},
		ProviderMeta:      map[string]*ProviderMeta{},
		Types:             map[string]*NamedType{},
		Functions:         map[string]*Function{},
		Variables:         map[string]*Variable{},
		Locals:            map[string]*Local{},
		Outputs:           map[string]*Output{},
		Calls:             map[string]*ModuleCall{},
		Resources:         map[addr.Resource]*Resource{},
		Checks:            map[string]*Check{},
	}
	m.declared = &Declared{Types: newTypes(m), module: m}
	return m
}

// assembly is a module while its files are merged: declarations can still be overridden.
type assembly struct {
	*Module
	requirements *requirements
	variables    map[string]*variableDecl
	outputs      map[string]*outputDecl
	calls        map[string]*callDecl
	diags        diag.List
	refused      bool // a file of the module has errors
}

// assemble merges the content of all files, primary ones first, into the module.
func (m *Module) assemble(parsed []*parsedFile) diag.List {
	a := &assembly{
		Module:    m,
		variables: map[string]*variableDecl{}, outputs: map[string]*outputDecl{}, calls: map[string]*callDecl{},
	}
	for _, f := range parsed {
		a.refused = a.refused || f.diags.HasErrors()
		a.declared.Own = a.declared.Own || IsOwn(f.name)
		if f.override {
			a.override(&f.content)
			continue
		}
		a.addRequirements(&f.content)
		a.addValues(&f.content)
		a.addObjects(&f.content)
	}
	a.finish()
	return a.diags
}

// duplicate reports the second declaration of a name.
func (a *assembly) duplicate(rng, first hcl.Range, summary, what string) {
	a.diags = a.diags.Errorf(&rng, summary, "%s was already declared at %s. Rename or remove one of the two.", what,
		first)
}

// sameName reports the second declaration of its kind with a name.
func (a *assembly) sameName(rng, first hcl.Range, summary, kind, name string) {
	a.duplicate(rng, first, summary, fmt.Sprintf("%s named %q", kind, name))
}

// put stores a declaration under its name, and returns the earlier one of that name, or nil.
func put[T any](m map[string]*T, name string, v *T) (first *T) {
	first = m[name]
	m[name] = v
	return first
}

// addRequirements adds the content of terraform and provider blocks.
func (a *assembly) addRequirements(c *fileContent) {
	a.RequiredVersions = append(a.RequiredVersions, c.requiredVersions...)
	for _, b := range c.backends {
		if a.Backend != nil {
			a.duplicate(b.Range, a.Backend.Range, "Duplicate backend configuration", "The backend of the module")
			continue
		}
		a.Backend = b
	}
	for _, b := range c.clouds {
		if a.Cloud != nil {
			a.duplicate(b.Range, a.Cloud.Range, "Duplicate HCP Terraform configurations",
				"The cloud block of the module")
			continue
		}
		a.Cloud = b
	}
	for _, e := range c.encryption {
		if len(a.Encryption) > 0 {
			a.duplicate(e.Range, a.Encryption[0].Range, "Duplicate encryption configuration",
				"The encryption block of the module")
			continue
		}
		a.Encryption = append(a.Encryption, e)
	}
	for _, b := range c.providerMetas {
		if first, ok := a.ProviderMeta[b.LocalName]; ok {
			a.duplicateMeta(b, first)
			continue
		}
		a.ProviderMeta[b.LocalName] = b
	}
	for _, r := range c.requirements {
		if a.requirements != nil {
			a.duplicate(r.rng, a.requirements.rng, "Duplicate required providers configuration",
				"The required_providers block of the module")
			continue
		}
		a.requirements = r
		for _, entry := range r.entries {
			a.RequiredProviders[entry.Name] = entry
		}
	}
	for _, p := range c.providers {
		if first, ok := a.ProviderConfigs[p.Addr()]; ok {
			what := fmt.Sprintf("The default configuration of the provider %q", p.LocalName)
			if p.Alias != "" {
				what = fmt.Sprintf("A configuration of the provider %q with the alias %q", p.LocalName, p.Alias)
			}
			a.duplicate(p.Range, first.Range, "Duplicate provider configuration", what)
			continue
		}
		a.ProviderConfigs[p.Addr()] = p
	}
}

// addValues adds types, functions, variables, locals and outputs.
func (a *assembly) addValues(c *fileContent) {
	for _, t := range c.types {
		if first := put(a.Types, t.Name, t); first != nil {
			a.sameName(t.Range, first.Range, "Duplicate type", "A type", t.Name)
		}
	}
	for _, f := range c.functions {
		if first := put(a.Functions, f.Name, f); first != nil {
			a.sameName(f.Range, first.Range, "Duplicate function", "A function", f.Name)
		}
	}
	for _, v := range c.variables {
		if first := put(a.variables, v.Name, v); first != nil {
			a.sameName(v.Range, first.Range, "Duplicate variable declaration", "A variable", v.Name)
		}
	}
	for _, l := range c.locals {
		if first := put(a.Locals, l.Name, l); first != nil {
			a.sameName(l.Range, first.Range, "Duplicate local value definition", "A local value", l.Name)
		}
	}
	for _, o := range c.outputs {
		if first := put(a.outputs, o.Name, o); first != nil {
			a.sameName(o.Range, first.Range, "Duplicate output definition", "An output value", o.Name)
		}
	}
}

// addObjects adds modules, resources, checks, and blocks such as moved and import.
func (a *assembly) addObjects(c *fileContent) {
	for _, call := range c.calls {
		if first := put(a.calls, call.Name, call); first != nil {
			a.sameName(call.Range, first.Range, "Duplicate module call", "A module call", call.Name)
		}
	}
	for _, r := range c.resources {
		a.addResource(r)
	}
	for _, check := range c.checks {
		if first, ok := a.Checks[check.Name]; ok {
			a.duplicate(check.Range, first.Range, fmt.Sprintf("Duplicate check %q configuration", check.Name),
				fmt.Sprintf("A check block named %q", check.Name))
			continue
		}
		a.Checks[check.Name] = check
	}
	a.Moved = append(a.Moved, c.moved...)
	for _, r := range c.removed {
		a.Removed = append(a.Removed, r.in(a.Path))
	}
	a.refactorings = append(a.refactorings, c.refactorings...)
	a.Imports = append(a.Imports, c.imports...)
}

func (a *assembly) addResource(r *Resource) {
	if first, ok := a.Resources[r.Addr]; ok {
		word := r.Addr.Mode.String()
		if r.Addr.Mode == addr.Managed {
			word = "resource"
		}
		a.duplicate(r.DeclRange, first.DeclRange, fmt.Sprintf("Duplicate %s %q configuration", word, r.Addr.Type),
			"The block "+r.Addr.String())
		return
	}
	r.Module = a.Module
	a.Resources[r.Addr] = r
}

// finish computes the module's final values, and everything else that depends on all declarations.
func (a *assembly) finish() {
	for name, v := range a.variables {
		a.Variables[name] = v.finish()
	}
	for name, o := range a.outputs {
		a.Outputs[name] = &o.Output
	}
	for name, c := range a.calls {
		a.Calls[name] = &c.ModuleCall
	}
	for _, check := range sortedBy(a.Checks, strings.Compare) {
		if check.Data != nil {
			a.addResource(check.Data)
		}
	}
	for _, r := range a.SortedResources() {
		a.diags = a.diags.Extend(a.missingActions(r))
	}
	if a.Backend != nil && a.Cloud != nil {
		a.diags = a.diags.Errorf(&a.Backend.Range, "Both a backend and cloud configuration are present",
			"A module can have either a backend or a cloud block. The cloud block is at %s; remove one of the two.",
			a.Cloud.Range)
	}
	a.finishProviders()
	a.checkImports()
	a.diags = a.diags.Extend(a.settleTypes()).Extend(a.checkCalls())
}

func (a *assembly) checkImports() {
	first := map[string]*Import{}
	for n, i := range a.Imports {
		if !a.Path.IsRoot() { // several modules may use the file
			own := *i
			own.To.Module = within(a.Path, i.To.Module)
			a.Imports[n] = &own
		}
		if r := a.Resources[i.To.Resource]; i.ProviderRef != nil && i.To.Module.IsRoot() && r != nil &&
			(r.ProviderRef == nil || *r.ProviderRef != *i.ProviderRef) {
			a.diags = a.diags.Errorf(&i.ProviderRefRange, "Invalid import provider argument", "The block %s selects "+
				"the provider. Use the argument here only if the resource block is to be generated; otherwise it "+
				"must be the same as in that block.", i.To)
		}
		key, ok := staticText(i.ToExpr)
		if !ok {
			continue
		}
		if f := first[key]; f != nil {
			a.diags = a.diags.Errorf(i.ToExpr.Range().Ptr(), fmt.Sprintf("Duplicate import configuration for %q", key),
				"The import block at %s has the same target. An object can be imported only once.", f.Range)
			continue
		}
		first[key] = i
	}
}

// within returns the full path of a module relative to another.
func within(m, path addr.Module) addr.Module {
	for _, call := range path.Calls() {
		m = m.Child(call)
	}
	return m
}

// staticText returns the address of an import's target if all of its keys are literal.
func staticText(expr hcl.Expression) (string, bool) {
	traversal, hclDiags := hcl.AbsTraversalForExpr(expr)
	if hclDiags.HasErrors() {
		return "", false
	}
	target, diags := addr.TargetFromTraversal(traversal)
	if diags.HasErrors() {
		return "", false
	}
	return target.String(), true
}
