package httpstore_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/httpstore"
	"github.com/tombolo-iac/tombolo/internal/store/httpstore/httpstoretest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// Every call ends, whatever a server responds, and no invalid response is taken for a state.
func TestHostileServers(t *testing.T) {
	drivertest.Hostility(t, drivertest.Hostile{
		NoDigest: true, Follows: true, Beside: true, Secret: "secret-canary",
		Absent: []string{"missing, no words", "missing, a page", "says nothing"},
		New:    func(*testing.T) http.Handler { return &httpstoretest.Server{} },
		Open: func(t *testing.T, h http.Handler, silence time.Duration, most int64) remote.Driver {
			d := open(t, settings(serve(t, h), map[string]cty.Value{"retry_wait_max": cty.Zero,
				"headers": cty.MapVal(map[string]cty.Value{"X-Token": cty.StringVal("secret-canary")})}))
			httpstore.Impatient(d, silence, most)
			return d
		},
	})
}
