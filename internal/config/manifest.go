package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
)

// manifestName is the place of the module manifest within the data directory.
const manifestName = "modules/modules.json"

// Manifest is the record of installed modules: modules/modules.json in the data directory.
type Manifest struct {
	Modules []ManifestModule
}

// ManifestModule is one installed module. The field order is that of the file.
type ManifestModule struct {
	Key     string `json:"Key"` // call names joined by dots; "" for the root module
	Source  string `json:"Source"`
	Version string `json:"Version,omitempty"`
	Dir     string `json:"Dir"` // relative to the working directory
}

// ManifestKey returns the key of a module in the manifest.
func ManifestKey(m addr.Module) string { return strings.Join(m.Calls(), ".") }

// ParseManifest reads a manifest file.
func ParseManifest(src []byte) (*Manifest, error) {
	m := &Manifest{}
	if len(bytes.TrimSpace(src)) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(src, m); err != nil {
		return nil, fmt.Errorf("parse module manifest: %w", err)
	}
	seen := map[string]bool{}
	for i, entry := range m.Modules {
		if seen[entry.Key] {
			return nil, fmt.Errorf("two records for module %q", entry.Key)
		}
		seen[entry.Key] = true
		m.Modules[i].Dir = path.Clean(filepath.ToSlash(entry.Dir))
		// Records from before sources had hosts have none for registry modules.
		if kind, normal, err := ParseSource(entry.Source, entry.Version != ""); err == nil && kind == SourceRegistry {
			m.Modules[i].Source = normal
		}
	}
	return m, nil
}

// Encode returns the content of the manifest file: one line, ordered by key.
func (m *Manifest) Encode() ([]byte, error) {
	sorted := Manifest{Modules: slices.Clone(m.Modules)}
	slices.SortFunc(sorted.Modules, func(a, b ManifestModule) int { return strings.Compare(a.Key, b.Key) })
	return json.Marshal(sorted)
}
