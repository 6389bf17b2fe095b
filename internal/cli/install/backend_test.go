package install

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state"
)

// A copy of the state would lack results that are only in the journal.
func TestStatesWithOpenOperationsAreNotCopied(t *testing.T) {
	ws, err := mem.New().Workspace(state.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		snapshot state.Snapshot
		open     bool
	}{
		"nothing":          {state.Snapshot{}, false},
		"in flight":        {state.Snapshot{InFlight: []state.InFlight{{}}}, true},
		"does not fit":     {state.Snapshot{Unfolded: []state.Unfolded{{}}}, true},
		"of a running run": {state.Snapshot{Running: &state.RunInfo{}}, false},
	} {
		if _, err := settled(ws, &c.snapshot); (err != nil) != c.open || leftOpen(&c.snapshot) != c.open {
			t.Errorf("%s: %v, left open: %t", name, err, leftOpen(&c.snapshot))
		}
	}
}
