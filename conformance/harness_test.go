package conformance

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const oneStep = "-- steps --\ntier: 2\napply\n-- main.tf --\n"

func TestParseCaseReadsStepsAndSections(t *testing.T) {
	c, err := parseCase("topic/name", []byte(`What the case shows.
-- steps --
# a comment
tier: 3
init
write main.tf @later.tf
-chdir=sub plan -var 'l=["a b"]' -detailed-exitcode => 2
-- main.tf --
first
-- @later.tf --
later
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{
		{Line: 3, Text: "init", Verb: "init"},
		{Line: 4, Text: "write main.tf @later.tf", Verb: "write", Args: []string{"main.tf", "@later.tf"}},
		{Line: 5, Text: `-chdir=sub plan -var 'l=["a b"]' -detailed-exitcode => 2`, Verb: "plan", Exit: 2,
			Args: []string{"-var", `l=["a b"]`, "-detailed-exitcode"}, Global: []string{"-chdir=sub"}},
	}
	for i := range c.Steps {
		if len(c.Steps[i].Args) == 0 {
			c.Steps[i].Args = nil
		}
	}
	if diff := cmp.Diff(want, c.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if c.Tier != 3 || len(c.files) != 1 || len(c.sections) != 1 {
		t.Errorf("tier %d, %d files, %d sections; want 3, 1, 1", c.Tier, len(c.files), len(c.sections))
	}
}

func TestParseCaseRefusesWhatItCannotRun(t *testing.T) {
	for _, tt := range []struct{ steps, want string }{
		{"init\n", "tier"},
		{"tier: 2\n", "no steps"},
		{"tier: 2\nplugin: none\n", "no plugin"},
		{"tier: 2\noracle: none\n", "no oracle"},
		{"tier: two\n", "positive number"},
		{"tier: 2\nwrite main.tf @none\n", "no section"},
		{"tier: 2\nuse @none\n", "no sections"},
		{"tier: 2\nremove\n", "takes 1 arguments"},
		{"tier: 2\nplan => x\n", "is not a number"},
		{"tier: 2\nplan 'x\n", "not closed"},
	} {
		_, err := parseCase("c", []byte("-- steps --\n"+tt.steps))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("steps %q: got error %v, want one with %q", tt.steps, err, tt.want)
		}
	}
}

func TestCompareReportsEachPlaceOnce(t *testing.T) {
	left := Document{
		"plan": decode(`{"resource_changes":[{"address":"a","n":1},{"address":"b"}],"l":[1,2],"same":[{}]}`)}
	right := Document{
		"plan": decode(
			`{"resource_changes":[{"address":"b"},{"address":"a","n":2},{"address":"c"}],"l":[1],"same":[{}],"more":null}`)}
	var got []string
	for _, d := range compareDocuments(left, right) {
		got = append(got, d.Path+": "+d.Terraform+" / "+d.Tombolo)
	}
	want := []string{
		"plan.l[1]: 2 / (nothing)",
		"plan.more: (nothing) / null",
		"plan.resource_changes[a].n: 1 / 2",
		`plan.resource_changes[c]: (nothing) / {"address":"c"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

func TestCompareReportsAnotherOrder(t *testing.T) {
	got := compareDocuments(Document{"l": decode(`["a","b"]`)}, Document{"l": decode(`["b","a"]`)})
	if len(got) != 1 || got[0].Path != "l.(order)" {
		t.Errorf("got %v, want one difference at l.(order)", got)
	}
}

func TestIdsKeepTheirNamesOverSteps(t *testing.T) {
	const first, second = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
	state := func(id string) any {
		return decode(`{"lineage":"33333333-3333-3333-3333-333333333333","serial":1,"resources":[
			{"mode":"managed","type":"terraform_data","name":"a","instances":[{"index_key":"k","attributes":{"id":"` + id + `"}}]}]}`)
	}
	n := newNormaliser(nil)
	n.learn(state(first))
	n.learn(state(second))
	got := n.text(first + " then " + second + " at 2020-01-02T03:04:05Z, else 44444444-4444-4444-4444-444444444444")
	want := `<id terraform_data.a["k"] #1> then <id terraform_data.a["k"] #2> at <time>, else <uuid>`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSerialCountsOnlyAsChangedOrNot(t *testing.T) {
	n := newNormaliser(nil)
	var got []any
	for _, serial := range []string{"3", "3", "9"} {
		doc := n.state("terraform.tfstate", decode(`{"serial":`+serial+`}`)).(map[string]any)
		got = append(got, doc["serial"])
	}
	if diff := cmp.Diff([]any{"new", "same", "changed"}, got); diff != "" {
		t.Errorf("serials (-want +got):\n%s", diff)
	}
}

func TestTextDiagnosticsHaveSeveritySummaryPositionAndStream(t *testing.T) {
	run := Run{
		Stderr: "\nError: Unsupported attribute\n\n  with terraform_data.a,\n  on m/main.tf line 3, in resource " +
			"\"terraform_data\" \"a\":\n   3: x\n\nDetail.\n\nError: Cycle: local.b (expand), local.a\n",
		Stdout: "Warning: Deprecated\n\n  on a.tf line 1:\n   1: y\n\nWarning: The list is empty.\n\nWarning: Old\n",
	}
	want := []any{
		"error: Cycle: local.a, local.b (stderr)",
		"error: Unsupported attribute @ m/main.tf:3 (stderr)",
		"warning: Deprecated @ a.tf:1 (stdout)",
		"warning: Old (stdout)",
		"warning: The list is empty. (stdout)",
	}
	if diff := cmp.Diff(want, textDiagnostics(run, newNormaliser(nil))); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
}

func TestStableTextLeavesTheHumanPlanFree(t *testing.T) {
	s := Step{Verb: "apply"}
	got := stableText(s, Run{Stdout: "a.b: Refreshing state...\n  # a.b will be created\n\nPlan: 1 to add, 0 to " +
		"change, 0 to destroy.\nx\nApply complete! Resources: 1 added.\n\nOutputs:\n\no = 1\n"})
	want := "Plan: 1 to add, 0 to change, 0 to destroy.\nApply complete! Resources: 1 added.\n\nOutputs:\n\no = 1\n"
	if got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestIntendedDifferencesPassAndStaleOnesAreFound(t *testing.T) {
	c, err := parseCase("topic/name", []byte(oneStep))
	if err != nil {
		t.Fatal(err)
	}
	rec := func(text string) *Record {
		return &Record{Results: []Result{{Runs: []Run{{Role: "step", Stdout: text}}}}}
	}
	want, got := rec("Apply complete! 1"), rec("Apply complete! 2")
	in := &Intended{Case: "topic/*", At: "text", Reason: "test"}
	h := &harness{}
	if reports := h.compare(c, &Answer{Record: *want}, got); len(reports) != 1 {
		t.Errorf("without an entry: %d reports, want 1: %v", len(reports), reports)
	}
	h = &harness{corpus: []*Case{c}, intended: []*Intended{in}}
	if reports := h.compare(c, &Answer{Record: *want}, got); len(reports) != 0 {
		t.Errorf("with an entry: %v", reports)
	}
	if list := h.stale(); len(list) != 0 {
		t.Errorf("an entry that showed is called stale: %v", list)
	}
	h = &harness{corpus: []*Case{c}, intended: []*Intended{{Case: "topic/name", At: "text", Reason: "test"}}}
	h.compare(c, &Answer{Record: *want}, want)
	if list := h.stale(); len(list) != 1 {
		t.Errorf("an entry that did not show: %d stale, want 1", len(list))
	}
	h = &harness{corpus: []*Case{c}, intended: []*Intended{{Case: "topic/*", At: "text", Reason: "test"},
		{Case: "none/*", At: "text", Reason: "test"}}}
	h.compare(c, &Answer{Record: *want}, want)
	h.intended = append(h.intended, &Intended{Case: "topic/name", At: "text", Reason: "test", Sometimes: true})
	h.corpus = []*Case{c, {Name: "topic/other"}}
	if list := h.stale(); len(list) != 1 || list[0].Case != "none/*" {
		t.Errorf("an entry whose other case has not run and one for no case at all: %v, want the latter", list)
	}
}

func TestLinesOfSlowMachinesAreIgnored(t *testing.T) {
	const kept = "{\"type\":\"apply_start\",\"@message\":\"apply_progress\"}\n  Acquiring state lock. This may take " +
		"a few moments...\n5\n"
	rec := Record{Results: []Result{{Runs: []Run{{Stdout: "Acquiring state lock. This may take a few moments...\n" +
		"{\"@level\":\"info\",\"@message\":\"Releasing\",\"type\":\"state_lock_release\"}\n" +
		"{\"@message\":\"x\",\"hook\":{},\"type\":\"apply_progress\"}\n" + kept +
		"Releasing state lock. This may take a few moments...\n"}}}}}
	if rec.forgetWaits(); rec.Results[0].Runs[0].Stdout != kept {
		t.Errorf("left is %q", rec.Results[0].Runs[0].Stdout)
	}
}

func TestWildcard(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"plan.a[0]", "plan.a[0]", true},
		{"plan.*", "plan.a[0].b", true},
		{"*.b", "plan.a[0].b", true},
		{"plan.*.b*", "plan.a.b.c", true},
		{"plan.*x*", "plan.a", false},
		{"a*a", "a", false},
		{"a", "ab", false},
	} {
		if got := wildcard(tt.pattern, tt.text); got != tt.want {
			t.Errorf("wildcard(%q, %q) = %v, want %v", tt.pattern, tt.text, got, tt.want)
		}
	}
}

func TestStoredAnswersAreLoadedUnchanged(t *testing.T) {
	c, err := parseCase("topic/name", []byte(oneStep))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	load := func() *Answer {
		a, err := loadAnswer(dir, c)
		if err != nil {
			t.Error(err)
		}
		return a
	}
	if load() != nil {
		t.Error("an empty folder has an answer")
	}
	stored := &Answer{Terraform: terraformVersion, Digest: c.digest(), Runs: 2, Varies: []Place{{0, "text"}},
		Record: Record{Results: []Result{{List: []string{"x"}}}}}
	if err := storeAnswer(dir, c, stored); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, load()); diff != "" && runtime.GOOS == "linux" {
		t.Errorf("(-stored +loaded):\n%s", diff)
	}
	c.Hash += "x"
	if load() != nil {
		t.Error("a case that has changed has the answer of the one before")
	}
}

func TestVaryingResultsAreNotCompared(t *testing.T) {
	c, err := parseCase("topic/name", []byte(oneStep))
	if err != nil {
		t.Fatal(err)
	}
	rec := func(text, stderr string) *Record {
		return &Record{Results: []Result{{Runs: []Run{{Role: "step", Stdout: text, Stderr: stderr}}}}}
	}
	one, other := "Error: One\n\n  on a.tf line 1:\n", "Error: Other\n\n  on a.tf line 2:\n"
	a := &Answer{Runs: 1, Record: *rec("Apply complete! 1", one)}
	if a.add(c, rec("Apply complete! 1", one)) {
		t.Errorf("two equal runs vary at %v", a.Varies)
	}
	if !a.add(c, rec("Apply complete! 1", other)) || a.Runs != 3 {
		t.Errorf("two runs with other errors: %v after %d runs", a.Varies, a.Runs)
	}
	h := &harness{}
	if reports := h.compare(c, a, rec("Apply complete! 1", "Error: Third\n")); len(reports) != 0 {
		t.Errorf("a difference where terraform's runs differ: %v", reports)
	}
	if reports := h.compare(c, a, rec("Apply complete! 2", one)); len(reports) != 1 {
		t.Errorf("a difference elsewhere: %d reports, want 1", len(reports))
	}
}

func TestCorpusIsReadable(t *testing.T) {
	cases, err := loadCases("testdata")
	if err != nil {
		t.Fatal(err)
	}
	tiers := map[int]int{}
	for _, c := range cases {
		tiers[c.Tier]++
		if strings.Count(c.Name, "/") != 1 {
			t.Errorf("%s: a case is testdata/<topic>/<case>.txtar", c.Name)
		}
	}
	if tiers[3] < 200 {
		t.Errorf("only %d cases are about the exactness of the language: %v", tiers[3], tiers)
	}
}
