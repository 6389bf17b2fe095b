package backend

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/store/azure"
	"github.com/tombolo-iac/tombolo/internal/store/consul"
	"github.com/tombolo-iac/tombolo/internal/store/cos"
	"github.com/tombolo-iac/tombolo/internal/store/gcs"
	"github.com/tombolo-iac/tombolo/internal/store/hcp"
	"github.com/tombolo-iac/tombolo/internal/store/httpstore"
	"github.com/tombolo-iac/tombolo/internal/store/kubernetes"
	"github.com/tombolo-iac/tombolo/internal/store/oraclecloud"
	"github.com/tombolo-iac/tombolo/internal/store/oss"
	"github.com/tombolo-iac/tombolo/internal/store/pg"
	"github.com/tombolo-iac/tombolo/internal/store/program"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/s3"
	"github.com/tombolo-iac/tombolo/provider"
)

// kinds maps the types of backends to their kinds.
var kinds = map[string]*remote.Kind{
	"local": {Name: "local", Place: "local files", Schema: texts("path", "workspace_dir")},
	// States are lost when the process ends; lock_id sets a lock that is never released.
	"inmem":      {Name: "inmem", Place: "memory, for a single run", Schema: texts("lock_id")},
	"consul":     new(consul.Kind()),
	"http":       new(httpstore.Kind()),
	"kubernetes": new(kubernetes.Kind()),
	"pg":         new(pg.Kind()),
	"s3":         new(s3.Kind()),
	"gcs":        new(gcs.Kind()),
	"azurerm":    new(azure.Kind()),
	"remote":     new(hcp.Kind()),
	cloudType:    new(hcp.Cloud()),
	"cos":        new(cos.Kind()),
	"oci":        new(oraclecloud.Kind()),
	"oss":        new(oss.Kind()),

	"program": new(program.Kind()), // only in Tombolo
}

// cloudType is the type of the backend that a cloud block configures.
const cloudType = "cloud"

// texts returns the schema of a block whose arguments are all strings.
func texts(names ...string) *provider.Block {
	b := &provider.Block{Attributes: map[string]*provider.Attribute{}}
	for _, name := range names {
		b.Attributes[name] = &provider.Attribute{Type: cty.String, Optional: true}
	}
	return b
}

// Locating returns the names of the arguments that say where a state is.
func (b *Backend) Locating() []string {
	if names := b.kind().Locating; len(names) > 0 {
		return names
	}
	return b.Arguments()
}

// KeyProviders returns the key providers of clouds, by kind.
func KeyProviders(o remote.Surroundings) map[string]*encryption.Kind {
	return map[string]*encryption.Kind{"aws_kms": s3.KeyProvider(o), "azure_vault": azure.KeyProvider(o),
		"gcp_kms": gcs.KeyProvider(o)}
}
