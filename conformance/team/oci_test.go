//go:build unix

package team

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/oraclecloud/oraclecloudtest"
)

// oraclePlace returns a place in a bucket of Oracle Cloud, with additional variables.
func oraclePlace(t *testing.T, there *oraclecloudtest.Server, more ...string) place {
	t.Helper()
	s := httptest.NewServer(there)
	t.Cleanup(s.Close)
	env := []string{"CLIENT_HOST_OVERRIDES=oci_object_storage.ObjectStorageClient=" + s.URL}
	return place{env: append(env, more...), block: fmt.Sprintf(`backend "oci" {
  bucket               = "states"
  namespace            = "acme"
  region               = "us-ashburn-1"
  key                  = "team/network"
  workspace_key_prefix = "team/network-env"
  tenancy_ocid         = %q
  user_ocid            = %q
  fingerprint          = %q
}`, oraclecloudtest.Tenancy, oraclecloudtest.User, oraclecloudtest.Fingerprint)}
}

// With Terraform 1.12 or later, built with this backend.
func TestBucketsOfOracleAreSharedWithTerraform(t *testing.T) {
	inFull(t)
	withPeers(t, func(t *testing.T, other string) {
		there := oraclecloudtest.New("acme", "states")
		oraclePlace(t, there, "OCI_private_key="+there.PEM()).live(t, other)
	})
}
