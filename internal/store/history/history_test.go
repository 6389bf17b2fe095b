package history

import (
	"testing"

	"github.com/tombolo-iac/tombolo/state"
)

// A state that the recovery of a lock holder has written, and not a command, is named after a command.
func TestRevisionsAreNamedAfterCommands(t *testing.T) {
	for operation, want := range map[state.Operation]string{state.OperationPlan: "plan", "state-rm": "state-rm",
		"someOperation": "someOperation", "": ""} {
		if got := (Revision{}).Made(operation, nil, nil).Run.Command; got != want {
			t.Errorf("%s: %q, want %q", operation, got, want)
		}
	}
	run := state.RunInfo{Command: "apply"}
	if got := (Revision{Run: run}).Made(state.OperationPlan, nil, nil).Run.Command; got != "apply" {
		t.Errorf("an apply under the lock of a plan is %q", got)
	}
}
