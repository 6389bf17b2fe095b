//go:build unix

package team

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/oss/server"
)

// alibaba has a bucket "states", and a table "locks".
func alibaba(t *testing.T) (address string) {
	t.Helper()
	s := httptest.NewServer(&server.Server{Bucket: "states"})
	t.Cleanup(s.Close)
	return s.URL
}

// alibabaBlock is a backend block with some more arguments.
func alibabaBlock(address, more string) string {
	return fmt.Sprintf(`backend "oss" {
  bucket              = "states"
  prefix              = "team/network"
  region              = "cn-beijing"
  endpoint            = %q
  tablestore_endpoint = %q
  tablestore_table    = "locks"
  %s
}`, address, address, more)
}

var alibabaEnv = []string{"ALICLOUD_ACCESS_KEY=" + server.AccessKey, "ALICLOUD_SECRET_KEY=" + server.Secret}

func TestBucketsOfAlibabaAreSharedWithTerraform(t *testing.T) {
	inFull(t)
	withPeers(t, func(t *testing.T, other string) {
		place{block: alibabaBlock(alibaba(t), ""), env: alibabaEnv}.live(t, other)
	})
}

// What init records is the same to the byte: either program goes on in a directory that the other has set up.
func TestRecordsOfBucketsOfAlibabaAreTerraforms(t *testing.T) {
	other := theirs(t, "terraform", "TOMBOLO_TERRAFORM")
	for name, more := range map[string]string{
		"few":    "",
		"others": "encrypt = true\n  acl = \"private\"\n  key = \"x/y\"\n  assume_role_session_expiration = 900",
		"a role": "assume_role {\n    role_arn = \"\"\n    session_name = \"s\"\n    policy = \"\"\n" +
			"    session_expiration = 900\n  }",
	} {
		t.Run(name, func(t *testing.T) {
			p := place{block: alibabaBlock(alibaba(t), more), env: alibabaEnv}
			one, two := p.member(t, "tombolo", ours), p.member(t, "terraform", other)
			if got, want := recordOf(t, one), recordOf(t, two); got != want {
				t.Errorf("recorded\n%s\nwant\n%s", got, want)
			}
			one.run("apply", "-auto-approve", "-no-color")
			two.idle()
		})
	}
}
