package conformance

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tombolo-iac/tombolo/flavor"
)

// currentTier is the highest tier of cases that tombolo is expected to pass. Increment it when a capability is
// complete: 2 the main job, 3 exactness of the language, 4 lifecycle and commands, 5 plugins, 6 drop-in, 7 providers in
// Go, 8 programs as providers, 9 finding and installing.
const currentTier = 9

// terraformVersion is the version of the usual oracle. Other versions behave differently and would cause failures.
const terraformVersion = "1.11.4"

// shortSample is the number of cases with -short, usualSample the default number: the entire corpus takes about ten
// minutes.
const (
	shortSample = 12
	usualSample = 60
)

// liveRuns limits how often terraform runs a case without a stored answer before a difference counts.
const liveRuns = 10

// atOnce limits the cases that run at the same time; each runs one process at a time.
const atOnce = 2

// TestConformance runs the corpus with tombolo and fails on every unintended difference from terraform's answers.
func TestConformance(t *testing.T) {
	h := newHarness(t, "testdata", answersDir, "intended.json")
	all := upToTier(h.corpus, envNumber(t, "TOMBOLO_CONFORMANCE_TIER", currentTier))
	size := usualSample
	switch {
	case testing.Short():
		size = shortSample
	case flag.Lookup("test.run").Value.String() != "": // a selected topic runs completely
		size = len(all)
	}
	if *recordAnswers != "" {
		h.recordMissing(t, all, *recordAnswers)
		return
	}
	h.runAll(t, sample(all, envNumber(t, "TOMBOLO_CONFORMANCE_SAMPLE", size)))
}

// runAll runs some cases of the corpus.
func (h *harness) runAll(t *testing.T, ran []*Case) {
	slots := make(chan struct{}, atOnce)
	t.Run("cases", func(t *testing.T) {
		for _, c := range ran {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				h.run(t, c)
			})
		}
	})
	for _, in := range h.stale() {
		t.Errorf("intended.json: %s at %s (%s) does not show any more: remove the entry", in.Case, in.At, in.Reason)
	}
}

// A harness is the state that all cases of one test share.
type harness struct {
	terraform  string            // path of the real program; "" if it is not installed in the version of the answers
	oracles    map[string]string // name of an oracle -> its path; "" if it is not installed
	tombolo    string
	corpus     []*Case
	answers    string // the directory of stored answers; "" for none
	asksAnyway bool   // terraform runs even if its answer is stored
	asks       int    // how often terraform runs a random case that differs; 0 for once

	mu       sync.Mutex // guards the marks in intended, and done
	intended []*Intended
	done     []string // names of the cases that were compared completely
}

// newHarness loads a corpus and its intended differences, and finds both programs.
func newHarness(t *testing.T, corpus, answers, intended string) *harness {
	t.Helper()
	h := &harness{oracles: map[string]string{}, tombolo: findTombolo(t), answers: answers}
	for _, o := range oracles {
		h.oracles[o.name] = o.look(t)
	}
	h.terraform = h.oracles[terraform1_11.name]
	var err error
	if h.corpus, err = loadCases(corpus); err != nil {
		t.Fatal(err)
	}
	if h.intended, err = loadIntended(intended); err != nil {
		t.Fatal(err)
	}
	h.asksAnyway = os.Getenv("TOMBOLO_CONFORMANCE_ANSWERS") == "live" || os.Getenv("TOMBOLO_CONFORMANCE_KEEP") != ""
	return h
}

func (h *harness) run(t *testing.T, c *Case) {
	if why := c.missing(); why != "" {
		t.Skip(why)
	}
	want, live := h.answer(t, c)
	for i, s := range c.Steps {
		if os.Getenv("TOMBOLO_CONFORMANCE_SHOW") != "" {
			showResult(t, s, want.Record.Results[i])
		}
		if runs := want.Record.Results[i].Runs; len(runs) > 0 && runs[0].Exit != s.Exit {
			t.Errorf("the case is wrong: line %d, %q: terraform gives exit code %d, the case says %d\n%s",
				s.Line, s.Text, runs[0].Exit, s.Exit, clip(runs[0].Stderr+runs[0].Stdout))
		}
	}
	if t.Failed() {
		return
	}
	got, err := record(h.ours(c), h.oracle(c), caseDir(t, c, "tombolo"), c)
	if err != nil {
		t.Fatalf("tombolo: %v", err)
	}
	got.tidy(c)
	for i, s := range c.Steps {
		for _, problem := range undecodable(s, got.Results[i], want.Record.Results[i]) {
			t.Errorf("line %d: tombolo: %s", s.Line, problem)
		}
		if s.Verb == "order" {
			for _, side := range []struct {
				name string
				rec  *Record
			}{{"terraform", &want.Record}, {"tombolo", got}} {
				for _, wrong := range disorder(s.Args, side.rec.Results[i-1]) {
					t.Errorf("line %d: %s: %s", s.Line, side.name, wrong)
				}
			}
		}
	}
	reports := h.compare(c, want, got)
	// a result that differs between runs of terraform is not compared
	for live && len(reports) > 0 && want.Runs < liveRuns {
		if want.add(c, h.ask(t, c)) {
			reports = h.compare(c, want, got)
		}
	}
	for _, report := range reports {
		t.Error(report)
	}
}

// compare returns a report for each step with unintended differences. It stops after a step whose exit codes differ,
// because all later differences would follow from that.
func (h *harness) compare(c *Case, want *Answer, got *Record) (reports []string) {
	left, right := c.normaliser(), c.normaliser()
	for i, s := range c.Steps {
		varies := func(d Difference) bool {
			return slices.ContainsFunc(want.Varies, func(p Place) bool { return p.covers(d) })
		}
		differences, goesOn := h.compareStep(c, i, view(s, want.Record.Results[i], left),
			view(s, got.Results[i], right))
		if differences = slices.DeleteFunc(differences, varies); len(differences) > 0 {
			reports = append(reports, describeStep(s, differences, got.Results[i]))
		}
		if !goesOn {
			return reports
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = append(h.done, c.Name)
	return reports
}

// compareStep returns the unintended differences of one step, and whether later steps can be compared.
func (h *harness) compareStep(c *Case, step int, terraform, tombolo Document) (unmeant []Difference, goesOn bool) {
	anyVersion(terraform)
	anyVersion(tombolo)
	if c.oracle == terraform1_11 {
		withoutIdentities(map[string]any(terraform))
		withoutIdentities(map[string]any(tombolo))
	}
	if c.oracle == terraform1_11 || c.oracle.flavor() == flavor.OpenTofu {
		withoutNewerSchemas(map[string]any(terraform))
		withoutNewerSchemas(map[string]any(tombolo))
	}
	withoutCodes(tombolo)
	invocationsByObject(terraform)
	invocationsByObject(tombolo)
	silent(terraform, tombolo)
	silent(tombolo, terraform)
	onlyShared(terraform, tombolo)
	compare := compareDocuments
	if strings.HasPrefix(c.Name, "random") {
		compare = compareEvents
		withinLimit(terraform, tombolo)
		invocationsInAnyOrder(terraform)
		invocationsInAnyOrder(tombolo)
		withoutVanished(terraform)
		withoutVanished(tombolo)
		if compact(terraform["exit"]) == "1" && compact(tombolo["exit"]) == "1" {
			// The set of objects that are refreshed before a plan fails varies between runs.
			delete(terraform, "events")
			delete(tombolo, "events")
		}
	}
	placed(terraform, tombolo)
	h.dropMeant(c, step, terraform, tombolo)
	for _, d := range compare(terraform, tombolo) {
		d.Case, d.Step = c.Name, step
		switch intended, ends := h.isIntended(d, c.Steps[step]); {
		case ends:
			return nil, onlyLooks(c.Steps[step])
		case !intended:
			unmeant = append(unmeant, d)
		}
	}
	return unmeant, compact(terraform["exit"]) == compact(tombolo["exit"])
}

// onlyLooks reports whether a step has no effect on later ones.
func onlyLooks(s Step) bool {
	return s.Verb == "plan" && !slices.ContainsFunc(s.Args, func(arg string) bool {
		return strings.HasPrefix(arg, "-out") || generates(arg)
	})
}

// silent adds an empty list for a program that reported no problems, and was therefore not run again for locations.
func silent(one, other Document) {
	const exit = "diagnostics exit"
	if one[exit] == nil && other[exit] != nil {
		one["diagnostics"], one[marksPart], one[exit] = []any{}, map[string]any{}, one["exit"]
	}
}

// dropMeant removes a diagnostic that only one side has, as intended, from the stream of that side, where it would
// shift all later events.
func (h *harness) dropMeant(c *Case, step int, terraform, tombolo Document) {
	only := func(d Document) Document { return Document{"diagnostics": d["diagnostics"]} }
	for _, d := range compareDocuments(only(terraform), only(tombolo)) {
		d.Case, d.Step = c.Name, step
		if intended, ends := h.isIntended(d, c.Steps[step]); !intended || ends {
			continue
		}
		dropExcess(terraform, tombolo, d.Terraform)
		dropExcess(tombolo, terraform, d.Tombolo)
	}
}

// dropExcess removes surplus occurrences of a diagnostic from the stream of one side.
func dropExcess(from, other Document, diagnostic string) {
	is := func(v any) bool {
		event, _ := v.(map[string]any)
		return event["diagnostic"] != nil && compact(event["diagnostic"]) == diagnostic
	}
	list, _ := from["stream"].([]any)
	there, _ := other["stream"].([]any)
	keep := len(slices.DeleteFunc(slices.Clone(there), func(v any) bool { return !is(v) }))
	from["stream"] = slices.DeleteFunc(slices.Clone(list), func(v any) bool {
		if is(v) {
			keep--
		}
		return is(v) && keep < 0
	})
}

// describeStep writes a report about the differences of a step.
func describeStep(s Step, differences []Difference, got Result) string {
	var list []string
	for _, d := range differences[:min(len(differences), 25)] {
		from := alike(d.Terraform, d.Tombolo)
		list = append(list, fmt.Sprintf("  %s\n    terraform: %s\n    tombolo:   %s", d.Path, clip(d.Terraform[from:]),
			clip(d.Tombolo[from:])))
	}
	return fmt.Sprintf("step on line %d, %q: %d differences\n%s\n%s", s.Line, s.Text, len(differences),
		strings.Join(list, "\n"), stderrOf(got))
}

func stderrOf(res Result) string {
	var out strings.Builder
	for _, run := range res.Runs {
		if run.Exit != 0 && strings.TrimSpace(run.Stderr) != "" {
			fmt.Fprintf(&out, "  tombolo's stderr (%s, exit code %d):\n%s\n", run.Role, run.Exit, clip(run.Stderr))
		}
	}
	return out.String()
}

// alike returns how many bytes at the beginning of two texts reports leave out: most of the common prefix, if the texts
// are too long to be shown.
func alike(a, b string) int {
	if max(len(a), len(b)) <= clipped {
		return 0
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return max(0, n-clipped/4)
}

// clipped is the maximum length of a text in reports.
const clipped = 1500

func clip(text string) string {
	if len(text) > clipped {
		return text[:clipped] + fmt.Sprintf("... (%d bytes more)", len(text)-clipped)
	}
	return text
}

func (h *harness) isIntended(d Difference, s Step) (intended, ends bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, in := range h.intended {
		if in.covers(d, s) {
			in.shown, intended, ends = true, true, ends || in.Ends
		}
	}
	return intended, ends
}

// stale returns the unused entries of intended.json. Entries for cases that did not run, because of their tier, the
// sample or the pattern of -run, are not stale.
func (h *harness) stale() (list []*Intended) {
	for _, in := range h.intended {
		compared := func(c *Case) bool { return !wildcard(in.Case, c.Name) || slices.Contains(h.done, c.Name) }
		if !in.shown && !in.Sometimes && !slices.ContainsFunc(h.corpus, func(c *Case) bool { return !compared(c) }) {
			list = append(list, in)
		}
	}
	return list
}

// findTerraform returns the real terraform, or skips the test.
func findTerraform(t *testing.T) string {
	path := lookTerraform(t)
	if path == "" {
		t.Skipf("needs terraform %s on PATH to compare with", terraformVersion)
	}
	return path
}

// lookTerraform returns the real terraform, or "" if it is not on PATH or has another version.
func lookTerraform(t *testing.T) string { return terraform1_11.look(t) }

func emptyFile(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "empty.tfrc")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// findTombolo returns the binary under test: TOMBOLO_BIN, or one that it builds. It is named terraform, which tools
// run; beside it is the same binary named tofu.
func findTombolo(t *testing.T) string {
	bin, dir := builtTombolo(t), t.TempDir()
	for _, f := range []flavor.Flavor{flavor.OpenTofu, flavor.Terraform} {
		if err := os.Symlink(bin, filepath.Join(dir, f.Command())); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, flavor.Terraform.Command())
}

func builtTombolo(t *testing.T) string {
	if bin := os.Getenv("TOMBOLO_BIN"); bin != "" {
		abs, err := filepath.Abs(bin)
		if err != nil {
			t.Fatal(err)
		}
		return abs
	}
	if sources, _ := filepath.Glob("../cmd/tombolo/*.go"); len(sources) == 0 { // the pattern is well-formed
		t.Skip("needs ../cmd/tombolo to build, or TOMBOLO_BIN")
	}
	touchSources(t)
	bin := filepath.Join(t.TempDir(), "tombolo")
	if out, err := exec.Command("go", "build", "-o", bin, "../cmd/tombolo").CombinedOutput(); err != nil {
		t.Fatalf("go build ../cmd/tombolo: %v\n%s", err, out)
	}
	return bin
}

// touchSources lists every directory of the module. The go command then records that this test depends on them, and
// does not use a cached result if only tombolo has changed.
func touchSources(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func upToTier(cases []*Case, tier int) []*Case {
	return slices.DeleteFunc(slices.Clone(cases), func(c *Case) bool { return c.Tier > tier })
}

// sample returns the same cases every time, distributed over the topics by a hash of their names.
func sample(cases []*Case, size int) []*Case {
	size = min(size, len(cases))
	order := func(c *Case) string {
		sum := sha256.Sum256([]byte(c.Name))
		return string(sum[:])
	}
	picked := slices.SortedFunc(slices.Values(cases), func(a, b *Case) int {
		return strings.Compare(order(a), order(b))
	})[:size]
	slices.SortFunc(picked, func(a, b *Case) int { return strings.Compare(a.Name, b.Name) })
	return picked
}

func envNumber(t *testing.T, name string, otherwise int) int {
	v := os.Getenv(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no positive number", name, v)
	}
	return n
}

// caseDir returns an empty directory for one side of a case: a temporary one, or one below TOMBOLO_CONFORMANCE_KEEP.
func caseDir(t *testing.T, c *Case, side string) string {
	keep := os.Getenv("TOMBOLO_CONFORMANCE_KEEP")
	if keep == "" {
		return t.TempDir()
	}
	dir := filepath.Join(keep, filepath.FromSlash(c.Name), side)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

func showResult(t *testing.T, s Step, res Result) {
	var out strings.Builder
	for _, run := range res.Runs {
		fmt.Fprintf(&out, "[%s] exit %d\n%s%s", run.Role, run.Exit, run.Stdout, run.Stderr)
	}
	t.Logf("line %d: %s\n%s", s.Line, s.Text, out.String())
}
