package web_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/sdk/schema/schematest"
)

// TestUnderTerraform runs the same operations of an HTTP provider in the library and with the real programs: plans and
// answers must be valid for all of them. TOMBOLO_TOFU names OpenTofu, which is optional.
func TestUnderTerraform(t *testing.T) {
	s := newThings(t)
	const at = "inv_thing.a"
	config := func(name, more string) string {
		return `
provider "inv" {
  url   = "` + s.URL + `"
  token = "` + bearer + `"
}
resource "inv_thing" "a" {
  name   = "` + name + `"
  tags   = { a = "1" }
  labels = ["b", "a"]
  any    = [1, { x = null }]
  secret = "write only"
  ports  = [{ number = 80 }, { number = 443, label = "tls" }]
  rule { cidr = "10.0.0.0/8" }
  ` + more + `
}
`
	}
	programs := []string{"terraform"}
	if tofu := os.Getenv("TOMBOLO_TOFU"); tofu != "" {
		programs = append(programs, tofu)
	}
	schematest.Run(t, schematest.Case{
		New: factory(parsed(t, strings.Replace(thingsManifest, "METHOD", "PATCH", 1))), Source: "example/inv",
		Programs: programs,
		Steps: []schematest.Step{{
			Config: config("one", `password = "given once"`),
			Plan:   schematest.Actions{at: schematest.Create},
			Check:  schematest.All(schematest.Attr(at, "size", 3), schematest.Attr(at, "ports.1.label", "tls")),
		}, {
			Config: config("two", "size = 12345678901234567890123"),
			Plan:   schematest.Actions{at: schematest.Update},
		}, {
			Config: config("two", `region = "north"`),
			Plan:   schematest.Actions{at: schematest.Replace},
		}},
	})
	if len(s.objects) > 0 {
		t.Errorf("%d objects are left", len(s.objects))
	}
}
