package command

import (
	"context"
	"errors"
	"flag"
	"os"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/settings"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

// list is a flag that may be given more than once.
type list struct{ add func(string) }

func (l list) String() string         { return "" }
func (l list) Set(value string) error { l.add(value); return nil }

// StringsFlag declares a flag that may be given more than once.
func (c *Call) StringsFlag(to *[]string, name, usage string) {
	c.Flags.Var(list{func(v string) { *to = append(*to, v) }}, name, usage)
}

// Variables holds -var and -var-file, in the order in which they were given.
type Variables struct{ Options []config.Option }

// VariableFlags declares -var and -var-file.
func (v *Variables) VariableFlags(c *Call) {
	give := func(o config.Option) {
		v.Options = append(v.Options, o)
		c.Surroundings.Given = v.Options
	}
	c.Flags.Var(list{func(text string) { give(config.Option{Text: text}) }}, "var",
		"Set a variable of the root module, as `NAME=VALUE`. May be given more than once.")
	c.Flags.Var(list{func(text string) { give(config.Option{File: true, Text: text}) }}, "var-file",
		"Read variable values from `FILE`, in addition to terraform.tfvars and *.auto.tfvars. May be given more than "+
			"once.")
}

// ConstantFlags declares the flags of VariableFlags for a command that needs values only in sources of modules and, in
// OpenTofu's projects, in backend settings. Terraform 1.11 ignores the flags on these commands, even if a file does not
// exist; wrappers pass them to every command.
func (c *Call) ConstantFlags() {
	give := func(o config.Option) { c.Surroundings.Given = append(c.Surroundings.Given, o) }
	c.Flags.Var(list{func(text string) { give(config.Option{Text: text}) }}, "var",
		"Set a variable of the root module, as `NAME=VALUE`, for use in module sources and backend settings.")
	c.Flags.Var(list{func(text string) { give(config.Option{File: true, Text: text}) }}, "var-file",
		"Read variable values from `FILE`, for use in module sources and backend settings.")
}

// ProgressFlags declares -concise and -progress.
func (c *Call) ProgressFlags() {
	c.Flags.BoolVar(&c.concise, "concise", false, "Do not show the progress of operations. Plans show only which "+
		"objects change, and why objects are destroyed. In OpenTofu's projects, and if the program runs under "+
		"another name, plans keep their details.")
	c.showsProgress = true
	c.Flags.Func("progress", "How to show the progress of operations: `HOW` is plain for one line per group of "+
		"objects every ten seconds, live for lines that are redrawn on a terminal, or none. The default is live on "+
		"terminals, and elsewhere lines for each object.", func(text string) error {
		how, known := settings.ParseProgress(text)
		if !known {
			return errors.New("expected " + settings.ProgressNames)
		}
		c.progress = how
		return nil
	})
}

// progressOf returns how to show progress, from the flag or else from the CLI configuration, whose errors are reported
// elsewhere.
func (c *Call) progressOf() settings.Progress {
	if !c.showsProgress || c.progress != "" {
		return c.progress
	}
	set, _ := c.Surroundings.Settings()
	return set.Progress
}

// BeConcise omits the progress of operations from the text, like -concise.
func (c *Call) BeConcise() { c.concise = true }

// DeprecationFlag declares -deprecation.
func (c *Call) DeprecationFlag() {
	levels := map[string]view.Deprecations{"module:": view.AllDeprecations, "module:all": view.AllDeprecations,
		"module:local": view.LocalDeprecations, "module:none": view.NoDeprecations}
	c.Flags.Func("deprecation", "Which warnings about deprecated variables and outputs of modules to show: the "+
		"`LEVEL` is module:all, module:none, or module:local for only those of modules in local directories. The "+
		"default is module:all.", func(text string) error {
		level, known := levels[text]
		if !known {
			return errors.New("expected module:all, module:local or module:none")
		}
		c.deprecations = level
		return nil
	})
}

// Shown returns the problems to show as text.
func (c *Call) Shown(diags diag.List) diag.List { return c.ViewOptions().Shown(diags) }

// FullFlag declares -full.
func (c *Call) FullFlag() {
	c.Flags.BoolVar(&c.full, "full", false,
		"Do not shorten long values on terminals, and show each of several equal changes.")
}

// SecretsFlag declares -show-sensitive.
func (c *Call) SecretsFlag() {
	c.Flags.BoolVar(&c.showSensitive, "show-sensitive", false,
		"Show sensitive values in the text. Everyone who can see the output, or a log of it, can read them.")
}

// Locking holds the flags of commands that take the lock of a state.
type Locking struct {
	Lock    bool
	Timeout time.Duration
}

// LockFlags declares the flags of Locking.
func (l *Locking) LockFlags(c *Call) {
	c.Flags.BoolVar(&l.Lock, "lock", true,
		"Do not lock the state. This is dangerous if others might run at the same time.")
	c.Flags.DurationVar(&l.Timeout, "lock-timeout", 0,
		"Wait up to `DURATION`, such as 60s, for a lock that another run holds.")
}

// Given reports whether -lock was given.
func (l *Locking) Given(c *Call) bool { return c.FlagGiven("lock") }

// FlagGiven reports whether an option was given.
func (c *Call) FlagGiven(name string) (given bool) {
	c.Flags.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// OpenOptions returns the options of opening a project for an operation.
func (l *Locking) OpenOptions(operation state.Operation) engine.OpenOptions {
	return engine.OpenOptions{Operation: operation, NoLock: !l.Lock, Timeout: l.Timeout}
}

// StateFiles holds the flags for the files of the state.
type StateFiles = engine.StateFiles

// StateReadFlags declares the flag of commands that only read the state.
func (c *Call) StateReadFlags(s *StateFiles) {
	c.Flags.StringVar(&s.In, "state", "", "Read the state from `FILE` instead of terraform.tfstate.")
}

// StateWriteFlags declares the flags of commands that write the state.
func (c *Call) StateWriteFlags(s *StateFiles) {
	c.StateEditFlags(s)
	c.Flags.StringVar(&s.Out, "state-out", "", "Write the state to `FILE` instead of where it was read from.")
}

// StateEditFlags declares the flags of commands that change the state where it is.
func (c *Call) StateEditFlags(s *StateFiles) {
	c.StateReadFlags(s)
	c.Flags.StringVar(&s.Backup, "backup", "",
		"Write the backup of the former state to `FILE` instead of the state file's name with .backup; - writes none.")
}

// DeprecatedStateFlags warns of flags that are kept only for compatibility.
func DeprecatedStateFlags(s StateFiles) (diags diag.List) {
	if s.In != "" {
		diags = diags.Warnf(nil, "Deprecated flag: -state", "Set the path of the state in the configuration, so that "+
			"every command finds it: terraform { backend \"local\" { path = %q } }", s.In)
	}
	return diags
}

// TestFlag declares the flag for the directory of test files.
func TestFlag(c *Call) *string {
	return c.Flags.String("test-directory", testfile.DefaultDir,
		"Look for test files in `DIR` as well as in the directory of the module.")
}

// TestFiles reads the files of tests of the working directory.
func (c *Call) TestFiles(dir string) ([]*testfile.File, diag.List) {
	files, diags := testfile.Load(config.OSFiles("."), dir, c.Flavor())
	for _, f := range files {
		c.AddSources(f.Sources)
	}
	return files, diags
}

// TestModule loads the module of a run that has its own module.
func (c *Call) TestModule(ctx context.Context, run *testfile.Run) (*config.Config, diag.List) {
	load := c.ConfigOptions()
	load.Module, load.Constants = run.Place(), c.Constants
	cfg, diags := config.Load(ctx, load)
	if cfg != nil {
		c.AddSources(cfg.Files)
	}
	return cfg, diags
}

// TestDirectory warns if the directory of TestFlag does not exist. The default directory is optional.
func TestDirectory(dir string) (diags diag.List) {
	if _, err := os.Stat(dir); err != nil && dir != testfile.DefaultDir {
		diags = diags.Warnf(nil, "Test directory does not exist",
			"There is no directory %s, which -test-directory names.", dir)
	}
	return diags
}
