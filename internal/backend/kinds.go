package backend

import (
	"cmp"
	"fmt"

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
	"github.com/tombolo-iac/tombolo/state"
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

// Location returns a text that is the same for backends and workspaces with the same state, or "" if the arguments and
// the environment do not say where it is. It may contain a secret. It sends no requests.
func (b *Backend) Location(workspace string, o remote.Surroundings) string {
	kind := b.kind()
	if kind.Location != nil {
		return kind.Location(b.Config, workspace, o)
	}
	text := fmt.Sprintf("%s %q", b.Type, workspace)
	for _, name := range b.Locating() {
		if name == "workspace_key_prefix" && workspace == state.DefaultWorkspace {
			continue // it is for the states of other workspaces
		}
		v := b.Config.GetAttr(name)
		unset, optional := kind.Unset[name]
		if v.IsNull() || v.Type() == cty.String && v.IsKnown() && v.AsString() == "" {
			given := ""
			if unset.Variable != "" && o.Getenv != nil {
				given = o.Getenv(unset.Variable)
			}
			if given = cmp.Or(given, unset.Value); given == "" && !optional && len(kind.Locating) > 0 {
				return ""
			}
			if len(kind.Locating) > 0 {
				v = cty.StringVal(given)
			}
		}
		text += fmt.Sprintf(" %s=%#v", name, v)
	}
	return text
}

// KeyProviders returns the key providers of clouds, by kind.
func KeyProviders(o remote.Surroundings) map[string]*encryption.Kind {
	return map[string]*encryption.Kind{"aws_kms": s3.KeyProvider(o), "azure_vault": azure.KeyProvider(o),
		"gcp_kms": gcs.KeyProvider(o)}
}
