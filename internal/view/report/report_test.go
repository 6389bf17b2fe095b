package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/internal/view/report/reporttest"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

const canary = "t0ps3cretvalue"

var (
	source = addr.DefaultProvider("t")
	schema = &provider.Block{Attributes: map[string]*provider.Attribute{"in": {Type: cty.String, Optional: true},
		"secret": {Type: cty.String, Optional: true, Sensitive: true},
		"copy":   {Type: cty.DynamicPseudoType, Computed: true}}}
	schemas = tfjson.Schemas{source: {Resources: map[string]*provider.ResourceType{"t_x": {Block: schema},
		"t_y": {Block: schema}}}}
)

var actions = []plan.Action{plan.NoOp, plan.NoOp, plan.Create, plan.Update, plan.Delete, plan.DeleteThenCreate,
	plan.CreateThenDelete, plan.Forget, plan.ForgetThenCreate, plan.Read}

// randomPlan returns a plan whose resources depend on each other, with a secret in a sensitive attribute, and copies of
// it in others.
func randomPlan(r *rand.Rand, resources int) *plan.Plan {
	p := &plan.Plan{Mode: []plan.Mode{plan.Normal, plan.Destroy}[r.IntN(2)], Created: time.Unix(1, 0),
		Errored: r.IntN(5) == 0, Workspace: "default"}
	var all []addr.ConfigResource
	deps := map[addr.ConfigResource][]addr.ConfigResource{}
	for n := range resources {
		res := addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: []string{"t_x", "t_y"}[r.IntN(2)],
			Name: fmt.Sprintf("r%d", n)}}
		for range r.IntN(3) {
			res.Module = res.Module.Child([]string{"a", "b", "c"}[r.IntN(3)], addr.NoKey)
		}
		var after []addr.ConfigResource
		for range r.IntN(4) {
			if len(all) > 0 {
				first := (len(all) - 1) / 40 * 40 // more distant resources are independent
				dep := all[first+r.IntN(len(all)-first)]
				after = append(append(after, dep), deps[dep]...)
			}
		}
		slices.SortFunc(after, addr.ConfigResource.Compare)
		after = slices.Compact(after)
		all, deps[res.Config()] = append(all, res.Config()), after
		s := plan.Step{Kind: plan.Write, Resource: res}
		for i := range 1 + r.IntN(3) {
			s.Changes = append(s.Changes, len(p.Changes))
			p.Changes = append(p.Changes, randomChange(r, res.Instance(addr.IntKey(i)), after))
		}
		p.Steps = append(p.Steps, s)
	}
	for _, c := range p.Changes {
		if r.IntN(8) == 0 {
			p.Drift = append(p.Drift, c)
		}
	}
	p.Outputs = []*plan.OutputChange{{Name: "url", Action: plan.Create, Before: cty.NullVal(cty.String),
		After: cty.StringVal("https://user:" + canary + "@host")}}
	failed := state.CheckedObject{Addr: "check.c", Status: "fail", Failures: []string{"the password is " + canary}}
	p.Checks = []state.CheckResult{{Kind: "check", ConfigAddr: "check.c", Status: "fail",
		Objects: []state.CheckedObject{failed}}}
	return p
}

func randomChange(r *rand.Rand, a addr.AbsResourceInstance, deps []addr.ConfigResource) *plan.Change {
	value := func() plan.Value {
		return plan.Value{Value: cty.ObjectVal(map[string]cty.Value{
			"in": cty.StringVal(fmt.Sprint("in ", r.IntN(4))), "secret": cty.StringVal(canary),
			"copy": cty.TupleVal([]cty.Value{cty.StringVal("x " + canary + " y"), cty.MapVal(map[string]cty.Value{
				canary: cty.StringVal("z")})}),
		})}
	}
	none := plan.Value{Value: cty.NullVal(schema.ImpliedType())}
	c := &plan.Change{Object: addr.Object{Instance: a}, Provider: &addr.AbsProviderConfig{Provider: source},
		Action: actions[r.IntN(len(actions))], Before: value(), After: value(), Type: schema.ImpliedType(),
		Dependencies: deps}
	switch {
	case c.Action == plan.NoOp:
		c.After = c.Before
		if r.IntN(4) == 0 {
			c.PrevAddr = new(a.AbsResource().Instance(addr.StringKey("before")))
		}
	case c.Action == plan.Create || c.Action == plan.Read:
		c.Before = none
	case c.Action == plan.Delete || c.Action == plan.Forget:
		c.After = none
		c.Reason = plan.DeleteBecauseNoResource
	case c.Action.IsReplace():
		c.ReplacePaths = []cty.Path{cty.GetAttrPath([]string{"in", "secret", "copy"}[r.IntN(3)])}
		if r.IntN(3) == 0 {
			c.Reason = plan.ReplaceByTriggers
		}
	}
	c.Unprotected = c.Action == plan.Update && r.IntN(5) == 0
	return c
}

// written writes the page of a plan, and returns its parts.
func written(t testing.TB, p *plan.Plan, run *Recorder) (page string, d document) {
	t.Helper()
	problems := diag.List{}.Errorf(nil, "A problem", "A provider says %s.", canary)
	o := Options{View: view.Options{Secrets: &view.Secrets{}}, Problems: problems, Run: run}
	o.View.Secrets.Add(cty.StringVal(canary), []cty.Path{{}})
	var out bytes.Buffer
	if err := Plan(&out, o, p, schemas); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(reporttest.Payload(t, out.String())), &d); err != nil {
		t.Fatal(err)
	}
	return out.String(), d
}

// For random plans, with a secret in every kind of place and undeclared copies of it, the page shows everything, once,
// and no secret.
func TestAPageHasEveryObjectAndNoSecret(t *testing.T) {
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := randomPlan(r, r.IntN(20))
		page, d := written(t, p, nil)
		if text := reporttest.Text(t, page); strings.Contains(text, canary) {
			at := strings.Index(text, canary)
			t.Fatalf("seed %d: a secret was written: ...%s", seed, text[max(0, at-200):at+20])
		}
		want, got := []string{}, []string{}
		for _, c := range p.Changes {
			want = append(want, c.Object.String())
		}
		for _, o := range d.Objects {
			got = append(got, o.Address)
			if o.Fate != "" && (o.Headline == "" || o.Body == 0) {
				t.Errorf("seed %d: %s says nothing: %+v", seed, o.Address, o)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Fatalf("seed %d: objects %q, want %q", seed, got, want)
		}
		checkReferences(t, p, d)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// checkReferences checks that all indices in a document are valid, and that losses are listed.
func checkReferences(t *testing.T, p *plan.Plan, d document) {
	t.Helper()
	lost := 0
	for _, c := range view.Shown(p) {
		if c.Action.Destroys() || c.Action == plan.Forget || c.Action.IsReplace() || c.Unprotected {
			lost++
		}
	}
	if lost != len(d.Losses) {
		t.Errorf("%d losses, want %d", len(d.Losses), lost)
	}
	if len(p.Changes) == 0 {
		return
	}
	whole := d.Graphs[len(d.Graphs)-1]
	for _, o := range append(slices.Clone(d.Objects), d.Drift...) {
		if o.Body > len(d.Bodies) || o.Full > len(d.Bodies) || o.Node > len(whole.Nodes) {
			t.Errorf("%s points nowhere: %+v", o.Address, o)
		}
		for _, n := range o.Because {
			if n >= len(whole.Nodes) || n == o.Node-1 {
				t.Errorf("%s is because of %d", o.Address, n)
			}
		}
	}
}

// The shell lists its style and script by their hashes, loads nothing, and runs nothing else.
func TestThePageIsSelfContained(t *testing.T) {
	page, _ := written(t, randomPlan(rand.New(rand.NewPCG(1, 1)), 5), nil)
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)[1]
	if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %s", policy)
	}
	for element, directive := range map[string]string{"style": "style-src", "script": "script-src"} {
		texts := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(page, -1)
		if len(texts) != 1 || !strings.Contains(policy, directive+" '"+digest(texts[0][1])+"'") {
			t.Errorf("%d elements %s, and the policy is %s", len(texts), element, policy)
		}
	}
	for _, loads := range []string{"://", "src=", "href=", "@import", "url(", "innerHTML", "eval(", "{{", " style=\"",
		" onclick=\""} {
		if strings.Contains(page, loads) {
			t.Errorf("the page has %s", loads)
		}
	}
	listed, err := files.ReadDir("page")
	if err != nil || len(listed) != len(scripts)+2 {
		t.Errorf("%d files of the page, %d scripts (%v)", len(listed), len(scripts), err)
	}
}

// A value that looks like the end of an element does not end one.
func TestTextsInReportsAreEscaped(t *testing.T) {
	p := &plan.Plan{Targets: []addr.Target{}, Workspace: "</script><script>alert(1)</script>", Mode: plan.Destroy}
	page, d := written(t, p, nil)
	if strings.Contains(page, "alert(1)") || !strings.Contains(d.Workspace, "alert(1)") {
		t.Error("a text became a part of the page")
	}
}

// In graphs of any shape the direct dependencies imply all of them, every node is in its module's picture and in those
// of the module's callers, no two items share a position, and an item is to the right of its dependencies, unless
// modules depend on each other.
func TestGraphsAreCompleteAndReadable(t *testing.T) {
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := randomPlan(r, 1+r.IntN(60))
		_, d := written(t, p, nil)
		whole := d.Graphs[len(d.Graphs)-1]
		names := map[string]int{}
		for i, n := range whole.Nodes {
			names[strings.TrimPrefix(whole.Modules[n.Module].Path+"."+n.Name, ".")] = i
		}
		for _, c := range p.Changes {
			want := map[int]bool{}
			for _, dep := range c.Dependencies {
				want[names[dep.String()]] = true
			}
			if got := reached(whole.After, names[c.Object.Instance.Config().String()]); !sameKeys(got, want) {
				t.Fatalf("seed %d: %s waits for %v, want %v", seed, c.Object, got, want)
			}
		}
		for _, g := range d.Graphs {
			for m, picture := range g.Pictures {
				checkPicture(t, fmt.Sprintf("seed %d, %s, module %d", seed, g.Name, m), picture)
			}
		}
		if t.Failed() {
			return
		}
	}
}

func reached(after [][]int, from int) map[int]bool {
	seen := map[int]bool{}
	queue := slices.Clone(after[from])
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		if !seen[i] {
			seen[i] = true
			queue = append(queue, after[i]...)
		}
	}
	return seen
}

func sameKeys(a, b map[int]bool) bool {
	for k := range a {
		if !b[k] {
			return false
		}
	}
	return len(a) == len(b)
}

func checkPicture(t *testing.T, where string, p picture) {
	t.Helper()
	places, columns, modules := map[[2]int]bool{}, []int{}, false
	for k := 0; k < len(p.Items); k += 4 {
		at := [2]int{p.Items[k+2], p.Items[k+3]}
		if places[at] || at[0] < 0 || at[1] < 0 {
			t.Errorf("%s: two items at %v", where, at)
		}
		places[at] = true
		columns = append(columns, at[0])
		modules = modules || p.Items[k] == itemModule || p.Items[k] == itemModuleBeside
	}
	for k := 0; k < len(p.Edges); k += 2 {
		if from, to := p.Edges[k], p.Edges[k+1]; !modules && columns[from] >= columns[to] {
			t.Errorf("%s: an edge leads from column %d to %d", where, columns[from], columns[to])
		}
	}
}

// Every step of a plan that contains a change appears in the order once, after all of its dependencies.
func TestOrderOfStepsRespectsDependencies(t *testing.T) {
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := randomPlan(r, 1+r.IntN(30))
		for i := range p.Steps {
			if i > 0 && r.IntN(3) == 0 {
				p.Steps[i].After = append(p.Steps[i].After, r.IntN(i))
			}
		}
		_, d := written(t, p, nil)
		at := map[string]int{}
		for n, steps := range d.Order {
			for _, s := range steps {
				if _, twice := at[s.Block]; twice {
					t.Errorf("seed %d: %s stands there twice", seed, s.Block)
				}
				at[s.Block] = n
			}
		}
		for _, s := range p.Steps {
			here, is := at[s.Resource.String()]
			for _, before := range s.After {
				if there, was := at[p.Steps[before].Resource.String()]; is && was && there >= here {
					t.Errorf("seed %d: %s does not come after %s", seed, s.Resource, p.Steps[before].Resource)
				}
			}
			for _, dep := range p.Changes[s.Changes[0]].Dependencies {
				if there, was := at[dep.String()]; is && was && there >= here {
					t.Errorf("seed %d: %s does not come after %s", seed, s.Resource, dep)
				}
			}
		}
	}
}

// The report of an apply has the outcome of each change, and a bar for each operation.
func TestAnApplyHasOutcomesAndATimeline(t *testing.T) {
	object := func(name string) addr.AbsResourceInstance {
		r := addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "t_x", Name: name}}
		return r.Instance(addr.NoKey)
	}
	r := rand.New(rand.NewPCG(1, 4))
	p := &plan.Plan{}
	for _, name := range []string{"good", "bad", "late"} {
		c := randomChange(r, object(name), nil)
		c.Action, c.Reason, c.Unprotected = plan.Update, plan.NoReason, false
		p.Changes = append(p.Changes, c)
	}
	left := randomChange(r, object("left"), nil)
	left.Action, left.Reason = plan.Forget, plan.NoReason
	left.After = plan.Value{Value: cty.NullVal(schema.ImpliedType())}
	p.Changes = append(p.Changes, left)
	run := &Recorder{}
	start := time.Unix(1000, 0)
	for i, c := range p.Changes[:2] {
		began := start.Add(time.Duration(i) * time.Second)
		run.Send(event.OperationStart{Object: c.Object, Action: c.Action, Started: began})
		run.Send(event.OperationDone{Object: c.Object, Action: c.Action, Elapsed: 3 * time.Second, Failed: i == 1})
	}
	_, d := written(t, p, run)
	outcomes := map[string]string{}
	for _, o := range d.Objects {
		outcomes[o.Address] = o.Outcome
	}
	if outcomes["t_x.good"] != "done" || outcomes["t_x.bad"] != "failed" || outcomes["t_x.late"] != "untried" {
		t.Errorf("outcomes %v", outcomes)
	}
	if outcomes["t_x.left"] != "" {
		t.Errorf("it is not known whether the object was forgotten, and the report says %q", outcomes["t_x.left"])
	}
	if len(d.Timeline) != 2 || d.Timeline[1].From != 1000 || d.Timeline[1].Took != 3000 || !d.Timeline[1].Failed ||
		d.Timeline[0].Failed || d.Timeline[0].Sign != "~" || !d.Failed || d.Kind != "apply" {
		t.Errorf("timeline %+v", d.Timeline)
	}
}

// The page of ten thousand objects is small.
func TestTenThousandObjectsFitIntoAFewMegabytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	p := randomPlan(r, 5000)
	if len(p.Changes) < 9500 {
		t.Fatalf("only %d changes", len(p.Changes))
	}
	page, _ := written(t, p, nil)
	if len(page) > 4<<20 {
		t.Errorf("%d changes make %d bytes", len(p.Changes), len(page))
	}
	t.Logf("%d changes make %d bytes", len(p.Changes), len(page))
}

// A page for many units has the report of each unit that has a plan or problems, and no secret.
func TestAPageOfManyUnitsHasTheirReports(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	o := Options{View: view.Options{Secrets: &view.Secrets{}}}
	o.View.Secrets.Add(cty.StringVal(canary), []cty.Path{{}})
	failed := o
	failed.Problems = diag.List{}.Errorf(nil, "A problem", "A provider says %s.", canary)
	var list []Unit
	for i := range 6 {
		u := Unit{Name: fmt.Sprintf("live/<%d>", i), Phase: "unchanged", Options: o, Schemas: schemas}
		switch i % 3 {
		case 0:
			u.Phase, u.Plan, u.Notes = "planned", randomPlan(r, 5), []string{"a note"}
		case 1:
			u.Phase, u.Options, u.Reason = "failed", failed, "A problem"
		}
		list = append(list, u)
	}
	var out bytes.Buffer
	if err := Units(&out, o, "Plans of 6 units", list); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	if text := reporttest.Text(t, page); strings.Contains(text, canary) {
		t.Error("a secret was written")
	}
	var d document
	if err := json.Unmarshal([]byte(reporttest.Payload(t, page)), &d); err != nil {
		t.Fatal(err)
	}
	if d.Headline != "2 planned, 2 failed, 2 unchanged" || !d.Failed || len(d.Units) != len(list) {
		t.Errorf("%q, failed %v, %d units", d.Headline, d.Failed, len(d.Units))
	}
	for i, u := range d.Units {
		if (u.Report == nil) != (u.Phase == "unchanged") || u.Name != list[i].Name {
			t.Errorf("%s, %s: report %v", u.Name, u.Phase, u.Report)
		}
		if u.Phase == "planned" && len(u.Report.Objects) != len(list[i].Plan.Changes) {
			t.Errorf("%s has %d objects, want %d", u.Name, len(u.Report.Objects), len(list[i].Plan.Changes))
		}
	}
	if !strings.Contains(page, "<li>live/&lt;1&gt;: failed: A problem</li>") {
		t.Error("the text for browsers without scripts does not list the units")
	}
}
