package projectfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/projectfile"
)

func TestMistakesOfUnitsHaveTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"stack {\n  units_at_once = 0\n}\n":                            `2: units_at_once is 0. Expected 1 or more.`,
		"unit \"a\" {\n}\n":                                            `1: The argument "source" is required`,
		"unit \"a\" {\n  source = \"\"\n}\n":                           `2: The source of the unit "a" is empty.`,
		"unit \"a b\" {\n  source = \"a\"\n}\n":                        `1: "a b" is not a valid name.`,
		"unit \"\" {\n  source = \"a\"\n}\n":                           `1: "" is not a valid name.`,
		"unit \"a\" {\n  source = \"a\"\n  workspace = \"a b/c\"\n}\n": `3: "a b/c" is not a valid name`,
		strings.Repeat("unit \"a\" {\n  source = \"a\"\n}\n", 2):       `4: There is another unit block "a" in line 1.`,
	} {
		_, diags := projectfile.Parse(projectfile.Name, []byte(text))
		if !diags.HasErrors() || diags[0].Subject == nil {
			t.Errorf("%q: %v, want an error with a place", text, diags)
			continue
		}
		if found := fmt.Sprintf("%d: "+
			"%s", diags[0].Subject.Start.Line, diags[0].Detail); !strings.HasPrefix(found, want) {
			t.Errorf("%q: %s\nwant %s", text, found, want)
		}
	}
}
