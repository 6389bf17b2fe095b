// Package oss keeps states in a bucket of the Object Storage Service of Alibaba Cloud, in the layout that Terraform and
// OpenTofu use: all three share a state, its workspaces and its locks.
//
// A state is the object "<prefix>/<key>", or "<prefix>/<workspace>/<key>". If a table of Tablestore is configured, one
// of its rows is the lock, and another contains the digest of the state. Objects that only Tombolo uses are below
// "<prefix>.tombolo/".
//
// The service can create an object on the condition that it does not exist. It has no condition for replacing one, so
// the journal is a chain of objects (objects.Chained). A state is replaced after a check of the current content and,
// with a table, only after its digest has replaced the previous one. If another run writes between check and write, the
// digest shows it.
//
//	kind := oss.Kind()
//	driver, diags := kind.Open(ctx, config, remote.Surroundings{Getenv: os.Getenv})
package oss

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
	"github.com/tombolo-iac/tombolo/provider"
)

// Kind describes the backend "oss". Its schema is Terraform's.
func Kind() remote.Kind {
	return remote.Kind{Name: "oss", Place: "Alibaba Cloud Object Storage Service", Schema: schema(), Open: open,
		Locating: []string{"bucket", "prefix", "key"},
		Unset:    map[string]remote.Unset{"prefix": {Value: defaultPrefix}, "key": {Value: defaultKey}},
		Programs: programs, More: more(),
		Blocks: map[string]bool{"assume_role": true},
		Needed: map[string]string{"bucket": "", "region": "ALICLOUD_REGION"}}
}

// more returns the argument that Terraform 1.12 added.
func more() map[string]*provider.Attribute {
	return map[string]*provider.Attribute{"tablestore_instance_name": arguments.Text(
		"Name of the instance of Tablestore. The default is the first part of the address.")}
}

// schema returns the arguments of Terraform 1.11, with its types.
func schema() *provider.Block {
	role := map[string]*provider.Attribute{"role_arn": arguments.Text("RAM role to assume."),
		"session_name":       arguments.Text("Name of its session. The default is terraform."),
		"policy":             arguments.Text("Policy that restricts it further."),
		"session_expiration": arguments.Number("Seconds that the session lasts. The default is 3600.")}
	return &provider.Block{Attributes: map[string]*provider.Attribute{
		"access_key":              arguments.Secret("Access key ID."),
		"secret_key":              arguments.Secret("Access key secret."),
		"security_token":          arguments.Secret("Security token of temporary credentials."),
		"ecs_role_name":           arguments.Text("RAM role of the ECS instance that this runs on."),
		"profile":                 arguments.Text("Profile of the Alibaba Cloud CLI."),
		"shared_credentials_file": arguments.Text("File with the profiles. The default is ~/.aliyun/config.json."),
		"region":                  arguments.Text("Region of the bucket."),
		"sts_endpoint":            arguments.Text("Address of the service that roles are assumed at."),
		"tablestore_endpoint":     arguments.Text("Address of the instance of Tablestore with the locks."),
		"tablestore_table":        arguments.Text("Table with the locks. Its only key is the string LockID."),
		"endpoint":                arguments.Text("Address of the service."),
		"bucket":                  arguments.Text("Name of the bucket."),
		"prefix":                  arguments.Text("Folder of the states. The default is \"env:\"."),
		"key":                     arguments.Text("Name of the objects with states. The default is terraform.tfstate."),
		"encrypt":                 arguments.Flag("Whether the service encrypts states with AES256."),
		"acl":                     arguments.Text("Access control list of the state."),
		"assume_role":             arguments.Blocks("Deprecated: use the arguments assume_role_*.", role),
		"assume_role_role_arn":    arguments.Text("RAM role to assume."),
		"assume_role_policy":      arguments.Text("Policy that restricts the role further."),
		"assume_role_session_name": arguments.Text(
			"Name of the session of the role. The default is terraform."),
		"assume_role_session_expiration": arguments.Number("Seconds that the session lasts. The default is 3600."),
	}}
}

// open reads the settings. It sends no requests: credentials are resolved at the first request.
func open(_ context.Context, config cty.Value, o remote.Surroundings) (remote.Driver, diag.List) {
	o = arguments.Complete(o)
	s, diags := read(config, o)
	if diags.HasErrors() {
		return nil, diags
	}
	return newDriver(s, o), diags
}
