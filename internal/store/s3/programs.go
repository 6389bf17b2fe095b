package s3

import (
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// fileArguments are those that name files of the SDK's settings.
var fileArguments = []string{"shared_config_files", "shared_credentials_files", "shared_credentials_file"}

// programs returns what files of the working directory let the SDK start for credentials. Each such line counts,
// whichever profile it belongs to: profiles refer to each other.
func programs(config cty.Value, o remote.Surroundings) (all []remote.Program) {
	if config.IsNull() {
		return nil
	}
	r := reader{v: config, dir: o.Dir}
	for _, argument := range fileArguments {
		names := []string{}
		if argument == "shared_credentials_file" {
			names = append(names, r.text(argument))
		} else {
			names = r.texts(argument)
		}
		for _, name := range names {
			if !o.Brought(name) {
				continue
			}
			text, err := regular.Read(o.Path(name), regular.Record)
			if err != nil {
				continue // which is told where it is needed
			}
			for line := range strings.Lines(string(text)) {
				line = strings.TrimSpace(line)
				if strings.Contains(strings.ToLower(line), "credential_process") && !strings.HasPrefix(line, "#") &&
					!strings.HasPrefix(line, ";") {
					all = append(all, remote.Program{Argument: argument, Line: line})
				}
			}
		}
	}
	return all
}
