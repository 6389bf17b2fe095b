package tfjson

import "io"

// ProviderSchemas writes what `providers schema -json` prints, on one line.
func ProviderSchemas(w io.Writer, schemas Schemas) error { return nil }

// VersionInfo is what `version -json` tells.
type VersionInfo struct {
	TerraformVersion   string            `json:"terraform_version"`
	Platform           string            `json:"platform"`
	ProviderSelections map[string]string `json:"provider_selections"`
	TerraformOutdated  bool              `json:"terraform_outdated"`
}

// Version writes the document of `version -json`, indented.
func Version(w io.Writer, v VersionInfo) error { return nil }
