package tfjson

import (
	"encoding/json"
	"io"

	"github.com/tombolo-iac/tombolo/internal/config"
)

type modulesDocument struct {
	FormatVersion string           `json:"format_version"`
	Modules       []declaredModule `json:"modules"` // null if there are none
}

type declaredModule struct {
	Key     string `json:"key"`
	Source  string `json:"source"`
	Version string `json:"version"`
}

// Modules writes the modules that a configuration calls, each after its caller.
func Modules(w io.Writer, root *config.Module) error {
	doc := modulesDocument{FormatVersion: modulesFormat}
	var add func(m *config.Module)
	add = func(m *config.Module) {
		for _, child := range m.SortedChildren() {
			doc.Modules = append(doc.Modules, declaredModule{
				Key: child.Call.Name, Source: config.ShownSource(child.Call.Source), Version: child.Version})
			add(child)
		}
	}
	add(root)
	return json.NewEncoder(w).Encode(doc)
}
