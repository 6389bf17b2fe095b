package s3_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/internal/store/s3"
)

// Every call ends, whatever a server responds, and no invalid response is taken for a state.
func TestHostileServers(t *testing.T) {
	drivertest.Hostility(t, drivertest.Hostile{
		NoDigest: true, Secret: "-canary",
		New: serve,
		Open: func(t *testing.T, h http.Handler, silence time.Duration, most int64) remote.Driver {
			d, err := s3.Hasty(t.Context(), cty.ObjectVal(settings(drivertest.Serve(t, h), map[string]cty.Value{
				"token": cty.StringVal("token-canary")})))
			must(t, err)
			s3.SetLimits(d, silence, most)
			return d
		},
		Page: func(n int) string {
			return fmt.Sprintf("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>m%d"+
				"</NextContinuationToken></ListBucketResult>", n)
		},
	})
}
