package planning_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/plan"
)

// shape is a random configuration with a prior state: nodes depend on lower-numbered ones.
type shape struct {
	n        int
	deps     [][]int // in the configuration
	old      [][]int // in the state
	inState  []bool
	inConfig []bool
	replaced []bool
	updated  []bool
	cbd      []bool
}

func randomShape(rng *rand.Rand) shape {
	s := shape{n: 2 + rng.Intn(6)}
	flip := func(p float64) []bool {
		out := make([]bool, s.n)
		for i := range out {
			out[i] = rng.Float64() < p
		}
		return out
	}
	s.inState, s.inConfig, s.replaced, s.updated, s.cbd = flip(0.8), flip(0.7), flip(0.5), flip(0.4), flip(0.3)
	s.deps, s.old = make([][]int, s.n), make([][]int, s.n)
	for i := range s.n {
		for d := range i {
			if rng.Intn(2) == 0 {
				continue
			}
			if s.inConfig[i] && s.inConfig[d] && rng.Intn(4) > 0 {
				s.deps[i] = append(s.deps[i], d)
			}
			if s.inState[i] && s.inState[d] && rng.Intn(4) > 0 {
				s.old[i] = append(s.old[i], d)
			}
		}
	}
	return s
}

func name(i int) string { return fmt.Sprintf("terraform_data.n%d", i) }

func (s shape) source() string {
	var b strings.Builder
	for i := range s.n {
		if !s.inConfig[i] {
			continue
		}
		fmt.Fprintf(&b, "resource \"terraform_data\" \"n%d\" {\n", i)
		input := "same"
		if s.updated[i] {
			input = "new"
		}
		fmt.Fprintf(&b, "  input = %q\n", input)
		if s.replaced[i] {
			b.WriteString("  triggers_replace = 1\n")
		}
		var on []string
		for _, d := range s.deps[i] {
			on = append(on, name(d))
		}
		fmt.Fprintf(&b, "  depends_on = [%s]\n", strings.Join(on, ", "))
		if s.cbd[i] {
			b.WriteString("  lifecycle { create_before_destroy = true }\n")
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// TestApplyOrderNeverRemovesWhatIsStillUsed runs the steps of random plans in random orders that the edges allow, and
// checks all objects after each step.
func TestApplyOrderNeverRemovesWhatIsStillUsed(t *testing.T) {
	for seed := range int64(1000) {
		rng := rand.New(rand.NewSource(seed))
		s := randomShape(rng)
		b := &bench{t: t}
		for i := range s.n {
			if s.inState[i] {
				var deps []string
				for _, d := range s.old[i] {
					deps = append(deps, name(d))
				}
				b.with(name(i), "same", deps...)
			}
		}
		p, diags := b.plan(root(s.source()))
		if diags.HasErrors() {
			t.Fatalf("seed %d: %v", seed, diags.Err())
		}
		for range 5 {
			if msg := s.simulate(rng, p); msg != "" {
				t.Fatalf("seed %d: %s\nconfiguration:\n%s\nold dependencies: %v\nsteps: %+v", seed, msg, s.source(),
					s.old, p.Steps)
			}
		}
	}
}

// simulate runs the steps in one random order and returns the first violation.
func (s shape) simulate(rng *rand.Rand, p *plan.Plan) string {
	index := map[string]int{}
	for i := range s.n {
		index[name(i)] = i
	}
	of := func(st plan.Step) int { return index[st.Resource.String()] }
	writes := map[int]int{} // node -> its write step
	for i, st := range p.Steps {
		if st.Kind == plan.Write {
			writes[of(st)] = i
		}
	}
	done := make([]bool, len(p.Steps))
	ready := func(i int) bool {
		for _, a := range p.Steps[i].After {
			if !done[a] {
				return false
			}
		}
		// Writes also follow the references, including those through nodes without actions.
		if p.Steps[i].Kind == plan.Write {
			seen := map[int]bool{}
			stack := append([]int(nil), s.deps[of(p.Steps[i])]...)
			for len(stack) > 0 {
				d := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				if w, ok := writes[d]; ok && !done[w] {
					return false
				}
				if !seen[d] {
					seen[d] = true
					stack = append(stack, s.deps[d]...)
				}
			}
		}
		return true
	}
	oldGone, written := make([]bool, s.n), make([]bool, s.n)
	action := map[int]plan.Action{}
	cbd := map[int]bool{}
	for _, c := range p.Changes {
		action[index[c.Object.Instance.String()]] = c.Action
		cbd[index[c.Object.Instance.String()]] = c.CreateBeforeDestroy
	}
	for range p.Steps {
		var can []int
		for i := range p.Steps {
			if !done[i] && ready(i) {
				can = append(can, i)
			}
		}
		if len(can) == 0 {
			return "the steps wait for each other"
		}
		i := can[rng.Intn(len(can))]
		done[i] = true
		n := of(p.Steps[i])
		switch p.Steps[i].Kind {
		case plan.Write:
			written[n] = true
		case plan.DestroyStep, plan.Dispose:
			oldGone[n] = true
			for d := range s.n {
				for _, dep := range s.old[d] {
					if dep != n || oldGone[d] {
						continue
					}
					switch action[d] {
					case plan.Delete, plan.DeleteThenCreate, plan.CreateThenDelete:
						return fmt.Sprintf("the old %s went while the old %s, which has to go too, still used it",
							name(n), name(d))
					case plan.Update:
						if action[n] == plan.CreateThenDelete && contains(s.deps[d], n) && !written[d] {
							return fmt.Sprintf("the old %s went before its dependent %s moved over to the new one",
								name(n), name(d))
						}
					}
				}
			}
		}
	}
	return ""
}

func contains(list []int, n int) bool {
	for _, x := range list {
		if x == n {
			return true
		}
	}
	return false
}

func TestDestroyEdgesAcrossRepeatedModulesAreLinear(t *testing.T) {
	const n = 60
	b := &bench{t: t}
	for i := range n {
		b.with(fmt.Sprintf("module.p[%d].terraform_data.r", i), "x")
		b.with(fmt.Sprintf("module.q[%d].terraform_data.r", i), "x", "module.p.terraform_data.r")
	}
	b.opts.Mode = plan.Destroy
	p, diags := b.plan(root(`output "nothing" { value = 1 }`))
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	edges := 0
	for _, s := range p.Steps {
		edges += len(s.After)
	}
	if edges > 3*n {
		t.Errorf("%d edges for %d + %d blocks", edges, n, n)
	}
	if !reaches(p, "module.q[7].terraform_data.r", "module.p[3].terraform_data.r") {
		t.Error("module.p[3] may be destroyed before module.q[7], which depends on it")
	}
}

// reaches reports whether the first block's destruction comes before the second's in every order.
func reaches(p *plan.Plan, first, second string) bool {
	find := func(a string) int {
		for i, s := range p.Steps {
			if s.Resource.String() == a && s.Kind == plan.DestroyStep {
				return i
			}
		}
		return -1
	}
	from, to := find(first), find(second)
	stack, seen := []int{to}, map[int]bool{}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if i == from {
			return true
		}
		if !seen[i] {
			seen[i] = true
			stack = append(stack, p.Steps[i].After...)
		}
	}
	return false
}
