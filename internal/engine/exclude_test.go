package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/engine"
)

// An exclusionCase is a configuration whose dependencies are known: for each block its text, the blocks that it refers
// to directly, and its kind. References only go to earlier blocks.
type exclusionCase struct {
	kinds   []string // "resource", "local", "output" or "check"
	behind  []map[int]bool
	written strings.Builder
}

// randomExclusions returns a case with n blocks, of which the first is a resource.
func randomExclusions(r *rand.Rand, n int) *exclusionCase {
	c := &exclusionCase{}
	c.written.WriteString("variable \"v\" { default = 1 }\n")
	for i := range n {
		kind := []string{"resource", "resource", "local", "output", "check"}[r.IntN(5)]
		if i == 0 {
			kind = "resource"
		}
		behind, refs := map[int]bool{}, []string{"var.v"}
		for j, earlier := range c.kinds {
			if r.IntN(3) > 0 || earlier == "output" || earlier == "check" {
				continue
			}
			behind[j] = true
			for k := range c.behind[j] {
				behind[k] = true
			}
			ref := map[string]string{"resource": "terraform_data.b%d.output", "local": "local.b%d"}[earlier]
			refs = append(refs, fmt.Sprintf(ref, j))
		}
		c.kinds, c.behind = append(c.kinds, kind), append(c.behind, behind)
		fmt.Fprintf(&c.written, map[string]string{
			"resource": "resource \"terraform_data\" \"b%d\" { input = [%s] }\n",
			"local":    "locals { b%d = [%s] }\n",
			"output":   "output \"b%d\" { value = [%s] }\n",
			"check": "check \"b%d\" {\n  assert {\n    condition = length([%s]) == 0\n" +
				"    error_message = \"fails\"\n  }\n}\n",
		}[kind], i, strings.Join(refs, ", "))
	}
	return c
}

// left returns the outline of a plan without block x and its dependents, and the resources in it.
func (c *exclusionCase) left(x int) (outline string, resources []addr.Target) {
	var lines []string
	for i, kind := range c.kinds {
		objects := 0
		for j := range c.behind[i] {
			if c.kinds[j] == "resource" {
				objects++
			}
		}
		switch {
		case i == x || c.behind[i][x]:
		case kind == "resource":
			lines = append(lines, fmt.Sprintf("terraform_data.b%d create", i))
			resources = append(resources, blockTarget(i))
		case kind == "output" && objects > 0:
			lines = append(lines, fmt.Sprintf("output b%d create", i))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), resources
}

func blockTarget(i int) addr.Target {
	return addr.Target{Resource: addr.Resource{Mode: addr.Managed, Type: "terraform_data", Name: fmt.Sprintf("b%d", i)}}
}

// With -exclude, a plan has every object that depends on no excluded one, and the output values that depend only on
// such objects; no check is run. That is the plan of -target with these objects.
func TestExclusionsAreThePlanOfTheOtherTargets(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 1))
	s := newScene(t)
	excluded := 0
	for range 25 {
		c := randomExclusions(r, 4+r.IntN(7))
		for x, kind := range c.kinds {
			if kind != "resource" {
				continue
			}
			want, others := c.left(x)
			options := []engine.PlanOptions{{Except: []addr.Target{blockTarget(x)}}}
			if len(others) > 0 {
				options = append(options, engine.PlanOptions{Targets: others})
			}
			for _, o := range options {
				p, _, diags := s.run(c.written.String(), true, o)
				if diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				if got := outline(p); got != want {
					t.Errorf("-exclude=terraform_data.b%d, targets %v:\ngot\n%s\nwant\n%s\nin\n%s", x, o.Targets, got,
						want, c.written.String())
				}
				for _, check := range p.Checks {
					if check.Kind == "check" && check.Status != "unknown" {
						t.Errorf("-exclude=terraform_data.b%d, targets %v: %s: %s in\n%s", x, o.Targets,
							check.ConfigAddr, check.Status, c.written.String())
					}
				}
			}
			excluded++
		}
	}
	if excluded < 40 {
		t.Errorf("only %d exclusions", excluded)
	}
}
