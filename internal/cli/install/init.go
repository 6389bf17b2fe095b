package install

import (
	"context"
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/fetch"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// Init is the command init.
func Init() *command.Command {
	return &command.Command{
		Name: "init", Short: "Install modules and providers, set up the backend", Main: true,
		Long: `Install the modules and providers that the configuration needs, write the chosen providers to the lock
file .terraform.lock.hcl, and set up the backend for the state. The lock file decides which providers are installed;
use -upgrade to choose new versions. It is safe to run this command more than once.`,
		Example: `~ init
~ init -upgrade -input=false
~ init -backend-config=path=/srv/state/terraform.tfstate`,
		Setup: func(c *command.Call) command.Run {
			i := &initCommand{}
			i.flags(c)
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.Misuse("Too many command line arguments. Did you mean to use -chdir?",
						"Init does not take a directory. Use: %s -chdir=DIR init", c.Program)
				}
				return runInit(ctx, c, i)
			})
		},
	}
}

// initCommand holds the flags of init. Some have no effect on local states.
type initCommand struct {
	backend, get, upgrade bool
	prepare               bool
	setup                 backendSetup
	fromModule            string
	lockfile              string   // the use of the lock file: "" or readOnly
	pluginDirs            []string // the only sources of providers, if any are set
	tests                 *string
}

// readOnly is the only value of -lockfile.
const readOnly = "readonly"

func (i *initCommand) flags(c *command.Call) {
	var ignored bool
	i.setup.flags(c)
	c.ConstantFlags()
	f := c.Flags
	f.BoolVar(&i.backend, "backend", true, "Do not set up or change the backend.")
	f.BoolVar(&i.backend, "cloud", true, "The same as -backend.")
	f.BoolVar(&i.get, "get", true, "Do not install modules.")
	f.BoolVar(&i.upgrade, "upgrade", false,
		"Install modules again, and choose the newest allowed version of each provider.")
	f.BoolVar(&i.prepare, "prepare", true,
		"Do not run the preparation of program providers; their first use runs it.")
	f.StringVar(&i.fromModule, "from-module", "", "First copy the module at `SOURCE` into the directory.")
	c.LineFlags()
	f.BoolVar(&ignored, "ignore-remote-version", false, "Accepted for compatibility; has no effect.")
	f.StringVar(&i.lockfile, "lockfile", "", "How to treat the dependency lock file. With the `MODE` readonly, init "+
		"does not write it, and fails if providers are missing from it.")
	i.tests = command.TestFlag(c)
	c.StringsFlag(&i.pluginDirs, "plugin-dir",
		"Install providers only from `DIR`, a filesystem mirror. May be given more than once.")
}

func runInit(ctx context.Context, c *command.Call, i *initCommand) command.Outcome {
	if diags := i.conflicts(c); diags.HasErrors() {
		return c.End(diags)
	}
	if _, diags := c.ProjectFile(); diags.HasErrors() {
		return c.End(diags)
	}
	c.Agree = i.setup.approver(ctx, c)
	if i.fromModule != "" && !copyModule(ctx, c, i.fromModule) {
		return command.Failed
	}
	hooks, diags := i.hooks(ctx, c)
	if !diags.HasErrors() {
		diags = diags.Extend(hooks.Before(ctx))
	}
	if diags.HasErrors() {
		return c.End(diags)
	}
	outcome := initialize(ctx, c, i, diags)
	if problems := hooks.After(ctx, outcome == command.Done); !c.Report(problems) {
		return command.Failed
	}
	return outcome
}

// initialize runs the steps of init. The warnings are printed at the end.
func initialize(ctx context.Context, c *command.Call, i *initCommand, warnings diag.List) command.Outcome {
	load := c.ConfigOptions()
	load.RootOnly, load.Constants = true, c.Constants
	root, diags := config.Load(ctx, load)
	files, more := c.TestFiles(*i.tests)
	if !diags.HasErrors() && root.IsEmpty() && len(files) == 0 && !more.HasErrors() {
		announce(c, "output_init_empty_message", c.Bold(c.Title+" initialized in an empty directory!")+
			"\n\nThe directory has no configuration files: create .tf files to begin, or run \""+c.Program+
			" demo\" for an example.")
		return command.Done
	}
	if i.backend && root != nil && root.Root.Cloud != nil {
		announce(c, "initializing_terraform_cloud_message", c.Bold("Initializing HCP Terraform..."))
	} else if i.backend {
		announce(c, "initializing_backend_message", c.Bold("Initializing the backend..."))
	}
	if root != nil {
		c.AddSources(root.Files)
	}
	if diags.HasErrors() && i.get {
		diags = diags.Extend(fetch.Problems(ctx, ".", c.DataDir(), fetch.Options{Base: c.DataBase(),
			LanguageVersion: load.LanguageVersion, Flavor: load.Flavor, Calls: callsOf(files), Constants: c.Constants,
			Workspace: load.Workspace}))
	}
	if diags = diags.Extend(more); diags.HasErrors() {
		return c.End(diags)
	}
	calls := len(root.Root.Calls) + len(testfile.Calls(files))
	if i.backend {
		notes, problems := i.setUp(ctx, c, root.Root)
		if warnings = warnings.Extend(notes); problems.HasErrors() {
			return c.End(problems)
		}
	}
	modules := engine.ModuleOptions{Upgrade: i.upgrade, ReadOnly: i.lockfile == readOnly}
	if i.get && (calls > 0 || i.fromModule != "") && !installModules(ctx, c, calls, modules, *i.tests) {
		return command.Failed
	}
	if !installProviders(ctx, c, i) || !c.Report(warnings.Extend(command.TestDirectory(*i.tests))) {
		return command.Failed
	}
	announce(c, "output_init_success_message", c.Bold("\n"+c.Title+" has been successfully initialized!"))
	if !c.Automated() {
		announce(c, "output_init_success_cli_message", fmt.Sprintf("\nRun \"%[1]s plan\" to see what would be "+
			"created or changed. After adding modules or\nchanging where they come from, run \"%[1]s init\" again; "+
			"other commands tell you when\nit is needed.", c.Program))
	}
	return command.Done
}

// setUp sets up the backend and its workspace.
func (i *initCommand) setUp(ctx context.Context, c *command.Call, root *config.Module) (warnings, diags diag.List) {
	if warnings, diags = i.setup.run(ctx, c, root); !diags.HasErrors() {
		diags = i.setup.makeWorkspace(ctx, c, root)
	}
	if !diags.HasErrors() && !i.setup.distrusted {
		diags = i.setup.choose(ctx, c, root)
	}
	return warnings, diags
}

// conflicts reports conflicting options.
func (i *initCommand) conflicts(c *command.Call) (diags diag.List) {
	switch {
	case i.setup.migrate && c.JSON:
		return diags.Errorf(nil, "The -migrate-state and -json options are mutually-exclusive",
			"Copying states asks for approval, which is not possible with -json. Remove one of the options.")
	case i.setup.migrate && i.setup.reconfigure:
		return diags.Errorf(nil, "Invalid init options",
			"The options -migrate-state and -reconfigure conflict: remove one of them.")
	case i.lockfile != "" && i.lockfile != readOnly:
		return diags.Errorf(nil, "Invalid init options",
			"The option -lockfile has no mode %q, only \"readonly\".", i.lockfile)
	case i.lockfile == readOnly && i.upgrade:
		return diags.Errorf(nil, "The -upgrade flag conflicts with -lockfile=readonly.",
			"-upgrade changes the lock file, which readonly forbids: remove one of the options.")
	}
	return nil
}

// announce prints a text. Programs recognize it by its code, if it has one.
func announce(c *command.Call, code, text string) {
	notice := view.Notice{Text: text + "\n", Code: code}
	if code == "" {
		notice.Message = strings.TrimSpace(text)
	}
	c.View().Tell(notice)
}

// tell prints a line of a list.
func tell(c *command.Call, line string) {
	c.View().Tell(view.Notice{Text: "- " + view.Clean(line) + "\n", Message: line})
}
