package value

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// Identify returns the attribute that identifies an object to the user, id or else name, and its value. Both are empty
// if there is none that may be shown: sensitive lists the paths that the configuration marks as sensitive; those of the
// schema are also hidden.
func Identify(b *provider.Block, v cty.Value, sensitive []cty.Path) (key, text string) {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return "", ""
	}
	for _, key := range []string{"id", "name"} {
		a := b.Attributes[key]
		if a == nil || a.Sensitive || a.Type != cty.String || CoveredByAny(cty.GetAttrPath(key), sensitive) {
			continue
		}
		if s := ctyfast.Attr(v, key); s.IsKnown() && !s.IsNull() && s.AsString() != "" {
			return key, s.AsString()
		}
	}
	return "", ""
}
