package install

import (
	"context"
	"fmt"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/plugins"
)

// locking are the flags of providers lock.
type locking struct {
	folder, network string
	platforms       []string
}

func cmdProvidersLock() *command.Command {
	return &command.Command{
		Name: "lock", Args: "[PROVIDER...]", Short: "Write checksums for several platforms into the lock file",
		Long: `Write the checksums of the packages of all providers of the configuration, or of those that are
given, into the dependency lock file, for this platform or for others. Nothing is installed.`,
		Example: `~ providers lock -platform=linux_amd64 -platform=darwin_arm64`,
		Setup: func(c *command.Call) command.Run {
			var l locking
			c.Flags.StringVar(&l.folder, "fs-mirror", "", "Take the packages from the filesystem mirror `DIR` instead of the registries of the providers.")
			c.Flags.StringVar(&l.network, "net-mirror", "", "Take the packages from the network mirror at `URL`.")
			c.StringsFlag(&l.platforms, "platform", "The platform `OS_ARCH` whose checksums are wanted, instead of this one. May be given more than once.")
			c.Flags.Bool("enable-plugin-cache", false, "Accepted for compatibility: packages of a mirror are on this machine already.")
			command.TestFlag(c)
			return func(ctx context.Context) command.Outcome { return c.End(l.run(ctx, c)) }
		},
	}
}

func (l locking) run(ctx context.Context, c *command.Call) (diags diag.List) {
	switch {
	case l.folder != "" && l.network != "":
		return diags.Errorf(nil, "Invalid installation method options", "The options -fs-mirror and -net-mirror exclude each other: leave one of them out.")
	case l.folder == "":
		return diags.Errorf(nil, "Could not retrieve providers for locking", "This version has no access to registries and network mirrors. Name a folder that has the packages, in the layout of a filesystem mirror: %s providers lock -fs-mirror=DIR", c.Program)
	}
	platforms, diags := l.targets()
	project, more := c.Load(ctx, command.ProjectOptions{NoPlugins: true})
	if diags = diags.Extend(more); diags.HasErrors() {
		return diags
	}
	defer project.Close()
	wanted, more := lockable(project.Config(), c.Args)
	diags = diags.Extend(more)
	locked, more := lockfile.Load(".")
	if diags = diags.Extend(more); diags.HasErrors() {
		return diags
	}
	lock, records, more := plugins.Lock(ctx, plugins.LockOptions{
		Wanted: wanted, Locked: locked, Platforms: platforms, Sources: plugins.OnlyFolders([]string{l.folder}),
		Progress: func(p addr.Provider, v versions.Version, on packages.Platform, done bool) {
			if done {
				fmt.Fprintf(c.Out, "- Retrieved %s %s for %s (unauthenticated)\n", p.ForDisplay(), v, on)
			} else {
				fmt.Fprintf(c.Out, "- Fetching %s %s for %s...\n", p.ForDisplay(), v, on)
			}
		},
	})
	if diags = diags.Extend(more); diags.HasErrors() {
		return diags
	}
	for _, r := range records {
		fmt.Fprintf(c.Out, "- Obtained %s checksums for %s; %s\n", r.Provider.ForDisplay(), r.Platform, recordTexts[r.Recorded])
	}
	if lock.Equal(locked) {
		fmt.Fprintln(c.Out, "\nSuccess! The lock file has all of these checksums already.")
		return diags
	}
	if err := lock.Save("."); err != nil {
		return diags.AppendError("Failed to write the dependency lock file", err)
	}
	fmt.Fprintf(c.Out, "\nSuccess! The lock file %s has changed: review and commit it.\n", lockfile.Name)
	return diags
}

var recordTexts = map[plugins.Recorded]string{
	plugins.NewProvider: "the provider is new in the lock file",
	plugins.NewHash:     "they were added to the lock file",
	plugins.NoChange:    "the lock file has them already",
}

func (l locking) targets() (list []packages.Platform, diags diag.List) {
	if len(l.platforms) == 0 {
		return []packages.Platform{packages.Current()}, nil
	}
	for _, text := range l.platforms {
		p, err := packages.ParsePlatform(text)
		if err != nil {
			diags = diags.Errorf(nil, "Invalid target platform", "The option -platform cannot be used: %s.", err)
			continue
		}
		list = append(list, p)
	}
	return list, diags
}

// lockable gives what the configuration wants of all providers, or of those that are named.
func lockable(cfg *config.Config, names []string) (plugins.Wanted, diag.List) {
	all, diags := command.Wanted(cfg)
	if len(names) == 0 || diags.HasErrors() {
		return all, diags
	}
	some := plugins.Wanted{}
	for _, name := range names {
		p, err := addr.ParseProvider(name)
		if err != nil {
			diags = diags.Errorf(nil, "Invalid provider argument", "%q is not the source of a provider: %s.", name, err)
			continue
		}
		wanted, ok := all[p]
		if !ok || p.IsBuiltin() {
			diags = diags.Errorf(nil, "Invalid provider argument", "The configuration needs no package of provider %s. The command \"providers\" lists what it needs.", p)
			continue
		}
		some[p] = wanted
	}
	return some, diags
}

func cmdProvidersMirror() *command.Command {
	return &command.Command{
		Name: "mirror", Args: "DIR", Short: "Copy providers from their registries into a folder",
		Long:    "Copy the packages of all providers of the configuration from their registries into a folder that can be used as a mirror.",
		Example: `~ providers mirror -platform=linux_amd64 /srv/mirror`,
		Setup: func(c *command.Call) command.Run {
			var platforms []string
			c.StringsFlag(&platforms, "platform", "The platform `OS_ARCH` whose packages are wanted, instead of this one. May be given more than once.")
			c.Flags.Bool("lock-file", true, "Choose versions without regard to the lock file.")
			return func(context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.Misuse("No output directory specified", "The command takes one argument, the folder to write to: %s %s DIR", c.Program, c.Path)
				}
				return c.End(diag.List{}.Errorf(nil, "Registries cannot be used", "The packages for a mirror come from registries, and this version has no access to them. Packages that are on this machine already can be put into the folder by hand: docs/installation.md describes its layout."))
			}
		},
	}
}
