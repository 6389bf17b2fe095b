package install

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/plugins"
)

// mirroring holds the flags of providers mirror.
type mirroring struct {
	platforms []string
	locked    bool
}

func cmdProvidersMirror() *command.Command {
	return &command.Command{
		Name: "mirror", Args: "DIR", Short: "Copy provider packages into a folder",
		Long: `Copy the packages of all providers of the configuration from their registries into a folder. Use it as
a filesystem mirror, or serve it with a web server as a network mirror. Existing files in the folder are kept.`,
		Example: `~ providers mirror -platform=linux_amd64 /srv/mirror`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			c.LineFlags()
			var m mirroring
			c.StringsFlag(&m.platforms, "platform",
				"Copy packages for the platform `OS_ARCH` instead of this one. May be given more than once.")
			c.Flags.BoolVar(&m.locked, "lock-file", true, "Choose versions without the lock file.")
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.Misuse("No output directory specified",
						"The command takes one argument, the folder to write to: %s %s DIR", c.Program, c.Path)
				}
				return c.End(m.run(ctx, c, c.Args[0]))
			})
		},
	}
}

func (m mirroring) run(ctx context.Context, c *command.Call, dir string) diag.List {
	platforms, diags := targets(m.platforms)
	project, more := c.Load(ctx, command.ProjectOptions{NoPlugins: true})
	if diags = diags.Extend(more); diags.HasErrors() {
		return diags
	}
	defer project.Close()
	wanted, more := engine.Wanted(project.Config())
	diags = diags.Extend(more)
	_, more = c.Settings()
	diags = diags.Extend(more)
	var locked lockfile.File
	if m.locked {
		locked, more = lockfile.Load(".")
		diags = diags.Extend(more)
	}
	if diags.HasErrors() {
		return diags
	}
	shown := newProgress(c)
	defer shown.close()
	return diags.Extend(plugins.Copy(ctx, plugins.CopyOptions{
		Wanted: wanted, Locked: locked, Platforms: platforms, Sources: plugins.Registries(c.Web()), Dir: dir,
		Selected: func(e lockfile.Entry, locked bool) {
			shown.tell(fmt.Sprintf("Mirroring %s...", e.Provider.ForDisplay()))
			shown.detail(fmt.Sprintf("Selected v%s %s", e.Version, plugins.Why(locked, e.Constraints)))
		},
		Progress: func(f plugins.Fetching) {
			switch key := fmt.Sprintf("%s for %s", f.Provider.ForDisplay(), f.Platform); {
			case f.Ended:
				shown.ended(key)
				shown.detail("Package authenticated: " + f.Proof.String())
			case f.Done > 0:
				shown.downloads(key, f.Done, f.Total)
			default:
				shown.detail(fmt.Sprintf("Downloading package for %s...", f.Platform))
			}
		},
	}))
}
