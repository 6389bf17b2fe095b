package gcs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/gcs"
	"github.com/tombolo-iac/tombolo/internal/store/gcs/gcstest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

const lockID = "0b5c8e7e-6c1f-4d9e-9d6d-000000000001"

// customerKey is a key of 256 bits.
const customerKey = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// settings returns the settings of a block for a server.
func settings(address string, more map[string]cty.Value) cty.Value {
	s := map[string]cty.Value{"bucket": cty.StringVal("states"), "prefix": cty.StringVal("some/where"),
		"access_token":            cty.StringVal("token-canary"),
		"storage_custom_endpoint": cty.StringVal(address + "/storage/v1/")}
	for name, v := range more {
		s[name] = v
	}
	return cty.ObjectVal(s)
}

// open returns a driver with the settings.
func open(t *testing.T, config cty.Value) remote.Driver {
	t.Helper()
	d, err := gcs.Hasty(t.Context(), config)
	must(t, err)
	return d
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestDriver(t *testing.T) {
	for name, more := range map[string]map[string]cty.Value{
		"plain":           nil,
		"customer's keys": {"encryption_key": cty.StringVal(customerKey)},
		"no prefix":       {"prefix": cty.StringVal("")},
	} {
		t.Run(name, func(t *testing.T) {
			drivertest.Run(t, drivertest.Options{}, func(t *testing.T) (a, b remote.Driver) {
				s := gcstest.New("states")
				s.PageSize = 2
				address := serve(t, s)
				return open(t, settings(address, more)), open(t, settings(address, more))
			})
		})
	}
}

// Another implementation of the protocol passes the same suite.
func TestDriverOnFakeGCSServer(t *testing.T) {
	drivertest.Run(t, drivertest.Options{}, func(t *testing.T) (a, b remote.Driver) {
		address := gcstest.Fsouza(t)
		return open(t, settings(address, nil)), open(t, settings(address, nil))
	})
}

// Every call ends, whatever a server responds, and no invalid response is taken for a state.
func TestHostileServers(t *testing.T) {
	drivertest.Hostility(t, drivertest.Hostile{
		Wordless: true,
		New:      func(*testing.T) http.Handler { return gcstest.New("states") },
		Open: func(t *testing.T, h http.Handler, silence time.Duration, most int64) remote.Driver {
			d := open(t, settings(serve(t, h), nil))
			gcs.Bounded(d, most)
			gcs.Brief(d, silence)
			return d
		},
		Page: func(n int) string { return fmt.Sprintf(`{"items":[],"nextPageToken":"m%d"}`, n) },
	})
}
