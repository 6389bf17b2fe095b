package manifest

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
)

// maxMemory is the largest memory of a module that a manifest can ask for, in MiB.
const maxMemory = 2048

// wasm decodes the name of a module.
func (r *reader) wasm(v *node) string {
	var name string
	r.text(&name)(v)
	if v.Kind != strictjson.String {
		return ""
	}
	local := path.Clean(strings.TrimPrefix(name, "./"))
	if name == "" || local == "." || !filepath.IsLocal(filepath.FromSlash(local)) || strings.Contains(local, `\`) {
		r.errorf(v, `"wasm" names a file in the folder of the provider, such as "provider.wasm"; %q is not one.`, name)
		return ""
	}
	return local
}

// inSandbox reports members that have no meaning for a module.
func (r *reader) inSandbox(v *node) {
	for _, name := range []string{"command", "prepare", "prepare_from", "requires"} {
		if given := v.Get(name); given != nil {
			r.errorf(given, `A module in "wasm" runs no other programs: remove %q, or remove "wasm".`, name)
		}
	}
	if memory := v.Get("memory"); memory != nil && (r.m.Memory == 0 || r.m.Memory > maxMemory) {
		r.errorf(memory, `"memory" is the memory of the module in MiB: from 1 to %d.`, maxMemory)
	}
}

// Module returns the path of the module of a provider.
func (m *Manifest) Module() string { return filepath.Join(m.Dir, filepath.FromSlash(m.Wasm)) }
