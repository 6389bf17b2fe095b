//go:build without_http

package manifest

import "github.com/zclconf/go-cty/cty/function"

// ServesRequests reports whether this program serves HTTP manifests. It is a constant, so that the linker leaves out
// what hosts for other kinds do not need.
const ServesRequests = false

// language returns no functions: there are no templates.
func language() map[string]function.Function { return nil }
