package memory_test

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/shared"
	"github.com/tombolo-iac/tombolo/internal/store/shared/drivertest"
	"github.com/tombolo-iac/tombolo/internal/store/shared/memory"
)

func TestDriver(t *testing.T) {
	drivertest.Run(t, drivertest.Options{}, func(*testing.T) (a, b shared.Driver) {
		d := memory.New()
		return d, d
	})
}
