// Package cos keeps states in a bucket of Tencent Cloud's Object Storage, in the layout that Terraform and OpenTofu
// use: all three share a state, its workspaces and its locks.
//
// A state is the object "<prefix>/<key>", or "<prefix>/<workspace>/<key>". The lock is an object beside it, with
// ".tflock" appended to its name. A run that creates the lock holds a tag of the account meanwhile, which only one run
// can create: the bucket itself has no condition that works in all buckets. Objects that only Tombolo uses are below
// "<prefix>.tombolo/".
//
// In buckets without versions, the service can create an object on the condition that it does not exist. It has no
// condition for replacing one, so the journal is a chain of objects (objects.Chained). For a bucket with versions, the
// journal is kept on this machine. A state is replaced after a check of the lock and of the current content; another
// run may write between check and write.
//
//	kind := cos.Kind()
//	driver, diags := kind.Open(ctx, config, remote.Surroundings{Getenv: os.Getenv})
package cos

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
	"github.com/tombolo-iac/tombolo/provider"
)

// Kind describes the backend "cos". Its schema is Terraform's.
func Kind() remote.Kind {
	return remote.Kind{Name: "cos", Place: "Tencent Cloud Object Storage", Schema: schema(), Open: open,
		Locating: []string{"bucket", "prefix", "key"},
		Unset:    map[string]remote.Unset{"prefix": {}, "key": {Value: "terraform.tfstate"}},
		Blocks:   map[string]bool{"assume_role": true},
		Needed:   map[string]string{"bucket": "", "region": "TENCENTCLOUD_REGION"}}
}

// schema returns the arguments of Terraform 1.11 and later, with its types.
func schema() *provider.Block {
	text, secret := arguments.Text, arguments.Secret
	role := map[string]*provider.Attribute{"role_arn": text("Role to assume."),
		"session_name":     text("Name of its session."),
		"session_duration": arguments.Number("Seconds that the session lasts. The default is 7200."),
		"policy":           text("Policy that restricts the role further."),
		"external_id":      text("External ID that the role's account requires.")}
	return &provider.Block{Attributes: map[string]*provider.Attribute{
		"secret_id":              secret("ID of the API key."),
		"secret_key":             secret("The API key."),
		"security_token":         secret("Token of temporary credentials."),
		"region":                 text("Region of the bucket."),
		"bucket":                 text("Name of the bucket, followed by the ID of the account."),
		"prefix":                 text("Folder of the states."),
		"key":                    text("Name of the objects with states. The default is terraform.tfstate."),
		"encrypt":                arguments.Flag("Whether the service encrypts states with AES256: true."),
		"acl":                    text("Access control list of the objects: private or public-read."),
		"accelerate":             arguments.Flag("Whether global acceleration is used."),
		"endpoint":               text("Address of the service."),
		"domain":                 text("Domain of the API with the tags. The default is tencentcloudapi.com."),
		"assume_role":            arguments.Blocks("Role to assume.", role),
		"cam_role_name":          text("Role of the machine that this runs on."),
		"profile":                text("Profile of the Tencent Cloud CLI."),
		"shared_credentials_dir": text("Folder with the profiles. The default is ~/.tccli."),
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
