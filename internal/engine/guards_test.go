package engine_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/engine"
)

// With destroy = false nothing is ever destroyed: not by a replacement, even if its creation fails, not as the leftover
// of a failure, and not when the block is removed.
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

// Random histories of a project that records prevent_destroy, some of them with another tool that writes the state
// without the fields that it does not support: an object is destroyed exactly if it is not protected, and a refused
// plan changes nothing.
func TestProtectionIsKeptUntilItIsRemoved(t *testing.T) {
	const guard = "\n  lifecycle {\n    prevent_destroy = true\n  }\n"
	const block = "resource \"world_object\" %q {\n  name = %[1]q%s}\n"
	refused := 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := newScene(t)
		s.remember = true
		exist, protected := map[string]bool{}, map[string]bool{}
		var log []string
		for range 9 {
			config, wrong := "", false
			nextExist, nextProtected := maps.Clone(exist), maps.Clone(protected)
			for _, name := range []string{"a", "b", "c"} {
				delete(nextProtected, name)
				switch kind := r.IntN(6); kind {
				case 0, 1:
					config += fmt.Sprintf(block, name, guard)
					nextExist[name], nextProtected[name] = true, true
				case 2:
					config += fmt.Sprintf(block, name, "\n")
					nextExist[name] = true
				case 3:
					config += fmt.Sprintf("removed {\n  from = world_object.%s\n}\n", name)
					delete(nextExist, name)
				default:
					wrong = wrong || exist[name] && protected[name]
					delete(nextExist, name)
				}
			}
			log = append(log, config)
			_, _, diags := s.run(config, false, engine.PlanOptions{})
			if diags.HasErrors() != wrong {
				t.Fatalf("seed %d: %v, want an error: %v\n%s", seed, diags.Err(), wrong, strings.Join(log, "----\n"))
			}
			if refused++; !wrong {
				refused--
				exist, protected = nextExist, nextProtected
			}
			all, err := s.world.Exists()
			if text := s.stateText(); err != nil || len(all) != len(exist) ||
				strings.Count(text, `"tombolo_prevent_destroy": true`) != len(protected) {
				t.Fatalf("seed %d: there are %+v (%v), want %v, protected %v\n%s\n%s", seed, all, err, exist, protected,
					text, strings.Join(log, "----\n"))
			}
			if r.IntN(5) == 0 {
				log = append(log, "another tool writes the state\n")
				name := filepath.Join(s.dir, "terraform.tfstate")
				text := strings.ReplaceAll(s.stateText(), ",\n          \"tombolo_prevent_destroy\": true", "")
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				clear(protected)
			}
		}
	}
	if refused < 10 {
		t.Errorf("only %d plans were refused", refused)
	}
}
