package kubernetes

import (
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Hasty makes a driver hardly pause before it asks again.
func Hasty(d remote.Driver) { d.(*driver).client.wait = time.Microsecond }

// Torn reports whether a state was half written when it was last read.
func Torn(p remote.Place) bool { return p.(*place).torn }
