//go:build unix

package crash

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/backend/backendtest"
	"github.com/tombolo-iac/tombolo/internal/claims"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/plan"
)

// TestPlansOfTwoRunsAreSerialOrRefused lets two runs plan on the same state and apply one after the other: random
// configurations with outputs, complete and limited plans, drift. Either the second plan is refused and changes
// nothing, or the result equals that of the two runs in one of the two orders.
func TestPlansOfTwoRunsAreSerialOrRefused(t *testing.T) {
	t.Parallel()
	rounds, deadline, from := 1<<30, time.Now().Add(6*time.Second), uint64(19) // the same rounds each time
	if full {
		rounds, deadline, from = 400, time.Now().Add(24*time.Hour), uint64(seed)
	}
	counts := map[string]int{}
	for n := 0; n < rounds && (n < 3 || time.Now().Before(deadline)) && !t.Failed(); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			counts[twoRuns(t, rand.New(rand.NewPCG(from, uint64(n))), Shared{})]++
		})
	}
	t.Logf("%v, seed %d", counts, from)
}

// TestPlansOfTwoRunsOverServices is the same test for states in services.
func TestPlansOfTwoRunsOverServices(t *testing.T) {
	t.Parallel()
	rounds, from := 4, uint64(19)
	if full {
		rounds, from = 40, uint64(seed)
	}
	for kind, address := range map[string]func() string{
		"pg":   func() string { return pgtest.Database(t) },
		"http": func() string { return backendtest.Start(t, "http").Block },
	} {
		at, counts := Shared{Kind: kind, Address: address()}, map[string]int{}
		for n := range rounds {
			t.Run(fmt.Sprint(kind, n), func(t *testing.T) {
				there := at
				there.Name = fmt.Sprintf("standing%dx", n)
				t.Cleanup(there.close)
				counts[twoRuns(t, rand.New(rand.NewPCG(from, uint64(n))), there)]++
			})
		}
		t.Logf("%s: %v, seed %d", kind, counts, from)
	}
}

// outputs returns a few outputs, each of which refers to random resources of the configuration.
func outputs(w desired, random *rand.Rand) string {
	var b strings.Builder
	for i := range random.IntN(4) {
		parts := []string{fmt.Sprint(random.IntN(2))}
		for _, t := range w.things {
			if random.IntN(4) == 0 {
				parts = append(parts, fmt.Sprintf("join(\",\", [for o in values({ for k, o in world_object.t%d : k => "+
					"o }) : o.value])", t.id))
			}
		}
		fmt.Fprintf(&b, "output \"o%d\" {\n  value = join(\"|\", [%s])\n}\n", i, strings.Join(parts, ", "))
	}
	return b.String()
}

// loosened returns a configuration with few dependencies, so that plans rarely conflict.
func loosened(w desired, random *rand.Rand) desired {
	things := slices.Clone(w.things)
	for i, t := range things {
		things[i].deps = slices.DeleteFunc(slices.Clone(t.deps), func(int) bool { return random.IntN(4) > 0 })
	}
	w.things = things
	return w
}

// nudged returns a configuration that differs in one or two things: in their values or their number.
func nudged(w desired, random *rand.Rand) desired {
	w.things = slices.Clone(w.things)
	for range 1 + random.IntN(len(w.things)) {
		if t := &w.things[random.IntN(len(w.things))]; random.IntN(3) == 0 {
			t.count = random.IntN(4)
		} else {
			t.value = random.IntN(3)
		}
	}
	return w
}

// limited returns options of a plan: of everything, or of a part.
func limited(w desired, random *rand.Rand) (o engine.PlanOptions) {
	var some []addr.Target
	for _, t := range w.things {
		if random.IntN(3) == 0 {
			at, diags := addr.ParseTarget(fmt.Sprintf("world_object.t%d", t.id))
			if diags.HasErrors() {
				panic(diags)
			}
			some = append(some, at)
		}
	}
	switch random.IntN(6) {
	case 0:
	case 1:
		o.Except = some
	case 2:
		o.Mode = plan.RefreshOnly
	case 3:
		o.Mode, o.Targets = plan.Destroy, some
	default:
		o.Targets = some
	}
	o.MinimalRefresh = o.Mode == plan.Normal && random.IntN(3) == 0
	return o
}

// twoRuns performs one round and returns its outcome.
func twoRuns(t *testing.T, random *rand.Rand, at Shared) string {
	w := randomDesired(random)
	w.drift = 0
	change := func(w desired) desired { return w.changed(random) }
	if random.IntN(4) > 0 {
		w, change = loosened(w, random), func(w desired) desired { return nudged(w, random) }
	}
	shown := outputs(w, random)
	attribute := []string{": o.id])", ": o.value])"}[random.IntN(2)] // with values, one change causes others
	write := func(w desired) string {
		config := strings.ReplaceAll(w.config(true), ": o.id])", attribute)
		there := func(id int) bool { return slices.ContainsFunc(w.things, func(t thing) bool { return t.id == id }) }
		for _, t := range []int{0, 1, 2, 3, 4, 5, 6, 7} {
			if random.IntN(40) == 0 || !there(t) && strings.Contains(shown, fmt.Sprintf("t%d ", t)) {
				return config + outputs(w, random)
			}
		}
		return config + shown
	}
	first := write(w)
	base := newSharedProject(t, first, at)
	base.noErrors(base.job.do(t.Context(), nil))
	twin := func() *testProject { return base.copyTo(t) }
	if at.Kind != "" { // a twin has a separate state, for which the plan of the other was not made
		twin = func() *testProject {
			r := newTestProject(t, first)
			r.noErrors(r.job.do(t.Context(), nil))
			return r
		}
	}
	next := change(w)
	ours := write(next)
	theirs, same := ours, at.Kind != "" || random.IntN(2) == 0
	other := next
	if !same {
		if other = change(next); random.IntN(2) == 0 {
			other = change(w)
		}
		theirs = write(other)
	}
	disturbed := at.Kind == "" && random.IntN(3) == 0
	if disturbed {
		base.disturb(random)
	}
	ourOptions, theirOptions := limited(next, random), limited(other, random)
	a, claimsA := base.save(ours, ourOptions)
	b, claimsB := base.save(theirs, theirOptions)
	if a == nil || b == nil {
		return "no plan"
	}
	apart := len(claimsA.Conflicts(claimsB)) == 0
	replayed := func(steps ...func(r *testProject) bool) (string, bool) {
		c := twin()
		for _, step := range steps {
			if !step(c) {
				return "", false
			}
		}
		return c.everything(), true
	}
	again := func(config string, o engine.PlanOptions) func(r *testProject) bool {
		return func(r *testProject) bool {
			saved, _ := r.save(config, o)
			return saved != nil && !r.applySaved(saved).HasErrors()
		}
	}
	var refused diag.List
	apply := func(saved []byte, config string, o engine.PlanOptions) func(r *testProject) bool {
		if at.Kind != "" {
			return again(config, o)
		}
		return func(r *testProject) bool { refused = r.applySaved(saved); return !refused.HasErrors() }
	}
	orders := map[string]string{}
	for name, steps := range map[string][]func(*testProject) bool{
		"theirs, then ours planned again": {apply(b, theirs, theirOptions), again(ours, ourOptions)},
		"ours, then theirs planned again": {apply(a, ours, ourOptions), again(theirs, theirOptions)},
		"ours, then theirs":               {apply(a, ours, ourOptions), apply(b, theirs, theirOptions)},
	} {
		if all, ok := replayed(steps...); ok && (!same || name != "ours, then theirs") {
			orders[name] = all
		}
	}
	swapped := ""
	if apart {
		swapped, _ = replayed(apply(a, ours, ourOptions), apply(b, theirs, theirOptions))
	}
	if diags := base.applySaved(b); diags.HasErrors() {
		t.Fatalf("a plan is refused on the state that it was made from: %s", diags)
	}
	between := base.everything()
	diags := base.applySaved(a)
	if !disturbed { // otherwise the state may contain objects that are gone, until they are read
		base.exact("after both")
	}
	after := base.everything()
	if diags.HasErrors() {
		if diags[0].Summary != "Saved plan is stale" || after != between {
			t.Errorf("%s\nbefore:\n%s\nafter:\n%s", diags, between, after)
		}
		if apart && same { // another configuration may have other dependencies
			t.Errorf("claims do not conflict, and yet: %s\nours: %v\ntheirs: %v", diags, claimsA.All(), claimsB.All())
		}
		return "refused"
	}
	if apart {
		if swapped != after {
			t.Errorf("claims do not conflict, but the order matters\nours: %v\ntheirs: %v\nfirst:\n%s\nours:\n%s\n"+
				"theirs:\n%s\nours last:\n%s\ntheirs last:\n%s\n%s", claimsA.All(), claimsB.All(), first, ours, theirs,
				after, swapped, refused)
		}
		return "apart"
	}
	for _, want := range orders {
		if want == after {
			return map[bool]string{true: "serial", false: "without effect"}[after != between]
		}
	}
	t.Errorf("same %t, ours %+v, theirs %+v\nfirst:\n%s\nours:\n%s\ntheirs:\n%s\nboth end in\n%s\nserial:\n%v", same,
		ourOptions, theirOptions, first, ours, theirs, after, orders)
	return "wrong"
}

// everything returns the summary of a project with its outputs.
func (r *testProject) everything() string {
	r.t.Helper()
	all, err := r.world.Exists()
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, o := range all {
		names = append(names, o.ID, "id of "+o.Name)
	}
	lines := []string{r.summary()}
	s := r.read().State
	for _, name := range s.OutputNames() {
		lines = append(lines, strings.NewReplacer(names...).Replace(fmt.Sprintf("output %s is %#v", name,
			s.Output(name).Value)))
	}
	return strings.Join(lines, "\n")
}

// save creates a plan and returns its file and its claims, or nil if that fails.
func (r *testProject) save(config string, o engine.PlanOptions) ([]byte, claims.Set) {
	r.t.Helper()
	r.configure(config)
	project, diags := r.job.project(nil)
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	defer project.Close()
	run, diags := open(r.t.Context(), project)
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	defer run.Close(r.t.Context())
	p, diags := run.Plan(r.t.Context(), o)
	if diags.HasErrors() {
		return nil, claims.Set{}
	}
	claimed, diags := run.Claims(p)
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		r.t.Fatal(err)
	}
	return b.Bytes(), claimed
}

// applySaved applies a plan file.
func (r *testProject) applySaved(saved []byte) diag.List {
	r.t.Helper()
	p, err := plan.Decode(bytes.NewReader(saved), int64(len(saved)))
	if err != nil {
		r.t.Fatal(err)
	}
	project, diags := r.job.projectWith(nil, func(o *engine.Options) { o.Config = p.Config })
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	defer project.Close()
	run, diags := open(r.t.Context(), project)
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	_, diags = run.Apply(r.t.Context(), p, nil)
	return diags.Extend(run.Close(r.t.Context()))
}
