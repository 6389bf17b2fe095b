package value

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

func wantPaths(t *testing.T, got []cty.Path, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, formatAll(got), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("paths (-want +got):\n%s", d)
	}
}

func TestDiff(t *testing.T) {
	for name, test := range map[string]struct {
		a, b cty.Value
		want []string
	}{
		"equal values": {object("a", list(1, 2)), object("a", list(1, 2)), nil},
		"attributes": {object("a", 1, "b", 2, "c", 3), object("a", 1, "b", 3, "c", nullN), []string{
			".b", ".c"}},
		"deep inside": {object("a", list(object("x", mapping("k", 1)))),
			object("a", list(object("x", mapping("k", 2)))), []string{`.a[0].x["k"]`}},
		"keys come and go": {mapping("a", 1, "b", 1), mapping("b", 1, "c", 1), []string{`["a"]`, `["c"]`}},
		"elements come":    {list(1), list(1, 2, 3), []string{"[1]", "[2]"}},
		"elements in order": {list(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), list(0, 1, 3, 3, 4, 5, 6, 7, 8, 9, 11),
			[]string{"[2]", "[10]"}},
		"sets differ as a whole": {object("s", set(object("a", 1))), object("s", set(object("a", 2))), []string{".s"}},
		"unknown": {object("a", unknownS, "b", unknownS),
			object("a", unknownS, "b", unknownS.RefineNotNull()), []string{".b"}},
		"known and unknown": {object("a", list("x")), object("a", cty.UnknownVal(cty.List(cty.String))), []string{
			".a"}},
		"types":         {object("d", list(1)), object("d", tuple(1)), []string{".d"}},
		"types of maps": {object("d", mapping("k", 1)), object("d", object("k", 1)), []string{".d"}},
		"sensitivity":   {object("a", cty.StringVal("x").Mark(Sensitive)), object("a", "x"), []string{".a"}},
		"the whole":     {nullS, cty.StringVal("x"), []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			wantPaths(t, Diff(test.a, test.b), test.want...)
			wantPaths(t, Diff(test.b, test.a), test.want...)
		})
	}
}

func TestFilterReplacePaths(t *testing.T) {
	b := withBlocks(provider.NestingSet, attrs{"name": optional(cty.String)})
	b.Attributes = attrs{"a": optional(cty.String), "w": writeOnly(cty.String), "m": optional(cty.Map(cty.String)),
		"l": nested(provider.NestingList, attrs{"x": optional(cty.String)}), "d": optional(cty.DynamicPseudoType)}
	x := func(v any) cty.Value { return object("x", v) }
	full := func(a, m, l, d, s any) cty.Value { return object("a", a, "w", nullS, "m", m, "l", l, "d", d, "b", s) }
	prior := full("x", mapping("k", "1"), list(x("1"), x(nullS)), list("1"), set(object("name", "n")))
	planned := full("x", mapping("k", "2"), list(x(unknownS)), 1, set(object("name", "o")))
	inSet := cty.GetAttrPath("b").Index(object("name", "n")).GetAttr("name")

	for name, test := range map[string]struct {
		prior, planned cty.Value
		paths          []cty.Path
		kept, invalid  []string
	}{
		"what differs":                {prior, planned, paths(t, "m", "a", `m["k"]`), []string{".m", `.m["k"]`}, nil},
		"unknown differs":             {prior, planned, paths(t, "l[0].x"), []string{".l[0].x"}, nil},
		"what only one has differs":   {prior, planned, paths(t, "l[1].x", "l[1]"), []string{".l[1]", ".l[1].x"}, nil},
		"types differ":                {prior, planned, paths(t, "d"), []string{".d"}, nil},
		"write-only always":           {prior, prior, paths(t, "w", "a"), []string{".w"}, nil},
		"into a set":                  {prior, planned, []cty.Path{inSet, cty.GetAttrPath("b")}, []string{".b"}, nil},
		"into a set that is the same": {prior, prior, []cty.Path{inSet}, nil, nil},
		"a place that nothing has": {prior, planned, paths(t, "zz", `m["q"]`, "a.b"), nil, []string{
			".a.b", `.m["q"]`, ".zz"}},
		"a create": {cty.NullVal(b.ImpliedType()), planned, paths(t, "m"), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			kept, invalid := FilterReplacePaths(b, test.prior, test.planned, test.paths)
			wantPaths(t, kept, test.kept...)
			wantPaths(t, invalid, test.invalid...)
		})
	}
}
