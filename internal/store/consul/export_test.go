package consul

import (
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Hasty makes a driver retry almost without a pause.
func Hasty(d remote.Driver) { d.(*driver).client.wait = time.Microsecond }

// Impatient sets how long a driver waits for each step of a response, and the maximum size of a response.
func Impatient(d remote.Driver, silence time.Duration, most int64) {
	c := d.(*driver).client
	c.silence, c.most = silence, most
}
