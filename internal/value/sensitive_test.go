package value

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

func TestSchemaSensitivePaths(t *testing.T) {
	a := attrs{
		"p": sensitive(optional(cty.String)), "o": optional(cty.String),
		"n": nested(provider.NestingMap, attrs{"q": sensitive(optional(cty.String))}),
	}
	b := everyNesting(a)
	one := object("p", nullS, "o", "x", "n", mapping("k", object("q", "y")))
	v := everywhere(one)
	wantPaths(t, SchemaSensitivePaths(b, v),
		`.group.n["k"].q`, `.group.p`, `.list[0].n["k"].q`, `.list[0].p`, `.map["k"].n["k"].q`, `.map["k"].p`,
		`.n["k"].q`, `.p`, `.set`, `.single.n["k"].q`, `.single.p`)
	_, found := UnmarkDeep(MarkSensitive(v, SchemaSensitivePaths(b, v)))
	wantPaths(t, found.Sensitive, formatAll(SchemaSensitivePaths(b, v))...)

	empty := b.EmptyValue()
	wantPaths(t, SchemaSensitivePaths(b, empty), ".group.p", ".p")
	wantPaths(t, SchemaSensitivePaths(b, cty.NullVal(b.ImpliedType())))
	wantPaths(t, SchemaSensitivePaths(b, cty.UnknownVal(b.ImpliedType())))
	wantPaths(t, SchemaSensitivePaths(dataBlock(), dataObject(someID, hello, hello)))
}

func TestSensitiveElementsOfASetMarkTheSetOnlyIfThereAreAny(t *testing.T) {
	b := withBlocks(provider.NestingSet, attrs{
		"n": nested(provider.NestingList, attrs{"q": sensitive(optional(cty.String))})})
	q := cty.Object(map[string]cty.Type{"q": cty.String})
	wantPaths(t, SchemaSensitivePaths(b, object("b", set(object("n", cty.ListValEmpty(q))))))
	wantPaths(t, SchemaSensitivePaths(b, object("b", set(object("n", list(object("q", nullS)))))), ".b")
}

func TestSensitivePathsJoinSchemaAndConfiguration(t *testing.T) {
	b := block(attrs{"p": sensitive(optional(cty.String)), "d": optional(cty.DynamicPseudoType),
		"s": optional(cty.Set(cty.String))})
	configured := append(paths(t, "d.x", "p", "d.gone", `d.m["k"]`, "d.u.x"), cty.GetAttrPath("s").Index(val("e")))
	v := object("p", "1", "d", object("x", "2", "m", mapping("k", "3"), "u", cty.DynamicVal), "s", set("e"))
	wantPaths(t, SensitivePaths(b, v, configured), `.d.m["k"]`, ".d.x", ".p", ".s")
}

func TestMarkSensitive(t *testing.T) {
	secret := func(v any) cty.Value { return val(v).Mark(Sensitive) }
	v := object("a", "1", "l", list("x", "y"), "t", tuple("x", 1), "m", mapping("k", "z"), "s", set("e"), "e",
		cty.StringVal("p").Mark(Ephemeral))
	got := MarkSensitive(v, append(paths(t, "a", "l[1]", "t[0]", "m.k", "e", "zz", "l[9]", "t.x", "a.b"),
		cty.GetAttrPath("s").Index(val("e"))))
	want := object("a", secret("1"), "l", list("x", secret("y")), "t", tuple(secret("x"), 1), "m",
		mapping("k", secret("z")),
		"s", set("e").Mark(Sensitive), "e", secret(cty.StringVal("p").Mark(Ephemeral)))
	if !got.RawEquals(want) {
		t.Errorf("got %#v\nwant %#v", got, want)
	}
	both := MarkSensitive(object("o", object("x", 1)), paths(t, "o", "o.x"))
	if !both.RawEquals(object("o", object("x", secret(1)).Mark(Sensitive))) {
		t.Errorf("nested paths: got %#v", both)
	}
	if inside := MarkSensitive(object("o", object("x", 1)).Mark(Ephemeral), paths(t, "o.x")); !inside.RawEquals(
		object("o", object("x", secret(1))).Mark(Ephemeral)) {
		t.Errorf("inside of a marked value: got %#v", inside)
	}
}
