package programtest

import (
	"os"
	"slices"
	"strings"
)

// Environ returns the environment for commands under test, with additional variables: that of the test without the
// variables of Terraform and Tombolo, so that no result depends on the user's settings.
func Environ(more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "TF_") ||
			strings.HasPrefix(v, "TOMBOLO_")
	})
	return append(append(env, "TF_CLI_CONFIG_FILE="+os.DevNull, "CHECKPOINT_DISABLE=1"), more...)
}
