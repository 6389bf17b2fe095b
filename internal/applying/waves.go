package applying

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
)

// Wave limits the changes of some objects: AtOnce of them change at a time, from the call for an object to its
// postconditions, and with Stop none begins after one has failed.
type Wave struct {
	Name   string
	Select *linking.Selection
	AtOnce int // 0 means any number
	Stop   bool
}

// wave is a Wave during a run.
type wave struct {
	Wave
	slots chan struct{} // nil if there is no limit

	mu      sync.Mutex // guards the fields below
	failed  string     // with Stop, the first object that failed
	skipped int        // objects that were skipped because of it
}

func newWaves(list []Wave) (out []*wave) {
	for _, w := range list {
		at := &wave{Wave: w}
		if w.AtOnce > 0 {
			at.slots = make(chan struct{}, w.AtOnce)
		}
		out = append(out, at)
	}
	return out
}

// begin waits until an object may change in all of its waves, which are entered in order to avoid deadlocks. end must
// be called with the result.
func (a *applier) begin(o addr.Object) (end func(error), err error) {
	var entered []*wave
	leave := func() {
		for _, w := range entered {
			if w.slots != nil {
				<-w.slots
			}
		}
	}
	for _, w := range a.waves {
		if !w.Select.Contains(o.Instance) {
			continue
		}
		if err := a.enter(w, o); err != nil {
			leave()
			return nil, err
		}
		entered = append(entered, w)
	}
	for _, w := range entered {
		if w.skips() {
			leave()
			return nil, eval.ErrReported
		}
	}
	return func(err error) {
		for _, w := range entered {
			w.note(o, err)
		}
		leave()
	}, nil
}

// enter waits for a slot in a wave.
func (a *applier) enter(w *wave, o addr.Object) error {
	if w.slots == nil {
		return nil
	}
	select {
	case w.slots <- struct{}{}:
		return nil
	default:
	}
	a.opts.Events.Send(event.Waiting{Object: o, Why: fmt.Sprintf("%d changes of %s at once", w.AtOnce, w.Name)})
	defer a.opts.Events.Send(event.WaitingDone{Object: o})
	select {
	case w.slots <- struct{}{}:
		return nil
	case <-a.until.Done():
		return context.Cause(a.until)
	}
}

// skips reports whether an object must not begin, and if so counts it.
func (w *wave) skips() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == "" {
		return false
	}
	w.skipped++
	return true
}

// note records the end of an operation on an object.
func (w *wave) note(o addr.Object, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Stop && err != nil {
		w.failed = cmp.Or(w.failed, o.String())
	}
}

// stopped returns errors for the waves that a failure has stopped.
func (a *applier) stopped() (diags diag.List) {
	for _, w := range a.waves {
		if w.skipped > 0 {
			diags = diags.Errorf(nil, "Changes were stopped after a failure",
				"%s failed, so the remaining changes of %s (%d) were not started: the project file sets "+
					"stop_on_failure for them.", w.failed, w.Name, w.skipped).
				Advise("Fix the cause, then run \"%s\" again.", diag.Run("apply"))
		}
	}
	return diags
}

// forEachInstance does the work of a step for each of its instances. Instances that wait for each other in a wave
// occupy no more workers of the walk than can run.
func (a *applier) forEachInstance(n *graph.Node, count int, inst func(i int) addr.AbsResourceInstance,
	work func(i int) error, end func() error) {
	width := count
	for _, w := range a.waves {
		if w.AtOnce == 0 || w.AtOnce >= width {
			continue
		}
		all := true
		for i := 0; i < count && all; i++ {
			all = w.Select.Contains(inst(i))
		}
		if all {
			width = w.AtOnce
		}
	}
	if width == count {
		n.FanOut(count, work, end)
		return
	}
	var next atomic.Int64
	n.FanOut(width, func(int) (failed error) {
		for {
			i := int(next.Add(1)) - 1
			if i >= count {
				return failed
			}
			if err := work(i); err != nil {
				failed = err
			}
		}
	}, end)
}
