package azure

import (
	"os"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// At returns a driver that finds the account at an address, and does not pause before it tries again.
func At(address string, config cty.Value, log func(string, ...any)) (remote.Driver, error) {
	o := arguments.Complete(remote.Surroundings{Getenv: os.Getenv, Log: log})
	s, diags := read(config, o)
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	s.base, s.pause = address, time.Microsecond
	return &driver{s: s, blobs: newBlobs(s, o)}, nil
}

// Impatient sets how long a driver waits for each step of an answer, and the largest state that it reads.
func Impatient(d remote.Driver, silence time.Duration, most int64) {
	b := d.(*driver).blobs
	b.silence, b.most = silence, most
}
