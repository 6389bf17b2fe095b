// Package tfjson writes the stable machine documents of the field: plan, state, outputs, provider schemas, diagnostics,
// validation and version, in the JSON forms that tools built for Terraform 1.11 read.
//
//	err := tfjson.Plan(w, p, p.Prior(), cfg, schemas)    // show -json PLANFILE
//	err := tfjson.State(w, s, schemas)                   // show -json
//	err := tfjson.Outputs(w, s)                          // output -json
//
// Documents are written as they are made: memory does not grow with the number of objects, and the cost is a sum over
// them. They hold sensitive values in clear beside maps that say which ones they are, because that is their definition;
// the user has requested the document. Only diagnostics never hold them.
//
// The package knows nothing of files or commands, and starts no goroutines.
package tfjson

import (
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/provider"
)

// Schemas holds the schemas of the providers that a document mentions.
type Schemas map[addr.Provider]*provider.Schema

// ResourceType returns the schema of a resource; nil when the provider or the type is not there.
func (s Schemas) ResourceType(p addr.Provider, r addr.Resource) *provider.ResourceType {
	schema := s[p]
	if schema == nil {
		return nil
	}
	switch r.Mode {
	case addr.Data:
		return schema.Data[r.Type]
	case addr.Ephemeral:
		return schema.Ephemeral[r.Type]
	case addr.Action:
		return schema.Actions[r.Type]
	}
	return schema.Resources[r.Type]
}

// The versions of the documents.
const (
	planFormat     = "1.2"
	stateFormat    = "1.0"
	schemaFormat   = "1.0"
	validateFormat = "1.0"
	modulesFormat  = "1.0"

	workspacesFormat = "1.0"
)
