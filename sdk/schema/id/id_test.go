package id_test

import (
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/sdk/schema/id"
)

func TestIdsAreUniqueAndSortedByCreation(t *testing.T) {
	last := ""
	for range 1000 {
		next := id.PrefixedUniqueId("x-")
		if next <= last || len(next) != len("x-")+id.UniqueIDSuffixLength {
			t.Fatalf("%q comes after %q", next, last)
		}
		last = next
	}
	if got := id.UniqueId(); !strings.HasPrefix(got, id.UniqueIdPrefix) {
		t.Errorf("%q has no prefix", got)
	}
}
