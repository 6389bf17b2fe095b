package azure

import (
	"os"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// At returns a driver that finds the account at an address and retries without pauses.
func At(address string, config cty.Value, log func(string, ...any)) (remote.Driver, error) {
	o := arguments.Complete(remote.Surroundings{Getenv: os.Getenv, Log: log})
	s, diags := read(config, o)
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	s.base, s.pause = address, time.Microsecond
	return &driver{s: s, blobs: newBlobs(s, o)}, nil
}

// Impatient sets how long a driver waits for each step of a response, and the maximum size of a state.
func Impatient(d remote.Driver, silence time.Duration, most int64) {
	b := d.(*driver).blobs
	b.silence, b.most = silence, most
}
