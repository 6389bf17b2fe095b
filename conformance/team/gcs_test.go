//go:build unix

package team

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/gcs/gcstest"
)

// google starts a server with a bucket "states".
func google(t *testing.T) (address string) {
	t.Helper()
	s := httptest.NewServer(gcstest.New("states"))
	t.Cleanup(s.Close)
	return s.URL
}

// googleBlock returns a backend block with additional arguments.
func googleBlock(address, more string) string {
	return fmt.Sprintf(`backend "gcs" {
  bucket                  = "states"
  prefix                  = "team/network"
  storage_custom_endpoint = "%s/storage/v1/"
  %s
}`, address, more)
}

var googleEnv = []string{"GOOGLE_OAUTH_ACCESS_TOKEN=token"}

const googleKey = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

func TestBucketsOfGoogleAreSharedWithTerraform(t *testing.T) {
	inFull(t)
	withPeers(t, func(t *testing.T, other string) {
		place{block: googleBlock(google(t), ""), env: googleEnv}.live(t, other)
	})
}

// The same with another server of Google's protocol.
func TestBucketsOfFakeGCSServerAreSharedWithTerraform(t *testing.T) {
	inFull(t)
	withPeers(t, func(t *testing.T, other string) {
		place{block: googleBlock(gcstest.Fsouza(t), ""), env: googleEnv}.live(t, other)
	})
}

// The same with a customer's key, with which locks are not encrypted.
func TestBucketsOfGoogleWithACustomersKeyAreSharedWithTerraform(t *testing.T) {
	inFull(t)
	withPeers(t, func(t *testing.T, other string) {
		p := place{block: googleBlock(google(t), ""), env: append([]string{"GOOGLE_ENCRYPTION_KEY=" + googleKey},
			googleEnv...)}
		p.known(t, other)
		p.liveOnce(t, other)
	})
}

// The records of init are byte for byte the same: either program continues in a directory that the other has
// initialized.
func TestRecordsOfBucketsOfGoogleAreTerraforms(t *testing.T) {
	other := theirs(t, "terraform", "TOMBOLO_TERRAFORM")
	for name, more := range map[string]string{
		"few": `access_token = "token"`,
		"others": `access_token = "token"
  credentials    = ""
  encryption_key = "` + googleKey + `"
  impersonate_service_account_delegates = ["a@example.com", "b@example.com"]`,
		"keys": `access_token = "token"
  kms_encryption_key = "projects/p/locations/l/keyRings/r/cryptoKeys/states"`,
	} {
		t.Run(name, func(t *testing.T) {
			p := place{block: googleBlock(google(t), more)}
			one, two := p.member(t, "tombolo", ours), p.member(t, "terraform", other)
			if got, want := recordOf(t, one), recordOf(t, two); got != want {
				t.Errorf("recorded\n%s\nwant\n%s", got, want)
			}
			one.run("apply", "-auto-approve", "-no-color")
			two.idle()
		})
	}
}
