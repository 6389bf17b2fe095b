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
// Object, Outputs and similar functions instead; the JSON documents of those are in internal/tfjson.
//
// All text that comes from outside (addresses, values, messages of providers and programs) passes one filter for
// control characters before it is written, and values that are marked sensitive are only written if ShowSensitive is
// set.
//
// Send starts at most one goroutine, which writes the "still creating" lines; Close ends it and waits for it.
package view

import (
	"io"
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

// Options configures the output. Only Out is needed.
type Options struct {
	// Out takes results and progress; Err errors and, in text, nothing else. A nil Err means Out.
	Out, Err io.Writer
	// JSON chooses the JSON lines form: one object a line, all of it on Out.
	JSON bool
	// Into gets the lines of the JSON form in addition to text, if JSON is not chosen; nil for text alone.
	Into io.Writer
	// Color permits escape sequences, and with them the frame around diagnostics.
	Color bool
	// Width is the number of columns to wrap text at; 0 means 78.
	Width int
	// Size returns the columns and rows of the terminal that Out is, and permits the live display, which moves the
	// cursor. Nil means a line for each beginning and end, as logs want it.
	Size func() (columns, rows int)
	// Full leaves nothing out on a terminal, where long values are cut and equal changes are shown once.
	Full bool
	// Command is the command that runs, such as "apply": it decides whether an end is called an apply or a destroy.
	// Empty means that the mode of the plan decides.
	Command string
	// Program is the name that the texts call the command by, such as "terraform"; empty means "tombolo".
	Program string
	// Embedded means that a program shows the text whose people may not have the command.
	Embedded bool
	// Tool and LanguageVersion are the name and version in the lines for programs, such as "terraform"; empty means
	// those of the engine.
	Tool, LanguageVersion string
	// Title is the name in sentences; empty means Program.
	Title string
	// StatePath is the file that -state-out named, which the end of an apply tells; empty otherwise.
	StatePath string
	// CI is the service in whose syntax the text has groups of lines, and annotations of the files below Repository.
	CI         ci.Service
	Repository string
	// Automation leaves out advice on what to run next (TF_IN_AUTOMATION).
	Automation bool
	// Concise leaves the progress of operations out of the text: their beginnings, their progress and their output.
	Concise bool
	// IndexOnly leaves the details of changes out of the text of a plan: its index and its closing block say what
	// happens to which object.
	IndexOnly bool
	// Digest tells progress in one line a group of objects in ten seconds, also where there is a Size.
	Digest bool
	// ShowSensitive shows in the text of plans, states and outputs what is marked as sensitive. JSON lines never do.
	ShowSensitive bool
	// Secrets are not shown as parts of other values either. A view adds what the plan or state has declared as
	// sensitive; nil means that nothing else is known.
	Secrets *Secrets
	// AllDiagnostics shows every problem in full. Otherwise the first of each kind are, and the others counted.
	AllDiagnostics bool
	// ConsolidateErrors shows errors with one title once, and counts the others, as is done with warnings unless
	// SeparateWarnings is set. Only those with a place count as alike.
	ConsolidateErrors, SeparateWarnings bool
	// Deprecations selects which warnings of deprecated variables and outputs the text has.
	Deprecations Deprecations
	// CompactWarnings shows warnings without their details when there are no errors.
	CompactWarnings bool
	// Sources returns the text of the source files, by the names that ranges carry, for showing diagnostics: usually
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

// brief reports whether people read the text at a terminal, who want no more than they can read.
func (o Options) brief() bool { return o.Size != nil && !o.Full }

func (o Options) program() string {
	if o.Program == "" {
		return "tombolo"
	}
	return o.Program
}

// tool returns the flavor of the name in lines for programs.
func (o Options) tool() flavor.Flavor { return flavor.OfCommand(o.Tool) }

// title is the program's name as it begins a sentence.
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

	// Start begins the run: the version line of the JSON form. The text form says nothing.
	Start()
	// Diagnostics shows problems, sorted: in text errors on Err and warnings on Out.
	Diagnostics(list diag.List)
	// Plan shows what would change. In JSON these are the lines resource_drift, planned_change, change_summary and
	// outputs.
	Plan(p *plan.Plan, schemas tfjson.Schemas)
	// Saved names the changes of a saved plan that is about to be performed: in JSON the lines planned_change. The text
	// form prints nothing.
	Saved(p *plan.Plan)
	// NextStep follows Plan in the plan command: where the plan was saved and how to apply it. Nothing in JSON, or for
	// a plan without changes.
	NextStep(n NextStep)
	// Applied ends an apply, destroy or refresh without errors: the counts of changes, from the events, and the root
	// output values of the new state. p is the plan that was applied.
	Applied(p *plan.Plan, s *state.State)
	// Incomplete ends an apply or destroy with errors, which are shown before it: what was done, what failed and what
	// was not tried. Nothing in JSON.
	Incomplete(e Ending)
	// Lists ends a query: the objects that were found. In JSON the events have told them.
	Lists(lists []*plan.List)
	// Tell shows a text of the command itself: as it is, and in JSON as a line.
	Tell(s Notice)
	// Close ends the goroutine behind the progress lines. Nothing may be called after it.
	Close()
}

// Ending is how an apply with errors ended.
type Ending struct {
	Plan *plan.Plan
	// State is the stored state.
	State    *state.State
	Problems diag.List
	// Where is the place of the state as people know it; empty if nobody can tell.
	Where string
	// Saved means that the plan came from a file, which cannot be applied again.
	Saved bool
}

// NextStep prints what the user of the plan command can do with the plan.
type NextStep struct {
	// Plan is the plan that was shown.
	Plan *plan.Plan
	// PlanFile is where the plan was saved; empty when it was not.
	PlanFile string
	// GeneratedConfig is where configuration for imported objects was written; empty when none was.
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

// Notice is a text of the command itself, in addition to problems, plans and events.
type Notice struct {
	// Text is the text for people, printed as it is; empty for a message to programs alone.
	Text string
	// Message is the text for programs; empty means the text in one line.
	Message string
	// Kind is the type of the line for programs; empty means "log". Members are more members of the line, in pairs of a
	// name and a value.
	Kind    string
	Members []any
	// Code is by what programs know a text of the command init, whose lines have a type of their own.
	Code string
	// Problem makes it an error: people find the text on Err, and programs this.
	Problem *diag.Diagnostic
}

// Failure returns an error in words of the command: its first paragraph is the summary.
func Failure(text string) Notice {
	summary, detail, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	return Notice{Text: text, Problem: &diag.Diagnostic{Severity: diag.Error,
		Summary: strings.ReplaceAll(summary, "\n", " "), Detail: strings.TrimSpace(detail)}}
}

// message returns the text for programs. A text without words is empty.
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

// withoutStyle returns a text without control sequences of style.
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

// ForPrograms returns the options of the lines that go to Into.
func (o Options) ForPrograms() Options {
	o.Out, o.Err, o.Into = o.Into, nil, nil
	o.JSON, o.Color, o.Size, o.ShowSensitive = true, false, nil, false
	return o
}

// secrets are the parts of a value that are not shown.
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
func (b *both) Applied(p *plan.Plan, s *state.State) {
	b.people.Applied(p, s)
	b.programs.Applied(p, s)
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
