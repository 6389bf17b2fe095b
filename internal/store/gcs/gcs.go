// Package gcs keeps states in a bucket of Google Cloud Storage, in the layout that Terraform and OpenTofu use: all
// three share a state, its workspaces and its locks.
//
// Beside "<prefix>/<workspace>.tfstate" are the lock, "<workspace>.tflock", and the objects that only Tombolo uses,
// below "<workspace>.tombolo/". The listings of the other programs ignore these. All writes that matter are conditional
// on generations: a state replaces the generation that was read, a lock is created if there is none, and the journal is
// the one of package objects. The package sends plain HTTPS requests; golang.org/x/oauth2 finds the credentials.
//
//	kind := gcs.Kind()
//	driver, diags := kind.Open(ctx, config, remote.Surroundings{Getenv: os.Getenv})
package gcs

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
	"github.com/tombolo-iac/tombolo/provider"
)

// Kind describes the backend "gcs". Its schema is Terraform's.
func Kind() remote.Kind {
	return remote.Kind{Name: "gcs", Place: "Google Cloud Storage", Schema: schema(), Open: open, Programs: programs,
		Locating: []string{"bucket", "prefix"},
		Unset:    map[string]remote.Unset{"prefix": {}},
		Needed:   map[string]string{"bucket": ""},
		More: map[string]*provider.Attribute{"universe_domain": {Type: cty.String, Optional: true,
			Description: "Domain of the services. The default is googleapis.com."}}}
}

// schema returns the arguments of Terraform 1.11, with its types.
func schema() *provider.Block {
	text := func(what string) *provider.Attribute {
		return &provider.Attribute{Type: cty.String, Optional: true, Description: what}
	}
	secret := func(what string) *provider.Attribute {
		return &provider.Attribute{Type: cty.String, Optional: true, Sensitive: true, Description: what}
	}
	return &provider.Block{Attributes: map[string]*provider.Attribute{
		"bucket":                      text("Name of the bucket."),
		"prefix":                      text("Prefix of the object names, such as a folder."),
		"credentials":                 secret("Credentials in JSON, or the name of a file with them."),
		"access_token":                secret("Access token."),
		"impersonate_service_account": text("Service account to impersonate."),
		"impersonate_service_account_delegates": {Type: cty.List(cty.String), Optional: true,
			Description: "Service accounts to impersonate before that one, in this order."},
		"encryption_key": secret("Customer-supplied encryption key of 256 bits in base64, or the name of a file with " +
			"it."),
		"kms_encryption_key":      text("Cloud KMS key to encrypt states with."),
		"storage_custom_endpoint": text("Address of the service: https://storage.googleapis.com/storage/v1/"),
	}}
}

// open reads the settings. It sends no requests.
func open(_ context.Context, config cty.Value, o remote.Surroundings) (remote.Driver, diag.List) {
	o = arguments.Complete(o)
	s, diags := read(config, o)
	if diags.HasErrors() {
		return nil, diags
	}
	return newDriver(s, o), diags
}
