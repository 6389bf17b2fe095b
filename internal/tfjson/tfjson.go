// Package tfjson writes stable machine-readable documents: plan, state, outputs, provider schemas, diagnostics,
// validation and version, in the JSON formats of Terraform 1.11.
//
//	err := tfjson.Plan(w, p, p.Prior(), cfg, schemas)    // show -json PLANFILE
//	err := tfjson.State(w, s, schemas)                   // show -json
//	err := tfjson.Outputs(w, s)                          // output -json
//
// Documents are written incrementally: memory does not grow with the number of objects, and the time is linear. By
// definition, they contain sensitive values in clear text, with maps that identify them; the user has requested the
// document. Only diagnostics never contain them.
//
// The package does not access files, does not depend on commands, and starts no goroutines.
package tfjson

import (
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/provider"
)

// Schemas holds the schemas of the providers in a document.
type Schemas map[addr.Provider]*provider.Schema

// ResourceType returns the schema of a resource, or nil if the provider or the type is missing.
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
