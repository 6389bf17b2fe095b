//go:build !without_modules

package manifest

// ServesModules reports whether this program serves WASI modules. It is a constant, so that the linker leaves out what
// hosts for other kinds do not need.
const ServesModules = true
