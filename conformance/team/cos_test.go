//go:build unix

package team

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/cos/costest"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// tencentBlock returns a backend block with additional arguments.
func tencentBlock(more string) string {
	return `backend "cos" {
  bucket = "states-1250000000"
  region = "ap-guangzhou"
  ` + more + `
}`
}

// tencent starts a Tencent Cloud emulator with a bucket, and returns the variables to connect to it.
func tencent(t *testing.T, s *costest.Server) []string {
	t.Helper()
	s.Bucket = "states-1250000000"
	return (&drivertest.Cloud{Services: s}).Start(t)
}

// tencentPlace returns a place with the usual credentials.
func tencentPlace(t *testing.T, s *costest.Server, more string) place {
	t.Helper()
	return place{block: tencentBlock(more), env: append(tencent(t, s), "TENCENTCLOUD_SECRET_ID="+costest.SecretID,
		"TENCENTCLOUD_SECRET_KEY="+costest.SecretKey)}
}

func TestBucketsOfTencentAreSharedWithTerraform(t *testing.T) {
	inFull(t)
	withPeers(t, func(t *testing.T, other string) {
		for name, more := range map[string]string{"prefix": `prefix = "team/network"`, "none": ""} {
			t.Run(name, func(t *testing.T) { tencentPlace(t, &costest.Server{}, more).live(t, other) })
		}
	})
}

// The same in a bucket with versions, for which the journal is on the machine of the run.
func TestBucketsOfTencentWithVersionsAreSharedWithTerraform(t *testing.T) {
	inFull(t)
	withPeers(t, func(t *testing.T, other string) {
		tencentPlace(t, &costest.Server{Versioned: true}, `prefix = "team/network"`).live(t, other)
	})
}

// The records of init are byte for byte the same: either program continues in a directory that the other has
// initialized.
func TestRecordsOfBucketsOfTencentAreTerraforms(t *testing.T) {
	other := theirs(t, "terraform", "TOMBOLO_TERRAFORM")
	for name, more := range map[string]string{
		"few":    "",
		"others": "prefix = \"a/b\"\n  encrypt = false\n  acl = \"public-read\"\n  key = \"x\"\n  accelerate = false",
	} {
		t.Run(name, func(t *testing.T) {
			p := tencentPlace(t, &costest.Server{}, more)
			p.known(t, other)
			one, two := p.member(t, "tombolo", ours), p.member(t, "terraform", other)
			if got, want := recordOf(t, one), recordOf(t, two); got != want {
				t.Errorf("recorded\n%s\nwant\n%s", got, want)
			}
			one.run("apply", "-auto-approve", "-no-color")
			two.idle()
		})
	}
}

// The role of a machine, and a role that it assumes, have access to the bucket.
func TestAssumedRolesOpenCOSBuckets(t *testing.T) {
	p := place{block: tencentBlock(`cam_role_name = "machine"
  assume_role {
    role_arn         = "qcs::cam::uin/1:roleName/states"
    session_name     = "tests"
    session_duration = 3600
    policy           = ""
  }`), env: tencent(t, &costest.Server{Token: "role-token"})}
	m := p.member(t, "tombolo", ours)
	m.run("apply", "-auto-approve", "-no-color")
	m.idle()
}
