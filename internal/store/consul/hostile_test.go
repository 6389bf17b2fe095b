package consul_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/consul"
	"github.com/tombolo-iac/tombolo/internal/store/consul/consultest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// Every call ends, whatever a server responds, and no invalid response is taken for a state.
func TestHostileServers(t *testing.T) {
	drivertest.Hostility(t, drivertest.Hostile{
		NoDigest: true, Wordless: true, Secret: "token-canary",
		New: func(*testing.T) http.Handler { return &consultest.Server{} },
		Open: func(t *testing.T, h http.Handler, silence time.Duration, most int64) remote.Driver {
			d := open(t, settings(serve(t, h), map[string]cty.Value{"access_token": cty.StringVal("token-canary")}))
			consul.Impatient(d, silence, most)
			return d
		},
	})
}
