package backend

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/internal/config"
)

// Settings returns the type of a backend with all settings that are not secret, such as `s3 (bucket "a", key "b")`.
// Equal settings have equal texts.
func (b *Backend) Settings() string {
	attributes := b.attributes()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		v := b.Config.GetAttr(name)
		if v.IsNull() || secret(attributes[name]) {
			continue
		}
		parts = append(parts, name+" "+settingText(v))
	}
	if len(parts) == 0 {
		return b.Type
	}
	return fmt.Sprintf("%s (%s)", b.Type, strings.Join(parts, ", "))
}

// settingText returns a value as JSON, without the password in an address.
func settingText(v cty.Value) string {
	v, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if v.Type() == cty.String && !v.IsNull() && v.IsKnown() && strings.Contains(v.AsString(), "://") {
			return cty.StringVal(config.ShownSource(v.AsString())), nil
		}
		return v, nil
	})
	if err != nil {
		return "..."
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return "..."
	}
	return string(text)
}
