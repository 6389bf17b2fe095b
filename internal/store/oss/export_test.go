package oss

import (
	"context"
	"net/http"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Hasty returns a driver that neither pauses between tries nor waits for a digest.
func Hasty(ctx context.Context, config cty.Value, log func(string, ...any)) (remote.Driver, error) {
	d, diags := open(ctx, config, remote.Surroundings{Log: log})
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	one := d.(*driver)
	one.store.Pause, one.store.patience = time.Microsecond, time.Millisecond
	if one.store.table != nil {
		one.store.table.Pause = time.Microsecond
	}
	return d, nil
}

// Bounded sets the maximum size of an object that a driver reads.
func Bounded(d remote.Driver, most int64) { d.(*driver).store.Most = most }

// Impatient sets how long a driver waits for each step of a response.
func Impatient(d remote.Driver, silence time.Duration) {
	one := d.(*driver)
	one.store.Silence = silence
	if one.store.table != nil {
		one.store.table.Silence = silence
	}
}

// Signed returns the signature of a request at a time.
func Signed(bucket, region, access, secret, token string, at time.Time, r *http.Request) (string, error) {
	s := &settings{bucket: bucket, region: region,
		credentials: credentials{access: access, secret: secret, token: token}}
	s.endpoint = r.URL
	a := newAccess(s, func() time.Time { return at })
	err := a.sign(context.Background(), r, nil)
	return r.Header.Get("Authorization"), err
}
