package value

import (
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

func TestFormatPath(t *testing.T) {
	for want, p := range map[string]cty.Path{
		"":                      nil,
		`.attr["key"][0].x`:     cty.GetAttrPath("attr").IndexString("key").IndexInt(0).GetAttr("x"),
		`.a["quo\"te\n"]`:       cty.GetAttrPath("a").IndexString("quo\"te\n"),
		`.a[1.5]`:               cty.GetAttrPath("a").Index(cty.NumberFloatVal(1.5)),
		`.set[*].secret`:        cty.GetAttrPath("set").Index(object("secret", "hunter2")).GetAttr("secret"),
		`.a[*]`:                 cty.GetAttrPath("a").Index(unknownS),
		`.b[*]`:                 cty.GetAttrPath("b").Index(cty.StringVal("hunter2").Mark(Sensitive)),
		`[0]`:                   cty.IndexIntPath(0),
		`.n[12345678901234567]`: cty.GetAttrPath("n").Index(cty.MustParseNumberVal("12345678901234567")),
	} {
		if got := FormatPath(p); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestPathsHaveOneOrder(t *testing.T) {
	want := []string{".a", ".a.x", ".a[2]", ".a[10]", `.a["b"]`, `.a["b"].c`, `.a["c"]`, ".b"}
	sorted := paths(t, "a", "a.x", "a[2]", "a[10]", `a["b"]`, `a["b"].c`, `a["c"]`, "b")
	for i := range sorted {
		shuffled := slices.Concat(sorted[i:], sorted[:i])
		slices.Reverse(shuffled)
		SortPaths(shuffled)
		wantPaths(t, shuffled, want...)
	}
	for _, p := range sorted {
		if !HasPath(sorted, p) {
			t.Errorf("%s not found", FormatPath(p))
		}
	}
	if HasPath(sorted, path(t, "a[3]")) {
		t.Error("found what is not there")
	}
}

func TestPathSets(t *testing.T) {
	a, b := paths(t, "c", "a", `b["k"]`, "a"), paths(t, `b["k"]`, "d")
	wantPaths(t, UnionPaths(a, b), ".a", `.b["k"]`, ".c", ".d")
	wantPaths(t, SubtractPaths(a, b), ".a", ".c")
	wantPaths(t, a, ".c", ".a", `.b["k"]`, ".a")
	wantPaths(t, UnionPaths(nil, nil))
	if !EqualPaths(a, paths(t, "a", `b["k"]`, "c")) || EqualPaths(a, b) || !EqualPaths(nil, []cty.Path{}) {
		t.Error("EqualPaths")
	}
	inSet := cty.GetAttrPath("s").Index(object("x", 1)).GetAttr("x")
	otherElement := cty.GetAttrPath("s").Index(object("x", 2))
	for _, test := range []struct {
		path  cty.Path
		outer []cty.Path
		want  bool
	}{
		{path(t, "a.b"), paths(t, "a"), true},
		{path(t, "a"), paths(t, "a.b"), false},
		{path(t, "a[1]"), paths(t, "a[0]", `a["1"]`), false},
		{inSet, []cty.Path{otherElement}, true},
		{path(t, "a"), []cty.Path{{}}, true},
	} {
		if got := CoveredByAny(test.path, test.outer); got != test.want {
			t.Errorf("%s in %v: %v", FormatPath(test.path), formatAll(test.outer), got)
		}
	}
	if !Overlap(path(t, "a"), path(t, "a.b")) || !Overlap(path(t, "a.b"), path(t, "a")) ||
		Overlap(path(t, "a.b"), path(t, "a.c")) {
		t.Error("Overlap")
	}
}

func TestTraversalPathRefusesDynamicSteps(t *testing.T) {
	if _, err := TraversalPath(hcl.Traversal{hcl.TraverseAttr{Name: "a"}, hcl.TraverseSplat{}}); err == nil {
		t.Error("a splat was taken")
	}
	if _, err := TraversalPath(hcl.Traversal{hcl.TraverseAttr{Name: "a"}, hcl.TraverseIndex{
		Key: unknownS}}); err == nil {
		t.Error("an unknown index was taken")
	}
	got, err := TraversalPath(hcl.Traversal{hcl.TraverseAttr{Name: "a"}, hcl.TraverseIndex{Key: val(0)},
		hcl.TraverseAttr{Name: "b"}})
	if err != nil || FormatPath(got) != ".a[0].b" {
		t.Errorf("got %v, %v", FormatPath(got), err)
	}
}
