package author

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/debugger"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

// debugText describes the flag -debug.
const debugText = "Run the program under the debugger `COMMAND`, such as \"node --inspect-brk=127.0.0.1:9229\", or " +
	"connect to the one that listens on \"unix:SOCKET\"."

// debugVariable returns the variable of the environment that applies -debug to the only provider in some folders.
func debugVariable(folders []string, debug string) (string, diag.List) {
	var names []string
	folders = slices.Compact(slices.Sorted(slices.Values(folders)))
	for _, dir := range folders {
		if _, err := os.Stat(filepath.Join(dir, manifest.FileName)); err != nil {
			continue
		}
		m, diags := manifest.Load(dir)
		if diags.HasErrors() {
			return "", diags
		}
		names = append(names, m.Name)
	}
	if len(names) != 1 {
		found := "there is none"
		if len(names) > 1 {
			found = "there are " + strings.Join(names, " and ")
		}
		return "", diag.List{}.Errorf(nil, "No provider to debug", "-debug is for the only provider in %s, but %s. "+
			"Name the folder that has its manifest, %s.", strings.Join(folders, " and "), found,
			manifest.FileName)
	}
	return debugger.Variable + "=" + names[0] + "=" + debug, nil
}
