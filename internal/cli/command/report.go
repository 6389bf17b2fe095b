package command

import (
	"path"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/settings"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

// AddSources adds the text of files for diagnostics.
func (c *Call) AddSources(more map[string][]byte) {
	if c.sources == nil {
		c.sources = map[string][]byte{}
	}
	for name, src := range more {
		c.sources[name] = src
	}
}

// Sources returns the text of files for diagnostics.
func (c *Call) Sources() map[string][]byte { return c.sources }

// ViewOptions returns the settings of this call's view.
func (c *Call) ViewOptions() view.Options {
	o := view.Options{
		Out: c.Out, Err: c.Err, JSON: c.JSON, Color: c.Color(), Width: c.Width, Program: c.Program, Title: c.Title,
		Tool: c.Flavor().Command(), LanguageVersion: c.LanguageVersion(),
		CI: c.CI(), Repository: c.Repository(),
		Command: c.Path, StatePath: c.StatePath, Automation: c.Automated(), CompactWarnings: c.compact,
		ConsolidateErrors: c.consolidateErrors, SeparateWarnings: !c.consolidateWarnings, Deprecations: c.deprecations,
		Concise: c.concise, ShowSensitive: c.showSensitive, Full: c.full, Secrets: &c.secrets,
		IndexOnly: c.concise && c.CalledAs == flavor.Unset && c.Flavor() != flavor.OpenTofu,
		Sources:   c.Sources, AllDiagnostics: c.Getenv("TOMBOLO_ALL_DIAGNOSTICS") != "",
	}
	how := c.progressOf()
	if c.live(how) {
		o.Size = c.Size
	}
	o.Digest, o.Concise = how == settings.ProgressPlain, o.Concise || how == settings.ProgressNone
	if c.form == lines && c.into != nil {
		o.Into = c.into
	}
	return o
}

// live reports whether lines may be redrawn: on a terminal that supports it, unless its output is kept as a log.
// Programs such as the CLI of CDKTF read the terminal line by line; they set TF_APPEND_USER_AGENT. An explicit request
// for the display overrides this.
func (c *Call) live(how settings.Progress) bool {
	kept := c.Automated() || c.Getenv("CI") != "" || c.Getenv("TF_APPEND_USER_AGENT") != ""
	if kept && how != settings.ProgressLive {
		return false
	}
	return c.Color() && c.OutTerminal && c.Size != nil && c.Getenv("TERM") != "" && c.Getenv("TERM") != "dumb"
}

// Color reports whether to use colors: on a terminal unless they are disabled, and elsewhere if FORCE_COLOR or
// CLICOLOR_FORCE is set, as in jobs whose log shows colors.
func (c *Call) Color() bool {
	if c.JSON || c.noColor || c.Getenv("NO_COLOR") != "" {
		return false
	}
	for _, name := range []string{"FORCE_COLOR", "CLICOLOR_FORCE"} {
		if v := c.Getenv(name); v != "" && v != "0" && v != "false" {
			return true
		}
	}
	return c.OutTerminal && c.Getenv("TERM") != "dumb"
}

// View returns the view of this call. It is created on first use, when all flags have been parsed.
func (c *Call) View() view.View {
	if c.view == nil {
		c.view = view.New(c.ViewOptions())
		c.view.Start()
	}
	return c.view
}

func (c *Call) closeView() {
	if c.view != nil {
		c.view.Close()
		c.view = nil
	}
}

// Report shows problems and reports whether none of them is an error.
func (c *Call) Report(diags diag.List) bool {
	if len(diags) > 0 {
		c.ReadSources(diags)
		c.View().Diagnostics(c.Named(diags))
	}
	return !diags.HasErrors()
}

// Named inserts the name of the program into the commands that problems suggest.
func (c *Call) Named(diags diag.List) diag.List { return diags.For(c.Program) }

// ReadSources reads the files of problems if no configuration was loaded.
func (c *Call) ReadSources(diags diag.List) {
	for _, d := range diags {
		if d.Subject == nil || c.sources[d.Subject.Filename] != nil {
			continue
		}
		if src, err := regular.Read(filepath.FromSlash(d.Subject.Filename), regular.Text); err == nil {
			c.AddSources(map[string][]byte{d.Subject.Filename: src})
		}
	}
}

// End shows problems at the end of a command.
func (c *Call) End(diags diag.List) Outcome {
	if !c.Report(diags) {
		return Failed
	}
	return Done
}

// Finish is like End, for an error that is not a diagnostic.
func (c *Call) Finish(summary string, err error) Outcome {
	return c.End(diag.FromError(summary, err))
}

// Interrupted warns about the operations that a killed run left open.
func (c *Call) Interrupted(s *state.Snapshot) {
	c.reportApart(engine.BlankWarning(s))
	if s == nil || s.Running != nil {
		return // a run in progress may have operations in flight
	}
	c.reportApart(engine.InterruptedWarnings(s))
}

// reportApart shows problems that do not concern the command, on standard error: programs parse the standard output of
// some commands.
func (c *Call) reportApart(diags diag.List) {
	if len(diags) == 0 {
		return
	}
	c.ReadSources(diags)
	o := c.ViewOptions()
	o.Out, o.JSON, o.Into = c.Err, false, nil
	v := view.New(o)
	v.Diagnostics(c.Named(diags))
	v.Close()
}

// Bold returns a text in bold, if colors are used.
func (c *Call) Bold(text string) string {
	if c.Color() {
		return "\x1b[1m" + text + "\x1b[0m"
	}
	return text
}

// Green returns a text in bold green, if colors are used.
func (c *Call) Green(text string) string {
	if c.Color() {
		return "\x1b[32m\x1b[1m" + text + "\x1b[0m"
	}
	return text
}

// Settings reads the CLI configuration. Its warnings are shown immediately, because they do not concern the command.
func (c *Call) Settings() (*settings.Settings, diag.List) {
	set, diags := c.Surroundings.Settings()
	if !c.warned {
		c.warned = true
		c.reportApart(diags.OnlyWarnings())
	}
	return set, diags.OnlyErrors()
}

// SeenFromHere makes file names of problems relative to the working directory instead of the directory of the
// configuration.
func SeenFromHere(diags diag.List, dir string) diag.List {
	out := make(diag.List, len(diags))
	for i, d := range diags {
		moved := *d
		for _, rng := range []**hcl.Range{&moved.Subject, &moved.Context} {
			if *rng != nil {
				to := **rng
				to.Filename = path.Join(filepath.ToSlash(dir), to.Filename)
				*rng = &to
			}
		}
		out[i] = &moved
	}
	return out
}
