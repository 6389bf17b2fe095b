package oraclecloud

import (
	"context"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Hasty returns a driver that does not pause between tries, and that reaches the service at an address.
func Hasty(ctx context.Context, config cty.Value, address string, log func(string, ...any)) (remote.Driver, error) {
	d, diags := open(ctx, config, remote.Surroundings{Log: log, Getenv: func(name string) string {
		if name == overrides {
			return "oci_object_storage.ObjectStorageClient=" + address
		}
		return ""
	}})
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	d.(*driver).client.Pause = time.Microsecond
	return d, nil
}

// Impatient sets how long a driver waits for each step of a response, and the maximum size of an object.
func Impatient(d remote.Driver, silence time.Duration, most int64) {
	d.(*driver).client.Silence, d.(*driver).client.Most = silence, most
}
