package suite

import (
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
)

// Configs returns the configuration of a run, or that of the working directory if the run is nil. It returns nil for
// one that could not be loaded.
type Configs func(run *testfile.Run) *config.Config

// Review returns the problems of a file without running it.
func Review(f *testfile.File, of Configs) diag.List {
	diags := reviewFile(f, of)
	for _, run := range f.Runs {
		diags = diags.Extend(reviewRun(run, of))
	}
	return diags
}

// reviewFile returns the problems of blocks that apply to all runs of a file. Overridden objects may be in the module
// of the working directory or in the module of any run, executed or not.
func reviewFile(f *testfile.File, of Configs) (diags diag.List) {
	configs := []*config.Config{of(nil)}
	for _, run := range f.Runs {
		configs = append(configs, of(run))
	}
	for _, p := range f.Providers {
		if p.Mock == nil {
			continue
		}
		for _, o := range p.Mock.Overrides {
			if o.TargetRange.Filename == f.Name { // mock files may be shared by test files
				diags = diags.Extend(overTarget(o, configs...))
			}
		}
	}
	for _, o := range f.Overrides {
		diags = diags.Extend(overTarget(o, configs...))
	}
	return diags
}

// reviewRun returns the problems of a run's blocks.
func reviewRun(run *testfile.Run, of Configs) (diags diag.List) {
	for _, o := range run.Overrides {
		diags = diags.Extend(overTarget(o, of(run)))
	}
	_, more := expectations(run)
	return diags.Extend(more)
}

// overTarget warns of an override whose target is in none of the configurations. A nil configuration is unknown.
func overTarget(o *testfile.Override, configs ...*config.Config) (diags diag.List) {
	looked := false
	for _, cfg := range configs {
		if cfg != nil && has(cfg, o) {
			return nil
		}
		looked = looked || cfg != nil
	}
	if !looked {
		return nil
	}
	return diags.Warnf(&o.TargetRange, "Invalid override target",
		"The configuration under test has no %s, so this override does nothing.", o.Target)
}

// has reports whether a configuration has the block that an override is for.
func has(c *config.Config, o *testfile.Override) bool {
	m := c.Module(o.Target.Module.Config())
	return m != nil && (o.Target.IsModule() || m.Resources[o.Target.Resource] != nil)
}
