package complete

import (
	"context"
	"maps"
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// modules returns the modules of the configuration. If some are not installed or have errors, it returns only the root
// module, or nothing if that has errors itself.
func (t *typed) modules(ctx context.Context) (list []*config.Module, used []addr.Provider) {
	project, diags := t.call.Load(ctx, command.ProjectOptions{NoPlugins: true, Terse: true})
	if project == nil || diags.HasErrors() {
		root, diags := t.call.RootModule(ctx)
		if diags.HasErrors() {
			return nil, nil
		}
		for _, p := range root.RequiredProviders {
			used = append(used, p.Source)
		}
		return []*config.Module{root}, used
	}
	defer func() { _ = project.Close() }() // no provider was started
	c := project.Config()
	return c.SortedModules(), slices.Collect(maps.Keys(c.Uses()))
}

// configured returns the addresses of modules and resources in the configuration, without keys, and of modules only if
// they contain a resource of the wanted modes.
func (t *typed) configured(ctx context.Context, modes ...addr.Mode) (out []string) {
	list, _ := t.modules(ctx)
	for _, m := range list {
		for r := range m.Resources {
			if !slices.Contains(modes, r.Mode) {
				continue
			}
			out = append(out, addr.ConfigResource{Module: m.Path, Resource: r}.String())
			for above := m.Path; !above.IsRoot(); above, _, _ = above.Parent() {
				out = append(out, above.String())
			}
		}
	}
	return out
}

// providers returns the source addresses of the providers in the configuration and in the state: with the host, and
// without it if it is the usual registry.
func (t *typed) providers(ctx context.Context) (out []string) {
	_, list := t.modules(ctx)
	if s := t.snapshot(ctx); s != nil {
		for _, r := range s.Resources() {
			list = append(list, r.Provider.Provider)
		}
	}
	for _, p := range list {
		if p.IsBuiltin() {
			continue
		}
		out = append(out, p.String())
		if p.Host == t.call.Flavor().RegistryHost() {
			out = append(out, p.Namespace+"/"+p.Type)
		}
	}
	return out
}

// variables returns the names of the root module's variables, each with an equals sign.
func (t *typed) variables(ctx context.Context) (out []string) {
	root, diags := t.call.RootModule(ctx)
	if diags.HasErrors() {
		return nil
	}
	for name := range root.Variables {
		out = append(out, name+"=")
	}
	return out
}
