package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/tfjson/tfjsontest"
	"github.com/tombolo-iac/tombolo/plan"
)

func TestPlanTextIsAsRecorded(t *testing.T) {
	schemas := tfjsontest.Schemas(t)
	for _, c := range tfjsontest.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			p := c.Plan(t, schemas)
			if p == nil {
				t.Skip("runs for cases with a recorded plan")
			}
			var out bytes.Buffer
			v := New(Options{Out: &out, Program: "terraform"})
			v.Plan(p, schemas)
			v.Close()
			if *updateGolden {
				c.Update(t, "plan.txt", out.String())
				return
			}
			want := c.Files["plan.txt"]
			if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(out.String(), "\n")); d != "" {
				t.Errorf("text differs (-want +got):\n%s", d)
			}
		})
	}
}

// creations returns a plan to create instances 0 to n-1 of t_x.a, with an input that depends on the index.
func creations(n int, input func(i int) string) *plan.Plan {
	p := &plan.Plan{}
	ty := cty.Object(map[string]cty.Type{"input": cty.String})
	for i := range n {
		o := addr.Object{
			Instance: addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "t_x", Name: "a"}}.Instance(
				addr.IntKey(i))}
		p.Changes = append(p.Changes, &plan.Change{
			Provider: &addr.AbsProviderConfig{},
			Object:   o, Action: plan.Create, Type: ty, Before: plan.Value{Value: cty.NullVal(ty)},
			After: plan.Value{Value: cty.ObjectVal(map[string]cty.Value{"input": cty.StringVal(input(i))})},
		})
	}
	return p
}

// Instances have identifiers of their own, which are no part of a change, and old values of what is computed again.
func TestInstancesThatDifferOnlyByWhoTheyAreChangeTheSameWay(t *testing.T) {
	terminal := func() (int, int) { return 80, 24 }
	names := []string{"id", "name", "size", "address"}
	types := map[string]cty.Type{"input": cty.Object(map[string]cty.Type{"name": cty.String, "size": cty.String})}
	for _, name := range names {
		types[name] = cty.String
	}
	for differs, want := range map[string]int{"": 1, "id": 1, "name": 1, "address": 1, "size": 3, "input.name": 1,
		"input.size": 3} {
		p := &plan.Plan{}
		for i := range 3 {
			before, after := map[string]cty.Value{}, map[string]cty.Value{}
			for _, name := range names {
				before[name] = cty.StringVal("old " + name)
				if name == differs {
					before[name] = cty.StringVal(fmt.Sprint(name, i))
				}
				after[name] = before[name]
			}
			after["size"], after["address"] = cty.StringVal("large"), cty.UnknownVal(cty.String)
			inner := map[string]cty.Value{"name": cty.StringVal("inner"), "size": cty.StringVal("small")}
			if name, ok := strings.CutPrefix(differs, "input."); ok {
				inner[name] = cty.StringVal(fmt.Sprint(name, i))
			}
			before["input"] = cty.ObjectVal(inner)
			after["input"] = cty.ObjectVal(map[string]cty.Value{"name": inner["name"], "size": cty.StringVal("large")})
			o := addr.Object{Instance: addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "t_x",
				Name: "a"}}.Instance(addr.IntKey(i))}
			p.Changes = append(p.Changes, &plan.Change{Provider: &addr.AbsProviderConfig{},
				Object: o, Action: plan.Update,
				Type: cty.Object(types), Before: plan.Value{Value: cty.ObjectVal(before)},
				After: plan.Value{Value: cty.ObjectVal(after)}})
		}
		var out bytes.Buffer
		v := New(Options{Size: terminal, Out: &out})
		v.Plan(p, nil)
		v.Close()
		more := "(and the same change for 2 more: t_x.a[1..2])"
		if differs == "" {
			more = "(and the same for 2 more: t_x.a[1..2])"
		}
		if got := strings.Count(out.String(), "will be updated"); got != want ||
			strings.Contains(out.String(), more) != (want == 1) {
			t.Errorf("%q differs: %d headlines, want %d:\n%s", differs, got, want, out.String())
		}
	}
}

// Who reads that an object is created asks why, if there was one: only the objects that are gone have a reason.
func TestObjectsThatWereDeletedOutsideSayThatTheyAreCreatedAgain(t *testing.T) {
	for gone := range 1 << 4 {
		p, want := creations(4, func(int) string { return "x" }), 0
		for i, c := range p.Changes {
			if gone&(1<<i) != 0 {
				deleted := *c
				deleted.Action, deleted.Before, deleted.After = plan.Delete, c.After, plan.Value{}
				p.Drift, want = append(p.Drift, &deleted), want+1
			}
		}
		var text, page bytes.Buffer
		v := New(Options{Out: &text, Size: func() (int, int) { return 80, 24 }})
		v.Plan(p, nil)
		v.Close()
		groups := min(want, 1) // they are shown once, apart from those that are new
		if got := strings.Count(text.String(), "(it was deleted outside of Tombolo)"); got != groups {
			t.Errorf("%04b: the reason is there %d times, want %d:\n%s", gone, got, groups, text.String())
		}
		if err := Markdown(Options{Out: &page}, p, nil, 0, ""); err != nil {
			t.Fatal(err)
		}
		objects := 0
		for line := range strings.Lines(page.String()) {
			if address, found := strings.CutSuffix(strings.TrimSpace(line), "` | deleted outside of Tombolo |"); found {
				names, more := named(strings.TrimPrefix(address, "| create | `"))
				objects += len(names) + more
			}
		}
		if objects != want {
			t.Errorf("%04b: %d objects have the reason in the table, want %d:\n%s", gone, objects, want, page.String())
		}
	}
}

func TestEqualInstancesAreWrittenOnceForPeople(t *testing.T) {
	terminal := func() (int, int) { return 80, 24 }
	for _, c := range []struct {
		name  string
		o     Options
		n     int
		input func(int) string
		want  int // number of headlines
		more  string
	}{
		{"terminal", Options{Size: terminal}, 1000, func(int) string { return "x" }, 1,
			"(and the same for 999 more: t_x.a[1..999])"},
		{"few", Options{Size: terminal}, 2, func(int) string { return "x" }, 1,
			"(and the same for 1 more: t_x.a[1])"},
		{"two kinds", Options{Size: terminal}, 20, func(i int) string { return fmt.Sprint(i % 2) }, 2,
			"(and the same for 9 more: t_x.a[3], [5], [7], [9], [11], [13], [15],\n  # [17], [19])"},
		{"different", Options{Size: terminal}, 20, func(i int) string { return fmt.Sprint(i) }, 20, ""},
		{"one is different", Options{Size: terminal}, 20, func(i int) string { return fmt.Sprint(i == 10) }, 2,
			"(and the same for 18 more: t_x.a[1..9], [11..19])"},
		{"log", Options{}, 1000, func(int) string { return "x" }, 1000, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			c.o.Out = &out
			v := New(c.o)
			v.Plan(creations(c.n, c.input), nil)
			v.Close()
			if got := strings.Count(out.String(), "will be created"); got != c.want || !strings.Contains(out.String(),
				c.more) || c.more == "" && strings.Contains(out.String(), "the same for") {
				t.Errorf("%d headlines, want %d:\n%.2000s", got, c.want, out.String())
			}
			if !strings.Contains(out.String(), fmt.Sprintf("Plan: %d to add", c.n)) {
				t.Error("the summary is missing")
			}
		})
	}
}

func TestLongTextsShowTheContextOfChanges(t *testing.T) {
	text := func(change func(i int) string) cty.Value {
		var b strings.Builder
		for i := range 40 {
			b.WriteString(change(i) + "\n")
		}
		return cty.StringVal(b.String())
	}
	plain := func(i int) string { return fmt.Sprintf("line %d", i) }
	before := text(plain)
	after := text(func(i int) string {
		if i == 12 || i == 18 {
			return "another"
		}
		return plain(i)
	})
	r := renderer{}
	r.value(compare(cty.String, sides{before: before, after: after}), 0, how{})
	want := "<<-EOT\n    # (9 unchanged lines hidden)\n    line 9\n    line 10\n    line 11\n  - line 12\n  + " +
		"another\n    line 13\n    line 14\n    line 15\n" +
		"    line 16\n    line 17\n  - line 18\n  + another\n    line 19\n    line 20\n    line 21\n    # (18 " +
		"unchanged lines hidden)\nEOT"
	if d := cmp.Diff(want, r.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestLongValuesThatBecomeUnknownAreShortForPeople(t *testing.T) {
	elements := make([]cty.Value, 20)
	for i := range elements {
		elements[i] = cty.NumberIntVal(int64(i))
	}
	ty := cty.Object(map[string]cty.Type{"list": cty.List(cty.Number)})
	o := addr.Object{
		Instance: addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "t_x", Name: "a"}}.Instance(
			addr.NoKey)}
	p := &plan.Plan{Changes: []*plan.Change{{Provider: &addr.AbsProviderConfig{},
		Object: o, Action: plan.Update, Type: ty,
		Before: plan.Value{Value: cty.ObjectVal(map[string]cty.Value{"list": cty.ListVal(elements)})},
		After:  plan.Value{Value: cty.ObjectVal(map[string]cty.Value{"list": cty.UnknownVal(cty.List(cty.Number))})},
	}}}
	for _, c := range []struct {
		size func() (int, int)
		want string
	}{
		{nil, "          - 19,\n        ] -> (known after apply)"},
		{func() (int, int) { return 80, 24 },
			"      ~ list = [\n            # (20 lines of the present value hidden)\n        ] -> (known after apply)"},
	} {
		var out bytes.Buffer
		v := New(Options{Out: &out, Program: "tombolo", Size: c.size})
		v.Plan(p, nil)
		v.Close()
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("there is no\n%s\nin\n%s", c.want, out.String())
		}
	}
}
