package cos

import (
	"context"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Hasty returns a driver that does not pause between tries, and that reaches the API at an address.
func Hasty(ctx context.Context, config cty.Value, address string, log func(string, ...any)) (remote.Driver, error) {
	d, diags := open(ctx, config, remote.Surroundings{Log: log})
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	one := d.(*driver)
	one.client.Pause, one.api.Pause, one.pause = time.Microsecond, time.Microsecond, time.Microsecond
	one.s.api = func(string) string { return address }
	return d, nil
}

// Impatient sets how long a driver waits for each step of a response, and the maximum size of an object.
func Impatient(d remote.Driver, silence time.Duration, most int64) {
	one := d.(*driver)
	one.client.Silence, one.api.Silence, one.client.Most = silence, silence, most
}
