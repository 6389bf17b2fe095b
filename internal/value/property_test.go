package value

import (
	"os"
	"strconv"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// rounds is the number of random schemas in an ordinary run; VALUE_TEST_ROUNDS in the environment can increase it.
const rounds = 800

// forRandomSchemas runs a property over many random schemas; the seed in the name of a failed test reproduces it.
func forRandomSchemas(t *testing.T, check func(t *testing.T, g *gen, b *provider.Block)) {
	t.Helper()
	n := rounds
	if s := os.Getenv("VALUE_TEST_ROUNDS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	for seed := range uint64(n) {
		g := newGen(seed)
		g.unknown = int(seed % 3 * 10)
		g.writeOnly = seed%4 == 0
		b := g.block(3, false)
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("seed %d: panic", seed)
					panic(p)
				}
			}()
			check(t, g, b)
		}()
		if t.Failed() {
			t.Fatalf("failed with seed %d", seed)
		}
	}
}

func TestProposingTheSameConfigurationAgainKeepsThePriorObject(t *testing.T) {
	forRandomSchemas(t, func(t *testing.T, g *gen, b *provider.Block) {
		prior := g.prior(b)
		if hasAmbiguousSet(prior) {
			return
		}
		config := NullReadOnly(b, prior)
		got := Propose(b, prior, config)
		if !got.RawEquals(prior) {
			t.Errorf("differs at %v", formatAll(Diff(prior, got)))
			t.Logf("prior  %#v\nconfig %#v\ngot    %#v", prior, config, got)
		}
		if got := Propose(b, prior, prior); !got.RawEquals(prior) {
			t.Errorf("with the prior object itself as configuration: differs at %v", formatAll(Diff(prior, got)))
		}
	})
}

func TestProposedObjectsAreValidPlans(t *testing.T) {
	forRandomSchemas(t, func(t *testing.T, g *gen, b *provider.Block) {
		config := g.config(blockShape(b), false)
		prior := g.prior(b)
		for _, p := range []cty.Value{prior, cty.NullVal(b.ImpliedType())} {
			for _, planned := range []cty.Value{Propose(b, p, config), SetUnknowns(b, Propose(b, p, config))} {
				planned = NullWriteOnly(b, planned)
				if errs := CheckPlan(b, p, config, planned); len(errs) > 0 {
					t.Errorf("%v\nprior   %#v\nconfig  %#v\nplanned %#v", errs, p, config, planned)
				}
			}
		}
		if errs := Conforms(b, PlannedForData(b, config)); len(errs) > 0 {
			t.Error(errs)
		}
		if errs := CheckConfig(b, config); len(errs) > 0 {
			t.Errorf("generated configuration: %v", errs)
		}
	})
}

func TestAnyCompletionOfUnknownsIsAcceptedAsResult(t *testing.T) {
	forRandomSchemas(t, func(t *testing.T, g *gen, b *provider.Block) {
		config := g.config(blockShape(b), false)
		planned := NullWriteOnly(b, SetUnknowns(b, Propose(b, cty.NullVal(b.ImpliedType()), config)))
		actual := NullWriteOnly(b, g.complete(planned))
		if errs := CheckApplied(b, planned, actual); len(errs) > 0 {
			t.Errorf("%v\nplanned %#v\nactual  %#v", errs, planned, actual)
		}
		if errs := CheckApplied(b, actual, actual); len(errs) > 0 {
			t.Errorf("equal values: %v", errs)
		}
		if errs := CheckReplanned(b, planned, planned); len(errs) > 0 {
			t.Errorf("equal plans: %v", errs)
		}
		if errs := CheckRefreshed(b, actual); len(errs) > 0 {
			t.Errorf("as read: %v", errs)
		}
	})
}

// A provider's response may be wrong in any way; the checks and the following steps must not panic.
func TestNothingPanicsOnAnyAnswer(t *testing.T) {
	forRandomSchemas(t, func(t *testing.T, g *gen, b *provider.Block) {
		config := g.config(blockShape(b), false)
		prior := g.mutateWith(g.prior(b), 30)
		answer := g.mutateWith(SetUnknowns(b, Propose(b, cty.NullVal(b.ImpliedType()), config)), 30)
		for _, v := range []cty.Value{prior, answer} {
			if len(Conforms(b, v)) > 0 {
				return
			}
		}
		CheckPlan(b, prior, config, answer)
		CheckApplied(b, answer, prior)
		CheckReplanned(b, answer, prior)
		CheckRefreshed(b, answer)
		CheckConfig(b, answer)
		for _, v := range []cty.Value{Propose(b, prior, config), Propose(b, prior, answer), PlannedForData(b, answer),
			NormalizeRead(b, answer),
			IgnoreChanges(b, prior, config, Diff(prior, config), false),
			MarkSensitive(answer, SensitivePaths(b, answer, nil))} {
			if v, _ = UnmarkDeep(v); len(Conforms(b, v)) > 0 {
				t.Error(Conforms(b, v))
			}
		}
		FilterReplacePaths(b, prior, answer, Diff(prior, config))
	})
}

func TestDiffNamesExactlyWhatDiffers(t *testing.T) {
	forRandomSchemas(t, func(t *testing.T, g *gen, b *provider.Block) {
		a := g.prior(b)
		c := g.mutate(a)
		paths := Diff(a, c)
		if (len(paths) == 0) != a.RawEquals(c) {
			t.Errorf("equal %v, but diff %v", a.RawEquals(c), formatAll(paths))
		}
		// After replacing all differences by the other value's parts, nothing differs.
		patched := a
		for _, p := range paths {
			want, ok := exactly(c, p)
			_, had := exactly(a, p)
			if !ok || !had {
				return // elements were added or removed, so that no single path can be patched
			}
			patched = updateAt(patched, []cty.Path{p}, func(cty.Value) cty.Value { return want })
		}
		if !patched.RawEquals(c) {
			t.Errorf("still different at %v", formatAll(Diff(patched, c)))
		}
		if got := UnionPaths(Diff(c, a)); !EqualPaths(got, paths) {
			t.Errorf("not symmetric: %v and %v", formatAll(paths), formatAll(got))
		}
	})
}

func TestIgnoringAllDifferencesProposesThePriorObject(t *testing.T) {
	forRandomSchemas(t, func(t *testing.T, g *gen, b *provider.Block) {
		prior, config := g.prior(b), g.config(blockShape(b), false)
		var all []cty.Path
		for name, aty := range b.ImpliedType().AttributeTypes() {
			if aty.IsMapType() && !config.GetAttr(name).IsKnown() {
				return // not restored
			}
			all = append(all, cty.GetAttrPath(name))
		}
		if got := IgnoreChanges(b, prior, config, all, false); !got.RawEquals(prior) {
			t.Errorf("ignoring every attribute: differs at %v", formatAll(Diff(prior, got)))
		}
		if hasAmbiguousSet(prior) {
			return
		}
		if got := Propose(b, prior, IgnoreChanges(b, prior, config, nil, true)); !got.RawEquals(prior) {
			t.Errorf("ignoring all: differs at %v\nprior %#v\ngot   %#v", formatAll(Diff(prior, got)), prior, got)
		}
	})
}

func TestRewritesAreIdempotentAndConform(t *testing.T) {
	forRandomSchemas(t, func(t *testing.T, g *gen, b *provider.Block) {
		v := g.config(blockShape(b), false)
		for name, rewrite := range map[string]func(*provider.Block, cty.Value) cty.Value{
			"NullWriteOnly": NullWriteOnly, "SetUnknowns": SetUnknowns, "NullReadOnly": NullReadOnly,
			"NormalizeRead": NormalizeRead,
		} {
			once := rewrite(b, v)
			if errs := Conforms(b, once); len(errs) > 0 {
				t.Errorf("%s: %v", name, errs)
			}
			if twice := rewrite(b, once); !twice.RawEquals(once) {
				t.Errorf("%s is not idempotent: %v", name, formatAll(Diff(once, twice)))
			}
		}
		if !UnknownAsNull(v).IsWhollyKnown() {
			t.Error("UnknownAsNull left something unknown")
		}
	})
}

func TestMarkedPathsAreAsRequested(t *testing.T) {
	forRandomSchemas(t, func(t *testing.T, g *gen, b *provider.Block) {
		v := g.prior(b)
		paths := SensitivePaths(b, v, nil)
		bare, found := UnmarkDeep(MarkSensitive(v, paths))
		if !bare.RawEquals(v) {
			t.Errorf("the value has changed at %v", formatAll(Diff(v, bare)))
		}
		if !EqualPaths(found.Sensitive, paths) {
			t.Errorf("marked %v, want %v", formatAll(found.Sensitive), formatAll(paths))
		}
		var marks []cty.PathValueMarks
		for _, path := range paths {
			marks = append(marks, cty.PathValueMarks{Path: path, Marks: cty.NewValueMarks(Sensitive)})
		}
		if slow := v.MarkWithPaths(marks); !slow.RawEquals(MarkSensitive(v, paths)) {
			t.Errorf("MarkSensitive and MarkWithPaths disagree on %v", formatAll(paths))
		}
	})
}

func formatAll(paths []cty.Path) []string {
	var out []string
	for _, p := range paths {
		out = append(out, FormatPath(p))
	}
	return out
}

// hasAmbiguousSet reports whether a set holds elements that are equal except for computed values, so that each may be
// the prior object of the other's configuration, or elements that contain sets or nested objects that are not
// configured, which are never matched.
func hasAmbiguousSet(v cty.Value) bool {
	found := false
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type().IsSetType() && !absent(v) && v.LengthInt() > 0 && v.Type().ElementType().IsObjectType() {
			for _, aty := range v.Type().ElementType().AttributeTypes() {
				found = found || !aty.IsPrimitiveType()
			}
			found = found || v.LengthInt() > 1
		}
		return !found, nil
	})
	return found
}

func TestProposeUnsetDefaultsToPropose(t *testing.T) {
	forRandomSchemas(t, func(t *testing.T, g *gen, b *provider.Block) {
		config, prior := g.config(blockShape(b), false), g.prior(b)
		for _, p := range []cty.Value{prior, cty.NullVal(b.ImpliedType())} {
			want := Propose(b, p, config)
			got := ProposeUnset(b, p, config, func(_ *provider.Attribute, was cty.Value) cty.Value { return was })
			if !got.RawEquals(want) {
				t.Errorf("differs at %v\nprior   %#v\nconfig  %#v", formatAll(Diff(want, got)), p, config)
			}
		}
	})
}

func TestProposeUnsetSetsUnconfiguredComputedValues(t *testing.T) {
	forRandomSchemas(t, func(t *testing.T, g *gen, b *provider.Block) {
		config := g.config(blockShape(b), false)
		null := cty.NullVal(b.ImpliedType())
		want := SetUnknowns(b, config)
		got := ProposeUnset(b, null, config, func(a *provider.Attribute, _ cty.Value) cty.Value {
			return cty.UnknownVal(a.ImpliedType())
		})
		if !got.RawEquals(want) {
			t.Errorf("of a new object: differs at %v\nconfig  %#v", formatAll(Diff(want, got)), config)
		}
		prior := g.prior(b)
		planned := NullWriteOnly(b, ProposeUnset(b, prior, config, func(a *provider.Attribute, _ cty.Value) cty.Value {
			return cty.UnknownVal(a.ImpliedType())
		}))
		if errs := CheckPlan(b, prior, config, planned); len(errs) > 0 {
			t.Errorf("of a stored one: %v\nprior   %#v\nconfig  %#v\nplanned %#v", errs, prior, config, planned)
		}
	})
}
