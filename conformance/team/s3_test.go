//go:build unix

package team

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tombolo-iac/tombolo/internal/store/s3/gateway"
)

// amazon starts a server with a bucket, and a service that lets anyone assume any role.
func amazon(t *testing.T) (address string) {
	t.Helper()
	bucket := s3mem.New()
	if err := bucket.CreateBucket("states"); err != nil {
		t.Fatal(err)
	}
	objects := gofakes3.New(bucket).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" || r.Method != http.MethodPost {
			objects.ServeHTTP(w, r)
			return
		}
		action := r.PostFormValue("Action")
		fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult><Credentials><AccessKeyId>AKIDROLE</AccessKeyId><SecretAccessKey>"+
			"secret</SecretAccessKey><SessionToken>token</SessionToken><Expiration>%[2]s</Expiration></Credentials>"+
			"</%[1]sResult></%[1]sResponse>", action, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// bucketBlock returns a backend block with additional arguments.
func bucketBlock(address, more string) string {
	return fmt.Sprintf(`backend "s3" {
  bucket                      = "states"
  key                         = "team/state"
  region                      = "eu-central-1"
  use_path_style              = true
  skip_credentials_validation = true
  skip_requesting_account_id  = true
  skip_metadata_api_check     = true
  endpoints                   = { s3 = %[1]q, sts = %[1]q }
  %[2]s
}`, address, more)
}

var bucketEnv = []string{"AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=secret"}

func TestBucketsAreSharedWithTerraform(t *testing.T) {
	withPeers(t, func(t *testing.T, other string) {
		place{block: bucketBlock(amazon(t), "use_lockfile = true"), env: bucketEnv}.live(t, other)
	})
}

// The records of init are byte for byte the same, with a hash over all arguments and their types: either program
// continues in a directory that the other has initialized.
func TestRecordsOfBucketsAreTerraforms(t *testing.T) {
	other := theirs(t, "terraform", "TOMBOLO_TERRAFORM")
	for name, more := range map[string]string{
		"few": `use_lockfile = true`,
		"role": `use_lockfile = true
  assume_role = {
    role_arn            = "arn:aws:iam::123456789012:role/states"
    duration            = "1h"
    external_id         = "external"
    policy_arns         = ["arn:aws:iam::123456789012:policy/b", "arn:aws:iam::123456789012:policy/a"]
    session_name        = "team"
    source_identity     = "me"
    tags                = { b = "2", a = "1" }
    transitive_tag_keys = ["b", "a"]
  }`,
		"web": `use_lockfile = true
  assume_role_with_web_identity = {
    role_arn           = "arn:aws:iam::123456789012:role/states"
    web_identity_token = "token"
  }`,
		"others": `workspace_key_prefix = "w"
  use_lockfile          = "true"
  encrypt               = true
  kms_key_id            = "arn:aws:kms:eu-central-1:123456789012:key/12345678-1234-4234-9234-123456789012"
  acl                   = "private"
  max_retries           = 7
  retry_mode            = "adaptive"
  no_proxy              = "localhost,127.0.0.1"
  https_proxy           = "http://127.0.0.1:1"
  skip_s3_checksum      = true
  skip_region_validation = true
  sts_region            = "us-east-1"
  forbidden_account_ids = ["210987654321", "123456789012"]
  access_key            = "AKID"
  secret_key            = "secret"`,
	} {
		t.Run(name, func(t *testing.T) {
			p := place{block: bucketBlock(amazon(t), more), env: bucketEnv}
			one, two := p.member(t, "tombolo", ours), p.member(t, "terraform", other)
			if got, want := recordOf(t, one), recordOf(t, two); got != want {
				t.Errorf("recorded\n%s\nwant\n%s", got, want)
			}
			one.run("apply", "-auto-approve", "-no-color")
			two.idle()
		})
	}
}

// The same with another S3 server.
func TestBucketsOfAGatewayAreSharedWithTerraform(t *testing.T) {
	withPeers(t, func(t *testing.T, other string) {
		block := strings.Replace(bucketBlock(gateway.Start(t, false), "use_lockfile = true"), "eu-central-1",
			gateway.Region, 1)
		place{block: block, env: []string{"AWS_ACCESS_KEY_ID=" + gateway.Access,
			"AWS_SECRET_ACCESS_KEY=" + gateway.Secret}}.live(t, other)
	})
}
