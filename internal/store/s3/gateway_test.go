package s3_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/internal/store/s3/gateway"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// atGateway returns the arguments that differ for a gateway, with a key that no other test uses.
func atGateway(key string) map[string]cty.Value {
	return map[string]cty.Value{"bucket": cty.StringVal(gateway.Bucket), "access_key": cty.StringVal(gateway.Access),
		"secret_key": cty.StringVal(gateway.Secret), "region": cty.StringVal(gateway.Region),
		"key": cty.StringVal(key), "workspace_key_prefix": cty.StringVal(key + "-others")}
}

// A second S3 server, which stores objects as files, passes the same suite.
func TestGateway(t *testing.T) {
	address := gateway.Start(t, false)
	n := 0
	drivers := func(t *testing.T) (a, b remote.Driver) {
		n++
		s := settings(address, atGateway(fmt.Sprintf("some/state%d", n)))
		return open(t, s), open(t, s)
	}
	t.Run("driver", func(t *testing.T) { drivertest.Run(t, drivertest.Options{}, drivers) })
	t.Run("store", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) (state.Store, state.Store) {
			a, b := drivers(t)
			folder := t.TempDir()
			store := func(d remote.Driver) state.Store {
				return remote.New(remote.Options{Driver: d, Rescue: []string{folder}, Pause: time.Millisecond,
					Who: "me@here"})
			}
			return store(a), store(b)
		})
	})
}

// This server treats the marker of a deleted version as an object, so a lock can only be acquired once.
func TestGatewayWithVersions(t *testing.T) {
	p, err := open(t, settings(gateway.Start(t, true), atGateway("some/state"))).Place(state.DefaultWorkspace)
	must(t, err)
	h, err := p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
	version := ""
	for n := range 3 {
		version, err = h.Write(t.Context(), remote.Write{Data: fmt.Appendf(nil, "state %d", n), Was: version,
			Lineage: "l", Serial: uint64(n + 1), Revision: history.Revision{Who: fmt.Sprint("me ", n), Created: n}})
		must(t, err)
	}
	kept := p.(history.Historian)
	all, err := kept.List(t.Context())
	must(t, err)
	if len(all) != 3 || all[0].Revision.Who != "me 2" || all[2].Serial != 1 {
		t.Fatalf("the history is %+v", all)
	}
	data, err := kept.Snapshot(t.Context(), all[2].ID)
	if err != nil || string(data) != "state 0" {
		t.Errorf("the first one was %q, %v", data, err)
	}
	must(t, h.Unlock(t.Context()))
	if _, err = p.Lock(t.Context(), drivertest.Info("other")); err != nil &&
		!strings.Contains(err.Error(), "treats the marker of a deleted version") {
		t.Error(err)
	}
}
