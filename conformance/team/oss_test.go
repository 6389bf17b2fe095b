//go:build unix

package team

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/oss/osstest"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// alibaba starts a server with a bucket "states", and a table "locks".
func alibaba(t *testing.T) (address string) {
	t.Helper()
	s := httptest.NewServer(&osstest.Server{Bucket: "states"})
	t.Cleanup(s.Close)
	return s.URL
}

// alibabaBlock returns a backend block with additional arguments.
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

var alibabaEnv = []string{"ALICLOUD_ACCESS_KEY=" + osstest.AccessKey, "ALICLOUD_SECRET_KEY=" + osstest.Secret}

func TestBucketsOfAlibabaAreSharedWithTerraform(t *testing.T) {
	inFull(t)
	withPeers(t, func(t *testing.T, other string) {
		place{block: alibabaBlock(alibaba(t), ""), env: alibabaEnv}.live(t, other)
	})
}

// The records of init are byte for byte the same: either program continues in a directory that the other has
// initialized.
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

// alibabaCloud is the cloud at its usual addresses: buckets by name, tables, roles of machines and roles to assume.
// With the credentials of the machine the role can be assumed, and only that role has access to the bucket.
func alibabaCloud(there *osstest.Server) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		const credentials = `{"Code":"Success","AccessKeyId":%q,"AccessKeySecret":%q,"SecurityToken":%q,` +
			`"Expiration":"2199-01-01T00:00:00Z","LastUpdated":"2026-01-01T00:00:00Z"}`
		switch r.Host {
		case "states.oss-cn-beijing.aliyuncs.com":
			r.URL.Path, r.URL.RawPath = "/states"+r.URL.Path, "/states"+r.URL.EscapedPath()
			there.ServeHTTP(w, r)
		case "locks.cn-beijing.ots.aliyuncs.com":
			there.ServeHTTP(w, r)
		case "100.100.100.200":
			if r.Method == http.MethodPut {
				fmt.Fprint(w, "metadata-token")
				return
			}
			fmt.Fprintf(w, credentials, "machine", "machine-secret", "machine-token")
		case "sts.aliyuncs.com":
			if r.FormValue("AccessKeyId") != "machine" || r.FormValue("RoleArn") != "acs:ram::1:role/states" {
				http.Error(w, "not allowed", http.StatusForbidden)
				return
			}
			fmt.Fprintf(w, `{"Credentials":`+credentials+`}`, osstest.AccessKey, osstest.Secret, "role-token")
		default:
			http.NotFound(w, r)
		}
	}
}

// The role of a machine, and a role that it assumes, have access to the services at their usual addresses.
func TestAssumedRolesOpenOSSBuckets(t *testing.T) {
	there := &osstest.Server{Bucket: "states", Token: "role-token"}
	p := place{block: `backend "oss" {
  bucket               = "states"
  region               = "cn-beijing"
  ecs_role_name        = "machine"
  assume_role_role_arn = "acs:ram::1:role/states"
  tablestore_endpoint  = "https://locks.cn-beijing.ots.aliyuncs.com"
  tablestore_table     = "locks"
}`, env: (&drivertest.Cloud{Services: alibabaCloud(there)}).Start(t)}
	m := p.member(t, "tombolo", ours)
	m.run("apply", "-auto-approve", "-no-color")
	m.idle()
	if rows := there.Rows(); len(rows) != 1 {
		t.Errorf("rows %v", rows)
	}
}
