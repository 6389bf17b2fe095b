// Package hook runs programs of a project on events: before and after init, plan and apply, and around operations on
// single objects.
//
// A hook reads a document from standard input (Document). It has no secrets: sensitive values are null, and known
// secrets are hidden in all other values. The output of a hook is shown immediately. A hook before an event can prevent
// the event by its exit code.
//
//	set := hook.New(hooks, hook.Options{Dir: dir, Events: sink})
//	diags := set.Fire(ctx, hook.BeforePlan, hook.Document{})
//
// The callers decide which events occur, in which contexts, and what the journal records.
package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// Event is the event for which a hook runs.
type Event string

// The events.
const (
	BeforeInit   Event = "before_init"
	AfterInit    Event = "after_init"
	BeforePlan   Event = "before_plan"
	AfterPlan    Event = "after_plan"
	BeforeApply  Event = "before_apply"
	AfterApply   Event = "after_apply"
	BeforeObject Event = "before_object"
	AfterObject  Event = "after_object"
)

// before reports whether a hook may prevent the event.
func (e Event) before() bool { return strings.HasPrefix(string(e), "before_") }

// DefaultTimeout is the default time limit of a hook.
const DefaultTimeout = 5 * time.Minute

const (
	grace    = 2 * time.Second
	maxKept  = 4 << 10   // bytes of output in an error
	maxLines = 1000      // lines of output that are shown
	maxShown = 256 << 10 // bytes of output that are shown
)

// Hook is a program of the project.
type Hook struct {
	Name   string
	Events []Event
	// Command is the program and its arguments. Relative names are relative to Options.Dir.
	Command []string
	// Objects selects the objects for events of objects; nil selects all. Actions selects the actions; nil selects all
	// except reads.
	Objects *linking.Selection
	Actions []string
	// Continue makes a failure a warning.
	Continue bool
	// Environment holds the names or patterns of the variables that the program gets in addition to PATH; nil means
	// all.
	Environment []string
	// Timeout limits the duration of the program; 0 means DefaultTimeout.
	Timeout time.Duration
	// Range is the source range of the declaration.
	Range hcl.Range
}

// Options configures the execution of hooks.
type Options struct {
	// Dir is the working directory of the programs; "" means that of this process.
	Dir string
	// Environ is the environment; nil means that of this process.
	Environ []string
	// Events receives the output of the programs.
	Events event.Sink
	// Secrets hides secrets in input and output; nil hides nothing.
	Secrets *value.Secrets
	// MayRun returns an error if a command must not run; nil allows all.
	MayRun func(words []string) error
	// AtOnce limits the number of concurrent hooks of objects; 0 means 1.
	AtOnce int
	// Run describes the run in documents.
	Run Run
}

// Set is the set of hooks of a run. A nil Set has none. Its methods may be called concurrently.
type Set struct {
	hooks []Hook
	o     Options
	slots chan struct{}
}

// New returns the hooks of a run, or nil if there are none.
func New(hooks []Hook, o Options) *Set {
	if len(hooks) == 0 {
		return nil
	}
	if o.Events == nil {
		o.Events = event.Discard
	}
	return &Set{hooks: hooks, o: o, slots: make(chan struct{}, max(1, o.AtOnce))}
}

// On returns the hooks of an event of a run, in order.
func (s *Set) On(e Event) (list []Hook) {
	if s == nil {
		return nil
	}
	for _, h := range s.hooks {
		if slices.Contains(h.Events, e) {
			list = append(list, h)
		}
	}
	return list
}

// Fire runs the hooks of an event of a run sequentially. Before an event, it stops at the first hook that fails.
func (s *Set) Fire(ctx context.Context, e Event, d Document) diag.List {
	return s.fire(ctx, s.On(e), e, d, addr.Object{})
}

func (s *Set) fire(ctx context.Context, list []Hook, e Event, d Document, o addr.Object) (diags diag.List) {
	if len(list) > 0 && d.plan != nil {
		d.Plan = planOf(d.plan)
	}
	for _, h := range list {
		d.Event, d.Hook, d.FormatVersion, d.Run = e, h.Name, FormatVersion, s.o.Run
		diags = diags.Extend(s.one(ctx, h, e, d, o))
		if e.before() && diags.HasErrors() {
			break
		}
	}
	return diags
}

// one runs one hook, and returns the problem if it fails.
func (s *Set) one(ctx context.Context, h Hook, e Event, d Document, o addr.Object) (diags diag.List) {
	document, err := json.Marshal(d)
	if err == nil && s.o.MayRun != nil {
		err = s.o.MayRun(h.Command)
	}
	if err == nil {
		err = s.run(ctx, h, e, document, o)
	}
	if err == nil {
		return nil
	}
	summary, then := fmt.Sprintf("Hook %q failed", h.Name), "The event that it reports had already happened."
	if e.before() {
		summary, then = fmt.Sprintf("Refused by the hook %q", h.Name), "The operation was not started."
	}
	problem := &diag.Diagnostic{Severity: diag.Error, Summary: summary, Subject: h.Range.Ptr()}
	switch {
	case ctx.Err() != nil:
		problem.Summary, then = fmt.Sprintf("Hook %q was interrupted", h.Name), "No further operation was started."
	case h.Continue:
		problem.Severity, problem.Summary = diag.Warning, fmt.Sprintf("Hook %q failed", h.Name)
		then = "The run continues, as on_failure is set."
	}
	at := string(e)
	if o != (addr.Object{}) {
		problem.Address = o.String()
		at += " of " + problem.Address
	}
	problem.Detail = fmt.Sprintf("The hook for the event %s failed: %s%s", at,
		sentence(s.o.Secrets.Redact(err.Error())), then)
	return append(diags, problem).Because(context.Cause(ctx))
}

// sentence ends a text before a further sentence: with a full stop, or with an empty line if the text ends with output
// of a program.
func sentence(text string) string {
	if strings.Contains(text, "\n") {
		return strings.TrimRight(text, "\n") + "\n\n"
	}
	return strings.TrimSuffix(text, ".") + ". "
}

// run runs the program of a hook until it ends.
func (s *Set) run(ctx context.Context, h Hook, e Event, document []byte, o addr.Object) error {
	limit := cmp.Or(h.Timeout, DefaultTimeout)
	tooLong := fmt.Errorf("it took longer than its timeout of %s", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tooLong)
	defer cancel()
	res, err := program.Run(ctx, program.Command{
		Argv: h.Command, Dir: s.o.Dir, Base: s.o.Dir, Env: h.environ(s.o.Environ, e), Stdin: document,
		Joined: true, Stderr: s.lineLimiter(h, o), MaxStderr: maxKept, Detached: true, Final: true, Grace: grace,
	})
	switch {
	case errors.Is(err, tooLong):
		return withOutput(tooLong, res)
	case err != nil:
		return withOutput(err, res)
	case res.ExitCode != 0:
		return withOutput(fmt.Errorf("it ended with %s", res.State), res)
	}
	return nil
}

// lineLimiter returns a function that shows the lines of a hook up to a limit, because output may be endless.
func (s *Set) lineLimiter(h Hook, o addr.Object) func(line string) {
	lines, bytes, cut := 0, 0, false
	return func(line string) {
		lines, bytes = lines+1, bytes+len(line)
		if lines > maxLines || bytes > maxShown {
			if cut {
				return
			}
			cut, line = true, "(the rest of the output is left out)"
		}
		s.o.Events.Send(event.ProgramOutput{Object: o, Hook: h.Name, Line: s.o.Secrets.Redact(line)})
	}
}

// environ returns the environment of the program.
func (h Hook) environ(base []string, e Event) (env []string) {
	if base == nil {
		base = os.Environ()
	}
	for _, entry := range base {
		name, _, _ := strings.Cut(entry, "=")
		if h.Environment == nil || h.gets(name) {
			env = append(env, entry)
		}
	}
	return append(env, "TOMBOLO_HOOK="+h.Name, "TOMBOLO_EVENT="+string(e))
}

// gets reports whether the hook gets a variable.
func (h Hook) gets(name string) bool {
	fold := func(s string) string { return s }
	if runtime.GOOS == "windows" {
		fold = strings.ToUpper
	}
	always := []string{"PATH", "SYSTEMROOT"} // programs do not start on Windows without the second one
	return slices.ContainsFunc(slices.Concat(always, h.Environment), func(pattern string) bool {
		ok, err := path.Match(fold(pattern), fold(name))
		return ok && err == nil
	})
}

// withOutput adds the end of the program's output to an error.
func withOutput(err error, res *program.Result) error {
	if res == nil {
		return err
	}
	const most = 2000
	text := strings.ToValidUTF8(strings.TrimSpace(string(res.Stderr)), "?")
	if len(text) > most {
		text = "..." + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	if text == "" {
		return err
	}
	return fmt.Errorf("%w. It wrote:\n%s", err, text)
}
