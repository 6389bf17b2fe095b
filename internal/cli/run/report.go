package run

import (
	"io"
	"os"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/view/report"
	"github.com/tombolo-iac/tombolo/plan"
)

// reportFlag declares the option for a report of the run.
func (p *planning) reportFlag(c *command.Call, of string) {
	c.Flags.StringVar(&p.report, "report", "", "Write a report of the "+of+" to `FILE`, a self-contained HTML page "+
		"without sensitive values.")
}

// checkReport returns an error if the report cannot be written, before anything is done.
func (p *planning) checkReport() diag.List {
	if p.report == "" {
		return nil
	}
	info, err := os.Stat(filepath.Dir(p.report))
	switch {
	case err != nil:
		return diag.List{}.Errorf(nil, "The report cannot be written", "The option -report names %q, and its folder "+
			"cannot be used: %s.", p.report, err)
	case !info.IsDir():
		return diag.List{}.Errorf(nil, "The report cannot be written", "The option -report names %q, but its parent "+
			"is a file, not a folder.", p.report)
	}
	return nil
}

// events returns the sink for the events of the run, including the recorder of the report.
func (s *session) events() event.Sink {
	if s.flags.report == "" {
		return s.running
	}
	s.recorder = &report.Recorder{Next: s.running}
	return s.recorder
}

// report writes the report of a plan, or of an apply if there is a recorder. The problems are included.
func (s *session) report(pl *plan.Plan, problems diag.List, recorder *report.Recorder) (diags diag.List) {
	name := s.flags.report
	if name == "" || pl == nil {
		return nil
	}
	o := report.Options{View: s.call.ViewOptions(), Version: engine.Version, Problems: s.call.Named(problems),
		Run: recorder}
	o.View.ShowSensitive = false // the file is meant to be shared
	err := replace.Detach(s.call.Surroundings.In("."), name)
	if err == nil {
		err = replace.Exact(name, 0o600, func(w io.Writer) error {
			return report.Plan(w, o, pl, s.schemas(pl))
		})
	}
	if err != nil {
		diags = diags.AppendError("Failed to write the report", err)
	}
	return diags
}
