package s3

import (
	"context"
	"os"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Impatient makes a driver wait only briefly for a digest.
func Impatient(d remote.Driver) { d.(*driver).patience = time.Millisecond }

// Bounded sets the maximum size of an object that a driver reads.
func Bounded(d remote.Driver, most int64) { d.(*driver).bucket.most = most }

// SetLimits sets how long a driver waits for each step of a response, and the maximum size of an object.
func SetLimits(d remote.Driver, silence time.Duration, most int64) {
	one := d.(*driver)
	one.bucket.most = most
	w := one.bucket.client.Options().HTTPClient.(*boundedClient)
	w.silence, w.most = silence, most+1
}

// Hasty returns a driver that does not pause between tries and assumes that conditions are supported.
func Hasty(ctx context.Context, config cty.Value) (remote.Driver, error) {
	o := remote.Surroundings{Getenv: os.Getenv, Log: func(string, ...any) {}}
	s, diags := read(config, o)
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	s.pause = time.Microsecond
	d, diags := connect(ctx, s, o)
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	d.patience, d.bucket.conditions.trusted = time.Millisecond, true
	return d, nil
}
