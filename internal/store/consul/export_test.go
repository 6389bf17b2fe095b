package consul

import (
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Hasty makes a driver hardly pause before it asks again.
func Hasty(d remote.Driver) { d.(*driver).client.wait = time.Microsecond }
