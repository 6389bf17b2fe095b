package azure_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/azure"
	"github.com/tombolo-iac/tombolo/internal/store/azure/azuretest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// Every call ends, whatever a server responds, and no invalid response is taken for a state.
func TestHostileServers(t *testing.T) {
	drivertest.Hostility(t, drivertest.Hostile{
		NoDigest: true, Secret: "sas-canary",
		New: func(*testing.T) http.Handler { return &azuretest.Blobs{} },
		Open: func(t *testing.T, h http.Handler, silence time.Duration, most int64) remote.Driver {
			d := open(t, serve(t, h), map[string]cty.Value{"access_key": cty.NullVal(cty.String),
				"sas_token": cty.StringVal("?sv=1&sig=sas-canary")})
			azure.Impatient(d, silence, most)
			return d
		},
		Page: func(n int) string {
			return fmt.Sprintf("<EnumerationResults><Blobs/><NextMarker>m%d</NextMarker></EnumerationResults>", n)
		},
	})
}
