package install

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

// Init is the command init.
func Init() *command.Command {
	return &command.Command{
		Name: "init", Short: "Install what the configuration needs", Main: true,
		Long: `Install the modules that the configuration calls, and check that its providers are there.
Running it again does no harm.`,
		Setup: func(c *command.Call) command.Run {
			i := &initing{}
			i.flags(c)
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.TooMany()
				}
				return runInit(ctx, c, i)
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

func (i *initing) flags(c *command.Call) {
	var ignored struct {
		reconfigure, migrate, force, input, remote bool
		lockfile                                   string
		plugins                                    []string
	}
	(&command.Locking{}).LockFlags(c)
	f := c.Flags
	f.BoolVar(&i.backend, "backend", true, "Leave the place of the state alone.")
	f.BoolVar(&i.get, "get", true, "Do not install modules.")
	f.BoolVar(&i.upgrade, "upgrade", false, "Install modules anew.")
	c.StringsFlag(&i.backendConfig, "backend-config", "Settings for the backend, as `FILE or NAME=VALUE`.")
	f.StringVar(&i.fromModule, "from-module", "", "Copy the module at `SOURCE` into the directory first.")
	f.BoolVar(&c.JSON, "json", false, "Print one JSON object a line instead of text for people.")
	f.BoolVar(&ignored.input, "input", true, "Ask nothing; this command never does.")
	f.BoolVar(&ignored.reconfigure, "reconfigure", false, "Accepted for compatibility: a local backend has no saved settings.")
	f.BoolVar(&ignored.migrate, "migrate-state", false, "Accepted for compatibility: a local backend has no saved settings.")
	f.BoolVar(&ignored.force, "force-copy", false, "Accepted for compatibility: a local backend has no saved settings.")
	f.BoolVar(&ignored.remote, "ignore-remote-version", false, "Accepted for compatibility; without meaning for local states.")
	f.StringVar(&ignored.lockfile, "lockfile", "", "Accepted for compatibility; the `MODE` matters only to installed providers.")
	command.TestFlag(c)
	c.StringsFlag(&ignored.plugins, "plugin-dir", "Accepted for compatibility; a `DIR` with plugins, which this version cannot run.")
}

func runInit(ctx context.Context, c *command.Call, i *initing) command.Outcome {
	switch {
	case i.fromModule != "":
		return c.End(diag.List{}.Errorf(nil, "Unsupported option", "This version cannot copy a module into the directory (-from-module). Copy its files, then run init."))
	case len(i.backendConfig) > 0:
		return c.End(diag.List{}.Errorf(nil, "Unsupported option", "This version knows the backend \"local\" only, which takes its settings from the configuration: put them into the backend block instead of -backend-config."))
	}
	root, diags := config.Load(ctx, config.Options{Dir: ".", DataDir: c.DataDir(), LanguageVersion: state.LanguageVersion, RootOnly: true})
	if !diags.HasErrors() && root.IsEmpty() {
		tell(c, c.Title+" initialized in an empty directory!", "\nThe directory has no configuration files: create .tf files to begin.")
		return command.Done
	}
	tell(c, "Initializing the backend...", "")
	if diags.HasErrors() {
		return c.End(diags)
	}
	c.AddSources(root.Files)
	if i.backend {
		if _, diags := command.LocalBackend(root.Root); diags.HasErrors() {
			return c.End(diags)
		}
	}
	if i.get {
		if !installModules(ctx, c, root.Root, i.upgrade) {
			return command.Failed
		}
	}
	if !checkProviders(ctx, c) {
		return command.Failed
	}
	tell(c, "\n"+c.Title+" has been successfully initialized!", "")
	if !c.Automated() {
		tell(c, "", fmt.Sprintf("\nTry \"%[1]s plan\" to see what would be created or changed. After adding modules or\nchanging where they come from, run \"%[1]s init\" again; other commands say so when\nit is needed.", c.Program))
	}
	return command.Done
}

// tell prints a heading and a text as they are, or as log lines in JSON.
func tell(c *command.Call, heading, text string) {
	if c.JSON {
		for _, t := range []string{heading, text} {
			if t = strings.TrimSpace(t); t != "" {
				c.View().Message(t)
			}
		}
		return
	}
	if heading != "" {
		fmt.Fprintln(c.Out, c.Bold(heading))
	}
	if text != "" {
		fmt.Fprintln(c.Out, view.Clean(text))
	}
}

// checkProviders tells which provider every requirement gets, or that there is none.
func checkProviders(ctx context.Context, c *command.Call) bool {
	tell(c, "Initializing provider plugins...", "")
	project, diags := c.Project(ctx, command.ProjectOptions{})
	if diags.HasErrors() {
		return c.Report(diags)
	}
	defer project.Close()
	required := requiredProviders(project.Config())
	var list []string
	for _, p := range slices.SortedFunc(maps.Keys(required), func(a, b addr.Provider) int { return strings.Compare(a.String(), b.String()) }) {
		if _, more := project.Schema(p); more.HasErrors() {
			diags = diags.Errorf(required[p].Ptr(), "Failed to query available provider packages", "The configuration needs the provider %s, which this version cannot install: it has providers of its own only (%s). Use one of these, or write the objects as external_resource.", p.ForDisplay(), strings.Join(builtIn(), ", "))
			continue
		}
		list = append(list, fmt.Sprintf("- %s is built in to %s", p.ForDisplay(), c.Title))
	}
	if len(list) > 0 {
		tell(c, "", strings.Join(list, "\n"))
	}
	return c.Report(diags)
}

func builtIn() []string { return tombolo.BuiltInProviders() }
