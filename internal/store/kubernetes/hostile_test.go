package kubernetes_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/kubernetes"
	"github.com/tombolo-iac/tombolo/internal/store/kubernetes/kubernetestest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// Every call ends, whatever a server responds, and no invalid response is taken for a state.
func TestHostileServers(t *testing.T) {
	drivertest.Hostility(t, drivertest.Hostile{
		NoDigest: true, Secret: "token-canary",
		New: func(*testing.T) http.Handler { return &kubernetestest.Server{Token: "token-canary"} },
		Open: func(t *testing.T, h http.Handler, silence time.Duration, most int64) remote.Driver {
			d := open(t, settings(serve(t, h), nil))
			kubernetes.Impatient(d, silence, most)
			return d
		},
	})
}
