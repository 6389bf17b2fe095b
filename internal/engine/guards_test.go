package engine_test

import (
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/engine"
)

// With destroy = false nothing is ever destroyed: not by a replacement, also one whose creation fails, not by what a
// failure has left behind, not when the block goes.
func TestNothingIsDestroyedAgainstTheConfiguration(t *testing.T) {
	s := newScene(t)
	block := func(name, behave string) string {
		return `
resource "world_object" "a" {
  name = "` + name + `"
  ` + behave + `
  lifecycle {
    destroy = false
  }
}`
	}
	s.apply(block("one", ""))
	if _, _, diags := s.run(block("two", `behave = { fail = "create" }`), false,
		engine.PlanOptions{}); !diags.HasErrors() {
		t.Fatal("the creation did not fail")
	}
	if text := s.stateText(); strings.Count(text, `"skip_destroy": true`) == 0 {
		t.Errorf("the old object has left the state:\n%s", text)
	}
	s.apply(block("two", ""))
	s.apply("")
	if list := s.happened(0); strings.Contains(strings.Join(list, "\n"), "DELETED") {
		t.Errorf("something was destroyed: %q", list)
	}
	all, err := s.world.Exists()
	if err != nil || len(all) != 2 {
		t.Errorf("there are %+v (%v)", all, err)
	}
	if text := s.stateText(); strings.Contains(text, "world_object") {
		t.Errorf("the state is not empty:\n%s", text)
	}
}
