package view

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/view/ticker"
	"github.com/tombolo-iac/tombolo/plan"
)

// stillEvery is the interval at which a running operation is reported.
const stillEvery = 10 * time.Second

// verbs are the words for an action: when it starts, while it runs, when it is done, and when it has failed.
type verbs struct{ start, still, done, failed string }

var verbsOf = map[plan.Action]verbs{
	plan.Create: {"Creating", "creating", "Creation complete", "Creation errored"},
	plan.Update: {"Modifying", "modifying", "Modifications complete", "Modifications errored"},
	plan.Delete: {"Destroying", "destroying", "Destruction complete", "Destruction errored"},
	plan.Read:   {"Reading", "reading", "Read complete", "Read errored"},
}

// verbsOfOp are the verbs for operations of ephemeral objects.
var verbsOfOp = map[event.EphemeralOp]verbs{
	event.Open:  {"Opening", "opening", "Opening complete", "Opening errored"},
	event.Renew: {"Renewing", "renewing", "Renewal complete", "Renewal errored"},
	event.Close: {"Closing", "closing", "Closing complete", "Closing errored"},
}

func ephemeralText(e event.EphemeralDone) string {
	text := verbsOfOp[e.Op].done
	if e.Failed {
		text = verbsOfOp[e.Op].failed
	}
	return text + " after " + seconds(e.Elapsed)
}

// identity returns ` [id=...]`, or "".
func identity(id event.ID) string {
	if id.Key == "" {
		return ""
	}
	return " [" + cleanLine(id.Key) + "=" + cleanLine(id.Value) + "]"
}

// startText and doneText return the lines for an operation, without the address.
func startText(e event.OperationStart) string {
	text := verbsOf[e.Action].start + "..."
	if e.Action == plan.Read {
		return text
	}
	return text + identity(e.ID)
}

func doneText(e event.OperationDone) string {
	id := e.ID
	if e.Action == plan.Delete {
		id = event.ID{}
	}
	if e.Failed {
		return fmt.Sprintf("%s after %s", verbsOf[e.Action].failed, seconds(e.Elapsed))
	}
	return fmt.Sprintf("%s after %s%s", verbsOf[e.Action].done, seconds(e.Elapsed), identity(id))
}

func stillText(e event.OperationStart, elapsed time.Duration) string {
	id := ""
	if t := identity(e.ID); t != "" {
		id = strings.TrimSuffix(t[2:], "]") + ", "
	}
	return fmt.Sprintf("Still %s... [%s%s elapsed]", verbsOf[e.Action].still, id, seconds(elapsed))
}

func seconds(d time.Duration) string { return d.Round(time.Second).String() }

// counts holds the numbers of operations of a run, according to its events. Invoked actions include failed ones.
type counts struct{ add, change, destroy, invoke, failed int }

func (c *counts) done(e event.OperationDone) {
	if e.Failed || e.Planning {
		return
	}
	switch e.Action {
	case plan.Create:
		c.add++
	case plan.Update:
		c.change++
	case plan.Delete:
		c.destroy++
	}
}

// watch reports operations that take long. One goroutine handles all of them; it runs while there are any, and stop
// waits for its end.
type watch struct {
	now  func() time.Time
	tell func(event.OperationStart, time.Duration)

	mu      sync.Mutex
	running map[watched]*operation
	ticks   *ticker.Ticker // while there may be any
}

type watched struct {
	object addr.Object
	action plan.Action
}

type operation struct {
	event.OperationStart
	reports int // how many times it was reported
}

func newWatch(now func() time.Time, tell func(event.OperationStart, time.Duration)) *watch {
	return &watch{now: now, tell: tell, running: map[watched]*operation{}}
}

func (w *watch) start(e event.OperationStart) {
	if e.Started.IsZero() {
		e.Started = w.now()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[watched{e.Object, e.Action}] = &operation{OperationStart: e}
	if w.ticks == nil {
		w.ticks = ticker.New(time.Second, w.remind)
		w.ticks.Start()
	}
}

func (w *watch) end(e event.OperationDone) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, watched{e.Object, e.Action})
}

// stop ends the goroutine and waits for it.
func (w *watch) stop() {
	w.mu.Lock()
	ticks := w.ticks
	w.ticks = nil
	w.mu.Unlock()
	if ticks != nil {
		ticks.Stop()
	}
}

func (w *watch) remind() {
	for _, due := range w.due() {
		w.tell(due.OperationStart, time.Duration(due.reports)*stillEvery)
	}
}

// due returns the operations that are to be reported now.
func (w *watch) due() []operation {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []operation
	for _, o := range w.running {
		if n := int(now.Sub(o.Started) / stillEvery); n > o.reports {
			o.reports = n
			out = append(out, *o)
		}
	}
	return out
}
