package install

import (
	"context"
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/plugins"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
)

// installProviders makes every provider that configuration and state need available, and writes the lock file.
func installProviders(ctx context.Context, c *command.Call, i *initing) bool {
	announce(c, "initializing_provider_plugin_message", c.Bold("Initializing provider plugins..."))
	project, diags := c.Load(ctx, command.ProjectOptions{NoPlugins: true})
	if diags.HasErrors() {
		return c.Report(diags)
	}
	defer project.Close()
	wanted, more := command.Wanted(project.Config())
	diags = diags.Extend(more)
	set, more := c.Settings()
	diags = diags.Extend(more)
	locked, more := lockfile.Load(".")
	diags = diags.Extend(more)
	if i.backend {
		diags = diags.Extend(wantedByState(ctx, c, project, wanted))
	}
	if diags.HasErrors() {
		return c.Report(diags)
	}
	result, more := plugins.Install(ctx, plugins.Options{
		Wanted: wanted, Locked: locked, Folder: c.PluginFolder(), Sources: plugins.NewSources(set, c.SettingsEnvironment().ImpliedMirrors()),
		Overrides: set.DevOverrides, BuiltIn: command.BuiltIn, Upgrade: i.upgrade,
		Progress: func(s plugins.Step) { tell(c, stepText(c, s)) },
	})
	if diags = diags.Extend(more); diags.HasErrors() {
		return c.Report(diags)
	}
	if err := result.Lock.Save("."); err != nil {
		return c.Report(diags.AppendError("Failed to write the dependency lock file", err))
	}
	switch {
	case len(locked.Entries()) == 0 && len(result.Lock.Entries()) > 0:
		announce(c, "lock_info", c.Title+" has created a lock file "+lockfile.Name+" to record the provider\nselections it made above. Include this file in your version control repository\nso that "+c.Title+" can guarantee to make the same selections by default when\nyou run \""+c.Program+" init\" in the future.")
	case !locked.Equal(result.Lock):
		announce(c, "dependencies_lock_changes_info", c.Title+" has made some changes to the provider dependency selections recorded\nin the "+lockfile.Name+" file. Review those changes and commit them to your\nversion control system if they represent changes you intended to make.")
	}
	return c.Report(diags.Extend(incomplete(result)))
}

// wantedByState adds the providers of objects that the configuration may not mention any more.
func wantedByState(ctx context.Context, c *command.Call, project *tombolo.Project, wanted plugins.Wanted) diag.List {
	store, diags := c.StoreOf(project.Config().Root, command.StateFiles{})
	if diags.HasErrors() {
		return diags
	}
	snapshot, more := c.SnapshotOf(ctx, store)
	if diags = diags.Extend(more); more.HasErrors() || snapshot.State == nil {
		return diags
	}
	for _, r := range snapshot.State.Resources() {
		wanted[r.Provider.Provider] = wanted[r.Provider.Provider].And(require.Constraints{})
	}
	return diags
}

// stepText is the line that tells of a step.
func stepText(c *command.Call, s plugins.Step) string {
	name := s.Provider.ForDisplay()
	switch s.Kind {
	case plugins.StepReuse:
		return "Reusing previous version of " + name + " from the dependency lock file"
	case plugins.StepFind:
		if s.Constraints.IsEmpty() {
			return "Finding latest version of " + name + "..."
		}
		return fmt.Sprintf("Finding %s versions matching %q...", name, s.Constraints)
	case plugins.StepUse:
		return fmt.Sprintf("Using previously-installed %s v%s", name, s.Version)
	case plugins.StepInstall:
		return fmt.Sprintf("Installing %s v%s...", name, s.Version)
	case plugins.StepInstalled:
		return fmt.Sprintf("Installed %s v%s (%s)", name, s.Version, s.Authentication)
	case plugins.StepServedHere:
		return name + " is built in to " + c.Title
	}
	return ""
}

// incomplete warns of hashes that other platforms will miss.
func incomplete(result plugins.Result) diag.List {
	if len(result.HashedHere) == 0 {
		return nil
	}
	var names []string
	for _, p := range result.HashedHere {
		names = append(names, "  - "+p.ForDisplay())
	}
	return diag.List{}.Warnf(nil, "Incomplete lock file information for providers",
		"The packages of the following providers were found on this machine, so that their checksums had to be calculated here:\n%s\n\nThe lock file has the checksums of this platform only. On another platform their packages will be refused until the lock file has theirs too.", strings.Join(names, "\n"))
}
