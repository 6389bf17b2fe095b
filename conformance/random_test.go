package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tombolo-iac/tombolo/conformance/random"
	"github.com/tombolo-iac/tombolo/internal/world"
)

// TestRandom runs generated configurations with terraform and tombolo. It fails on every difference that is in neither
// intended.json nor random_known.json, and prints the smallest case with the same difference. Each kind of difference
// is reported once.
func TestRandom(t *testing.T) {
	runRandom(t, randomSeeds(t, "TOMBOLO_RANDOM_SEEDS", randomSample), func(seed uint64) []byte {
		return random.Generate(seed).Archive()
	})
}

// TestRandomTests is TestRandom for configurations with test files. It also fails if one of the two programs leaves
// objects behind that the other destroys.
func TestRandomTests(t *testing.T) {
	runRandom(t, randomSeeds(t, "TOMBOLO_RANDOM_TESTS", testsSample), random.GenerateTests)
}

// TestRandomMistakes is TestRandom for blocks with mistakes in their structure.
func TestRandomMistakes(t *testing.T) {
	runRandom(t, randomSeeds(t, "TOMBOLO_RANDOM_MISTAKES", mistakesSample), random.Mistakes)
}

// TestRandomStates is TestRandom for states that other tools have written.
func TestRandomStates(t *testing.T) {
	runRandom(t, randomSeeds(t, "TOMBOLO_RANDOM_STATES", statesSample), random.GenerateStates)
}

// TestRandomUnknowns is TestRandom for functions and operators whose arguments have unknown parts.
func TestRandomUnknowns(t *testing.T) {
	runRandom(t, randomSeeds(t, "TOMBOLO_RANDOM_UNKNOWNS", unknownsSample), random.GenerateUnknowns)
}

// TestRandomInstances is TestRandom for provider blocks with several instances, with OpenTofu in place of Terraform.
func TestRandomInstances(t *testing.T) {
	runRandomBeside(t, "tofu-1.12.6", randomSeeds(t, "TOMBOLO_RANDOM_INSTANCES", instancesSample), random.Instances)
}

// TestRandomTofu is TestRandom for features only of OpenTofu.
func TestRandomTofu(t *testing.T) {
	runRandomBeside(t, "tofu-1.12.6", randomSeeds(t, "TOMBOLO_RANDOM_TOFU", tofuSample), random.Tofu)
}

// TestRandomActs is TestRandom for actions, list blocks and types of outputs, with Terraform 1.15.
func TestRandomActs(t *testing.T) {
	runRandomBeside(t, newerTerraform, randomSeeds(t, "TOMBOLO_RANDOM_ACTS", actsSample), random.Acts)
}

// TestRandomProjects is TestRandom for projects that combine features, each with the program that has these.
func TestRandomProjects(t *testing.T) {
	all := randomSeeds(t, "TOMBOLO_RANDOM_PROJECTS", projectsSample)
	for _, o := range oracles[1:] {
		t.Run(o.name, func(t *testing.T) {
			list := slices.DeleteFunc(slices.Clone(all), func(seed uint64) bool {
				return random.ProjectOracle(seed) != o.name
			})
			runRandomBeside(t, o.name, list, random.Projects)
		})
	}
}

// The default seeds for these tests.
var (
	instancesSample = []uint64{1, 2, 3}
	tofuSample      = []uint64{1, 2, 3}
	actsSample      = []uint64{1, 2, 3}
	projectsSample  = []uint64{1, 2, 3}
)

// runRandomBeside runs the cases of seeds with another program than terraform 1.11.4.
func runRandomBeside(t *testing.T, name string, list []uint64, generate func(seed uint64) []byte) {
	o := oracleNamed(name)
	path := o.look(t)
	if path == "" {
		t.Skip("needs " + o.where())
	}
	runRandomWith(t, &harness{terraform: path, asks: besideAsks}, list, generate)
}

// besideAsks is how often another program is run if it differs, because the order of its concurrent operations is
// random.
const besideAsks = 6

// runRandom runs the cases of seeds.
func runRandom(t *testing.T, list []uint64, generate func(seed uint64) []byte) {
	runRandomWith(t, &harness{terraform: findTerraform(t)}, list, generate)
}

// runRandomWith is runRandom with the program of a harness instead of terraform.
func runRandomWith(t *testing.T, h *harness, list []uint64, generate func(seed uint64) []byte) {
	terraform, tombolo := h.terraform, findTombolo(t)
	known, err := loadIntended("random_known.json")
	if err != nil {
		t.Fatal(err)
	}
	h.tombolo, h.intended = tombolo, known
	run := &randomRun{h: h, generate: generate, kinds: map[string][]uint64{},
		tries: envNumber(t, "TOMBOLO_RANDOM_TRIES", 150)}
	if path := oracleNamed(newerTerraform).look(t); path != "" && terraform == terraform1_11.look(t) {
		run.newer = &harness{terraform: path, tombolo: tombolo, intended: known}
	}
	seeds := make(chan uint64)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for seed := range seeds {
				run.seed(t, seed)
			}
		})
	}
	for _, seed := range list {
		seeds <- seed
	}
	close(seeds)
	workers.Wait()
	t.Logf("%d seeds, %d without a change of terraform's that succeeded, %d disagreements", len(list), run.idle,
		run.failed)
	if len(run.since) > 0 {
		slices.Sort(run.since)
		t.Logf("%4d seeds: as in %s wherever not as in %s: %v", len(run.since), newerTerraform, terraformVersion,
			run.since)
	}
	for _, kind := range sortedKeys(run.kinds) {
		slices.Sort(run.kinds[kind])
		t.Logf("%4d seeds: %s %v", len(run.kinds[kind]), kind, run.kinds[kind])
	}
}

// newerTerraform is the oracle that is run if the usual one differs, because its behavior may have changed.
const newerTerraform = "terraform-1.15.9"

// randomSample is the default selection: seeds that are quick and use much of the language.
var randomSample = []uint64{2, 11}

// testsSample is the same for test files.
var testsSample = []uint64{4}

// mistakesSample is the same for mistakes.
var mistakesSample = []uint64{1, 27, 86}

// statesSample is the same for states.
var statesSample = []uint64{1}

// unknownsSample is the same for unknown values.
var unknownsSample = []uint64{1, 2}

// randomSeeds parses an environment variable: a number of seeds from 1 on, or "first-last".
func randomSeeds(t *testing.T, name string, sample []uint64) (list []uint64) {
	text := os.Getenv(name)
	if text == "" {
		return sample
	}
	from, to, both := strings.Cut(text, "-")
	if !both {
		from, to = "1", text
	}
	first, err := strconv.ParseUint(from, 10, 32)
	last, lastErr := strconv.ParseUint(to, 10, 32)
	if err != nil || lastErr != nil {
		t.Fatalf("%s=%q is neither a number nor two with a dash", name, text)
	}
	for seed := first; seed <= last; seed++ {
		list = append(list, seed)
	}
	return list
}

// A randomRun is the shared state of one test's seeds.
type randomRun struct {
	h        *harness
	generate func(seed uint64) []byte
	tries    int      // how many smaller cases are tried for a difference
	newer    *harness // compares with a newer version of terraform; nil if it is not installed

	mu     sync.Mutex
	since  []uint64            // seeds for which only the newer version agrees
	kinds  map[string][]uint64 // kind of difference -> seeds
	failed int
	idle   int // seeds without any apply
}

func (run *randomRun) seed(t *testing.T, seed uint64) {
	archive := run.generate(seed)
	begun, name := time.Now(), randomName(archive)
	found, err := run.h.disagreement(t, name, archive)
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return
	}
	t.Logf("seed %d took %v", seed, time.Since(begun).Round(time.Millisecond))
	mended := false
	if found.kind != "" && run.newer != nil {
		var err error
		if mended, err = run.newer.agrees(t, archive, found); err != nil {
			t.Logf("seed %d with %s: %v", seed, newerTerraform, err)
		}
	}
	run.mu.Lock()
	if mended {
		run.since = append(run.since, seed)
		found.kind = ""
	}
	if !found.applied {
		run.idle++
	}
	if found.kind == "" {
		run.mu.Unlock()
		return
	}
	run.failed++
	run.kinds[found.kind] = append(run.kinds[found.kind], seed)
	first := len(run.kinds[found.kind]) == 1
	run.mu.Unlock()
	if !first {
		t.Errorf("seed %d: %s", seed, found.kind)
		return
	}
	small := random.Shrink(archive, run.tries, func(smaller []byte) bool {
		again, err := run.h.disagreement(t, name, smaller)
		return err == nil && again.kind == found.kind
	})
	again, err := run.h.disagreement(t, name, small)
	if err == nil && again.kind == found.kind { // otherwise the difference is random
		found = again
	}
	t.Errorf("seed %d: %s\n%s\nThe smallest case found:\n\n%s", seed, found.kind, found.report, found.archive)
	if dir := os.Getenv("TOMBOLO_RANDOM_OUT"); dir != "" {
		for name, data := range map[string][]byte{"seed_%d.txtar": found.archive,
			"seed_%d.report": []byte(found.kind + "\n" + found.report), "seed_%d.whole": archive} {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf(name, seed)), data, 0o666); err != nil {
				t.Error(err)
			}
		}
	}
}

// A disagreement is the first step of a case in which the two programs differ.
type disagreement struct {
	kind    string // the same for differences with the same cause, or "" if there is none
	report  string
	archive []byte // with the exit codes of terraform
	applied bool   // whether terraform applied anything
	step    int
	differs map[string]bool // the places in its documents
}

// randomName returns the name of a case in random_known.json, derived from its content.
func randomName(archive []byte) string {
	var kinds []string
	for _, kind := range []struct {
		name string
		is   bool
	}{
		{"moved", bytes.Contains(archive, []byte("moved {"))},
		{"tests", random.IsTests(archive)},
		{"refresh", random.IsTests(archive) && bytes.Contains(archive, []byte("refresh-only"))},
		{"states", random.IsStates(archive)},
		{"mistakes", random.IsMistakes(archive)},
		{"unknowns", random.IsUnknowns(archive)},
		{"projects", random.IsProjects(archive)},
		{"acts", random.IsActs(archive)},
		{"tofu", random.IsTofu(archive)},
		{"instances", random.IsInstances(archive)},
	} {
		if kind.is {
			kinds = append(kinds, kind.name)
		}
	}
	return "random/" + strings.Join(kinds, "+")
}

// disagreement runs a case with both programs. name is its name in random_known.json.
func (h *harness) disagreement(t *testing.T, name string, archive []byte) (disagreement, error) {
	var found disagreement
	c, err := parseCase(name, archive)
	if err != nil {
		return found, err
	}
	base, err := os.MkdirTemp(t.TempDir(), "case")
	if err != nil {
		return found, err
	}
	defer os.RemoveAll(base)
	c.stopsAtFailure = true
	want, err := h.randomAnswer(c, archive, base)
	if err != nil {
		return found, err
	}
	c.Steps, c.stopsAtFailure = c.Steps[:len(want.Record.Results)], false
	ours, err := runRandomCase(h.ours(c), c, filepath.Join(base, "tombolo"))
	if err != nil {
		return found, err
	}
	sides := [2]*Record{&want.Record, &ours.Record}
	left, right := c.normaliser(), c.normaliser()
	answer := &Answer{Runs: 1, Record: want.Record}
	for i, s := range c.Steps {
		want, got := sides[0].Results[i], sides[1].Results[i]
		found.applied = found.applied || s.Verb == "apply" && want.Runs[0].Exit == 0
		differences, goesOn := h.compareStep(c, i, view(s, want, left), view(s, got, right))
		if differences, err = h.withoutLuck(c, answer, i, differences, base); err != nil {
			return found, err
		}
		if len(differences) > 0 {
			found.kind, found.report = kindOf(s, differences), describeStep(s, differences, got)
			found.differs = map[string]bool{}
			for _, d := range differences {
				found.differs[d.Path] = true
			}
			found.step = i
		}
		if len(differences) > 0 || !goesOn {
			break
		}
	}
	// Tombolo destroys objects that terraform forgets when a mock or an override replaces their provider.
	if found.kind == "" && !hasAll(want.Left, ours.Left) {
		found.kind = "left behind"
		found.report = fmt.Sprintf("what exists afterwards\nterraform: %q\ntombolo:   %q", want.Left, ours.Left)
	}
	found.archive = withExits(archive, c, sides[0])
	return found, nil
}

// withoutLuck returns the differences of a step that no other run of terraform explains.
func (h *harness) withoutLuck(c *Case, answer *Answer, step int, all []Difference, base string) ([]Difference, error) {
	lucky := func(d Difference) bool {
		d.Step = step
		return slices.ContainsFunc(answer.Varies, func(p Place) bool { return p.covers(d) })
	}
	left := slices.DeleteFunc(all, lucky)
	for len(left) > 0 && answer.Runs < h.asks {
		again, err := runRandomCase(h.terraform, c, filepath.Join(base, fmt.Sprintf("again%d", answer.Runs)))
		if err != nil {
			return nil, err
		}
		answer.add(c, &again.Record)
		left = slices.DeleteFunc(left, lucky)
	}
	return left, nil
}

// agrees reports whether tombolo agrees with this version of terraform at each place where it disagrees with another
// one. At other places it may agree with that other one.
func (h *harness) agrees(t *testing.T, archive []byte, found disagreement) (bool, error) {
	if len(found.differs) == 0 {
		return false, nil
	}
	c, err := parseCase(randomName(archive), archive)
	if err != nil {
		return false, err
	}
	base, err := os.MkdirTemp(t.TempDir(), "newer")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(base)
	c.Steps = c.Steps[:found.step+1]
	var views [2]Document
	for i, bin := range []string{h.terraform, h.tombolo} {
		answer, err := runRandomCase(bin, c, filepath.Join(base, fmt.Sprint(i)))
		if err != nil {
			return false, err
		}
		names := c.normaliser()
		for n, s := range c.Steps {
			views[i] = view(s, answer.Record.Results[n], names)
		}
	}
	differences, _ := h.compareStep(c, found.step, views[0], views[1])
	for _, d := range differences {
		if found.differs[d.Path] {
			return false, nil
		}
	}
	return true, nil
}

// A randomAnswer is the result of one program in a generated case.
type randomAnswer struct {
	Record Record
	Left   []string // the objects left in its worlds
}

// runRandomCase runs a case with a program in a new directory.
func runRandomCase(bin string, c *Case, dir string) (*randomAnswer, error) {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, err
	}
	rec, err := record(bin, "", dir, c)
	if err != nil {
		return nil, err
	}
	rec.forgetWaits()
	return &randomAnswer{Record: *rec, Left: leftBehind(dir)}, nil
}

// randomAnswer returns the result of terraform in a case, which is read from archive. With TOMBOLO_RANDOM_ANSWERS it is
// run once, and its answer is stored in that directory under a digest of the case.
func (h *harness) randomAnswer(c *Case, archive []byte, base string) (*randomAnswer, error) {
	kept := os.Getenv("TOMBOLO_RANDOM_ANSWERS")
	if kept == "" {
		return runRandomCase(h.terraform, c, filepath.Join(base, "terraform"))
	}
	sum := sha256.Sum256(append([]byte(terraformVersion+answersFormat+"\n"), archive...))
	path := filepath.Join(kept, hex.EncodeToString(sum[:12])+".json.gz")
	answer := &randomAnswer{}
	if packed, err := os.ReadFile(path); err == nil {
		return answer, unpackJSON(packed, answer)
	}
	answer, err := runRandomCase(h.terraform, c, filepath.Join(base, "terraform"))
	if err != nil {
		return nil, err
	}
	return answer, storeJSON(path, answer)
}

// hasAll reports whether a list has all elements of another one, at least as often.
func hasAll(list, other []string) bool {
	rest := slices.Clone(list)
	for _, name := range other {
		i := slices.Index(rest, name)
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return true
}

// leftBehind returns the names of the objects that a run below dir has left in its worlds.
func leftBehind(dir string) (names []string) {
	ledgers, _ := filepath.Glob(filepath.Join(dir, "work", "*", "ledger")) // the pattern is well-formed
	for _, ledger := range ledgers {
		w, err := world.Open(filepath.Dir(ledger))
		if err != nil {
			return []string{err.Error()}
		}
		objects, err := w.Exists()
		_ = w.Close()
		if err != nil {
			return []string{err.Error()}
		}
		for _, o := range objects {
			names = append(names, filepath.Base(filepath.Dir(ledger))+"/"+o.Name)
		}
	}
	slices.Sort(names)
	return names
}

// kindOf returns a key for differences that have the same cause: the command, and the path without addresses and keys.
// It prefers differences in diagnostics, and then in plans, because these are closest to the cause.
func kindOf(s Step, differences []Difference) string {
	var kinds []string
	for _, d := range differences {
		if kind := kindOfPath(d.Path); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return kindRank(a) - kindRank(b) })
	return s.Verb + ": " + strings.Join(kinds[:min(2, len(kinds))], " | ")
}

func kindRank(kind string) int {
	for i, start := range []string{"diagnostics[", "text diagnostics[", "exit", "plan.resource_changes",
		"plan.output_changes"} {
		if strings.HasPrefix(kind, start) {
			return i
		}
	}
	return 9
}

func kindOfPath(path string) string {
	if head, rest, ok := strings.Cut(path, "diagnostics["); ok {
		summary, _, _ := strings.Cut(rest, " @ ")
		summary, _, _ = strings.Cut(summary, " (std")
		return head + "diagnostics[" + strings.TrimSuffix(summary, "]")
	}
	var b strings.Builder
	depth, parts := 0, 0
	for _, r := range path {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == '.' && depth == 0:
			if parts++; parts > 4 {
				return b.String()
			}
		}
		if depth == 0 || depth == 1 && r == '[' {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// withExits writes the exit codes of terraform into the steps of a case, as in the corpus.
func withExits(archive []byte, c *Case, terraform *Record) []byte {
	a := txtar.Parse(archive)
	for i, f := range a.Files {
		if f.Name != "steps" {
			continue
		}
		lines := strings.Split(string(f.Data), "\n")[:c.Steps[len(c.Steps)-1].Line]
		for j, s := range c.Steps {
			line, _, _ := strings.Cut(s.Text, " => ")
			if runs := terraform.Results[j].Runs; len(runs) > 0 && runs[0].Exit != 0 {
				line += fmt.Sprintf(" => %d", runs[0].Exit)
			}
			lines[s.Line-1] = line
		}
		a.Files[i].Data = []byte(strings.Join(lines, "\n") + "\n")
	}
	return txtar.Format(a)
}
