package oss

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
	block := drivertest.Settings{Schema: schema(), More: more(), Base: map[string]string{"bucket": "b", "region": "r"},
		Read: func(config cty.Value, o remote.Surroundings) (any, diag.List) {
			s, diags := read(config, o)
			return s, diags
		},
	}
	block.Default(t, map[string]string{"prefix": "env:", "key": "terraform.tfstate", "encrypt": "false",
		"assume_role_session_name": "terraform", "assume_role_session_expiration": "3600"})
	block.Say(t, []drivertest.Variable{
		{Name: "ALICLOUD_REGION", Argument: "region", Value: "other"},
		{Name: "ALICLOUD_DEFAULT_REGION", Argument: "region", Value: "other"},
		{Name: "ALIBABA_CLOUD_REGION", Argument: "region", Value: "other"},
		{Name: "ALICLOUD_OSS_ENDPOINT", Argument: "endpoint", Value: "oss.example"},
		{Name: "ALIBABA_CLOUD_OSS_ENDPOINT", Argument: "endpoint", Value: "oss.example"},
		{Name: "OSS_ENDPOINT", Argument: "endpoint", Value: "oss.example"},
		{Name: "ALICLOUD_TABLESTORE_ENDPOINT", Argument: "tablestore_endpoint", Value: "ots.example",
			With: map[string]string{"tablestore_table": "t"}},
		{Name: "ALIBABA_CLOUD_TABLESTORE_ENDPOINT", Argument: "tablestore_endpoint", Value: "ots.example",
			With: map[string]string{"tablestore_table": "t"}},
		{Name: "ALICLOUD_STS_ENDPOINT", Argument: "sts_endpoint", Value: "sts.example"},
		{Name: "ALIBABA_CLOUD_STS_ENDPOINT", Argument: "sts_endpoint", Value: "sts.example"},
		{Name: "ALICLOUD_ACCESS_KEY", Argument: "access_key", Value: "a", With: secretKey},
		{Name: "ALICLOUD_ACCESS_KEY_ID", Argument: "access_key", Value: "a", With: secretKey},
		{Name: "ALIBABA_CLOUD_ACCESS_KEY_ID", Argument: "access_key", Value: "a", With: secretKey},
		{Name: "ALICLOUD_SECRET_KEY", Argument: "secret_key", Value: "s", With: accessKey},
		{Name: "ALICLOUD_ACCESS_KEY_SECRET", Argument: "secret_key", Value: "s", With: accessKey},
		{Name: "ALIBABA_CLOUD_ACCESS_KEY_SECRET", Argument: "secret_key", Value: "s", With: accessKey},
		{Name: "ALICLOUD_SECURITY_TOKEN", Argument: "security_token", Value: "t"},
		{Name: "ALIBABA_CLOUD_SECURITY_TOKEN", Argument: "security_token", Value: "t"},
		{Name: "ALICLOUD_ECS_ROLE_NAME", Argument: "ecs_role_name", Value: "e"},
		{Name: "ALIBABA_CLOUD_ECS_METADATA", Argument: "ecs_role_name", Value: "e"},
		{Name: "ALICLOUD_ASSUME_ROLE_ARN", Argument: "assume_role_role_arn", Value: "acs:ram::1:role/r"},
		{Name: "ALIBABA_CLOUD_ROLE_ARN", Argument: "assume_role_role_arn", Value: "acs:ram::1:role/r"},
		{Name: "ALICLOUD_ASSUME_ROLE_SESSION_NAME", Argument: "assume_role_session_name", Value: "n"},
		{Name: "ALIBABA_CLOUD_ROLE_SESSION_NAME", Argument: "assume_role_session_name", Value: "n"},
		{Name: "ALICLOUD_ASSUME_ROLE_SESSION_EXPIRATION", Argument: "assume_role_session_expiration", Value: "901"},
		{Name: "ALICLOUD_PROFILE", Argument: "profile", Value: "p",
			With: map[string]string{"shared_credentials_file": profiles}},
		{Name: "ALIBABA_CLOUD_PROFILE", Argument: "profile", Value: "p",
			With: map[string]string{"shared_credentials_file": profiles}},
		{Name: "ALICLOUD_SHARED_CREDENTIALS_FILE", Argument: "shared_credentials_file", Value: profiles,
			With: map[string]string{"profile": "p"}},
		{Name: "ALIBABA_CLOUD_CREDENTIALS_FILE", Argument: "shared_credentials_file", Value: profiles,
			With: map[string]string{"profile": "p"}},
	})
}

var accessKey, secretKey = map[string]string{"access_key": "a"}, map[string]string{"secret_key": "s"}

const profiles = drivertest.Content + `{"profiles":[
{"name":"p","mode":"AK","access_key_id":"a","access_key_secret":"s"}]}`
