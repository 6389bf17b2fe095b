package s3

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
	block := drivertest.Settings{Schema: schema(),
		Base:   map[string]string{"bucket": "b", "key": "k", "region": "eu-central-1"},
		Others: []string{"AWS_SESSION_TOKEN", "AWS_SECRET_ACCESS_KEY"},
		Read: func(config cty.Value, o remote.Surroundings) (any, diag.List) {
			s, diags := read(config, o)
			return s, diags
		},
	}
	block.Default(t, map[string]string{"use_lockfile": "false", "insecure": "false", "workspace_key_prefix": "env:",
		"encrypt": "false", "use_path_style": "false", "skip_s3_checksum": "false",
		"skip_metadata_api_check": "false"})
	block.Say(t, []drivertest.Variable{
		{Name: "AWS_REGION", Argument: "region", Value: "eu-west-1"},
		{Name: "AWS_DEFAULT_REGION", Argument: "region", Value: "eu-west-1"},
		{Name: "AWS_ENDPOINT_URL_S3", Argument: "endpoints.s3", Value: "https://s3.example"},
		{Name: "AWS_ENDPOINT_URL_DYNAMODB", Argument: "endpoints.dynamodb", Value: "https://d.example"},
		{Name: "AWS_ENDPOINT_URL_IAM", Argument: "endpoints.iam", Value: "https://iam.example"},
		{Name: "AWS_ENDPOINT_URL_STS", Argument: "endpoints.sts", Value: "https://sts.example"},
		{Name: "AWS_ENDPOINT_URL_SSO", Argument: "endpoints.sso", Value: "https://sso.example"},
		{Name: "AWS_S3_ENDPOINT", Argument: "endpoints.s3", Value: "https://s3.example"},
		{Name: "AWS_DYNAMODB_ENDPOINT", Argument: "endpoints.dynamodb", Value: "https://d.example"},
		{Name: "AWS_IAM_ENDPOINT", Argument: "endpoints.iam", Value: "https://iam.example"},
		{Name: "AWS_STS_ENDPOINT", Argument: "endpoints.sts", Value: "https://sts.example"},
		{Name: "AWS_SSE_CUSTOMER_KEY", Argument: "sse_customer_key",
			Value: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="},
		{Name: "AWS_EC2_METADATA_SERVICE_ENDPOINT", Argument: "ec2_metadata_service_endpoint",
			Value: "http://ec2.example"},
		{Name: "AWS_METADATA_URL", Argument: "ec2_metadata_service_endpoint", Value: "http://ec2.example"},
		{Name: "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", Argument: "ec2_metadata_service_endpoint_mode",
			Value: "IPv6"},
		{Name: "AWS_SHARED_CONFIG_FILE", Argument: "shared_config_files", Value: "/nowhere/config"},
	})
}
