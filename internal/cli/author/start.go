package author

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/host"
	"github.com/tombolo-iac/tombolo/internal/pack/generic"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/provider"
)

// started starts a provider that the command line names: a plugin, or the folder of a program provider. The default
// name of the provider is that of the file.
func started(ctx context.Context, c *command.Call, program string, address addr.Provider) (addr.Provider,
	provider.Provider, diag.List) {
	info, err := os.Stat(program)
	if err != nil {
		return address, nil, diag.List{}.Errorf(nil, "No such program", "There is no program %s. Expected the plugin "+
			"of a provider, which must be built first, or a folder with a program provider.", program)
	}
	if info.IsDir() {
		// A program is started only for the first request that its manifest cannot answer. It may do what its manifest
		// says: the user has named the folder.
		m, p, diags := generic.Open(program, c.RemoteState(), []string{"*"}, printOutput(c))
		if diags.HasErrors() {
			return address, nil, diags
		}
		if address == (addr.Provider{}) {
			if address, err = addr.ParseProvider("local/" + m.Name); err != nil {
				return address, nil, diags.AppendError("The provider has no name", err)
			}
		}
		return address, p, diags
	}
	if address == (addr.Provider{}) {
		name, ok := strings.CutPrefix(filepath.Base(program), generic.Prefix)
		name, _, _ = strings.Cut(strings.TrimSuffix(name, ".exe"), "_v")
		if address, err = addr.ParseProvider("local/" + name); !ok || err != nil {
			return address, nil, diag.List{}.Errorf(nil, "The provider has no name",
				"The name of a plugin is terraform-provider-NAME; %s is not, so set its address with "+
					"-provider=NAMESPACE/NAME.", filepath.Base(program))
		}
	}
	p, diags := plugin(ctx, c, program, address)
	return address, p, diags
}

// printOutput prints messages of programs to standard error.
func printOutput(c *command.Call) func(handler.Output) {
	var mu sync.Mutex
	return func(o handler.Output) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(c.Err, "%s: %s\n", o.Label, view.Clean(o.Line))
	}
}

func plugin(ctx context.Context, c *command.Call, program string, address addr.Provider) (provider.Provider,
	diag.List) {
	full, err := filepath.Abs(program)
	if err != nil {
		return nil, diag.FromError("Cannot find the program", err)
	}
	p, err := host.Plugin{Provider: address, Program: full, Log: c.ProviderLog, Plain: c.PlainPlugins()}.Factory()(ctx)
	if err != nil {
		return nil, diag.FromError("The provider cannot be started", err)
	}
	return p, nil
}

// installed starts a provider that init has installed in the working directory.
func installed(ctx context.Context, c *command.Call, address addr.Provider) (provider.Provider, diag.List) {
	selected := c.Selections()[address.String()]
	version, err := versions.ParseVersion(selected)
	if err != nil {
		return nil, diag.List{}.Errorf(nil, "The provider is not installed", "The lock file of the working directory "+
			"has no version of %s. Run init in a directory whose configuration requires it, or use the path of its "+
			"plugin or its folder.",
			address.ForDisplay())
	}
	program, _, err := c.PluginFolder().Installed(ctx, address, version)
	if err != nil {
		return nil, diag.FromError("The provider is not installed", err)
	}
	return plugin(ctx, c, program, address)
}
