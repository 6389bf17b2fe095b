package handler_test

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/sdk/schema/schematest"
)

// TestUnderTerraform runs the same operations of the toy in the library and with Terraform: plans and answers must be
// valid for both.
func TestUnderTerraform(t *testing.T) {
	f, _ := newToy(t, handler.Options{})
	const at = "toy_thing.a"
	config := func(size, more string) string {
		return `
provider "toy" {
  password = "correct horse"
}
resource "toy_thing" "a" {
  name   = "thing-` + more + `"
  size   = ` + size + `
  exact  = 12345678901234567890123
  tags   = { "é" = "e\u0301", n = provider::toy::slug("A b") }
  labels = ["b", "a"]
  any    = [1, { x = null }]
  secret = "hush hush"
  token  = "write only"
  ports  = [{ number = 80 }, { number = 443 }]
  rule { cidr = "10.0.0.0/8" }
  rule {
    cidr = "::/0"
    note = data.toy_echo.e.out[1]
  }
}
data "toy_echo" "e" {
  text = "hi"
}
resource "toy_fixed" "b" {
  text = toy_thing.a.id
}
`
	}
	schematest.Run(t, schematest.Case{
		New: f, Source: "example/toy", Programs: []string{"terraform"},
		Steps: []schematest.Step{{
			Config: config("null", "a"),
			Plan:   schematest.Actions{at: schematest.Create, "toy_fixed.b": schematest.Create},
			Check: schematest.All(schematest.Attr(at, "size", 1), schematest.Attr(at, "ports.1.url",
				"http://localhost:443"), schematest.Attr(at, "tags.n", "a-b")),
		}, {
			Config: config("12345678901234567890123.5", "a"),
			Plan:   schematest.Actions{at: schematest.Update},
		}, {
			Config: config("2", "b"),
			Plan:   schematest.Actions{at: schematest.Replace, "toy_fixed.b": schematest.Replace},
		}, {
			Import: &schematest.Import{Address: at},
		}},
	})
}
