package claims

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
)

// keys of modules and instances in the small universe of the tests.
var keys = []addr.Key{addr.NoKey, addr.IntKey(0), addr.StringKey("0"), addr.StringKey(`a"]["`)}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func randomModule(r *rand.Rand) (m addr.ModuleInstance) {
	for range r.IntN(3) {
		m = m.Child(pick(r, []string{"m", "n"}), pick(r, keys))
	}
	return m
}

func randomResource(r *rand.Rand) addr.Resource {
	return pick(r, []addr.Resource{{Mode: addr.Managed, Type: "t", Name: "a"}, {Mode: addr.Data, Type: "t", Name: "a"},
		{Mode: addr.Managed, Type: "t", Name: "b"}})
}

func randomScope(r *rand.Rand) Scope {
	m := randomModule(r)
	in := addr.AbsResource{Module: m, Resource: randomResource(r)}
	switch r.IntN(9) {
	case 0:
		return Module(m)
	case 1:
		return Modules(m.Config())
	case 2:
		return Config(in.Config())
	case 3:
		return Resource(in)
	case 4:
		return Output(pick(r, []string{"a", "b"}))
	case 5:
		return pick(r, []Scope{Everything(), {}})
	}
	return Instance(in.Instance(pick(r, keys)))
}

// name is one thing that a scope can contain.
type name struct {
	instance addr.AbsResourceInstance
	output   string
}

// everyName lists the names that scopes of the tests can contain.
func everyName() (list []name) {
	modules := []addr.ModuleInstance{{}}
	for depth, last := 0, modules; depth < 2; depth++ {
		var next []addr.ModuleInstance
		for _, m := range last {
			for _, call := range []string{"m", "n"} {
				for _, k := range keys {
					next = append(next, m.Child(call, k))
				}
			}
		}
		modules, last = append(modules, next...), next
	}
	for _, m := range modules {
		for _, res := range []addr.Resource{{Mode: addr.Managed, Type: "t", Name: "a"},
			{Mode: addr.Data, Type: "t", Name: "a"}, {Mode: addr.Managed, Type: "t", Name: "b"}} {
			for _, k := range keys {
				list = append(list, name{instance: addr.AbsResource{Module: m, Resource: res}.Instance(k)})
			}
		}
	}
	return append(list, name{output: "a"}, name{output: "b"})
}

// meaning is a scope with the address of its module, for kinds of modules.
type meaning struct {
	Scope
	module addr.ModuleInstance
}

func meant(s Scope) meaning {
	if s.kind != module && s.kind != modules {
		return meaning{Scope: s}
	}
	t, _ := addr.ParseTarget(s.text)
	return meaning{s, t.Module}
}

// in reports whether a name is in a scope, by the meaning of the kinds.
func (n name) in(s meaning) bool {
	at := n.instance
	switch {
	case s.kind == everything:
		return true
	case s.kind == output:
		return n.output == s.text
	case s.kind == "" || n.output != "":
		return false
	}
	switch s.kind {
	case module:
		return s.module.Contains(at.Module)
	case modules:
		return s.module.Config().Contains(at.Module.Config())
	case resources:
		return at.Config().String() == s.text
	case resource:
		return at.AbsResource().String() == s.text
	}
	return at.String() == s.text
}

// TestScopesOverlapIfANameIsInBoth compares Overlaps and Contains with all names of a small universe.
func TestScopesOverlapIfANameIsInBoth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := everyName()
	overlaps, contained := 0, 0
	for range 800 {
		s, o := randomScope(r), randomScope(r)
		both, contains := false, true
		sIs, oIs := meant(s), meant(o)
		for _, n := range all {
			inS, inO := n.in(sIs), n.in(oIs)
			both = both || inS && inO
			contains = contains && (inS || !inO)
		}
		if s.Overlaps(o) != both || o.Overlaps(s) != both {
			t.Fatalf("%q overlaps %q: %v, want %v", s, o, s.Overlaps(o), both)
		}
		if s.Contains(o) != contains {
			t.Fatalf("%q contains %q: %v, want %v", s, o, s.Contains(o), contains)
		}
		if both {
			overlaps++
		}
		if contains {
			contained++
		}
	}
	if overlaps < 100 || contained < 60 {
		t.Errorf("only %d pairs overlap, and %d contain the other", overlaps, contained)
	}
}

// TestConflictsOfSetsAreThoseOfTheirPairs compares the index of Conflicts, and Allows, with all pairs.
func TestConflictsOfSetsAreThoseOfTheirPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	random := func() Set {
		var list []Claim
		for range 1 + r.IntN(6) {
			list = append(list, Claim{randomScope(r), pick(r, []Mode{Read, Write})})
		}
		return Of(list...)
	}
	found := 0
	for range 1000 {
		s, o := random(), random()
		var want []Claim
		for _, ours := range s.All() {
			if slices.ContainsFunc(o.All(), func(theirs Claim) bool {
				return ours.Scope.Overlaps(theirs.Scope) && (ours.Mode == Write || theirs.Mode == Write)
			}) {
				want = append(want, ours)
			}
			allowed := slices.ContainsFunc(o.All(), func(theirs Claim) bool {
				return theirs.Mode >= ours.Mode && theirs.Scope.Contains(ours.Scope)
			})
			if o.Allows(ours) != allowed {
				t.Fatalf("%v allows %v: %v", o.All(), ours, !allowed)
			}
		}
		var got []Claim
		for _, c := range s.Conflicts(o) {
			if !c.Ours.Scope.Overlaps(c.Theirs.Scope) || max(c.Ours.Mode, c.Theirs.Mode) != Write {
				t.Fatalf("not a conflict: %v", c)
			}
			got = append(got, c.Ours)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("conflicts of %v with %v: %v, want %v", s.All(), o.All(), got, want)
		}
		if len(want) > 0 != (len(o.Conflicts(s)) > 0) {
			t.Fatalf("conflicts of %v with %v are not mutual", s.All(), o.All())
		}
		found += len(got)
	}
	if found < 250 {
		t.Errorf("only %d conflicts", found)
	}
}

func TestSetsAreStoredAndReadAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		var list []Claim
		for range r.IntN(8) {
			list = append(list, Claim{randomScope(r), pick(r, []Mode{Read, Write})})
		}
		s := Of(list...)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back Set
		if err := json.Unmarshal(text, &back); err != nil || !back.Equal(s) {
			t.Fatalf("%s: %v, read as %v", text, err, back.All())
		}
	}
}

// TestClaimsThatCannotBeReadAreErrors: another version of the program may have claimed something unknown.
func TestClaimsThatCannotBeReadAreErrors(t *testing.T) {
	for _, text := range []string{`{"exchange":["instance:t.a"]}`, `{"write":["provider:t"]}`,
		`{"write":["instance:"]}`,
		`{"write":["instance:t."]}`, `{"read":["module:t.a"]}`, `{"read":["resource:t.a[0]"]}`, `{"read":[""]}`,
		`{"read":["everything:t"]}`, `{"read":["output:"]}`, `{"read":["config:t.a[0]"]}`, `[]`} {
		var s Set
		if err := json.Unmarshal([]byte(text), &s); err == nil {
			t.Errorf("%s was read as %v", text, s.All())
		}
	}
}

func FuzzSet(f *testing.F) {
	f.Add([]byte(`{"write":["instance:t.a[0]","everything"],"read":["config:module.m.t.a","output:x"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s, back Set
		if json.Unmarshal(text, &s) != nil {
			return
		}
		again, err := json.Marshal(s)
		if err == nil {
			err = json.Unmarshal(again, &back)
		}
		if err != nil || !s.Equal(back) {
			t.Fatalf("%q is stored as %q: %v", text, again, err)
		}
		if got := s.Conflicts(Whole()); len(got) != s.Len() {
			t.Fatalf("%d of %d claims conflict with the whole state", len(got), s.Len())
		}
	})
}

func at(text string) Scope {
	i, diags := addr.ParseInstance(text)
	if diags.HasErrors() {
		panic(diags.Err())
	}
	return Instance(i)
}

func TestEntriesChangeOnlyUnderTheirEpoch(t *testing.T) {
	one := Entry{Run: "1", Claims: Of(Claim{at("t.a"), Write}, Claim{at("t.b"), Read})}
	first, _, err := Ledger{}.Take(one)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := first.Take(one); err == nil {
		t.Error("a run took claims twice")
	}
	taken, epoch, err := first.TakeOver("1", 1)
	if err != nil || epoch != 2 || taken.Owns("1", 1) || !taken.Owns("1", 2) || !first.Owns("1", 1) {
		t.Fatalf("%+v, epoch %d, %v", taken, epoch, err)
	}
	for what, err := range map[string]error{
		"release": second(taken.Release("1", 1)), "reduce": second(taken.Reduce("1", 1, one.Claims)),
		"take over": third(taken.TakeOver("1", 1)), "unknown": second(taken.Release("2", 1)),
	} {
		if !errors.Is(err, ErrFenced) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := taken.Reduce("1", 2, Of(Claim{at("t.b"), Write})); err == nil {
		t.Error("an entry was widened")
	}
	open, err := taken.Reduce("1", 2, Of(Claim{at("t.a"), Write}))
	if err != nil {
		t.Fatal(err)
	}
	two := Entry{Run: "2", Claims: Of(Claim{at("t.c"), Write})}
	if _, _, err := taken.Take(two, taken.Entries[0]); !errors.Is(err, ErrFenced) {
		t.Errorf("a run that was not folded was carried on: %v", err)
	}
	next, conflicts, err := open.Take(two, open.Entries[0])
	if err != nil || conflicts != nil || len(next.Entries) != 1 ||
		!next.Entries[0].Claims.Allows(Claim{at("t.a"), Write}) {
		t.Errorf("%+v %v %v", next, conflicts, err)
	}
	if none, err := next.Reduce("2", next.Epoch, Set{}); err != nil || len(none.Entries) != 0 {
		t.Errorf("%+v %v", none, err)
	}
}

func second[T any](_ T, err error) error        { return err }
func third[T, U any](_ T, _ U, err error) error { return err }

func TestConflictsNameRunsAndObjects(t *testing.T) {
	r, _ := addr.ParseConfigResource("module.m.t.a")
	l, _, _ := Ledger{}.Take(Entry{Run: "7", Who: "me@here", Command: "apply", Claims: Of(Claim{at("t.a"), Write},
		Claim{at("t.b"), Read}, Claim{Config(r), Read}),
		Since: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)})
	_, conflicts, _ := l.Take(Entry{Run: "8", Claims: Of(Claim{at("t.a"), Read}, Claim{at("t.b"), Write},
		Claim{at("module.m[0].t.a[1]"), Write})})
	want := `"apply" by me@here since 2030-01-02 03:04:05 UTC (run 7): it reads all instances of module.m.t.a, and ` +
		`this run would change module.m[0].t.a[1]; it changes t.a, which this run would read; it reads t.b, which ` +
		`this run would change`
	if got := (&HeldError{conflicts}).Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var many []Claim
	for _, n := range strings.Split("abcdefgh", "") {
		many = append(many, Claim{at("t." + n), Write})
	}
	l, _, _ = Ledger{}.Take(Entry{Run: "9", Claims: Of(many...), Open: true})
	_, conflicts, _ = l.Take(Entry{Run: "10", Claims: Whole()})
	want = "operations of a run by someone without a name that were interrupted (run 9): it changes t.a, and this " +
		"run would change the whole state"
	if got := (&HeldError{conflicts}).Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func BenchmarkConflicts(b *testing.B) {
	set := func(from, n int) Set {
		var list []Claim
		t, _ := addr.ParseConfigResource("t.a")
		r := addr.AbsResource{Resource: t.Resource}
		for i := range n {
			list = append(list, Claim{Instance(r.Instance(addr.IntKey(from + i))), Write})
		}
		return Of(list...)
	}
	x, y := set(0, 1000), set(1000, 1000)
	for b.Loop() {
		if len(x.Conflicts(y)) > 0 {
			b.Fatal("a conflict")
		}
	}
}
