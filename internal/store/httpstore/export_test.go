package httpstore

import (
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Impatient sets how long a driver waits for each step of a response, and the maximum size of a state.
func Impatient(d remote.Driver, silence time.Duration, most int64) {
	c := d.(*driver).client
	c.silence, c.most = silence, most
}
