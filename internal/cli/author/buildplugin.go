package author

import (
	"context"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/host"
	"github.com/tombolo-iac/tombolo/internal/pack"
	"github.com/tombolo-iac/tombolo/internal/wire"
)

// buildPlugin packages the plugin that the command line names.
func buildPlugin(ctx context.Context, c *command.Call, o buildOptions, to pack.Options) command.Outcome {
	switch {
	case o.dev:
		return c.Misuse("Nothing is packed", "-dev is for the folder of a program provider. Name the folder of a "+
			"plugin in dev_overrides directly.")
	case o.from != "" || len(o.exclude) > 0:
		return c.Misuse("Nothing is packed", "-hosts and -exclude are for the folder of a program provider, and %s is "+
			"a plugin, which is packaged alone.", c.Args[0])
	case o.version == "":
		return c.Misuse("Nothing is packed", "Set the version of the release of the plugin with -release, such as "+
			"-release=0.1.0.")
	}
	hosts, diags := choose(o, map[packages.Platform]string{packages.Current(): c.Args[0]}, nil)
	if diags.HasErrors() {
		return c.End(diags)
	}
	to.Hosts = hosts
	protocols, err := spoken(ctx, c, c.Args[0], to.Source)
	if err != nil {
		return c.End(diags.AppendError("The provider cannot be started", err))
	}
	result, more := pack.BuildPlugin(ctx, pack.PluginOptions{Options: to, Version: o.version, Protocols: protocols})
	if diags = diags.Extend(more); diags.HasErrors() {
		return c.End(diags)
	}
	showFiles(c, result)
	return c.End(diags)
}

// spoken returns the versions of the plugin protocol that a plugin speaks. It is started once for each, because it
// chooses the newest of those that it is offered.
func spoken(ctx context.Context, c *command.Call, program string, source addr.Provider) (list []int, err error) {
	full, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	var first error
	for _, v := range wire.Versions() {
		p, err := host.Plugin{Provider: source, Program: full, Log: c.ProviderLog, Plain: c.PlainPlugins(),
			Protocols: []int{v}}.Factory()(ctx)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		list = append(list, v)
		if err := p.Close(); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, first
	}
	return list, nil
}
