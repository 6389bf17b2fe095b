package tombolo_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// ciPath matches a package, or a tree of packages, in a script of .ci.
var ciPath = regexp.MustCompile(`(?:^|\s)\./([a-z0-9/]+)(/\.\.\.)?`)

// TestScriptsNamePackagesThatExist checks the folder of every package that the scripts of .ci name. Otherwise a run
// would fail only after the steps before the wrong name.
func TestScriptsNamePackagesThatExist(t *testing.T) {
	for _, script := range []string{".ci/run", ".ci/full", ".ci/fuzz"} {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		named := ciPath.FindAllStringSubmatch(string(text), -1)
		if len(named) == 0 && script == ".ci/run" {
			t.Errorf("%s names no package", script)
		}
		for _, m := range named {
			if _, err := os.Stat(strings.TrimSuffix(m[1], "/")); err != nil {
				t.Errorf("%s names ./%s: %v", script, m[1], err)
			}
		}
	}
}
