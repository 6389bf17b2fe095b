package install

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/plugins"
)

// locking holds the flags of providers lock.
type locking struct {
	folder, network string
	platforms       []string
	cache           bool
}

func cmdProvidersLock() *command.Command {
	return &command.Command{
		Name: "lock", Args: "[PROVIDER...]", Short: "Write package checksums to the lock file",
		Long: `Write the package checksums of all providers of the configuration, or of the given ones, to the
dependency lock file, for this platform or for others. Nothing is installed.`,
		Example: `~ providers lock -platform=linux_amd64 -platform=darwin_arm64`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			c.LineFlags()
			var l locking
			c.Flags.StringVar(&l.folder, "fs-mirror", "",
				"Read the packages from the filesystem mirror `DIR` instead of the providers' registries.")
			c.Flags.StringVar(&l.network, "net-mirror", "", "Read the packages from the network mirror at `URL` "+
				"instead of the providers' registries.")
			c.StringsFlag(&l.platforms, "platform",
				"Write checksums for the platform `OS_ARCH` instead of this one. May be given more than once.")
			c.Flags.BoolVar(&l.cache, "enable-plugin-cache", false,
				"Take packages for this platform from the plugin cache, if it has them.")
			command.TestFlag(c)
			return c.Stoppable(func(ctx context.Context) command.Outcome { return c.End(l.run(ctx, c)) })
		},
	}
}

func (l locking) run(ctx context.Context, c *command.Call) (diags diag.List) {
	if l.folder != "" && l.network != "" {
		return diags.Errorf(nil, "Invalid installation method options",
			"The options -fs-mirror and -net-mirror conflict: remove one of them.")
	}
	platforms, diags := targets(l.platforms)
	project, more := c.Load(ctx, command.ProjectOptions{NoPlugins: true})
	if diags = diags.Extend(more); diags.HasErrors() {
		return diags
	}
	defer project.Close()
	wanted, more := lockable(project.Config(), c.Args, c.Flavor().RegistryHost())
	diags = diags.Extend(more)
	locked, more := lockfile.Load(".")
	if diags = diags.Extend(more); diags.HasErrors() {
		return diags
	}
	set, more := c.Settings()
	if diags = diags.Extend(more); more.HasErrors() {
		return diags
	}
	sources, err := l.sources(c)
	if err != nil {
		return diags.Errorf(nil, "Invalid network mirror URL", "The option -net-mirror cannot be used: %s.", err)
	}
	opts := plugins.LockOptions{Wanted: wanted, Locked: locked, Platforms: platforms, Sources: sources}
	if l.cache {
		opts.Cache = packages.Folder{Dir: set.PluginCacheDir}
	}
	shown := newProgress(c)
	defer shown.close()
	opts.Progress = func(f plugins.Fetching) { showFetching(shown, f) }
	lock, records, more := plugins.Lock(ctx, opts)
	shown.close()
	if diags = diags.Extend(more); diags.HasErrors() {
		return diags
	}
	return diags.Extend(saveLock(c, lock, locked, records))
}

// showFetching shows the progress of downloads.
func showFetching(shown *progress, f plugins.Fetching) {
	name := f.Provider.ForDisplay()
	switch key := fmt.Sprintf("%s for %s", name, f.Platform); {
	case f.Ended:
		shown.ended(key)
		shown.tell(fmt.Sprintf("Retrieved %s %s for %s (%s)", name, f.Version, f.Platform, proofText(f.Proof)))
	case f.Done > 0:
		shown.downloads(key, f.Done, f.Total)
	default:
		shown.tell(fmt.Sprintf("Fetching %s %s for %s...", name, f.Version, f.Platform))
	}
}

// saveLock writes the lock file if it has changed, and prints what was recorded.
func saveLock(c *command.Call, lock, locked lockfile.File, records []plugins.Record) (diags diag.List) {
	for _, r := range records {
		c.Tell("- Obtained %s checksums for %s; %s\n", r.Provider.ForDisplay(), r.Platform,
			recordTexts[r.Recorded])
	}
	same := lock.Equal(locked)
	if !same || len(lock.Entries()) == 0 { // scripts commit the file without checking whether it exists
		if err := lock.For(c.Flavor()).SaveEvenEmpty("."); err != nil {
			return diags.AppendError("Failed to write the dependency lock file", err)
		}
	}
	if same {
		c.Tell("\nSuccess! The lock file already has all of these checksums.\n")
		return diags
	}
	c.Tell("\nSuccess! The lock file %s has changed: review and commit it.\n", lockfile.Name)
	return diags
}

// sources returns the registries, unless the options name other sources. The installation settings of the CLI
// configuration are ignored, because the packages of a mirror may differ from those of the publisher.
func (l locking) sources(c *command.Call) (plugins.Sources, error) {
	switch {
	case l.folder != "":
		return plugins.OnlyFolders([]string{l.folder}), nil
	case l.network != "":
		return plugins.NetworkMirror(l.network, c.Web())
	}
	return plugins.Registries(c.Web()), nil
}

var recordTexts = map[plugins.Recorded]string{
	plugins.NewProvider: "the provider is new in the lock file",
	plugins.NewHash:     "they were added to the lock file",
	plugins.NoChange:    "the lock file has them already",
}

// targets returns the platforms of the flags, or that of this machine.
func targets(texts []string) (list []packages.Platform, diags diag.List) {
	if len(texts) == 0 {
		return []packages.Platform{packages.Current()}, nil
	}
	for _, text := range texts {
		p, err := packages.ParsePlatform(text)
		if err != nil {
			diags = diags.Errorf(nil, "Invalid target platform", "The option -platform cannot be used: %s.", err)
			continue
		}
		list = append(list, p)
	}
	return list, diags
}

// lockable returns the requirements of the configuration for all providers, or for the given ones.
func lockable(cfg *config.Config, names []string, host string) (plugins.Wanted, diag.List) {
	all, diags := engine.Wanted(cfg)
	if len(names) == 0 || diags.HasErrors() {
		return all, diags
	}
	some := plugins.Wanted{}
	for _, name := range names {
		p, err := addr.ParseProviderIn(name, host)
		if err != nil {
			diags = diags.Errorf(nil, "Invalid provider argument", "%q is not the source of a provider: %s.", name, err)
			continue
		}
		wanted, ok := all[p]
		if !ok || p.IsBuiltin() {
			diags = diags.Errorf(nil, "Invalid provider argument",
				"The configuration needs no package of provider %s. The command \"providers\" lists what it needs.", p)
			continue
		}
		some[p] = wanted
	}
	return some, diags
}
