package backend_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/provider"
)

// storedVariables contains the variables that programs read for a backend or a key provider. A debugger stopped each
// program whenever it read a variable (syscall.Getenv), while init, or apply for a key provider, used blocks with each
// kind of credentials. Variables that the backend local reads as well are left out. Those of oci are from Terraform's
// published source, beside those in its documentation of version 1.15 (1.14 for pages that did not change). Variables
// that libraries read in Tombolo, where drivers read theirs in another way, are stored in the same form.
const storedVariables = "testdata/variables.json"

// withoutEffect matches the rows of the table of documented exceptions.
var withoutEffect = regexp.MustCompile("(?m)^\\| ((?:`\\w+`(?:, )?)+) \\| .+ \\|$")

// Every variable that Terraform or OpenTofu read for a backend is read by the driver or by one of our libraries, or
// docs/backends/variables.md explains why it has no effect. Beside each driver, another test checks that its variables
// have the effect of their arguments.
func TestVariablesOfOthersAreReadOrDocumented(t *testing.T) {
	var stored map[string]map[string][]string
	text, err := os.ReadFile(storedVariables)
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	page, pageErr := os.ReadFile("../../docs/backends/variables.md")
	if err != nil || pageErr != nil {
		t.Fatal(err, pageErr)
	}
	documented := map[string]bool{}
	for _, row := range withoutEffect.FindAllStringSubmatch(string(page), -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			documented[strings.Trim(name, "`")] = false
		}
	}
	asked := map[string]bool{}
	for _, kind := range []string{"s3", "gcs", "azurerm", "oss", "oci", "cos", "consul", "kubernetes", "pg", "http",
		"remote"} {
		for name := range askedBy(t, kind) {
			asked[name] = true
		}
	}
	for peer, kinds := range map[string]int{"terraform 1.11.4": 9, "tofu 1.12.6": 12, "terraform 1.15, its source": 1,
		byDocumentation: 9} {
		if len(stored[peer]) < kinds {
			t.Errorf("there is too little about %s", peer)
		}
		for kind, names := range stored[peer] {
			for _, name := range names {
				_, explained := documented[name]
				ours := asked[name] || slices.Contains(stored["tombolo"][kind], name)
				if ours == explained {
					t.Errorf("%s reads %s for %s: we read it: %v; docs/backends/variables.md says why not: %v",
						peer, name, kind, ours, explained)
				}
				if explained {
					documented[name] = true
				}
			}
		}
	}
	for name, found := range documented {
		if !found {
			t.Errorf("docs/backends/variables.md says that %s has no effect, and nobody reads it", name)
		}
	}
}

// askedBy returns the variables that a driver reads when it is opened: without variables, and with each one set.
func askedBy(t *testing.T, kind string) map[string]bool {
	t.Helper()
	k := backend.Kinds()[kind]
	none := map[string]cty.Value{}
	for _, attributes := range []map[string]*provider.Attribute{k.Schema.Attributes, k.More} {
		for name, a := range attributes {
			none[name] = cty.NullVal(a.ImpliedType())
		}
	}
	asked := map[string]bool{}
	open := func(set, value string) {
		d, _ := k.Open(t.Context(), cty.ObjectVal(none), remote.Surroundings{Dir: t.TempDir(),
			Getenv: func(name string) string {
				asked[name] = true
				if name == set {
					return value
				}
				return ""
			}})
		if d != nil {
			_ = d.Close()
		}
	}
	open("", "")
	for _, name := range slices.Collect(maps.Keys(asked)) {
		open(name, "true")
		open(name, "http://127.0.0.1:1")
	}
	return asked
}
