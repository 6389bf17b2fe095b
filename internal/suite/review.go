package suite

import (
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
)

// Review finds what is wrong with a file without running it. of gives the configuration that a run is about; nil when
// it could not be loaded.
func Review(f *testfile.File, of func(*testfile.Run) *config.Config) (diags diag.List) {
	diags = overTargets(of, f.Overrides, f.Runs...)
	for _, run := range f.Runs {
		diags = diags.Extend(overTargets(of, run.Overrides, run))
	}
	for _, run := range f.Runs {
		_, more := expectations(run)
		diags = diags.Extend(more)
	}
	return diags
}

// overTargets warns of overrides of what is in none of the configurations of the runs that they are for.
func overTargets(of func(*testfile.Run) *config.Config, list []*testfile.Override, runs ...*testfile.Run) (
	diags diag.List) {
	for _, o := range list {
		found, looked := false, false
		for _, run := range runs {
			if cfg := of(run); cfg != nil {
				looked = true
				found = found || has(cfg, o)
			}
		}
		if looked && !found {
			diags = diags.Warnf(&o.TargetRange, "Invalid override target",
				"The configuration under test has no %s, so this override does nothing.", o.Target)
		}
	}
	return diags
}

// has reports whether a configuration has the block that an override is for.
func has(c *config.Config, o *testfile.Override) bool {
	m := c.Module(o.Target.Module.Config())
	return m != nil && (o.Target.IsModule() || m.Resources[o.Target.Resource] != nil)
}
