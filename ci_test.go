package tombolo_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// ciPath is a package, or a tree of packages, in a script of .ci.
var ciPath = regexp.MustCompile(`(?:^|\s)\./([a-z0-9/]+)(/\.\.\.)?`)

// TestScriptsNamePackagesThatExist looks for the folder of every package that the scripts of .ci name: one that was
// moved ends a run only after the steps before it.
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
