package cli

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch"
	"github.com/tombolo-iac/tombolo/state"
)

func cmdInit() *command {
	return &command{
		name: "init", short: "Install what the configuration needs", main: true,
		long: `Install the modules that the configuration calls, and check that its providers are there.
Running it again does no harm.`,
		setup: func(c *call) func(context.Context) outcome {
			i := &initing{}
			i.flags(c)
			return func(ctx context.Context) outcome {
				if len(c.args) > 0 {
					return c.tooMany()
				}
				return c.runInit(ctx, i)
			}
		},
	}
}

// initing are the flags of init. Some have nothing to say while states and providers are local.
type initing struct {
	backend, get, upgrade bool
	backendConfig         []string
	fromModule            string
}

func (i *initing) flags(c *call) {
	var ignored struct {
		reconfigure, migrate, force, input, remote bool
		lockfile, tests                            string
		plugins                                    []string
	}
	(&locking{}).flags(c)
	f := c.flags
	f.BoolVar(&i.backend, "backend", true, "Leave the place of the state alone.")
	f.BoolVar(&i.get, "get", true, "Do not install modules.")
	f.BoolVar(&i.upgrade, "upgrade", false, "Install modules anew.")
	c.stringsFlag(&i.backendConfig, "backend-config", "Settings for the backend, as `FILE or NAME=VALUE`.")
	f.StringVar(&i.fromModule, "from-module", "", "Copy the module at `SOURCE` into the directory first.")
	f.BoolVar(&c.shown.json, "json", false, "Print one JSON object a line instead of text for people.")
	f.BoolVar(&ignored.input, "input", true, "Ask nothing; this command never does.")
	f.BoolVar(&ignored.reconfigure, "reconfigure", false, "Accepted for compatibility: a local backend has no saved settings.")
	f.BoolVar(&ignored.migrate, "migrate-state", false, "Accepted for compatibility: a local backend has no saved settings.")
	f.BoolVar(&ignored.force, "force-copy", false, "Accepted for compatibility: a local backend has no saved settings.")
	f.BoolVar(&ignored.remote, "ignore-remote-version", false, "Accepted for compatibility; without meaning for local states.")
	f.StringVar(&ignored.lockfile, "lockfile", "", "Accepted for compatibility; the `MODE` matters only to installed providers.")
	f.StringVar(&ignored.tests, "test-directory", "tests", "The `DIR` of test files, which this version does not look at.")
	c.stringsFlag(&ignored.plugins, "plugin-dir", "Accepted for compatibility; a `DIR` with plugins, which this version cannot run.")
}

func (c *call) runInit(ctx context.Context, i *initing) outcome {
	switch {
	case i.fromModule != "":
		return c.end(diag.List{}.Errorf(nil, "Unsupported option", "This version cannot copy a module into the directory (-from-module). Copy its files, then run init."))
	case len(i.backendConfig) > 0:
		return c.end(diag.List{}.Errorf(nil, "Unsupported option", "This version knows the backend \"local\" only, which takes its settings from the configuration: put them into the backend block instead of -backend-config."))
	}
	root, diags := config.Load(ctx, config.Options{Dir: ".", DataDir: c.dataDir(), LanguageVersion: state.LanguageVersion, RootOnly: true})
	if !diags.HasErrors() && root.IsEmpty() {
		c.tell(c.title+" initialized in an empty directory!", "\nThe directory has no configuration files: create .tf files to begin.")
		return done
	}
	c.tell("Initializing the backend...", "")
	if diags.HasErrors() {
		return c.end(diags)
	}
	c.addSources(root.Files)
	if i.backend {
		if _, diags := localBackend(root.Root); diags.HasErrors() {
			return c.end(diags)
		}
	}
	if i.get {
		if !c.installModules(ctx, root.Root, i.upgrade) {
			return failed
		}
	}
	if !c.checkProviders(ctx) {
		return failed
	}
	c.tell("\n"+c.title+" has been successfully initialized!", "")
	if !c.automated() {
		c.tell("", fmt.Sprintf("\nTry \"%[1]s plan\" to see what would be created or changed. After adding modules or\nchanging where they come from, run \"%[1]s init\" again; other commands say so when\nit is needed.", c.program))
	}
	return done
}

// tell prints a heading and a text as they are, or as log lines in JSON.
func (c *call) tell(heading, text string) {
	if c.shown.json {
		for _, t := range []string{heading, text} {
			if t = strings.TrimSpace(t); t != "" {
				c.view().Message(t)
			}
		}
		return
	}
	if heading != "" {
		fmt.Fprintln(c.out, c.bold(heading))
	}
	if text != "" {
		fmt.Fprintln(c.out, text)
	}
}

// installModules installs what the configuration calls, and tells whether that went well.
func (c *call) installModules(ctx context.Context, root *config.Module, upgrade bool) bool {
	if len(root.Calls) == 0 {
		return true
	}
	if upgrade {
		c.tell("Upgrading modules...", "")
	} else {
		c.tell("Initializing modules...", "")
	}
	return c.fetchModules(ctx, upgrade)
}

func (c *call) fetchModules(ctx context.Context, upgrade bool) bool {
	_, diags := fetch.InstallModules(ctx, ".", filepath.ToSlash(c.dataDir()), fetch.Options{
		LanguageVersion: state.LanguageVersion, Upgrade: upgrade, Progress: func(line string) { c.tell("", line) },
	})
	return c.report(diags)
}

// checkProviders tells which provider every requirement gets, or that there is none.
func (c *call) checkProviders(ctx context.Context) bool {
	c.tell("Initializing provider plugins...", "")
	project, diags := c.project(ctx, projectOptions{})
	if diags.HasErrors() {
		return c.report(diags)
	}
	defer project.Close()
	required := requiredProviders(project.Config())
	var list []string
	for _, p := range slices.SortedFunc(maps.Keys(required), func(a, b addr.Provider) int { return strings.Compare(a.String(), b.String()) }) {
		if _, more := project.Schema(p); more.HasErrors() {
			diags = diags.Errorf(required[p].Ptr(), "Failed to query available provider packages", "The configuration needs the provider %s, which this version cannot install: it has providers of its own only (%s). Use one of these, or write the objects as external_resource.", p.ForDisplay(), strings.Join(builtIn(), ", "))
			continue
		}
		list = append(list, fmt.Sprintf("- %s is built in to %s", p.ForDisplay(), c.title))
	}
	if len(list) > 0 {
		c.tell("", strings.Join(list, "\n"))
	}
	return c.report(diags)
}

func builtIn() []string { return tombolo.BuiltInProviders() }

func cmdGet() *command {
	return &command{
		name: "get", short: "Install the modules that the configuration calls",
		long: `Install the modules that the configuration calls: a part of what init does.`,
		setup: func(c *call) func(context.Context) outcome {
			var update bool
			var tests string
			c.flags.BoolVar(&update, "update", false, "Install modules anew.")
			c.flags.StringVar(&tests, "test-directory", "tests", "The `DIR` of test files, which this version does not look at.")
			return func(ctx context.Context) outcome {
				if len(c.args) > 0 {
					return c.tooMany()
				}
				if !c.fetchModules(ctx, update) {
					return failed
				}
				return done
			}
		},
	}
}
