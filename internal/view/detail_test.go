package view

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// details returns all texts in the details of a plan and a state.
func details(t *testing.T, p *plan.Plan, s *state.State, schemas tfjson.Schemas) string {
	t.Helper()
	var b strings.Builder
	d := NewDetails(Options{}, p, schemas)
	for _, c := range p.Changes {
		b.WriteString(textOf(d.Change(c)))
	}
	for _, c := range p.Drift {
		if detail, some := d.Drift(c); some {
			b.WriteString(textOf(detail))
		}
	}
	fmt.Fprintf(&b, "%q\n", d.Outputs(p))
	of := NewStateDetails(Options{}, s, schemas)
	for _, r := range s.Resources() {
		for _, key := range r.Keys() {
			detail, err := of.Object(r, addr.Object{Instance: r.Addr.Instance(key)})
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(textOf(detail))
		}
	}
	fmt.Fprintf(&b, "%q\n", of.Outputs())
	return b.String()
}

func textOf(d Detail) string {
	return fmt.Sprintln(d.Fate, d.Headline, d.Remarks, d.Why, d.Because, d.Body, d.Full)
}

// The parts of a change, put together, are the text that a terminal shows.
func TestDetailsAreThePartsOfTheText(t *testing.T) {
	for seed := range uint64(300) {
		p := randomPlan(rand.New(rand.NewPCG(seed, 9)))
		d := NewDetails(Options{}, p, nil)
		for _, c := range shownChanges(p) {
			w := planWriter{renderer: renderer{brief: true}, o: Options{}}
			w.follow(p, shownChanges(p))
			w.change(c)
			want := w.String()
			got := d.Change(c)
			rebuilt := withoutStyle(got.Body)
			for _, line := range append([]string{got.Headline}, got.Remarks...) {
				if !strings.Contains(want, line) {
					t.Errorf("seed %d, %s: the line %q is not in\n%s", seed, c.Object, line, want)
				}
			}
			if !strings.HasSuffix(want, rebuilt) || strings.Contains(rebuilt, "# "+got.Headline) ||
				got.Fate != words[fateOf(c)].index {
				t.Errorf("seed %d, %s: the block\n%s\nis not the end of\n%s", seed, c.Object, rebuilt, want)
			}
			if heads := strings.Count(strings.TrimSuffix(want, rebuilt), "\n"); heads != 1+len(got.Remarks) {
				t.Errorf("seed %d, %s: %d lines above the block, got %s", seed, c.Object, heads, textOf(got))
			}
		}
		if t.Failed() {
			return
		}
	}
}

// A problem is shown without a frame and colors.
func TestAProblemIsPlainText(t *testing.T) {
	d := NewDetails(Options{Color: true}, &plan.Plan{}, nil)
	problem := diag.List{}.Errorf(nil, "It fails", "For a reason.")[0]
	if got := d.Problem(problem); got != "Error: It fails\n\nFor a reason." {
		t.Errorf("got %q", got)
	}
}
