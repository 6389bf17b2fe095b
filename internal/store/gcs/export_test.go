package gcs

import (
	"context"
	"os"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Hasty returns a driver that does not pause between tries.
func Hasty(ctx context.Context, config cty.Value) (remote.Driver, error) {
	d, diags := open(ctx, config, remote.Surroundings{Getenv: os.Getenv})
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	d.(*driver).bucket.Pause = time.Microsecond
	return d, nil
}

// Bounded sets the maximum size of an object that a driver reads.
func Bounded(d remote.Driver, most int64) { d.(*driver).bucket.Most = most }

// Brief sets how long a driver waits for each step of a response.
func Brief(d remote.Driver, silence time.Duration) { d.(*driver).bucket.Silence = silence }

// Impatient makes a driver retry without pauses.
func Impatient(d remote.Driver) { d.(*driver).bucket.Pause = time.Microsecond }
