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

// schema has the arguments of Terraform 1.11, with its types.
func schema() *provider.Block {
	str, flag, set := cty.String, cty.Bool, cty.Set(cty.String)
	return &provider.Block{Attributes: map[string]*provider.Attribute{
		"bucket": text(str, "Name of the bucket."),
		"key": text(str, "Name of the object with the state of the default workspace. The lock and the journal stand "+
			"beside it."),
		"region":               text(str, "Region of the bucket and of the table."),
		"workspace_key_prefix": text(str, "What names of objects with states of other workspaces begin with: env:"),
		"use_lockfile":         text(flag, "Whether the lock is an object beside the state."),
		"dynamodb_table":       text(str, "Table that has locks and digests of states."),

		"access_key":               secret("Access key."),
		"secret_key":               secret("Secret of the access key."),
		"token":                    secret("Session token of the access key."),
		"profile":                  text(str, "Profile in the shared files."),
		"shared_credentials_file":  text(str, "File with shared credentials. Deprecated."),
		"shared_credentials_files": text(set, "Files with shared credentials."),
		"shared_config_files":      text(set, "Files with shared configuration."),
		"allowed_account_ids":      text(set, "Accounts that may be used, and no others."),
		"forbidden_account_ids":    text(set, "Accounts that may not be used."),
		"skip_metadata_api_check":  text(flag, "Whether the metadata service of EC2 is not used."),
		"ec2_metadata_service_endpoint": text(str,
			"Address of the metadata service of EC2."),
		"ec2_metadata_service_endpoint_mode": text(str, "How to reach that service: IPv4 or IPv6."),
		"assume_role":                        assumedRole(),
		"assume_role_with_web_identity":      tokenRole(),

		"endpoints":              endpoints(),
		"endpoint":               text(str, "Address of S3. Deprecated: endpoints.s3."),
		"dynamodb_endpoint":      text(str, "Address of DynamoDB. Deprecated: endpoints.dynamodb."),
		"iam_endpoint":           text(str, "Address of IAM. Deprecated: endpoints.iam."),
		"sts_endpoint":           text(str, "Address of STS. Deprecated: endpoints.sts."),
		"sts_region":             text(str, "Region of STS."),
		"use_path_style":         text(flag, "Whether the bucket is a part of the path, not of the host."),
		"force_path_style":       text(flag, "Deprecated: use_path_style."),
		"use_dualstack_endpoint": text(flag, "Whether addresses are used that have IPv6."),
		"use_fips_endpoint":      text(flag, "Whether addresses are used that follow FIPS."),

		"encrypt":    text(flag, "Whether the service encrypts objects."),
		"kms_key_id": text(str, "ARN of the key that objects are encrypted with."),
		"sse_customer_key": secret(
			"Key of 256 bits in base64 that objects are encrypted with, and that is not kept there."),
		"acl": text(str, "Canned access control list of objects."),

		"http_proxy":       text(str, "Proxy for http."),
		"https_proxy":      text(str, "Proxy for https."),
		"no_proxy":         text(str, "Hosts that are reached without a proxy, with commas between them."),
		"custom_ca_bundle": text(str, "File with certificates that are trusted."),
		"insecure":         text(flag, "Whether any certificate is trusted."),
		"max_retries":      text(cty.Number, "How often a request is tried again: 5."),
		"retry_mode":       text(str, "How requests are tried again: standard or adaptive."),

		"skip_credentials_validation": text(flag, "Has no effect: wrong credentials are noticed when they are used."),
		"skip_region_validation":      text(flag, "Whether a region may have a name that does not look like one."),
		"skip_requesting_account_id":  text(flag, "Whether the service is not asked for the account."),
		"skip_s3_checksum": text(flag,
			"Whether objects are sent without checksums, which some services ask for."),
	}}
}

func assumedRole() *provider.Attribute {
	str, set := cty.String, cty.Set(cty.String)
	return object("A role to assume.", map[string]*provider.Attribute{
		"role_arn":            role(),
		"duration":            text(str, "How long credentials are valid, such as 1h."),
		"external_id":         text(str, "External id that the role asks for."),
		"policy":              text(str, "Policy in JSON that narrows down what the role may do."),
		"policy_arns":         text(set, "Policies that narrow down what the role may do."),
		"session_name":        text(str, "Name of the session."),
		"source_identity":     text(str, "Identity that the session is for."),
		"tags":                text(cty.Map(cty.String), "Tags of the session."),
		"transitive_tag_keys": text(set, "Tags that go on to further roles."),
	})
}

func tokenRole() *provider.Attribute {
	str, set := cty.String, cty.Set(cty.String)
	return object("A role to assume by a token of an identity provider.",
		map[string]*provider.Attribute{
			"role_arn":                role(),
			"duration":                text(str, "How long credentials are valid, such as 1h."),
			"policy":                  text(str, "Policy in JSON that narrows down what the role may do."),
			"policy_arns":             text(set, "Policies that narrow down what the role may do."),
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
