// Package azure keeps states in a container of Azure Blob Storage, in the layout that Terraform and OpenTofu use: all
// three share a state, its workspaces and its locks.
//
// A state is a block blob, "<key>" or "<key>env:<workspace>". The lock is an infinite lease on that blob; the lease ID
// is the ID of the lock, and the blob's metadata names the holder. Objects that only Tombolo uses are below
// "<key>.tombolo/", which the listings of the other programs ignore. Every write is conditional: a state replaces the
// version that was read, under the lease. The journal is one blob; each write replaces the version that was last seen.
//
//	kind := azure.Kind()
//	driver, diags := kind.Open(ctx, config, remote.Surroundings{Getenv: os.Getenv})
package azure

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// Kind describes the backend "azurerm". Its schema is Terraform's.
func Kind() remote.Kind {
	return remote.Kind{Name: "azurerm", Place: "Azure Blob Storage", Schema: schema(), More: more(), Open: open,
		Locating: []string{"storage_account_name", "container_name", "key"},
		Programs: programs, Needed: map[string]string{"storage_account_name": "", "container_name": "", "key": ""}}
}

// open reads the settings. It sends no requests: credentials are resolved at the first request.
func open(_ context.Context, config cty.Value, o remote.Surroundings) (remote.Driver, diag.List) {
	o = arguments.Complete(o)
	s, diags := read(config, o)
	if diags.HasErrors() {
		return nil, diags
	}
	return &driver{s: s, blobs: newBlobs(s, o)}, diags
}
