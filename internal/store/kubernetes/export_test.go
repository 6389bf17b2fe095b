package kubernetes

import (
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Hasty makes a driver hardly pause before it asks again.
func Hasty(d remote.Driver) { d.(*driver).client.wait = time.Microsecond }

// Impatient sets how long a driver waits for each step of an answer, and the longest answer that it reads.
func Impatient(d remote.Driver, silence time.Duration, most int64) {
	c := d.(*driver).client
	c.silence, c.most = silence, most
}

// Torn reports whether a state was half written when it was last read.
func Torn(p remote.Place) bool { return p.(*place).torn }
