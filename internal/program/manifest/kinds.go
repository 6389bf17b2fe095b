package manifest

import "slices"

// Kind is the kind of a provider, by what performs its calls.
type Kind string

// Kinds of providers. Each is also the word for it in the names of hosts.
const (
	Program  Kind = "program" // a program of the operating system
	Module   Kind = "module"  // a WASI module
	Requests Kind = "http"    // requests that the manifest describes
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Program, Module, Requests} }

// Kind returns the kind of the provider.
func (m *Manifest) Kind() Kind {
	switch {
	case m.HTTP != nil:
		return Requests
	case m.Wasm != "":
		return Module
	}
	return Program
}

// Build tags that leave out a kind.
const withoutRequests, withoutModules = "without_http", "without_modules"

// Tags returns the build tags of a host that only serves providers of this kind.
func (k Kind) Tags() (tags []string) {
	for _, tag := range []string{withoutRequests, withoutModules} {
		if k.ServedWith([]string{tag}) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// ServedWith reports whether a host with these build tags serves providers of this kind.
func (k Kind) ServedWith(tags []string) bool {
	return (k != Requests || !slices.Contains(tags, withoutRequests)) &&
		(k != Module || !slices.Contains(tags, withoutModules))
}

// isLeftOut reports whether a manifest is of a kind that this program does not serve, and adds the problem.
func (r *reader) isLeftOut(v *node) bool {
	for name, served := range map[string]bool{"http": ServesRequests, "wasm": ServesModules} {
		if given := v.Get(name); given != nil && !served {
			r.errorf(given, "This program is the host of packages for another kind of provider, and cannot serve one "+
				"with %q. Package the provider again, with the host for its kind.", name)
			return true
		}
	}
	return false
}
