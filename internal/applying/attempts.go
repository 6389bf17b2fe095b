package applying

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/patience"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// attempts performs a call that changes an object, and repeats it if that may help and can do no harm. Each attempt is
// a separate operation in the journal, and its result is durable before the next one begins. The first attempt has its
// intent, op, and its turn; intent writes the intent of another one. It returns the last response with its operation,
// which is "" if its result is already recorded. The turn keeps its slot, unless another attempt could not begin.
func (a *applier) attempts(of access.Of, op string, turn *access.Turn, intent func() (string, error),
	call func(op string) provider.ApplyResponse,
	repeatable func(provider.ApplyResponse, patience.Verdict) bool) (provider.ApplyResponse, string) {
	for attempt := 1; ; attempt++ {
		resp := call(op)
		turn.Answered(resp.Diagnostics)
		v := a.Decide(of, attempt, resp.Diagnostics)
		if op == "" || !v.Again || !repeatable(resp, v) {
			return resp, op
		}
		if a.result(op) != nil || turn.Again(attempt, v) != nil {
			return resp, ""
		}
		var err error
		if op, err = intent(); err != nil {
			return resp, ""
		}
	}
}

// repeatable reports whether a failed creation or update may be repeated. A creation may be repeated if the service
// refused it: after any other error the object may exist. An update may also be repeated if it has changed nothing.
func (w *writing) repeatable(resp provider.ApplyResponse, v patience.Verdict) bool {
	answered := resp.State != cty.NilVal && resp.State.IsKnown()
	switch none := answered && resp.State.IsNull(); {
	case !answered || w.sketched.Load():
		return false
	case w.action == plan.Create:
		return v.Refused && none
	default:
		return v.Refused || none || ctyfast.RawEquals(resp.State, w.prior)
	}
}
