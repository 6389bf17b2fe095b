package view

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/plan"
)

var (
	allFates = []plan.Action{plan.Create, plan.Update, plan.Delete, plan.DeleteThenCreate, plan.CreateThenDelete,
		plan.Forget, plan.ForgetThenCreate}
	deleteReasons = []plan.Reason{plan.NoReason, plan.DeleteBecauseNoResource, plan.DeleteBecauseCountIndex,
		plan.DeleteBecauseEachKey, plan.DeleteBecauseNoModule}
	replaceReasons = []plan.Reason{plan.ReplaceBecauseTainted, plan.ReplaceByRequest, plan.ReplaceByTriggers,
		plan.ReplaceBecauseCannotUpdate}
)

// randomChange returns a change of a random instance of one of a few resources.
func randomChange(r *rand.Rand) *plan.Change {
	module := addr.ModuleInstance{}
	if r.IntN(3) == 0 {
		module = module.Child("net", addr.StringKey([]string{"a", "b"}[r.IntN(2)]))
	}
	key := addr.NoKey
	switch r.IntN(3) {
	case 0:
		key = addr.IntKey(r.IntN(6))
	case 1:
		key = addr.StringKey(strings.Repeat("k", 1+r.IntN(5)) + strconv.Itoa(r.IntN(4)))
	}
	ty := cty.Object(map[string]cty.Type{"input": cty.String})
	object := func(text string) plan.Value {
		return plan.Value{Value: cty.ObjectVal(map[string]cty.Value{"input": cty.StringVal(text)})}
	}
	none := plan.Value{Value: cty.NullVal(ty)}
	resource := addr.Resource{Mode: addr.Managed, Type: "t_x", Name: []string{"a", "b"}[r.IntN(2)]}
	c := &plan.Change{Provider: &addr.AbsProviderConfig{},
		Action: allFates[r.IntN(len(allFates))], Type: ty, Before: object("old"), After: object("new"),
		Object: addr.Object{Instance: addr.AbsResource{Module: module, Resource: resource}.Instance(key)}}
	c.Unprotected = c.Action != plan.Create && c.Action != plan.Delete && c.Action != plan.Forget && r.IntN(3) == 0
	switch {
	case c.Action == plan.Create:
		c.Before = none
	case c.Action == plan.Delete || c.Action == plan.Forget:
		c.After = none
		c.Reason = deleteReasons[r.IntN(len(deleteReasons))]
	case c.Action.IsReplace():
		c.Reason = replaceReasons[r.IntN(len(replaceReasons))]
		c.ReplacePaths = []cty.Path{cty.GetAttrPath("input")}
	}
	return c
}

func randomPlan(r *rand.Rand) *plan.Plan {
	p := &plan.Plan{Errored: r.IntN(4) == 0}
	seen := map[string]bool{}
	for range r.IntN(40) {
		c := randomChange(r)
		if name := c.Object.String(); !seen[name] {
			seen[name] = true
			p.Changes = append(p.Changes, c)
		}
	}
	return p
}

var keyInRow = regexp.MustCompile(`\[(\d+)\.\.(\d+)\]|\["[^"]*"\]|\[\d+\]`)

// named returns the addresses in a row of the closing block, and how many more it counts.
func named(text string) (addresses []string, more int) {
	text = strings.TrimSpace(text)
	if _, count, ok := strings.Cut(text, " and "); ok {
		text, _, _ = strings.Cut(text, " and ")
		more, _ = strconv.Atoi(strings.TrimSuffix(count, " more"))
	}
	first, rest, several := strings.Cut(text, ", ")
	at := keyInRow.FindAllStringIndex(first, -1)
	if len(at) == 0 || at[len(at)-1][1] != len(first) {
		return []string{text}, more
	}
	base := first[:at[len(at)-1][0]]
	list := first[len(base):]
	if several {
		list += ", " + rest
	}
	for _, m := range keyInRow.FindAllStringSubmatch(list, -1) {
		if m[1] == "" {
			addresses = append(addresses, base+m[0])
			continue
		}
		from, _ := strconv.Atoi(m[1])
		to, _ := strconv.Atoi(m[2])
		for i := from; i <= to; i++ {
			addresses = append(addresses, fmt.Sprintf("%s[%d]", base, i))
		}
	}
	return addresses, more
}

// The closing block lists everything that a plan destroys, replaces, forgets or stops protecting, under the right word,
// and nothing else.
func TestClosingBlockListsAllLosses(t *testing.T) {
	rowOf := regexp.MustCompile(`(?m)^  (Destroyed|Replaced|Forgotten|Unguarded) +(.*)$`)
	for seed := range uint64(500) {
		p := randomPlan(rand.New(rand.NewPCG(seed, 1)))
		want := map[string][]string{}
		for _, c := range shownChanges(p) {
			if f := fateOf(c); f <= forgotten {
				want[words[f].closing] = append(want[words[f].closing], c.Object.String())
			}
			if c.Unprotected {
				want[words[unprotected].closing] = append(want[words[unprotected].closing], c.Object.String())
			}
		}
		var out bytes.Buffer
		v := New(Options{Out: &out, Width: 200})
		v.Plan(p, nil)
		v.Close()
		_, end, _ := strings.Cut(out.String(), "\nPlan:")
		got, more := map[string][]string{}, map[string]int{}
		for _, m := range rowOf.FindAllStringSubmatch(end, -1) {
			address, _, _ := strings.Cut(m[2], "   ")
			addresses, rest := named(address)
			got[m[1]] = append(got[m[1]], addresses...)
			more[m[1]] += rest
		}
		for word, all := range want {
			for _, a := range got[word] {
				if !slices.Contains(all, a) {
					t.Errorf("seed %d: %s stands under %s", seed, a, word)
				}
			}
			if len(got[word])+more[word] != len(all) {
				t.Errorf("seed %d: %d and %d more are %s, want %v", seed, len(got[word]), more[word], word, all)
			}
		}
		if len(got) != len(want) {
			t.Errorf("seed %d: the block has %v, want %v", seed, got, want)
		}
		if t.Failed() {
			t.Fatal(end)
		}
	}
}

func TestKeysOfARow(t *testing.T) {
	for _, c := range []struct {
		keys []addr.Key
		want string
	}{
		{[]addr.Key{addr.IntKey(0), addr.IntKey(1), addr.IntKey(2), addr.IntKey(7)}, "[0..2], [7]"},
		{[]addr.Key{addr.IntKey(3), addr.IntKey(5), addr.IntKey(7), addr.IntKey(9), addr.IntKey(10)},
			"[3], [5], [7] and 2 more"},
		{[]addr.Key{addr.StringKey("a"), addr.StringKey("b")}, `["a"], ["b"]`},
	} {
		if got := keyList(c.keys, keysOfRow); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// The end of one plan at the widths of common terminals.
func TestTheEndOfAPlanAtSeveralWidths(t *testing.T) {
	object := func(input string) plan.Value {
		return plan.Value{Value: cty.ObjectVal(map[string]cty.Value{"input": cty.StringVal(input)})}
	}
	ty := cty.Object(map[string]cty.Type{"input": cty.String})
	at := func(module addr.ModuleInstance, name string, key addr.Key) addr.AbsResourceInstance {
		return addr.AbsResource{Module: module,
			Resource: addr.Resource{Mode: addr.Managed, Type: "t_x", Name: name}}.Instance(key)
	}
	p := &plan.Plan{}
	add := func(i addr.AbsResourceInstance, a plan.Action, reason plan.Reason, before, after plan.Value) {
		c := &plan.Change{Provider: &addr.AbsProviderConfig{},
			Object: addr.Object{Instance: i}, Action: a, Reason: reason, Type: ty,
			Before: before, After: after}
		if a.IsReplace() {
			c.ReplacePaths = []cty.Path{cty.GetAttrPath("input")}
		}
		p.Changes = append(p.Changes, c)
	}
	none := plan.Value{Value: cty.NullVal(ty)}
	root := addr.ModuleInstance{}
	add(at(root.Child("net", addr.NoKey), "subnet", addr.StringKey("b")), plan.Delete, plan.DeleteBecauseEachKey,
		object("x"), none)
	for i := range 4 {
		if i < 2 {
			add(at(root, "web", addr.IntKey(i)), plan.NoOp, plan.NoReason, object("x"), object("x"))
			continue
		}
		add(at(root, "web", addr.IntKey(i)), plan.Delete, plan.DeleteBecauseCountIndex, object("x"), none)
	}
	add(at(root, "db", addr.NoKey), plan.DeleteThenCreate, plan.ReplaceBecauseCannotUpdate, object("prod"),
		object("stage"))
	add(at(root, "password", addr.NoKey), plan.CreateThenDelete, plan.ReplaceBecauseCannotUpdate,
		plan.Value{Value: object("hunter2").Value, Sensitive: []cty.Path{cty.GetAttrPath("input")}},
		object("another"))
	add(at(root, "kept", addr.NoKey), plan.Forget, plan.NoReason, object("x"), none)
	for _, width := range []int{20, 60, 80, 100, 160} {
		var out bytes.Buffer
		v := New(Options{Out: &out, Width: width})
		v.Plan(p, nil)
		v.Close()
		_, end, _ := strings.Cut(out.String(), "\nPlan:")
		golden(t, filepath.Join("testdata", fmt.Sprintf("closing_%d.txt", width)), "Plan:"+end)
	}
}
