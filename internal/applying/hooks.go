package applying

import (
	"context"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/hook"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// hooked is an operation on an object with the hooks of the project around it. Hooks before it run before anything is
// written to the journal: if the run is killed then, the operation has not begun, and the next run does both. Hooks
// after it have their own operation in the journal, which begins before the operation on the object and ends when they
// have run: if the run is killed in between, the next run runs them again.
type hooked struct {
	a      *applier
	around *hook.Around
	o      addr.Object
	cfg    addr.AbsProviderConfig
	op     string
}

// hooksOf returns the hooks of an operation, perhaps none.
func (a *applier) hooksOf(op hook.Operation, cfg addr.AbsProviderConfig) *hooked {
	op.Provider = cfg.Provider
	return &hooked{a: a, around: a.opts.Hooks.Object(op), o: op.Object, cfg: cfg}
}

// before runs the hooks before the operation. An error means that it must not begin.
func (h *hooked) before() error {
	if h.around == nil {
		return nil
	}
	if h.a.until.Err() != nil {
		return context.Cause(h.a.until)
	}
	return h.a.walk.Report(h.around.Before(h.a.Calls))
}

// begin records the hooks after the operation in the journal.
func (h *hooked) begin() error {
	if !h.around.HasAfter() {
		return nil
	}
	kept, err := h.around.Record()
	if err != nil {
		return err
	}
	op := h.a.operationID()
	if err := h.a.journal.Intent(state.Intent{ID: op, Object: h.o, Action: state.ActionHook, Provider: h.cfg,
		Planned: kept, Started: time.Now().UTC()}); err != nil {
		return h.a.breakdown(err)
	}
	h.op = op
	return nil
}

// end runs the hooks after the operation, and returns its error or, if there is none, theirs. Interrupted hooks stay
// open in the journal: the next run runs them again.
func (h *hooked) end(failed error, after plan.Value) error {
	if h.op == "" {
		return failed
	}
	outcome := hook.OK
	if failed != nil {
		outcome = hook.Failed
	}
	diags := h.around.After(h.a.Calls, outcome, after)
	if h.a.Calls.Err() == nil {
		if err := h.a.result(h.op); err != nil && failed == nil {
			failed = err
		}
	}
	if err := h.a.walk.Report(diags); failed == nil {
		failed = err
	}
	return failed
}

// drop removes the hooks after the operation from the journal, because the operation does not begin.
func (h *hooked) drop() {
	if h.op != "" {
		_ = h.a.result(h.op) // a failure of the journal was reported
	}
	h.op = ""
}

// noValue is the value of an object that does not exist.
var noValue = plan.Value{Value: cty.NilVal}
