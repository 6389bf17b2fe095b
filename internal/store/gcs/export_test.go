package gcs

import (
	"context"
	"os"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Hasty makes a driver that does not pause before it tries again.
func Hasty(ctx context.Context, config cty.Value) (remote.Driver, error) {
	d, diags := open(ctx, config, remote.Surroundings{Getenv: os.Getenv})
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	d.(*driver).bucket.Pause = time.Microsecond
	return d, nil
}

// Bounded makes a driver read no objects that are greater.
func Bounded(d remote.Driver, most int64) { d.(*driver).bucket.Most = most }

// Brief sets how long a driver waits for each step of an answer.
func Brief(d remote.Driver, silence time.Duration) { d.(*driver).bucket.Silence = silence }

// Impatient makes a driver not pause before it tries again.
func Impatient(d remote.Driver) { d.(*driver).bucket.Pause = time.Microsecond }
