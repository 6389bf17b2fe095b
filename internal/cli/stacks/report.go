package stacks

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/stack"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/internal/view/report"
)

func seen(diags diag.List, u *stack.Unit) diag.List { return stack.Seen(diags, u) }

// reportFlag declares the option for a report.
func (o *running) reportFlag(c *command.Call) {
	c.Flags.StringVar(&o.report, "report", "", "Write a report of all units to `FILE`: an HTML page without sensitive "+
		"values, or Markdown if the name ends with .md.")
}

// report writes a page about all units, if one is wanted. Outcomes are those of an apply that has begun.
func (s *session) report(outcomes bool) bool {
	name := s.flags.report
	if name == "" {
		return true
	}
	list := s.run.Results()
	title := "Plans of " + countOf(len(list))
	if outcomes {
		title = "Apply of " + countOf(len(list))
	}
	var b bytes.Buffer
	err := error(nil)
	if filepath.Ext(name) == ".md" {
		err = s.markdown(&b, title, list)
	} else {
		err = s.html(&b, title, list, outcomes)
	}
	if err == nil {
		err = replace.Detach(s.call.Surroundings.In("."), name)
	}
	if err == nil {
		err = replace.Exact(name, 0o600, func(w io.Writer) error {
			_, err := w.Write(b.Bytes())
			return err
		})
	}
	if err != nil {
		return s.call.Report(diag.List{}.AppendError("Failed to write the report", err))
	}
	return true
}

// html writes one page with the report of each unit.
func (s *session) html(w io.Writer, title string, list []*stack.Result, outcomes bool) error {
	var units []report.Unit
	for _, r := range list {
		o := report.Options{View: s.board.options, Version: engine.Version, Problems: shown(s.call, r.Unit, r.Problems)}
		o.View.ShowSensitive = false // the file is meant to be shared
		if r.Secrets != nil {
			o.View.Secrets = r.Secrets
		}
		if outcomes && r.Changed {
			o.Run = s.board.units[r.Unit].recorder
		}
		u := report.Unit{Name: r.Unit.Name, Phase: string(r.Phase), Reason: r.Reason, Notes: r.Notes, Options: o,
			Schemas: r.Schemas}
		if r.Plan != nil && (r.Plan.Applyable() || r.Plan.Errored || r.Changed) {
			u.Plan = r.Plan
		}
		units = append(units, u)
	}
	return report.Units(w, report.Options{View: s.board.options, Version: engine.Version}, title, units)
}

// markdown writes a page with a table of all units, and the plans with changes.
func (s *session) markdown(b *bytes.Buffer, title string, list []*stack.Result) error {
	fmt.Fprintf(b, "# %s\n\n| unit | | |\n|---|---|---|\n", title)
	for _, r := range list {
		fmt.Fprintf(b, "| %s | %s | %s |\n", r.Unit.Name, r.Phase, view.CleanLine(r.Reason))
	}
	for _, r := range list {
		if r.Plan == nil || r.Phase != stack.Planned && !r.Changed {
			continue
		}
		fmt.Fprintf(b, "\n# Unit %s\n\n", r.Unit.Name)
		for _, note := range r.Notes {
			fmt.Fprintf(b, "- %s\n", view.CleanLine(note))
		}
		if err := view.Markdown(view.Options{Out: b, Secrets: r.Secrets}, r.Plan, r.Schemas, 0, ""); err != nil {
			return err
		}
	}
	return nil
}
