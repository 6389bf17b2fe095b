package install

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/pins"
	"github.com/tombolo-iac/tombolo/internal/fetch/plugins"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
	"github.com/tombolo-iac/tombolo/state"
)

// installProviders installs every provider that configuration and state need, and writes the lock file.
func installProviders(ctx context.Context, c *command.Call, i *initCommand) bool {
	project, diags := c.Load(ctx, command.ProjectOptions{NoPlugins: true})
	if diags.HasErrors() {
		return c.Report(diags)
	}
	defer project.Close()
	if _, more := lockfile.Load("."); more.HasErrors() { // before any output about providers
		return c.Report(diags.Extend(more))
	}
	announce(c, "initializing_provider_plugin_message", c.Bold("Initializing provider plugins..."))
	c.Settings() // shows its warnings
	shown := newProgress(c)
	defer shown.close()
	o := engine.ProviderOptions{
		Upgrade: i.upgrade, Dirs: i.pluginDirs, More: plugins.Wanted{},
		Progress: func(s plugins.Step) { showStep(c, shown, s) },
	}
	diags = diags.Extend(wantedByTests(ctx, c, *i.tests, o.More))
	var more diag.List
	o.State, more = i.stored(ctx, c, project)
	diags = diags.Extend(more)
	if diags.HasErrors() {
		_, more := engine.Wanted(project.Config())
		return c.Report(diags.Extend(more))
	}
	installed, more := c.InstallProviders(ctx, project.Config(), o)
	shown.close()
	if installed.Signed {
		announce(c, "", "Partner and community providers are signed by their developers, with the keys\nthat the "+
			"registry lists for them.")
	}
	diags = diags.Extend(more).Extend(engine.OverrideWarning(installed.Settings, installed.Wanted, "Init is not "+
		"needed for a provider that is under development: the program in that directory is used as it is, and its "+
		"version is not locked.")).Extend(engine.ProgramNote(installed.Settings, installed.Wanted))
	if more.HasErrors() {
		return c.Report(diags)
	}
	diags = diags.Extend(writeLock(c, installed.Before, installed.Result, i.lockfile == readOnly))
	if diags.HasErrors() {
		return c.Report(diags)
	}
	programs := programFolders(ctx, c.PluginFolder(), engine.Uninstalled(installed.Settings), installed.Wanted,
		installed.Lock)
	if i.prepare {
		diags = diags.Extend(i.prepareProviders(ctx, c, programs, preparing{
			refused: installed.Settings.PlanPrograms.Refusal, ofProject: ofProject(installed.Settings.Explicit ||
				len(i.pluginDirs) > 0, installed.Before, installed.Lock),
		}))
	}
	return c.Report(diags.Extend(i.grant(ctx, c, programs, installed.Settings.PlanPrograms.Refusal,
		func(lock pins.File, p addr.Provider) []string { return engine.Granted(installed.Settings, lock, p) })))
}

// writeLock writes the lock file if it has changed, unless it is read-only.
func writeLock(c *command.Call, old lockfile.File, result plugins.Result, readOnly bool) (diags diag.List) {
	created := len(old.Entries()) == 0
	switch {
	case old.Equal(result.Lock):
		return nil
	case readOnly && !old.SameProviders(result.Lock):
		return diags.Errorf(nil, "Provider dependency changes detected",
			"The configuration and the state need providers that differ from the lock file, and -lockfile=readonly "+
				"does not allow changing it. Run \"%s init\" without that option, and commit the changed %s.",
			c.Program,
			lockfile.Name)
	case readOnly:
		return diags.Warnf(nil, "Provider lock file not updated",
			"The recorded providers have changed, but %s was not written. To write it, run \"%s init\" "+
				"without -lockfile=readonly.", lockfile.Name, c.Program)
	}
	if err := result.Lock.For(c.Flavor()).Save("."); err != nil {
		return diags.AppendError("Failed to write the dependency lock file", err)
	}
	if created {
		announce(c, "lock_info", c.Title+" has created a lock file "+lockfile.Name+
			" to record the provider\nversions that were selected. Commit it with your configuration: then \""+
			c.Program+" init\"\nselects the same versions everywhere, until you ask for others.")
	} else {
		announce(c, "dependencies_lock_changes_info", c.Title+" has changed the selections in "+lockfile.Name+
			". Review the\nchanges, and commit them if they are intended.")
	}
	return incomplete(result)
}

// wantedByTests adds the providers of the modules that test files run. A provider block of a test file that no module
// uses needs no provider.
func wantedByTests(ctx context.Context, c *command.Call, dir string, wanted plugins.Wanted) diag.List {
	files, diags := c.TestFiles(dir)
	for _, run := range testfile.Calls(files) {
		other, more := c.TestModule(ctx, run)
		if diags = diags.Extend(more.OnlyErrors()); more.HasErrors() {
			continue
		}
		need, more := engine.Wanted(other)
		diags = diags.Extend(more)
		for p, constraints := range need {
			wanted[p] = wanted[p].And(constraints)
		}
	}
	return diags
}

// stored reads the state, whose objects may need providers that the configuration no longer mentions.
func (i *initCommand) stored(ctx context.Context, c *command.Call, project *engine.Project) (*state.State, diag.List) {
	// With -backend=false, the recorded backend is used instead of the block.
	find := func() (state.Store, diag.List) { return c.StoreOfRecord(ctx) }
	if i.backend {
		find = func() (state.Store, diag.List) { return c.StoreOf(ctx, project.Config().Root, command.StateFiles{}) }
	} else {
		recorded, err := c.RecordedBackend()
		if err != nil {
			return nil, diag.FromError("Failed to read the record of the backend", err)
		}
		warnings, diags := i.setup.trust(ctx, c, recorded, recorded)
		if diags = diags.Extend(warnings); i.setup.distrusted || diags.HasErrors() {
			return nil, diags
		}
	}
	if i.setup.distrusted {
		return nil, nil
	}
	store, diags := find()
	if diags.HasErrors() || store == nil {
		return nil, diags
	}
	snapshot, more := c.SnapshotOf(ctx, store)
	if unread := i.setup.unread(); more.HasErrors() && len(unread) > 0 {
		return nil, diags.Extend(unread)
	}
	if diags = diags.Extend(more); more.HasErrors() {
		return nil, diags
	}
	return snapshot.State, diags
}

func showStep(c *command.Call, shown *progress, s plugins.Step) {
	if s.Kind == plugins.StepFetch {
		shown.downloads(s.Provider.ForDisplay(), s.Done, s.Total)
		return
	}
	shown.ended(s.Provider.ForDisplay())
	shown.tellAs(stepTexts(c, s))
}

// stepTexts returns the line about a step for people, and the one for programs that read JSON.
func stepTexts(c *command.Call, s plugins.Step) (text, forPrograms string) {
	name := s.Provider.ForDisplay()
	switch s.Kind {
	case plugins.StepReuse:
		text, forPrograms = "Reusing previous version of "+name+" from the dependency lock file",
			name+": Reusing previous version from the dependency lock file"
	case plugins.StepFind:
		if s.Constraints.IsEmpty() {
			text, forPrograms = "Finding latest version of "+name+"...", name+": Finding latest version..."
			break
		}
		text = fmt.Sprintf("Finding %s versions matching %q...", name, s.Constraints)
		forPrograms = fmt.Sprintf("Finding matching versions for provider: %s, version_constraint: %q", name,
			s.Constraints)
	case plugins.StepUse:
		text, forPrograms = fmt.Sprintf("Using previously-installed %s v%s", name, s.Version),
			fmt.Sprintf("%s v%s: Using previously-installed provider version", name, s.Version)
	case plugins.StepCached:
		text, forPrograms = fmt.Sprintf("Using %s v%s from the shared cache directory", name, s.Version),
			fmt.Sprintf("%s v%s: Using from the shared cache directory", name, s.Version)
	case plugins.StepInstall:
		text, forPrograms = fmt.Sprintf("Installing %s v%s...", name, s.Version),
			fmt.Sprintf("Installing provider version: %s v%s...", name, s.Version)
	case plugins.StepInstalled:
		text, forPrograms = fmt.Sprintf("Installed %s v%s (%s)", name, s.Version, proofText(s.Proof)),
			fmt.Sprintf("Installed provider version: %s v%s (%s)", name, s.Version, proofForPrograms(s.Proof))
	case plugins.StepServedHere:
		text = name + " is built in to " + c.Title
		forPrograms = text
	}
	return text, forPrograms
}

// proofText returns how a package was verified. HashiCorp's own key needs no name.
func proofText(p packages.Proof) string {
	if p.KeyID == "" || p.Trust == packages.OfficialSigned {
		return p.String()
	}
	return p.String() + ", key ID " + p.KeyID
}

// proofForPrograms is proofText without a comma, in the exact form that programs expect.
func proofForPrograms(p packages.Proof) string {
	if p.KeyID == "" || p.Trust == packages.OfficialSigned {
		return p.String()
	}
	return p.String() + "key_id: " + p.KeyID
}

// incomplete warns of missing hashes for other platforms.
func incomplete(result plugins.Result) diag.List {
	if len(result.ThisPlatformOnly) == 0 {
		return nil
	}
	names := ""
	for _, p := range result.ThisPlatformOnly {
		names += "  - " + p.ForDisplay() + "\n"
	}
	return diag.List{}.Warnf(nil, "Incomplete lock file information for providers",
		"The packages of the following providers came without a signed list of the checksums of all their "+
			"platforms:\n%s\n%s therefore has their checksums for %s only, and other platforms will reject them.",
		names, lockfile.Name, packages.Current()).
		Advise("To add those of another platform, run:\n  %s", diag.Run("providers", "lock", "-platform=OS_ARCH"))
}
