package access

import (
	"context"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/patience"
)

// Of is the object of a call to the service behind a provider. The limits of the project apply to such calls, in
// addition to the number of concurrent calls.
type Of struct {
	Provider addr.Provider
	Object   addr.Object
}

func (o Of) call() patience.Call {
	return patience.Call{Provider: o.Provider, Type: o.Object.Instance.Resource.Type}
}

// Turn is the turn of an operation to call the service behind a provider: its slot, and its place in the limits of the
// project.
type Turn struct {
	a     *Access
	of    Of
	slot  func()
	limit func(diag.List)
}

// Enter waits until another call to a service may run, like Slot, and returns its turn, which must be left at the end
// of the operation.
func (a *Access) Enter(of Of) (*Turn, error) {
	t := &Turn{a: a, of: of}
	return t, t.enter()
}

func (t *Turn) enter() error {
	a, waited := t.a, false
	defer func() {
		if waited {
			a.events.Send(event.WaitingDone{Object: t.of.Object})
		}
	}()
	limit, err := a.gate.Enter(a.until, t.of.call(), func(why string) {
		waited = true
		a.events.Send(event.Waiting{Object: t.of.Object, Why: why})
	})
	if err != nil {
		return err
	}
	slot, err := a.Slot()
	if err != nil {
		limit(nil)
		return err
	}
	t.slot, t.limit = slot, limit
	return nil
}

// Answered ends the call with its problems, so that another call to the service may run if a limit of the project
// delays it. The turn keeps its slot for what else belongs to the operation.
func (t *Turn) Answered(problems diag.List) {
	if t.limit != nil {
		t.limit(problems)
		t.limit = nil
	}
}

// Leave ends the turn. A turn can be left more than once.
func (t *Turn) Leave() {
	t.Answered(nil)
	if t.slot != nil {
		t.slot()
		t.slot = nil
	}
}

// Again waits before another attempt, as the verdict on the last one requires, and then for another turn: other
// operations can use the slot meanwhile. After an error, the turn has been left.
func (t *Turn) Again(attempt int, v patience.Verdict) error {
	t.Leave()
	if err := t.a.pause(t.of, attempt, v); err != nil {
		return err
	}
	return t.enter()
}

// Ask performs a call that only reads, and repeats it if that may help. The function gets the number of the attempt,
// from 1, and returns its problems.
func (a *Access) Ask(of Of, call func(attempt int) diag.List) error {
	turn, err := a.Enter(of)
	if err != nil {
		return err
	}
	a.Repeat(turn, call)
	return nil
}

// Repeat is like Ask, for a caller that has already called Enter. The turn has been left when it returns.
func (a *Access) Repeat(turn *Turn, call func(attempt int) diag.List) {
	defer turn.Leave()
	for attempt := 1; ; attempt++ {
		problems := call(attempt)
		turn.Answered(problems)
		turn.Leave()
		v := a.Decide(turn.of, attempt, problems)
		if !v.Again || turn.Again(attempt, v) != nil {
			return // the problems of the last attempt are reported
		}
	}
}

// Decide reports whether a call may be repeated. A call that may have been interrupted, or that ended while the run was
// being stopped, must not be repeated.
func (a *Access) Decide(of Of, attempt int, problems diag.List) patience.Verdict {
	v := a.gate.Decide(of.call(), attempt, problems)
	v.Again = v.Again && a.until.Err() == nil && !a.CutOff(problems)
	return v
}

// pause waits until the next attempt, or until the run is being stopped.
func (a *Access) pause(of Of, attempt int, v patience.Verdict) error {
	a.events.Send(event.Waiting{Object: of.Object, Why: a.walk.Inputs.Secrets.Redact(v.Why), For: v.Wait,
		Attempt: attempt + 1, Attempts: a.gate.Attempts(of.call())})
	defer a.events.Send(event.WaitingDone{Object: of.Object})
	timer := time.NewTimer(v.Wait)
	defer timer.Stop()
	select {
	case <-a.until.Done():
		return context.Cause(a.until)
	case <-timer.C:
		return nil
	}
}
