package manifest

import "slices"

// Kind is what performs the calls of a provider.
type Kind string

// Kinds of providers. Each is also the word for it in the names of hosts.
const (
	Program  Kind = "program" // a program of the operating system
	Module   Kind = "module"  // a WASI module
	Requests Kind = "http"    // requests that the manifest describes
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Program, Module, Requests} }

// Kind returns what performs the calls of the provider.
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

// leftOut is the problem with a manifest of a kind that this program does not serve.
const leftOut = `This program is the host of packages for another kind of provider, and cannot serve one with %q. ` +
	`Package the provider again, with the host for its kind.`
