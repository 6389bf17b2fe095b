package drift

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

const planted = "planted-secret"

// random returns a value, and adds the paths of secrets in it.
func random(r *rand.Rand, depth int, path cty.Path, secret *[]cty.Path) cty.Value {
	if depth == 0 || r.IntN(3) == 0 {
		switch r.IntN(6) {
		case 0:
			*secret = append(*secret, append(cty.Path{}, path...))
			return cty.StringVal(fmt.Sprint(planted, r.IntN(3)))
		case 1:
			return cty.NullVal(cty.String)
		case 2:
			return cty.ListVal([]cty.Value{cty.StringVal(fmt.Sprint("l", r.IntN(3)))})
		}
		return cty.StringVal(strings.Repeat("|`\n\x1b[31m", r.IntN(2)) + fmt.Sprint("v", r.IntN(3)))
	}
	members := map[string]cty.Value{}
	for _, name := range []string{"a", "b", "c"}[:1+r.IntN(3)] {
		members[name] = random(r, depth-1, append(path[:len(path):len(path)], cty.GetAttrStep{Name: name}), secret)
	}
	return cty.ObjectVal(members)
}

// TestEveryDifferenceIsReportedAndNoSecretIs compares values at random. There is a difference where they are not equal,
// each names a place where they differ, and no form of the report has a secret or a control character.
func TestEveryDifferenceIsReportedAndNoSecretIs(t *testing.T) {
	inst, diags := addr.ParseInstance("test_thing.a")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	hidden := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		var was, is []cty.Path
		object := func(secret *[]cty.Path) cty.Value {
			return cty.ObjectVal(map[string]cty.Value{"x": random(r, 3, cty.GetAttrPath("x"), secret), "y": random(r, 1,
				cty.GetAttrPath("y"), secret)})
		}
		before, after := object(&was), object(&is)
		p := &plan.Plan{Base: &state.State{}, Drift: []*plan.Change{{Object: addr.Object{Instance: inst},
			Action: plan.Update, Before: plan.Value{Value: before, Sensitive: was}, After: plan.Value{Value: after,
				Sensitive: is}}}}
		report := Of(p, nil, time.Now())
		if same := ctyfast.RawEquals(before, after); same == (len(report.Drifted) == 1) {
			t.Fatalf("seed %d: %#v and %#v: %+v", seed, before, after, report)
		}
		for _, o := range report.Drifted {
			for _, d := range o.Differences {
				if ctyfast.RawEquals(d.Before, d.After) {
					t.Errorf("seed %d: %s does not differ", seed, d.place())
				}
				if d.Sensitive {
					hidden++
				}
			}
		}
		for name, write := range map[string]func(io.Writer) error{"text": report.Text, "JSON": report.JSON,
			"Markdown": report.Markdown} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), planted) || strings.Contains(b.String(), "\x1b") {
				t.Fatalf("seed %d: %s shows what it must not:\n%q", seed, name, b.String())
			}
			if name == "Markdown" {
				for _, line := range strings.Split(b.String(), "\n") {
					bars := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
					if strings.HasPrefix(line, "| changed") && bars != 7 {
						t.Fatalf("seed %d: a row has other cells: %s", seed, line)
					}
				}
			}
		}
	}
	if hidden < 100 {
		t.Errorf("only %d differences were secret", hidden)
	}
}

func TestAcceptancesEnd(t *testing.T) {
	inst, _ := addr.ParseInstance("test_thing.a[1]")
	pattern, err := addr.ParsePattern("test_thing.*")
	if err != nil {
		t.Fatal(err)
	}
	change := func(action plan.Action) *plan.Change {
		return &plan.Change{Object: addr.Object{Instance: inst}, Action: action,
			Before: plan.Value{Value: cty.ObjectVal(map[string]cty.Value{"x": cty.StringVal("1"), "y": cty.True})},
			After:  plan.Value{Value: cty.ObjectVal(map[string]cty.Value{"x": cty.StringVal("2"), "y": cty.True})}}
	}
	until := time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		action     plan.Action
		attributes []string
		now        time.Time
		accepted   bool
	}{
		"on the last day":         {plan.Update, nil, until.Add(-time.Second), true},
		"on the day after":        {plan.Update, nil, until, false},
		"for the attribute":       {plan.Update, []string{"y", "x"}, until.Add(-time.Hour), true},
		"for another":             {plan.Update, []string{"y"}, until.Add(-time.Hour), false},
		"gone":                    {plan.Delete, nil, until.Add(-time.Hour), true},
		"gone, for the attribute": {plan.Delete, []string{"x"}, until.Add(-time.Hour), false},
	} {
		p := &plan.Plan{Base: &state.State{}, Drift: []*plan.Change{change(test.action)}}
		r := Of(p, []Acceptance{{Objects: pattern, Attributes: test.attributes, Until: until}}, test.now)
		if got := len(r.Accepted) == 1; got != test.accepted || len(r.Accepted)+len(r.Drifted) != 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
