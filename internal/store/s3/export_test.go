package s3

import (
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Impatient makes a driver wait for a digest only for a moment.
func Impatient(d remote.Driver) { d.(*driver).patience = time.Millisecond }
