package view

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRepeatedKeysAreFound compares with an encoding of the parsed text, which has each key once.
func TestRepeatedKeysAreFound(t *testing.T) {
	found := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		var text func(depth int) string
		text = func(depth int) string {
			switch n := r.IntN(6); {
			case n < 2 || depth > 3:
				return []string{"1", `"a"`, `"b"`, "null", "true", `"{"`}[r.IntN(6)]
			case n < 3:
				var parts []string
				for range r.IntN(4) {
					parts = append(parts, text(depth+1))
				}
				return "[" + strings.Join(parts, ", ") + "]"
			default:
				var parts []string
				for range r.IntN(4) {
					parts = append(parts, fmt.Sprintf("%q: %s", string(rune('a'+r.IntN(8))), text(depth+1)))
				}
				return "{" + strings.Join(parts, ", ") + "}"
			}
		}
		one := text(0)
		var parsed any
		if err := json.Unmarshal([]byte(one), &parsed); err != nil {
			t.Fatal(err)
		}
		again, _ := json.Marshal(parsed)
		repeated := strings.Count(one, ":") != strings.Count(string(again), ":")
		if repeated {
			found++
		}
		if got := repeatsKeys([]byte(one)); got != repeated {
			t.Errorf("seed %d: %s repeats keys: %t, want %t", seed, one, got, repeated)
		}
	}
	if found < 100 {
		t.Errorf("only %d texts repeat keys", found)
	}
}
