package diag

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
)

func TestProblemsAtOnePlaceAreSortedByModuleInstanceAndAddress(t *testing.T) {
	at := &hcl.Range{Filename: "main.tf", Start: hcl.Pos{Line: 1, Column: 1}}
	want := []string{
		"", " a.b", " a.b2.c", " a.b02.c", " a.b10.c", ` a.b["k"]`, " a.b[2]", " a.b[10]",
		`module.m["a"]`, `module.m["b"]`, "module.m[2]", "module.m[2] a.b", "module.m[10]",
	}
	for range 20 {
		var list List
		for _, i := range rand.Perm(len(want)) {
			within, address, _ := strings.Cut(want[i], " ")
			list = append(list, List{{Severity: Error, Subject: at, Address: address}}.InInstance(within)...)
		}
		var got []string
		for _, d := range list.Sorted() {
			got = append(got, strings.TrimSuffix(d.Within+" "+d.Address, " "))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("order (-want +got):\n%s", diff)
		}
	}
}
