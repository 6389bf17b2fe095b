// Package view writes the output of commands: as text for people and, with -json, as JSON for programs.
//
//	v := view.New(view.Options{Out: os.Stdout, Err: os.Stderr, Program: "terraform"})
//	defer v.Close()
//	v.Start()
//	options.Events = v                    // a View is an event.Sink
//	v.Plan(p, schemas)
//	v.Diagnostics(diags)
//	v.NextStep(view.NextStep{PlanFile: "tfplan"})
//
// A View serves one run of one command. The commands that print one document (show, output, state show) call State,
// Object, Outputs and similar functions instead; their JSON documents are in internal/tfjson.
//
// All external text (addresses, values, messages of providers and programs) is sanitized by the same function before it
// is written, and sensitive values are only written if ShowSensitive is set.
//
// Send starts at most one goroutine, which writes the "still creating" lines; Close stops it and waits for it.
package view

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/internal/view/ci"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Options configures the output. Only Out is required.
type Options struct {
	// Out receives results and progress; Err receives errors and, in text, nothing else. A nil Err means Out.
	Out, Err io.Writer
	// JSON selects JSON lines: one object per line, all of it on Out.
	JSON bool
	// Into receives JSON lines in addition to the text, if JSON is not set; nil means only text.
	Into io.Writer
	// Color permits escape sequences, and the frames around diagnostics.
	Color bool
	// Width is the number of columns to wrap text at; 0 means 78.
	Width int
	// Size returns the columns and rows of the terminal that Out is, and permits the live display, which moves the
	// cursor. Nil means a line for each start and end, as in logs.
	Size func() (columns, rows int)
	// Full disables the abbreviations on terminals, where long values are cut and equal changes are shown once.
	Full bool
	// Command is the running command, such as "apply", which determines whether the end is reported as an apply or a
	// destroy. If it is empty, the mode of the plan does.
	Command string
	// Program is the name of the command in texts, such as "terraform"; empty means "tombolo".
	Program string
	// Embedded means that another program shows the text, and its users may not have the command.
	Embedded bool
	// Tool and LanguageVersion are the name and version in the lines for programs, such as "terraform"; empty means
	// those of the engine.
	Tool, LanguageVersion string
	// Title is the program's name in sentences; empty means Program.
	Title string
	// StatePath is the file of -state-out, which the end of an apply mentions, or empty.
	StatePath string
	// CI is the service whose syntax is used for groups of lines, and for annotations of the files below Repository.
	CI         ci.Service
	Repository string
	// Automation leaves out advice on what to run next (TF_IN_AUTOMATION).
	Automation bool
	// Concise leaves the progress of operations out of the text, including their output.
	Concise bool
	// IndexOnly leaves the details of changes out of the text of a plan: its index and its closing block list the
	// objects and what happens to them.
	IndexOnly bool
	// Digest reports progress in one line per group of objects every ten seconds, even if Size is set.
	Digest bool
	// ShowSensitive shows sensitive values in the text of plans, states and outputs. JSON lines never contain them.
	ShowSensitive bool
	// Secrets are also hidden in other values. A view adds the sensitive values of the plan or state; nil means that no
	// others are known.
	Secrets *Secrets
	// AllDiagnostics shows every problem in full. Otherwise the first of each kind are shown, and the others counted.
	AllDiagnostics bool
	// ConsolidateErrors shows errors with the same title once, and counts the others, as is done with warnings unless
	// SeparateWarnings is set. Only errors with a location are grouped.
	ConsolidateErrors, SeparateWarnings bool
	// Deprecations selects the warnings about deprecated variables and outputs in the text.
	Deprecations Deprecations
	// CompactWarnings shows warnings without their details if there are no errors.
	CompactWarnings bool
	// Sources returns the text of the source files, by the file names of ranges, for excerpts in diagnostics: usually
	// Config.Files once there is a configuration. It may be nil, and may return nil.
	Sources func() map[string][]byte
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Secrets are strings that must not be shown.
type Secrets = value.Secrets

func (o Options) width() int {
	if o.Width <= 0 {
		return defaultWidth
	}
	return o.Width
}

// brief reports whether the text is for a terminal and should be abbreviated.
func (o Options) brief() bool { return o.Size != nil && !o.Full }

func (o Options) program() string {
	if o.Program == "" {
		return "tombolo"
	}
	return o.Program
}

// tool returns the flavor for the name in JSON lines.
func (o Options) tool() flavor.Flavor { return flavor.OfCommand(o.Tool) }

// title returns the program's name for the beginning of a sentence.
func (o Options) title() string {
	if o.Title != "" {
		return o.Title
	}
	p := o.program()
	return strings.ToUpper(p[:1]) + p[1:]
}

func (o Options) err() io.Writer {
	if o.Err == nil {
		return o.Out
	}
	return o.Err
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// View shows one run of one command. Its methods may be called concurrently; each call's text stays in one piece.
type View interface {
	event.Sink

	// Start begins the run: it writes the version line of the JSON form, and no text.
	Start()
	// Diagnostics shows problems, sorted: in text, errors on Err and warnings on Out.
	Diagnostics(list diag.List)
	// Plan shows the planned changes. In JSON these are the lines resource_drift, planned_change, change_summary and
	// outputs.
	Plan(p *plan.Plan, schemas tfjson.Schemas)
	// Saved lists the changes of a saved plan that is about to be applied: in JSON the lines planned_change. The text
	// form prints nothing.
	Saved(p *plan.Plan)
	// NextStep follows Plan in the plan command: where the plan was saved and how to apply it. Nothing in JSON, or for
	// a plan without changes.
	NextStep(n NextStep)
	// Applied ends an apply, destroy or refresh without errors: the counts of changes, from the events, and the root
	// output values of the new state. The text also lists what was done, and has the location of the state.
	Applied(e Ending)
	// Incomplete ends an apply or destroy with errors, which are shown before it: what was done, what failed and what
	// was not attempted. It writes nothing in JSON.
	Incomplete(e Ending)
	// Lists ends a query: the objects that were found. In JSON the events have already written them.
	Lists(lists []*plan.List)
	// Tell shows a message of the command: unchanged, and in JSON as a line.
	Tell(s Notice)
	// Close stops the goroutine of the progress lines. No method may be called after it.
	Close()
}

// Ending is how an apply ended.
type Ending struct {
	// Earlier are the plans of earlier rounds, which were applied without errors.
	Earlier []*plan.Plan
	// Plan is the plan that was applied, or nil if the run ended between two rounds.
	Plan *plan.Plan
	// State is the stored state.
	State    *state.State
	Problems diag.List
	// Where is the location of the state as users know it, or empty if it is not known.
	Where string
	// Saved means that the plan came from a file, which cannot be applied again.
	Saved bool
}

// count returns a number of changes in the plans of all rounds.
func (e Ending) count(of func(plan.Summary) int) (n int) {
	for _, p := range e.plans() {
		n += of(p.Summary())
	}
	return n
}

// plans returns the plans of all rounds.
func (e Ending) plans() []*plan.Plan {
	if e.Plan == nil {
		return e.Earlier
	}
	return append(slices.Clip(e.Earlier), e.Plan)
}

func (e Ending) imported() int {
	return e.count(func(s plan.Summary) int { return s.Import })
}

func (e Ending) forgotten() int {
	return e.count(func(s plan.Summary) int { return s.Forget })
}

// NextStep describes what the user of the plan command can do with the plan.
type NextStep struct {
	// Plan is the plan that was shown.
	Plan *plan.Plan
	// PlanFile is where the plan was saved, or empty.
	PlanFile string
	// GeneratedConfig is where configuration for imported objects was written, or empty.
	GeneratedConfig string
}

// New returns the view that the options select.
func New(o Options) View {
	if o.JSON {
		return newLines(o)
	}
	if o.Into != nil {
		return newBoth(o)
	}
	return newText(o)
}

// Notice is a message of the command, in addition to problems, plans and events.
type Notice struct {
	// Text is the text for people, printed unchanged; empty for a message only for programs.
	Text string
	// Message is the text for programs; empty means the text in one line.
	Message string
	// Kind is the type of the line for programs; empty means "log". Members are additional members of the line, as
	// pairs of a name and a value.
	Kind    string
	Members []any
	// Code identifies a message of the command init, whose lines have their own type.
	Code string
	// Problem makes it an error: Text is then written to Err, and programs get this problem.
	Problem *diag.Diagnostic
}

// Failure returns an error with a text of the command, whose first paragraph is the summary.
func Failure(text string) Notice {
	summary, detail, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	return Notice{Text: text, Problem: &diag.Diagnostic{Severity: diag.Error,
		Summary: strings.ReplaceAll(summary, "\n", " "), Detail: strings.TrimSpace(detail)}}
}

// message returns the text for programs, or "" if there are no words in it.
func (s Notice) message() string {
	switch {
	case s.Message != "":
		return s.Message
	case s.Code != "":
		return strings.TrimSpace(withoutStyle(s.Text))
	}
	var lines []string
	for line := range strings.SplitSeq(withoutStyle(s.Text), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

// withoutStyle returns a text without escape sequences for styles.
func withoutStyle(s string) string {
	for {
		start := strings.Index(s, "\x1b[")
		if start < 0 {
			return s
		}
		end := strings.IndexByte(s[start:], 'm')
		if end < 0 {
			return s
		}
		s = s[:start] + s[start+end+1:]
	}
}

// both is a View for people and one for programs, of the same run.
type both struct{ people, programs View }

func newBoth(o Options) *both {
	people := o
	people.Into = nil
	return &both{newText(people), newLines(o.ForPrograms())}
}

// ForPrograms returns the options for the lines that are written to Into.
func (o Options) ForPrograms() Options {
	o.Out, o.Err, o.Into = o.Into, nil, nil
	o.JSON, o.Color, o.Size, o.ShowSensitive = true, false, nil, false
	return o
}

// secrets returns the parts of a value that are not shown.
func (o Options) secrets(v cty.Value, paths []cty.Path, b *provider.Block) *tfjson.Secrets {
	if o.ShowSensitive {
		return nil
	}
	return tfjson.SecretsOf(v, paths, b)
}

// Send implements event.Sink.
func (b *both) Send(e event.Event) {
	b.people.Send(e)
	b.programs.Send(e)
}

// Start implements View.
func (b *both) Start() {
	b.people.Start()
	b.programs.Start()
}

// Diagnostics implements View.
func (b *both) Diagnostics(list diag.List) {
	b.people.Diagnostics(list)
	b.programs.Diagnostics(list)
}

// Plan implements View.
func (b *both) Plan(p *plan.Plan, schemas tfjson.Schemas) {
	b.people.Plan(p, schemas)
	b.programs.Plan(p, schemas)
}

// Saved implements View.
func (b *both) Saved(p *plan.Plan) {
	b.people.Saved(p)
	b.programs.Saved(p)
}

// NextStep implements View.
func (b *both) NextStep(n NextStep) {
	b.people.NextStep(n)
	b.programs.NextStep(n)
}

// Applied implements View.
func (b *both) Applied(e Ending) {
	b.people.Applied(e)
	b.programs.Applied(e)
}

// Incomplete implements View.
func (b *both) Incomplete(e Ending) {
	b.people.Incomplete(e)
	b.programs.Incomplete(e)
}

// Lists implements View.
func (b *both) Lists(lists []*plan.List) {
	b.people.Lists(lists)
	b.programs.Lists(lists)
}

// Tell implements View.
func (b *both) Tell(s Notice) {
	b.people.Tell(s)
	b.programs.Tell(s)
}

// Close implements View.
func (b *both) Close() {
	b.people.Close()
	b.programs.Close()
}
