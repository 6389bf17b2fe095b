package memory_test

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/internal/store/remote/memory"
)

func TestDriver(t *testing.T) {
	drivertest.Run(t, drivertest.Options{}, func(*testing.T) (a, b remote.Driver) {
		d := memory.New()
		return d, d
	})
}

func TestUnfencedDriver(t *testing.T) {
	drivertest.Run(t, drivertest.Options{}, func(*testing.T) (a, b remote.Driver) {
		d := memory.NewUnfenced()
		return d, d
	})
}
