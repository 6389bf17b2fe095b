// Package s3 keeps states in a bucket of Amazon S3, or of a service that speaks the same protocol, in the layout that
// Terraform and OpenTofu use: all three share a state, its workspaces and its locks.
//
// Beside an object with a state, "<key>", there is the lock, "<key>.tflock", and what belongs to Tombolo alone, below
// "<key>.tombolo/". The listings of the other programs ignore it. All that matters is written under conditions: a state
// replaces the one that was read, a lock is made if there is none, and the journal is one object that is
// replaced again and again, each time the one that was seen before. A service that accepts conditions and ignores them
// is found out before anything depends on it.
//
// Where a table of DynamoDB is named, the lock is an item there too, and another item has the digest of the state.
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
