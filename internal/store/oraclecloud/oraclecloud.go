// Package oraclecloud is the driver of the backend "oci": it keeps states in a bucket of Oracle Cloud's Object Storage,
// in the layout that Terraform uses. Both programs share a state, its workspaces and its locks. (Package fetch/oci is
// about the Open Container Initiative.)
//
// A state is the object "<key>", or "<workspace_key_prefix>/<workspace>/<key>". The lock is the object with the suffix
// ".lock". Objects that only Tombolo uses are below "<key>.tombolo/" and "<workspace_key_prefix>.tombolo/". Every write
// that matters is conditional on an entity tag: a state replaces the one that was read, a lock is created only if there
// is none, and the journal is the one of package objects. The package sends plain HTTPS requests; Oracle's library
// finds the keys and signs.
//
//	kind := oraclecloud.Kind()
//	driver, diags := kind.Open(ctx, config, remote.Surroundings{Getenv: os.Getenv})
package oraclecloud

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
	"github.com/tombolo-iac/tombolo/provider"
)

// Kind describes the backend "oci". Its schema is Terraform's.
func Kind() remote.Kind {
	return remote.Kind{Name: "oci", Place: "Oracle Cloud Object Storage", Schema: schema(), Open: open,
		Needed: map[string]string{"bucket": "", "namespace": ""}}
}

// schema returns the arguments of Terraform 1.12 and later, with its types.
func schema() *provider.Block {
	text, secret := arguments.Text, arguments.Secret
	return &provider.Block{Attributes: map[string]*provider.Attribute{
		"bucket":               text("Name of the bucket."),
		"namespace":            text("Namespace of the bucket."),
		"key":                  text("Name of the object with the state. The default is terraform.tfstate."),
		"workspace_key_prefix": text("Folder of the other workspaces. The default is tf-state-env."),
		"region":               text("Region of the bucket."),
		"auth": text("How requests are signed: ApiKey, SecurityToken, InstancePrincipal, ResourcePrincipal or " +
			"OKEWorkloadIdentity. The default is ApiKey."),
		"config_file_profile":     text("Profile of the file ~/.oci/config."),
		"tenancy_ocid":            text("Tenancy of the user."),
		"user_ocid":               text("User with the API key."),
		"fingerprint":             text("Fingerprint of the API key."),
		"private_key":             secret("The API key, as PEM."),
		"private_key_path":        text("File with the API key."),
		"private_key_password":    secret("Password of the API key."),
		"kms_key_id":              text("Key of the vault that encrypts states."),
		"sse_customer_key":        secret("Key that encrypts states, 256 bits in base64."),
		"sse_customer_key_sha256": text("SHA-256 digest of that key, in base64."),
		"sse_customer_algorithm":  text("Algorithm of that key: AES256."),
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
