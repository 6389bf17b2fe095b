package view

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view/balance"
	"github.com/tombolo-iac/tombolo/internal/view/ci"
	"github.com/tombolo-iac/tombolo/internal/view/digest"
	"github.com/tombolo-iac/tombolo/internal/view/live"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// text is the View for people.
type text struct {
	o Options
	style
	watch *watch
	// live is the display of operations in progress, or nil without a terminal. Its own mutex is only acquired while
	// mu is held, never the other way around.
	live *live.Display
	// digest counts operations instead, or is nil if each has its own lines. It acquires mu while holding its own
	// mutex.
	digest *digest.Digest

	ledger balance.Ledger

	mu        sync.Mutex // guards Out and Err, so that texts do not mix
	done      counts
	refreshed int
	grouped   bool                              // progress lines are in a group
	halves    map[addr.AbsResourceInstance]bool // replaced objects without a completed operation
}

func newText(o Options) *text {
	o.Secrets = cmp.Or(o.Secrets, &Secrets{})
	t := &text{o: o, style: style{o.Color}}
	if o.Size != nil && !o.Concise && !o.Digest {
		t.live = live.New(live.Options{Out: o.Out, Size: o.Size, Now: o.Now, Style: t.liveStyle})
	}
	if o.Digest && !o.Concise {
		t.digest = digest.New(digest.Options{Say: t.line, Now: o.Now})
	}
	t.watch = newWatch(o.now, func(e event.OperationStart, elapsed time.Duration) {
		t.line(clean(e.Object.String()) + ": " + stillText(e, elapsed))
	})
	return t
}

// Start prints nothing.
func (t *text) Start() {}

// Close stops the progress lines and the live display.
func (t *text) Close() {
	t.watch.stop()
	if t.digest != nil {
		t.digest.Close()
	}
	if t.live != nil {
		t.live.Close()
	}
	t.group(false)
}

// write writes a text in one piece.
func (t *text) write(w io.Writer, s string) {
	t.exclusively(func() { _, _ = io.WriteString(w, s) })
}

// flush writes the buffered progress of a digest, and ends the group, before another text.
func (t *text) flush() {
	if t.digest != nil {
		t.digest.Flush()
	}
	t.group(false)
}

// exclusively runs a function that writes to Out or Err, with the live display removed. The owner of the writer handles
// its errors.
func (t *text) exclusively(write func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live == nil {
		write()
		return
	}
	t.live.Aside(func() {
		if t.refreshed > 0 {
			_, _ = io.WriteString(t.o.Out, t.in(bold, refreshedText(t.refreshed))+"\n")
			t.refreshed = 0
		}
		write()
	})
}

// line writes a line of progress.
func (t *text) line(s string) {
	if s = t.in(bold, s) + "\n"; t.live != nil {
		t.live.Print(s)
		return
	}
	t.group(true)
	t.write(t.o.Out, s)
}

// groupName is the name of the group of progress lines.
const groupName = "tombolo_progress"

// group begins or ends the group of progress lines, if the CI service supports groups.
func (t *text) group(begin bool) {
	t.mu.Lock()
	change := t.grouped != begin
	t.grouped = begin
	t.mu.Unlock()
	switch {
	case !change || t.o.CI == ci.None || t.live != nil:
	case begin:
		t.write(t.o.Out, t.o.CI.Begin(groupName, "Progress", t.o.now()))
	default:
		t.write(t.o.Out, t.o.CI.End(groupName, t.o.now()))
	}
}

// Send shows an event as a line, if there is one for it.
func (t *text) Send(e event.Event) {
	t.ledger.Send(e)
	if t.o.Concise {
		t.briefly(e)
		return
	}
	if t.action(e) || t.list(e) {
		return
	}
	switch {
	case t.live != nil:
		t.display(e)
		return
	case t.digest != nil:
		t.digested(e)
		return
	}
	switch e := e.(type) {
	case event.RefreshStart:
		t.line(clean(e.Object.String()) + ": Refreshing state..." + identity(e.ID))
	case event.OperationStart:
		t.line(clean(e.Object.String()) + ": " + startText(e))
		t.watch.start(e)
	case event.OperationDone:
		t.watch.end(e)
		t.count(e)
		if !e.Failed {
			t.line(clean(e.Object.String()) + ": " + doneText(e))
		}
	case event.ProvisionStart:
		t.line(clean(e.Object.String()) + ": " + provisionText(e))
	case event.Progress:
		t.line(clean(e.Object.String()) + ": " + progressText(e))
	case event.ImportPrepare:
		t.line(clean(e.Object.String()) + ": Preparing import..." + identity(e.ID))
	case event.ImportStart:
		t.line(clean(e.Object.String()) + ": Importing..." + identity(e.ID))
	case event.EphemeralStart:
		t.line(clean(e.Object.String()) + ": " + verbsOfOp[e.Op].start + "...")
	case event.EphemeralDone:
		if !e.Failed {
			t.line(clean(e.Object.String()) + ": " + ephemeralText(e))
		}
	default:
		t.other(e)
	}
}

// briefly counts operations, and shows events other than progress.
func (t *text) briefly(e event.Event) {
	switch e := e.(type) {
	case event.OperationDone:
		t.count(e)
	case event.ActionDone:
		t.countAction(e)
	case event.LockWaiting, event.Stopping:
		t.other(e)
	}
}

// other shows the events that look the same with and without a live display.
func (t *text) other(e event.Event) {
	switch e := e.(type) {
	case event.ProvisionOutput:
		for _, line := range outputLines(e.Line) {
			t.line(fmt.Sprintf("%s (%s): %s", clean(e.Object.String()), cleanLine(e.Type), line))
		}
	case event.ImportDone:
		t.line(clean(e.Object.String()) + ": Import complete" + identity(e.ID))
	case event.Waiting:
		if e.Attempt > 0 { // a call that merely waits for its turn is shown on terminals
			t.line(clean(e.Object.String()) + ": " + waitingText(e))
		}
	case event.ProgramOutput:
		if e.Fleeting {
			return
		}
		for _, line := range outputLines(e.Line) {
			t.line(cleanLine(programName(e)) + line)
		}
	case event.LockWaiting:
		t.line("Acquiring state lock. This may take a few moments...")
	case event.Stopping:
		t.write(t.o.Out, stoppingText(e, t.o))
	}
}

func (t *text) count(e event.OperationDone) {
	t.mu.Lock()
	t.done.done(e)
	t.mu.Unlock()
}

func (t *text) countAction(e event.ActionDone) {
	t.mu.Lock()
	t.done.invoked(e)
	t.mu.Unlock()
}

func provisionText(e event.ProvisionStart) string {
	return "Provisioning with '" + cleanLine(e.Type) + "'..."
}

// programName returns the prefix for a program's lines: the name of its object.
func programName(e event.ProgramOutput) string {
	name := e.Label
	if e.Object.Instance.Resource.Type != "" {
		name = e.Object.String()
	}
	switch {
	case e.Hook != "" && name != "":
		name += " (hook " + e.Hook + ")"
	case e.Hook != "":
		name = "hook " + e.Hook
	}
	if name == "" {
		return ""
	}
	return name + ": "
}

// waitingText returns the reason why a call is delayed.
func waitingText(e event.Waiting) string {
	if e.Attempt == 0 {
		return "Waiting: " + cleanLine(e.Why)
	}
	return fmt.Sprintf("Waiting %s for attempt %d of %d: %s", e.For.Round(100*time.Millisecond), e.Attempt, e.Attempts,
		cleanLine(e.Why))
}

func progressText(e event.Progress) string {
	message := cleanLine(e.Message)
	if e.Fraction >= 0 {
		message = strings.TrimSpace(fmt.Sprintf("%s [%.0f%%]", message, e.Fraction*100))
	}
	return message
}

func stoppingText(e event.Stopping, o Options) string {
	if e.Now {
		return "\n" + wrap("Two interrupts received. Exiting immediately. Operations that do not end now stay in the "+
			"journal, and the next command lists them.", o.width()-1) + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b,
		"\nInterrupt received.\nPlease wait for %s to exit or data loss may occur.\nGracefully shutting down...\n",
		o.title())
	for i, object := range e.InFlight {
		if i == 10 {
			fmt.Fprintf(&b, "  and %d more\n", len(e.InFlight)-i)
			break
		}
		b.WriteString("  waiting for " + clean(object.String()) + "\n")
	}
	b.WriteByte('\n')
	return b.String()
}

// Diagnostics shows warnings on Out and errors on Err.
func (t *text) Diagnostics(list diag.List) {
	t.flush()
	list = t.o.Shown(list.Sorted())
	var warnings, errors diag.List
	for _, d := range list {
		if d.Severity == diag.Warning {
			warnings = append(warnings, d)
		} else {
			errors = append(errors, d)
		}
	}
	if len(warnings) > 0 {
		if t.o.CompactWarnings && len(errors) == 0 {
			t.write(t.o.Out, CompactWarnings(t.o, warnings))
		} else {
			t.write(t.o.Out, Diagnostics(t.o, warnings))
		}
	}
	if len(errors) > 0 {
		t.write(t.o.err(), Diagnostics(t.o, errors))
	}
	if notes := Annotations(t.o, list); notes != "" {
		t.write(t.o.err(), notes)
	}
}

// Plan shows the planned changes.
func (t *text) Plan(p *plan.Plan, schemas tfjson.Schemas) {
	t.expect(p)
	t.flush()
	t.exclusively(func() {
		t.o.learnPlan(p, schemas)
		w := planWriter{renderer: renderer{style: t.style, brief: t.o.brief(), hide: t.o.concealing()},
			out: t.o.Out, o: t.o, schemas: schemas}
		w.plan(p)
	})
}

// Saved shows nothing: the plan was already shown.
func (t *text) Saved(p *plan.Plan) { t.expect(p) }

// NextStep shows how to apply the plan.
func (t *text) NextStep(n NextStep) {
	if t.o.Automation || n.Plan != nil && !n.Plan.Applyable() {
		return
	}
	var b bytes.Buffer
	b.WriteString("\n" + t.in(gray, strings.Repeat("─", t.o.width()-1)) + "\n")
	say := func(s string) { b.WriteString("\n" + wrap(s, t.o.width()-1) + "\n") }
	if n.GeneratedConfig != "" {
		say(fmt.Sprintf(
			"%s wrote generated configuration to %s. Review and edit it before you commit it.",
			t.o.title(), cleanLine(n.GeneratedConfig)))
	}
	if n.PlanFile == "" {
		say(fmt.Sprintf("Note: This plan was not saved with -out, so %s may perform other actions if you run \"%s "+
			"apply\" and something has changed by then.", t.o.title(), t.o.program()))
	} else {
		b.WriteString("\nSaved the plan to: " + cleanLine(n.PlanFile) + "\n")
		say(fmt.Sprintf("To perform exactly these actions, run:\n    %s apply %s", t.o.program(), quoted(n.PlanFile)))
	}
	t.write(t.o.Out, b.String())
}

// Applied shows the counts of changes, what was done, where the state is, and the root output values.
func (t *text) Applied(e Ending) {
	t.flush()
	if t.o.Command == "refresh" {
		t.write(t.o.Out, t.outputs(e.State))
		return
	}
	t.mu.Lock()
	done := t.done
	t.mu.Unlock()
	w := planWriter{renderer: renderer{style: t.style}, o: t.o}
	w.WriteString("\n" + w.in(bold, w.in(green, completed(t.o, e, done))) + "\n" + t.timing(t.ledger.Of(nil, nil)))
	if list := t.accomplished(e.plans()); len(list) > 0 {
		w.WriteByte('\n')
		w.completedChanges(list)
	}
	switch {
	case t.o.StatePath != "" && t.o.Command == "apply":
		w.paragraph("The state has been saved to the path below. It is needed to change and destroy what was made, so "+
			"keep it safe. To see all of it use the command \"%s show\".", t.o.program())
		w.WriteString("\nState path: " + cleanLine(t.o.StatePath) + "\n")
	case e.Plan != nil && e.Plan.Applyable():
		next := ""
		if len(e.Plan.Deferred) > 0 && !t.o.Automation {
			next = fmt.Sprintf(" Run %q to continue with what is deferred.", t.o.program()+" apply")
		}
		w.paragraph("%s%s", e.kept(), next)
	}
	if destroyed := e.Plan != nil && e.Plan.Mode == plan.Destroy && t.o.Command != "apply"; !destroyed {
		w.WriteString(t.outputs(e.State))
	}
	t.write(t.o.Out, w.String())
}

// accomplished returns the changes of plans that were applied without errors: those whose operations are done, and
// those that need none, such as moves.
func (t *text) accomplished(plans []*plan.Plan) (list []*plan.Change) {
	for _, p := range plans {
		list = append(list, t.ledger.Of(p, nil).Done...)
		for _, c := range p.Changes {
			if f := fateOf(c); f == forgotten || c.Action == plan.NoOp && (f == taken || f == moved) {
				list = append(list, c)
			}
		}
	}
	return list
}

// outputs returns the root output values with a heading, or nothing.
func (t *text) outputs(s *state.State) string {
	if len(s.OutputNames()) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n" + t.in(bold, t.in(green, "Outputs:")) + "\n\n")
	o := t.o
	o.Out = &b
	_ = Outputs(o, s) // writing to a builder does not fail
	return b.String()
}

// completed returns the sentence at the end of an apply or destroy.
func completed(o Options, e Ending, done counts) string { return ended(o, e, done, "complete") }

func ended(o Options, e Ending, done counts, how string) string {
	invoked := ""
	switch {
	case done.failed > 0:
		invoked = fmt.Sprintf(" Actions: %d invoked, %d failed.", done.invoke, done.failed)
	case done.invoke > 0:
		invoked = fmt.Sprintf(" Actions: %d invoked.", done.invoke)
	}
	if e.Plan != nil && e.Plan.Mode == plan.Destroy && o.Command != "apply" {
		return fmt.Sprintf("Destroy %s! Resources: %d destroyed.%s", how, done.destroy, invoked)
	}
	imported := ""
	if n := e.imported(); n > 0 {
		imported = fmt.Sprintf("%d imported, ", n)
	}
	forgotten := ""
	if n := e.forgotten(); n > 0 && how == "complete" && o.countsForgotten() {
		forgotten = fmt.Sprintf(", %d forgotten", n)
	}
	return fmt.Sprintf("Apply %s! Resources: %s%d added, %d changed, %d destroyed%s.%s", how, imported, done.add,
		done.change, done.destroy, forgotten, invoked)
}

// Tell shows a message of the command.
func (t *text) Tell(s Notice) {
	switch {
	case s.Text == "":
	case s.Problem != nil:
		t.write(t.o.err(), s.Text)
	default:
		t.write(t.o.Out, s.Text)
	}
}

// Incomplete shows what was done, what failed, what was not attempted, and what to do next. A run that failed before
// its first operation has no balance, unless the problem is one object's.
func (t *text) Incomplete(e Ending) {
	t.flush()
	t.mu.Lock()
	done := t.done
	t.mu.Unlock()
	errors := errorsOf(e.Problems)
	b := t.ledger.Of(e.Plan, func(o addr.Object) bool { return errors[o.Instance.String()] != "" })
	idle := b.From.IsZero() && len(e.Earlier) == 0
	if idle && !slices.ContainsFunc(e.Problems, func(d *diag.Diagnostic) bool {
		return d.Severity == diag.Error && d.Address != ""
	}) {
		return
	}
	b.Done = append(t.accomplished(e.Earlier), b.Done...)
	w := planWriter{renderer: renderer{style: t.style}, o: t.o}
	w.WriteString("\n" + w.in(bold, w.in(red, ended(t.o, e, done, "incomplete"))) + "\n" + t.timing(b))
	w.balance(b, e)
	next := ""
	if !t.o.Automation {
		command := t.o.program() + " apply"
		switch {
		case e.Saved:
			command = t.o.program() + " plan"
		case e.Plan != nil && e.Plan.Mode == plan.Destroy && t.o.Command != "apply":
			command = t.o.program() + " destroy"
		}
		first := "Correct the errors above, and run"
		if len(b.Failed)+len(b.Broken)+len(b.Open)+len(b.Half) == 0 && !slices.ContainsFunc(e.Problems, failure) {
			first = "Run"
		}
		next = fmt.Sprintf(" %s %q to continue with the rest.", first, command)
	}
	kept := "No object was changed."
	if !idle {
		kept = e.kept()
	}
	w.paragraph("%s%s", kept, next)
	t.write(t.o.Out, w.String())
}

// kept returns a sentence with the location of the results of an apply.
func (e Ending) kept() string {
	switch {
	case slices.ContainsFunc(e.Problems, func(d *diag.Diagnostic) bool { return d.Code() == notSaved }):
		return "The results could not be saved in the state: see the error above."
	case e.Where == "":
		return "The results are saved in the state."
	}
	return "The results are saved in the state: " + clean(e.Where) + "."
}

// notSaved is the code of a state that could not be written.
const notSaved = "TB0943"

// failure reports whether a problem is an error that must be corrected, rather than an interrupt.
func failure(d *diag.Diagnostic) bool { return d.Severity == diag.Error && d.Code() != interrupted }

// interrupted is the code of an apply that was interrupted.
const interrupted = "TB1014"

// timing returns the duration of a run that took noticeable time, and its slowest operations if it took long.
func (t *text) timing(b balance.Balance) string {
	const noticeable, long = time.Second, 10 * time.Second
	if b.From.IsZero() {
		return ""
	}
	took := t.o.now().Sub(b.From)
	switch {
	case took < noticeable:
		return ""
	case took < long:
		return "It took " + seconds(took) + ".\n"
	}
	text := "It took " + seconds(took) + ". The slowest:\n"
	for _, s := range b.Slowest {
		text += fmt.Sprintf("  %6s  %s %s\n", seconds(s.Elapsed), s.Action, clean(s.Object.String()))
	}
	return text
}
