// Package s3 keeps states in a bucket of Amazon S3, or of a service with the same protocol, in the layout that
// Terraform and OpenTofu use: all three share a state, its workspaces and its locks.
//
// Beside the object of a state, "<key>", are the lock, "<key>.tflock", and the objects that only Tombolo uses, below
// "<key>.tombolo/". The listings of the other programs ignore these. All writes that matter are conditional: a state
// replaces the one that was read, a lock is created only if there is none, and the journal is one object that each
// write replaces on the condition that it is the version last seen. A service that accepts conditions and ignores them
// is detected before anything depends on it.
//
// If a table of DynamoDB is configured, the lock is also an item there, and another item contains the digest of the
// state.
//
//	kind := s3.Kind()
//	driver, diags := kind.Open(ctx, config, remote.Surroundings{Getenv: os.Getenv})
package s3

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// Kind describes the backend "s3". Its schema is Terraform's.
func Kind() remote.Kind {
	return remote.Kind{Name: "s3", Place: "Amazon S3", Schema: schema(), More: more(), Open: open,
		Locating: []string{"bucket", "key", "workspace_key_prefix"},
		Unset:    map[string]remote.Unset{"workspace_key_prefix": {Value: "env:"}},
		Programs: programs, Needed: map[string]string{"bucket": "", "key": ""}}
}

// open reads the settings and determines how to connect. It sends no requests, unless it must check the account.
func open(ctx context.Context, config cty.Value, o remote.Surroundings) (remote.Driver, diag.List) {
	o = arguments.Complete(o)
	s, diags := read(config, o)
	if diags.HasErrors() {
		return nil, diags
	}
	d, more := connect(ctx, s, o)
	if diags = diags.Extend(more); diags.HasErrors() {
		return nil, diags
	}
	return d, diags
}
