package azure

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// programs returns the files of the user whose content goes to a cloud that the block describes. Nothing is started
// because a block says so.
func programs(config cty.Value, o remote.Surroundings) (all []remote.Program) {
	if config.IsNull() {
		return nil
	}
	text := func(name string) string {
		v, _ := config.GetAttr(name).Unmark()
		if v.IsNull() || !v.IsKnown() {
			return ""
		}
		return v.AsString()
	}
	if text("metadata_host") == "" {
		return nil
	}
	for _, name := range []string{"client_secret_file_path", "oidc_token_file_path"} {
		if file := text(name); file != "" && o.Own(file) {
			all = append(all, remote.Program{Argument: name, Token: true,
				Line: "the content of " + file + ", for the cloud of " + text("metadata_host")})
		}
	}
	return all
}
