// Package testing has the command test, which runs test files. Package internal/suite executes the runs; this package
// has the options and the locations of the states.
package testing

import (
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/suite"
	"github.com/tombolo-iac/tombolo/internal/suite/report"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
)

// Test is the command test.
func Test() *command.Command {
	return &command.Command{
		Name: "test", Short: "Run the tests of a module",
		Long: `Run the test files (*.tftest.hcl, *.tftest.json) in the directory and in its subdirectory "tests".
Each run block plans or applies the module, or another module, and checks its assertions. At the end of each file, all
objects that it created are destroyed.

Tests create real objects, unless providers are mocked. The states of the runs are kept in the data directory until
all of their objects are destroyed. For objects that could not be destroyed, the command names the file that has their
state.`,
		Exits: `0  All runs passed.
1  Some runs failed, or there were errors.`,
		Example: `~ test
~ test -filter=tests/network.tftest.hcl -verbose
~ test -show-run=two_zones
~ test -junit-xml=results.xml`,
		Setup: func(c *command.Call) command.Run {
			t := &testing{call: c}
			c.Flags.StringVar(&t.cloud, "cloud-run", "", "Run the tests in HashiCorp's service, for the module at "+
				"`SOURCE`. This is not supported: the option is an error.")
			c.StringsFlag(&t.filter, "filter", "Run only `FILE`. May be given more than once.")
			c.LineFlags()
			c.Flags.StringVar(&t.junit, "junit-xml", "", "Also write the results to `FILE`, in the JUnit format.")
			c.Flags.IntVar(&t.parallelism, "parallelism", 10,
				"Run at most `N` runs at the same time, and N provider operations in each.")
			c.Flags.BoolVar(&t.verbose, "verbose", false, "Show the plan or state of each run.")
			c.StringsFlag(&t.shown, "show-run",
				"Show the plan or state of the runs with this `NAME`. May be given more than once.")
			t.dir = command.TestFlag(c)
			t.VariableFlags(c)
			return t.start
		},
	}
}

// testing is one call of the command.
type testing struct {
	command.Variables
	call    *command.Call
	cloud   string
	filter  []string
	absent  diag.List // names in filter that do not exist, reported at the end
	junit   string
	dir     *string
	verbose bool
	shown   []string // names of runs
	// parallelism limits the concurrent runs, and the concurrent operations of each.
	parallelism int

	running *command.Running
	files   []*testfile.File
	own     *config.Config                   // of the working directory
	configs map[*testfile.Run]*config.Config // of runs of other modules
	global  config.Values                    // of all files
	within  config.Values                    // only of files in the test directory
	places  places
}

func (t *testing) start(ctx context.Context) command.Outcome {
	c := t.call
	switch {
	case len(c.Args) > 0:
		return c.TooMany(0)
	case t.parallelism < 0:
		return c.End(diag.List{}.Errorf(nil, "Invalid parallelism value",
			"The parallelism must be a positive number, not %d.", t.parallelism))
	case t.cloud != "":
		return c.End(diag.List{}.Errorf(nil, "Tests do not run in a service", "The option -cloud-run runs tests in "+
			"a service of HashiCorp, which %s does not support. Remove the option to run them here.", c.Title))
	}
	if !filepath.IsLocal(filepath.FromSlash(*t.dir)) {
		return c.End(diag.List{}.Errorf(nil, "Invalid testing directory", "-test-directory must be the relative path "+
			"of a directory below that of the configuration; %s is not.", *t.dir))
	}
	ctx, t.running = c.Interruptible(ctx)
	defer t.running.End()
	diags := t.load(ctx)
	if !c.Report(diags) {
		return command.Failed
	}
	t.places = places{call: c}
	c.Report(t.places.remains(ctx))
	o := report.Options{View: c.ViewOptions(), Verbose: t.verbose, Shown: t.shown, Schemas: (*engine.Project).Schemas,
		Diagnostics: func(list diag.List) diag.List {
			c.ReadSources(list)
			return c.Named(list)
		}}
	result := suite.Run(ctx, suite.Options{
		Files: t.files, Variables: t.variables, Load: t.project, Configs: t.config, Store: t.places.of,
		Emptied: t.places.emptied, Report: report.New(o), Abort: t.running.Abort,
		Parallelism: t.parallelism,
	})
	c.Report(t.places.close().Extend(t.absent))
	if t.junit != "" && !c.Report(t.writeJUnit(result, o)) {
		return command.Failed
	}
	if result.Status > suite.Pass {
		return command.Failed
	}
	return command.Done
}

// load reads the test files, the modules that they test, and external variables.
func (t *testing) load(ctx context.Context) diag.List {
	c := t.call
	own, diags := c.TestModule(ctx, nil)
	diags = diags.Extend(command.TestDirectory(*t.dir))
	files, more := c.TestFiles(*t.dir)
	diags = diags.Extend(more)
	t.configs = map[*testfile.Run]*config.Config{}
	for _, run := range testfile.Calls(files) {
		cfg, more := c.TestModule(ctx, run)
		diags = diags.Extend(more.OnlyErrors())
		t.configs[run] = cfg
	}
	t.own = own
	for _, name := range t.filter {
		if !slices.ContainsFunc(files, func(f *testfile.File) bool { return f.Name == slashed(name) }) {
			t.absent = t.absent.Warnf(nil, "Unknown test file", "The option -filter names %s, but there is no such "+
				"test file. Names are relative to the working directory: %s/NAME.tftest.hcl.", name, *t.dir)
		}
	}
	for _, f := range files {
		if len(t.filter) == 0 || slices.ContainsFunc(t.filter, func(name string) bool {
			return slashed(name) == f.Name
		}) {
			t.files = append(t.files, f)
		}
	}
	var sources map[string][]byte
	t.global, sources, more = config.CollectValues(config.ValueSources{Files: config.OSFiles("."), Environ: c.Environ,
		Options: t.Options})
	c.AddSources(sources)
	diags = diags.Extend(more)
	t.within, sources, more = config.CollectValues(config.ValueSources{Files: config.OSFiles("."),
		Dir: path.Clean(*t.dir)})
	c.AddSources(sources)
	return diags.Extend(more)
}

func slashed(name string) string { return path.Clean(strings.ReplaceAll(name, `\`, "/")) }

// variables returns the external values for a file. Values beside the file override all others.
func (t *testing) variables(f *testfile.File) config.Values {
	if path.Dir(f.Name) != path.Clean(*t.dir) {
		return t.global
	}
	all := config.Values{}
	for name, v := range t.global {
		all[name] = v
	}
	for name, v := range t.within {
		all[name] = v
	}
	return all
}

// config returns the configuration that a run tests.
func (t *testing) config(run *testfile.Run) *config.Config {
	if run == nil || run.Module == nil {
		return t.own
	}
	return t.configs[run]
}

// project loads a module for a run.
func (t *testing) project(ctx context.Context, w suite.Wanted) (*engine.Project, diag.List) {
	return t.call.Load(ctx, command.ProjectOptions{Module: w.Run.Place(), RootProviders: w.Providers,
		Parallelism: t.parallelism,
		Events:      t.running.Track(), Abort: t.running.Abort})
}

func (t *testing) writeJUnit(r *suite.Result, o report.Options) (diags diag.List) {
	doc, err := report.JUnit(r, o)
	if err == nil {
		err = replace.Detach(t.call.Surroundings.In("."), t.junit)
	}
	if err == nil {
		err = replace.File(t.junit, 0o640, func(w io.Writer) error {
			_, err := w.Write(doc)
			return err
		})
	}
	if err != nil {
		return diags.Errorf(nil, fmt.Sprintf("error saving JUnit XML to file %q", t.junit), "%s.", err)
	}
	return nil
}
