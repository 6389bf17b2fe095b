//go:build !without_http

package manifest

import (
	"maps"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

// ServesRequests reports whether this program serves HTTP manifests. It is a constant, so that the linker leaves out
// what hosts for other kinds do not need.
const ServesRequests = true

// language holds the functions of templates: those of configurations, except for those that read files or only make
// sense in a configuration.
var language = sync.OnceValue(func() map[string]function.Function {
	table := funcs.Table(funcs.Options{})
	maps.DeleteFunc(table, func(name string, _ function.Function) bool {
		name = strings.TrimPrefix(name, "core::")
		return strings.HasPrefix(name, "file") || name == "templatefile" || name == "plantimestamp" ||
			name == "abspath" || name == "pathexpand"
	})
	return table
})
