package remote_test

import (
	"fmt"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/backend/backendtest"
)

// The same over the drivers of services: whatever happens to calls, nothing is lost, and nothing is created twice.
// That for PostgreSQL has tests of its own, with connections that are cut; the journal of http is on the machine of the
// run, where this test does not look for it.
func TestNothingIsLostOverAnyService(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	first, last := asked(t, 1, seeds)
	for _, kind := range backendtest.Kinds() {
		if kind == "http" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			s := backendtest.Start(t, kind)
			for seed := first; seed <= last; seed++ {
				play(t, seed, s.Open(t, fmt.Sprintf("place%dx", seed)))
			}
		})
	}
}
