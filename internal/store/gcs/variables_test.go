package gcs

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// The test fails if the driver reads a variable that is missing in the table. The defaults are those that Terraform
// documents.
func TestVariablesMatchArguments(t *testing.T) {
	block := drivertest.Settings{Schema: schema(), More: Kind().More, Base: map[string]string{"bucket": "b"},
		Read: func(config cty.Value, o remote.Surroundings) (any, diag.List) {
			s, diags := read(config, o)
			return s, diags
		},
	}
	block.Default(t, map[string]string{"prefix": ""})
	block.Say(t, []drivertest.Variable{
		{Name: "GOOGLE_OAUTH_ACCESS_TOKEN", Argument: "access_token", Value: "token"},
		{Name: "GOOGLE_BACKEND_CREDENTIALS", Argument: "credentials", Value: user},
		{Name: "GOOGLE_CREDENTIALS", Argument: "credentials", Value: user},
		{Name: "GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT", Argument: "impersonate_service_account", Value: "a@b"},
		{Name: "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT", Argument: "impersonate_service_account", Value: "a@b"},
		{Name: "GOOGLE_ENCRYPTION_KEY", Argument: "encryption_key",
			Value: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="},
		{Name: "GOOGLE_KMS_ENCRYPTION_KEY", Argument: "kms_encryption_key", Value: "projects/p/locations/l"},
		{Name: "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT", Argument: "storage_custom_endpoint",
			Value: "https://storage.example/"},
		{Name: "GOOGLE_STORAGE_CUSTOM_ENDPOINT", Argument: "storage_custom_endpoint",
			Value: "https://storage.example/"},
		{Name: "GOOGLE_CLOUD_QUOTA_PROJECT", Argument: "", Value: "p"},
		{Name: "STORAGE_EMULATOR_HOST", Argument: "", Value: "127.0.0.1:1"},
		{Name: "GOOGLE_IAM_CREDENTIALS_CUSTOM_ENDPOINT", Argument: "", Value: "https://iam.example/"},
		{Name: "GOOGLE_BACKEND_UNIVERSE_DOMAIN", Argument: "universe_domain", Value: "other.example"},
		{Name: "GOOGLE_CLOUD_UNIVERSE_DOMAIN", Argument: "universe_domain", Value: "other.example"},
	})
}

const user = `{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}`
