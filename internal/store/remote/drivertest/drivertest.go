// Package drivertest is the test suite of every remote.Driver: it runs the checks of package contract as tests.
package drivertest

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/contract"
	"github.com/tombolo-iac/tombolo/state"
)

// Options lists what a backend does not support.
type Options = contract.Options

// Run runs the suite. Open returns two drivers, standing for two machines, over the same empty storage.
func Run(t *testing.T, o Options, open func(t *testing.T) (a, b remote.Driver)) {
	for _, check := range contract.Checks(o) {
		t.Run(check.Name, func(t *testing.T) {
			if check.Skipped {
				t.Skip("runs for backends that promise this")
			}
			a, b := open(t)
			t.Cleanup(func() { a.Close(); b.Close() })
			check.Run(t, o, a, b)
		})
	}
}

// Info describes a lock for tests.
func Info(id string) state.LockInfo { return contract.Info(id) }
