package texts

import (
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// TestBeginningMatchesLinearSearch compares Beginning with a linear search, on random texts of few letters, of which
// many are prefixes of others.
func TestBeginningMatchesLinearSearch(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	random := func() string {
		b := make([]byte, r.Intn(8))
		for i := range b {
			b[i] = "ab\x00\xff"[r.Intn(4)]
		}
		return string(b)
	}
	for range 300 {
		list := make([]string, r.Intn(20))
		for i := range list {
			list[i] = random()
		}
		s := Sort(slices.Clone(list))
		if !slices.IsSorted(s.All()) {
			t.Fatalf("not sorted: %q", s.All())
		}
		for range 50 {
			text, want := random(), 0
			for _, one := range list {
				if strings.HasPrefix(text, one) {
					want = max(want, len(one))
				}
			}
			if got := s.PrefixLength(text); got != want {
				t.Fatalf("%q begins with %d bytes of %q, got %d", text, want, list, got)
			}
			if got := s.Has(text); got != slices.Contains(list, text) {
				t.Fatalf("%q in %q: got %v", text, list, got)
			}
		}
	}
}
