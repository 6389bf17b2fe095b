package planning_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
)

// TestReplacementsNameTheirTriggers plans random blocks that name each other in replace_triggered_by, and compares each
// change and the triggers that it records with what the references say.
func TestReplacementsNameTheirTriggers(t *testing.T) {
	type block struct {
		count   int // 0 means that there is none
		actions []plan.Action
	}
	replaced := 0
	acts := func(a plan.Action) bool { return a != plan.NoOp }
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 11))
		b := &bench{t: t}
		var src strings.Builder
		var want []string
		blocks := make([]block, 2+r.IntN(5))
		for i := range blocks {
			o := &blocks[i]
			o.count = r.IntN(4)
			var deps, references []string
			fires := make([][]string, max(1, o.count))
			for range min(i, r.IntN(4)) {
				j := r.IntN(i)
				source := blocks[j]
				name := fmt.Sprintf("terraform_data.b%d", j)
				deps = append(deps, name)
				reference, at := name, func(int) int { return -1 }
				switch {
				case source.count == 0 && r.IntN(2) == 0:
					at = func(int) int { return 0 }
				case source.count == 0:
				case r.IntN(3) == 0 && 0 < o.count && o.count <= source.count:
					reference, at = name+"[count.index]", func(k int) int { return k }
				case r.IntN(2) == 0:
					k := r.IntN(source.count)
					reference, at = fmt.Sprintf("%s[%d]", name, k), func(int) int { return k }
				}
				path := []string{"", ".input", ".id"}[r.IntN(3)]
				if at(0) < 0 {
					path = ""
				} else if source.count == 0 && path == "" {
					at = func(int) int { return -1 } // the block is the object
				}
				if slices.Contains(references, reference+path) {
					continue
				}
				references = append(references, reference+path)
				for k := range fires {
					text, fired := name, false
					switch n := at(k); {
					case n < 0:
						fired = slices.ContainsFunc(source.actions, acts)
					default:
						if source.count > 0 {
							text += fmt.Sprintf("[%d]", n)
						}
						text += path
						a := source.actions[n]
						switch path {
						case "":
							fired = acts(a)
						case ".input":
							fired = a == plan.Update
						case ".id":
							fired = a == plan.DeleteThenCreate
						}
					}
					if fired {
						fires[k] = append(fires[k], text)
					}
				}
			}
			var inputs []string
			for k := range fires {
				address := fmt.Sprintf("terraform_data.b%d", i)
				if o.count > 0 {
					address += fmt.Sprintf("[%d]", k)
				}
				b.with(address, "x", deps...)
				action, input := plan.NoOp, "x"
				switch {
				case len(fires[k]) > 0:
					action = plan.DeleteThenCreate
					replaced++
				case r.IntN(3) == 0:
					action, input = plan.Update, "new"
				}
				o.actions, inputs = append(o.actions, action), append(inputs, fmt.Sprintf("%q", input))
				if action != plan.NoOp {
					want = append(want, strings.TrimSpace(fmt.Sprintf("%s %s %s", address, action,
						strings.Join(fires[k], " "))))
				}
			}
			fmt.Fprintf(&src, "resource \"terraform_data\" \"b%d\" {\n", i)
			if o.count > 0 {
				fmt.Fprintf(&src, "  count = %d\n  input = [%s][count.index]\n", o.count, strings.Join(inputs, ", "))
			} else {
				fmt.Fprintf(&src, "  input = %s\n", inputs[0])
			}
			fmt.Fprintf(&src, "  lifecycle {\n    replace_triggered_by = [%s]\n  }\n}\n",
				strings.Join(references, ", "))
		}
		p, diags := b.plan(root(src.String()))
		if diags.HasErrors() {
			t.Fatalf("seed %d: %v\n%s", seed, diags.Err(), src.String())
		}
		var got []string
		for _, c := range p.Changes {
			if c.Action == plan.NoOp {
				continue
			}
			line := c.Object.String() + " " + c.Action.String()
			for _, trigger := range c.Triggers {
				if trigger.All {
					line += " " + trigger.Instance.AbsResource().String()
				} else {
					line += " " + trigger.Instance.String() + value.FormatPath(trigger.Path)
				}
			}
			if triggers := c.Reason == plan.ReplaceByTriggers; triggers != (len(c.Triggers) > 0) {
				t.Errorf("seed %d: the reason is %q: %s", seed, c.Reason, line)
			}
			got = append(got, line)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: planned\n  %s\nwant\n  %s\n%s", seed, strings.Join(got, "\n  "),
				strings.Join(want, "\n  "), src.String())
		}
	}
	if replaced < 100 {
		t.Errorf("only %d replacements", replaced)
	}
}
