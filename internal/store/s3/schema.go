package s3

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

func text(ty cty.Type, what string) *provider.Attribute {
	return &provider.Attribute{Type: ty, Optional: true, Description: what}
}

func secret(what string) *provider.Attribute {
	return &provider.Attribute{Type: cty.String, Optional: true, Sensitive: true, Description: what}
}

func object(what string, attrs map[string]*provider.Attribute) *provider.Attribute {
	return &provider.Attribute{Optional: true, Description: what,
		Nested: &provider.NestedObject{Nesting: provider.NestingSingle, Attributes: attrs}}
}

func role() *provider.Attribute {
	return &provider.Attribute{Type: cty.String, Required: true, Description: "ARN of the role to assume."}
}

// schema returns the arguments of Terraform 1.11, with its types.
func schema() *provider.Block {
	str, flag, set := cty.String, cty.Bool, cty.Set(cty.String)
	return &provider.Block{Attributes: map[string]*provider.Attribute{
		"bucket": text(str, "Name of the bucket."),
		"key": text(str, "Name of the object with the state of the default workspace. The lock and the journal are "+
			"stored beside it."),
		"region": text(str, "Region of the bucket and of the table."),
		"workspace_key_prefix": text(str, "Prefix of the objects with the states of other workspaces. The default is "+
			"env:"),
		"use_lockfile":   text(flag, "Whether to lock with an object beside the state."),
		"dynamodb_table": text(str, "DynamoDB table with locks and digests of states."),

		"access_key":               secret("Access key."),
		"secret_key":               secret("Secret of the access key."),
		"token":                    secret("Session token of the access key."),
		"profile":                  text(str, "Profile in the shared files."),
		"shared_credentials_file":  text(str, "File with shared credentials. Deprecated."),
		"shared_credentials_files": text(set, "Files with shared credentials."),
		"shared_config_files":      text(set, "Files with shared configuration."),
		"allowed_account_ids":      text(set, "The only accounts that may be used."),
		"forbidden_account_ids":    text(set, "Accounts that may not be used."),
		"skip_metadata_api_check":  text(flag, "Whether to skip the metadata service of EC2."),
		"ec2_metadata_service_endpoint": text(str,
			"Address of the metadata service of EC2."),
		"ec2_metadata_service_endpoint_mode": text(str, "Address mode of that service: IPv4 or IPv6."),
		"assume_role":                        assumedRole(),
		"assume_role_with_web_identity":      tokenRole(),

		"endpoints":              endpoints(),
		"endpoint":               text(str, "Address of S3. Deprecated: endpoints.s3."),
		"dynamodb_endpoint":      text(str, "Address of DynamoDB. Deprecated: endpoints.dynamodb."),
		"iam_endpoint":           text(str, "Address of IAM. Deprecated: endpoints.iam."),
		"sts_endpoint":           text(str, "Address of STS. Deprecated: endpoints.sts."),
		"sts_region":             text(str, "Region of STS."),
		"use_path_style":         text(flag, "Whether to put the bucket in the path of addresses instead of the host."),
		"force_path_style":       text(flag, "Deprecated: use_path_style."),
		"use_dualstack_endpoint": text(flag, "Whether to use dual-stack addresses (IPv6)."),
		"use_fips_endpoint":      text(flag, "Whether to use FIPS addresses."),

		"encrypt":    text(flag, "Whether the service encrypts objects."),
		"kms_key_id": text(str, "ARN of the KMS key to encrypt objects with."),
		"sse_customer_key": secret(
			"Customer-provided encryption key of 256 bits in base64."),
		"acl": text(str, "Canned access control list of objects."),

		"http_proxy":       text(str, "Proxy for http."),
		"https_proxy":      text(str, "Proxy for https."),
		"no_proxy":         text(str, "Hosts to reach without a proxy, separated by commas."),
		"custom_ca_bundle": text(str, "File with trusted CA certificates."),
		"insecure":         text(flag, "Whether to accept any certificate."),
		"max_retries":      text(cty.Number, "Number of retries of a request. The default is 5."),
		"retry_mode":       text(str, "Retry mode: standard or adaptive."),

		"skip_credentials_validation": text(flag, "Has no effect: credentials are checked when they are used."),
		"skip_region_validation":      text(flag, "Whether to accept region names of any form."),
		"skip_requesting_account_id":  text(flag, "Whether to skip reading the account ID."),
		"skip_s3_checksum": text(flag,
			"Whether to send objects without checksums, as some services require."),
	}}
}

// more returns the arguments that only OpenTofu has. Those for a role are the ones that Terraform had before
// assume_role.
func more() map[string]*provider.Attribute {
	str, set, tags := cty.String, cty.Set(cty.String), cty.Map(cty.String)
	return map[string]*provider.Attribute{
		"state_tags":                      text(tags, "Tags of the objects with states."),
		"lock_tags":                       text(tags, "Tags of the objects that are locks."),
		"role_arn":                        text(str, "Deprecated: assume_role.role_arn."),
		"session_name":                    text(str, "Deprecated: assume_role.session_name."),
		"external_id":                     text(str, "Deprecated: assume_role.external_id."),
		"assume_role_duration_seconds":    text(cty.Number, "Deprecated: assume_role.duration."),
		"assume_role_policy":              text(str, "Deprecated: assume_role.policy."),
		"assume_role_policy_arns":         text(set, "Deprecated: assume_role.policy_arns."),
		"assume_role_tags":                text(tags, "Deprecated: assume_role.tags."),
		"assume_role_transitive_tag_keys": text(set, "Deprecated: assume_role.transitive_tag_keys."),
	}
}

func assumedRole() *provider.Attribute {
	str, set := cty.String, cty.Set(cty.String)
	return object("A role to assume.", map[string]*provider.Attribute{
		"role_arn":            role(),
		"duration":            text(str, "Lifetime of the credentials, such as 1h."),
		"external_id":         text(str, "External ID that the role requires."),
		"policy":              text(str, "Policy in JSON that further restricts the role."),
		"policy_arns":         text(set, "ARNs of policies that further restrict the role."),
		"session_name":        text(str, "Name of the session."),
		"source_identity":     text(str, "Identity that the session is for."),
		"tags":                text(cty.Map(cty.String), "Tags of the session."),
		"transitive_tag_keys": text(set, "Tags to pass on to further roles."),
	})
}

func tokenRole() *provider.Attribute {
	str, set := cty.String, cty.Set(cty.String)
	return object("A role to assume with a token of an identity provider.",
		map[string]*provider.Attribute{
			"role_arn":                role(),
			"duration":                text(str, "Lifetime of the credentials, such as 1h."),
			"policy":                  text(str, "Policy in JSON that further restricts the role."),
			"policy_arns":             text(set, "ARNs of policies that further restrict the role."),
			"session_name":            text(str, "Name of the session."),
			"web_identity_token":      secret("The token."),
			"web_identity_token_file": text(str, "File with the token."),
		})
}

func endpoints() *provider.Attribute {
	str := cty.String
	return object("Addresses of services.", map[string]*provider.Attribute{
		"dynamodb": text(str, "Address of DynamoDB."), "iam": text(str, "Address of IAM."),
		"s3": text(str, "Address of S3."), "sso": text(str, "Address of the single sign-on."),
		"sts": text(str, "Address of STS."),
	})
}
