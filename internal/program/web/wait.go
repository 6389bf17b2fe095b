package web

import (
	"fmt"
	"slices"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

// wait repeats a request until the condition is true, and returns the variables of its response.
func (v *visit) wait(w *manifest.Wait, read *manifest.Operation, vars manifest.Variables) (manifest.Variables, error) {
	op := read
	if w.Request != nil {
		op = w.Request
	}
	end := time.Now().Add(w.Timeout)
	for {
		a, err := v.prepare(op, vars)
		if err != nil {
			return vars, err
		}
		a.changes, a.idempotent = false, true
		got, err := v.send(a, vars)
		if err != nil {
			return vars, err
		}
		seen := withVariable(vars, "answer", got.value())
		seen["object"] = member(seen["answer"], "body")
		if got.status < 300 && v.t != nil && v.t.API != nil && (w.Request == nil || op.Object != nil) {
			if _, err := v.found(op, seen); err != nil {
				return vars, err
			}
		}
		done, err := w.Until.True(seen)
		if err != nil {
			return vars, fmt.Errorf("it is not known whether the object is ready: %w", err)
		}
		if done {
			return seen, nil
		}
		bad := got.status >= 400 && !slices.Contains(v.c.m.HTTP.Retry.Statuses, got.status) &&
			!slices.Contains(op.Gone, got.status)
		if w.Fail != nil && !bad {
			if bad, err = w.Fail.True(seen); err != nil {
				return vars, fmt.Errorf("it is not known whether the object has failed: %w", err)
			}
		}
		if bad {
			return vars, &Failure{State: fmt.Sprintf("the object did not become ready (status %s)",
				statusText(got.status)), Message: v.c.excerpt(got.body, v.secretNames())}
		}
		pause := max(w.Interval, min(retryAfter(got.header, time.Now()), v.c.m.HTTP.Retry.MaxDelay))
		if time.Now().Add(pause).After(end) {
			return vars, &Failure{State: fmt.Sprintf("the object was not ready after %s", w.Timeout),
				Message: v.c.excerpt(got.body, v.secretNames())}
		}
		if v.call.Progress != nil {
			v.call.Progress("waiting for the server")
		}
		if err := sleep(v.ctx, pause); err != nil {
			return vars, &Failure{State: "the wait for the object ended: " + err.Error()}
		}
	}
}
