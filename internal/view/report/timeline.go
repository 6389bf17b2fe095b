package report

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/internal/view/balance"
	"github.com/tombolo-iac/tombolo/plan"
)

// Recorder records the events of an apply, and forwards each of them. It is safe for concurrent use.
type Recorder struct {
	// Next receives the events too, and may be nil.
	Next event.Sink

	ledger balance.Ledger
	mu     sync.Mutex
	bars   []recorded
	open   map[operation]int
}

type operation struct {
	object addr.Object
	action plan.Action
}

type recorded struct {
	operation
	began   time.Time
	elapsed time.Duration
	ended   bool
	failed  bool
}

// mostBars limits how many operations a recorder stores.
const mostBars = 100_000

// Send implements event.Sink.
func (r *Recorder) Send(e event.Event) {
	r.ledger.Send(e)
	switch e := e.(type) {
	case event.OperationStart:
		if !e.Planning {
			r.start(operation{e.Object, e.Action}, e.Started)
		}
	case event.OperationDone:
		if !e.Planning {
			r.end(operation{e.Object, e.Action}, e.Elapsed, e.Failed)
		}
	}
	if r.Next != nil {
		r.Next.Send(e)
	}
}

func (r *Recorder) start(o operation, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bars) == mostBars {
		return
	}
	if r.open == nil {
		r.open = map[operation]int{}
	}
	r.open[o] = len(r.bars)
	r.bars = append(r.bars, recorded{operation: o, began: at})
}

func (r *Recorder) end(o operation, elapsed time.Duration, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, known := r.open[o]; known {
		b := &r.bars[at]
		b.elapsed, b.ended, b.failed = elapsed, true, failed
		delete(r.open, o)
	}
}

// bar is an operation in the timeline. Times are milliseconds since the start of the first one.
type bar struct {
	Address string `json:"a"`
	Action  string `json:"k"`
	Sign    string `json:"s,omitempty"`
	From    int64  `json:"t"`
	Took    int64  `json:"e"`
	Failed  bool   `json:"x,omitempty"`
	Open    bool   `json:"i,omitempty"` // it did not end
	Object  int    `json:"o,omitempty"` // index into Objects, plus one
}

// timeline returns the operations in the order in which they began.
func (r *Recorder) timeline(objects map[addr.Object]int) (list []bar) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bars) == 0 {
		return nil
	}
	sorted := slices.SortedStableFunc(slices.Values(r.bars), func(a, b recorded) int {
		return cmp.Or(a.began.Compare(b.began), a.object.Instance.Compare(b.object.Instance))
	})
	first := sorted[0].began
	for _, b := range sorted {
		current := b.object
		current.Deposed = ""
		at, known := objects[b.object]
		if !known {
			at, known = objects[current]
		}
		one := bar{Address: view.CleanLine(b.object.String()), Action: b.action.String(), Sign: signs[b.action],
			From: b.began.Sub(first).Milliseconds(), Took: b.elapsed.Milliseconds(), Failed: b.failed, Open: !b.ended}
		if known {
			one.Object = at + 1
		}
		list = append(list, one)
	}
	return list
}

// applied adds the results of an apply.
func (d *document) applied(o Options, p *plan.Plan, at map[*plan.Change]int) {
	d.Kind, d.Title = "apply", "Apply"
	if p.Mode == plan.Destroy {
		d.Title = "Destroy"
	}
	objects := make(map[addr.Object]int, len(at))
	for c, i := range at {
		objects[c.Object] = i
	}
	b := o.Run.ledger.Of(p, nil)
	mark := func(outcome string, list []addr.Object) {
		for _, object := range list {
			d.Objects[objects[object]].Outcome = outcome
		}
	}
	for i := range d.Objects {
		// For removals from the state and reads, it is not known whether they were done before a failure.
		if one := &d.Objects[i]; one.Sign != "" && (!d.Failed || one.Sign != "." && one.Sign != "<=") {
			one.Outcome = "done"
		}
	}
	mark("failed", b.Failed)
	mark("half", b.Half)
	mark("untried", b.Untried)
	d.Timeline = o.Run.timeline(objects)
	done := 0
	for _, one := range d.Objects {
		if one.Outcome == "done" {
			done++
		}
	}
	unfinished := len(b.Failed) + len(b.Half) + len(b.Untried)
	d.Headline = fmt.Sprintf("%s done", count(done, "change"))
	if unfinished > 0 || d.Failed {
		d.Failed = true
		for _, part := range []struct {
			n    int
			what string
		}{{len(b.Failed), "failed"}, {len(b.Half), "half done"}, {len(b.Untried), "not tried"}} {
			if part.n > 0 {
				d.Headline += fmt.Sprintf(", %d %s", part.n, part.what)
			}
		}
	}
}
