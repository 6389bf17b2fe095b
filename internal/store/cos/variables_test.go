package cos

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// The test fails if the driver reads a variable that is missing in the table. The defaults are those that Terraform
// documents.
func TestVariablesMatchArguments(t *testing.T) {
	dir := t.TempDir() // contains a profile with a role
	if err := os.WriteFile(filepath.Join(dir, "p.credential"), []byte(`{"secretId":"a","secretKey":"b",`+
		`"role-arn":"arn","role-session-name":"n"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	block := drivertest.Settings{Schema: schema(),
		Base: map[string]string{"bucket": "b", "region": "r", "secret_id": "i", "secret_key": "k"},
		Read: func(config cty.Value, o remote.Surroundings) (any, diag.List) {
			s, diags := read(config, o)
			api := s.api("sts")
			s.api = nil // functions cannot be compared
			return []any{s, api}, diags
		},
	}
	block.Default(t, map[string]string{"key": "terraform.tfstate", "encrypt": "true", "acl": "private",
		"accelerate": "false", "domain": "tencentcloudapi.com"})
	block.Say(t, []drivertest.Variable{
		{Name: "TENCENTCLOUD_REGION", Argument: "region", Value: "other"},
		{Name: "TENCENTCLOUD_SECRET_ID", Argument: "secret_id", Value: "id"},
		{Name: "TENCENTCLOUD_SECRET_KEY", Argument: "secret_key", Value: "key"},
		{Name: "TENCENTCLOUD_SECURITY_TOKEN", Argument: "security_token", Value: "token"},
		{Name: "TENCENTCLOUD_CAM_ROLE_NAME", Argument: "cam_role_name", Value: "role"},
		{Name: "TENCENTCLOUD_ENDPOINT", Argument: "endpoint", Value: "https://cos.example"},
		{Name: "TENCENTCLOUD_DOMAIN", Argument: "domain", Value: "api.example"},
		{Name: "TENCENTCLOUD_ASSUME_ROLE_ARN", Argument: "assume_role.role_arn", Value: "arn"},
		{Name: "TENCENTCLOUD_ASSUME_ROLE_SESSION_NAME", Argument: "assume_role.session_name", Value: "n"},
		{Name: "TENCENTCLOUD_ASSUME_ROLE_EXTERNAL_ID", Argument: "assume_role.external_id", Value: "x"},
		{Name: "TENCENTCLOUD_ASSUME_ROLE_SESSION_DURATION", Argument: "assume_role.session_duration", Value: "100"},
		{Name: "TENCENTCLOUD_PROFILE", Argument: "profile", Value: "p",
			With: map[string]string{"shared_credentials_dir": dir}},
		{Name: "TENCENTCLOUD_SHARED_CREDENTIALS_DIR", Argument: "shared_credentials_dir", Value: dir,
			With: map[string]string{"profile": "p"}},
	})
}
