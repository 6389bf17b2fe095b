package conformance

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tombolo-iac/tombolo/conformance/random"
)

// deferralSample are the default seeds of TestRandomDeferral.
var deferralSample = []uint64{1, 2}

// TestRandomDeferral plans each version of generated configurations with -allow-deferral and without, from the same
// state. Where the plan without the option succeeds, the plan with it is the same. Then it is applied with the option,
// and the next version follows. TOMBOLO_RANDOM_DEFERRAL=n or n-m sets the seeds.
func TestRandomDeferral(t *testing.T) {
	tombolo := findTombolo(t)
	plans := 0
	for _, seed := range randomSeeds(t, "TOMBOLO_RANDOM_DEFERRAL", deferralSample) {
		dir, versions := t.TempDir(), map[string]bool{"": true}
		a := txtar.Parse(random.Generate(seed).Archive())
		for _, f := range a.Files {
			if v, _, later := strings.Cut(f.Name, "/"); later && strings.HasPrefix(v, "@") {
				versions[v+"/"] = true
			}
		}
		for _, version := range slices.Sorted(maps.Keys(versions)) {
			writeVersion(t, dir, version, a)
			if plansAlike(t, tombolo, dir, seed, version) {
				plans++
			}
		}
	}
	t.Logf("%d plans were compared", plans)
	if plans == 0 {
		t.Error("no configuration has a plan")
	}
}

// writeVersion writes the files of one version, over those of the ones before.
func writeVersion(t *testing.T, dir, version string, a *txtar.Archive) {
	t.Helper()
	for _, f := range a.Files {
		name, is := strings.CutPrefix(f.Name, version)
		if !is || strings.HasPrefix(name, "@") || name == "steps" {
			continue
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// planTimes are the points in time that differ from plan to plan.
var planTimes = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// plansAlike compares two plans and applies one. It reports whether there is a plan.
func plansAlike(t *testing.T, tombolo, dir string, seed uint64, version string) bool {
	t.Helper()
	run := func(args ...string) (string, error) {
		cmd := exec.Command(tombolo, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TF_IN_AUTOMATION=1")
		out, err := cmd.Output()
		return string(out), err
	}
	if _, err := run("init", "-input=false"); err != nil {
		return false
	}
	if _, err := run("plan", "-input=false", "-out=without"); err != nil {
		return false // deferral may make a plan of it, or not
	}
	if _, err := run("plan", "-input=false", "-allow-deferral", "-out=with"); err != nil {
		t.Errorf("seed %d, version %q: with -allow-deferral, the plan fails: %v", seed, version, err)
		return true
	}
	want, err := run("show", "-json", "without")
	if err != nil {
		t.Fatal(err)
	}
	got, err := run("show", "-json", "with")
	if err != nil {
		t.Fatal(err)
	}
	if got, want = planTimes.ReplaceAllString(got, "now"), planTimes.ReplaceAllString(want, "now"); got != want {
		t.Errorf("seed %d, version %q: with -allow-deferral, the plan is\n%s\nwant:\n%s", seed, version, got, want)
	}
	_, _ = run("apply", "-input=false", "-allow-deferral", "-auto-approve") // it may fail, as its plan
	return true
}
