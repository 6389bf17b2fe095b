package access

import (
	"context"
	"sync"
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

// Enter waits until another call to a service may run, like Slot. The returned function must be called with the
// problems of the call at its end; further calls of it do nothing.
func (a *Access) Enter(of Of) (leave func(diag.List), err error) {
	waited := false
	done := func() {
		if waited {
			a.events.Send(event.WaitingDone{Object: of.Object})
		}
	}
	defer func() { done() }()
	passed, err := a.gate.Enter(a.until, of.call(), func(why string) {
		waited = true
		a.events.Send(event.Waiting{Object: of.Object, Why: why})
	})
	if err != nil {
		return nil, err
	}
	release, err := a.Slot()
	if err != nil {
		passed(nil)
		return nil, err
	}
	var once sync.Once
	return func(problems diag.List) {
		once.Do(func() { release(); passed(problems) })
	}, nil
}

// Ask performs a call that only reads, and repeats it if that may help. The function gets the number of the attempt,
// from 1, and returns its problems.
func (a *Access) Ask(of Of, call func(attempt int) diag.List) error {
	leave, err := a.Enter(of)
	if err != nil {
		return err
	}
	a.Repeat(of, leave, call)
	return nil
}

// Repeat is like Ask, for a caller that has already called Enter.
func (a *Access) Repeat(of Of, leave func(diag.List), call func(attempt int) diag.List) {
	for attempt := 1; ; attempt++ {
		problems := call(attempt)
		leave(problems)
		v := a.Decide(of, attempt, problems)
		if !v.Again || a.Pause(of, attempt, v) != nil {
			return
		}
		var err error
		if leave, err = a.Enter(of); err != nil {
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

// Pause waits until the next attempt, or until the run is being stopped.
func (a *Access) Pause(of Of, attempt int, v patience.Verdict) error {
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
