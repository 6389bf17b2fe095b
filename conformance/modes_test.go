package conformance

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tombolo-iac/tombolo/conformance/random"
)

// modesSample are the default seeds of TestRandomModes.
var modesSample = []uint64{4, 6}

// A planMode is a way to plan and apply that must not affect the final state.
type planMode struct {
	name    string
	project string // tombolo.hcl
	args    []string
	saved   bool // plan first, then apply the plan file
}

var planModes = []planMode{
	{name: "minimal refresh", args: []string{"-minimal-refresh"}},
	{name: "no refresh", project: "resources \"*.*\" {\n  refresh = false\n}\n"},
	{name: "deferral", args: []string{"-allow-deferral"}},
	{name: "plan without a lock", project: "plan {\n  lock = false\n}\n", saved: true},
	{name: "waves", project: "resources \"*.*\" {\n  changes_at_once = 1\n  stop_on_failure = true\n}\n"},
	{name: "all", args: []string{"-minimal-refresh", "-allow-deferral"}, project: "plan {\n  lock = false\n}\n"},
}

// TestRandomModes applies the versions of generated configurations with each mode and without. Where the apply without
// modes succeeds, the one with the mode does, too, and their states are equal. TOMBOLO_RANDOM_MODES=n or n-m sets the
// seeds.
func TestRandomModes(t *testing.T) {
	tombolo := findTombolo(t)
	applied := 0
	for _, seed := range randomSeeds(t, "TOMBOLO_RANDOM_MODES", modesSample) {
		archive := random.Generate(seed).Archive()
		for _, m := range planModes {
			applied += sameStates(t, tombolo, seed, archive, m)
		}
	}
	t.Logf("%d applies were compared", applied)
	if applied == 0 {
		t.Error("no configuration was applied")
	}
}

// sameStates compares the states after each version, until one cannot be applied. It returns their number.
func sameStates(t *testing.T, tombolo string, seed uint64, archive []byte, m planMode) (applied int) {
	t.Helper()
	a, versions := txtar.Parse(archive), map[string]bool{"": true}
	for _, f := range a.Files {
		if v, _, later := strings.Cut(f.Name, "/"); later && strings.HasPrefix(v, "@") {
			versions[v+"/"] = true
		}
	}
	plain, with := t.TempDir(), t.TempDir()
	learned := [2]*normaliser{newNormaliser(nil), newNormaliser(nil)}
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		writeVersion(t, plain, version, a)
		writeVersion(t, with, version, a)
		if m.project != "" {
			if err := os.WriteFile(filepath.Join(with, "tombolo.hcl"), []byte(m.project), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := applyMode(tombolo, plain, planMode{}); err != nil {
			return applied
		}
		out, err := applyMode(tombolo, with, m)
		if bytes.Contains(out, []byte("TB1071")) {
			return applied // replacements that destroy first cannot be limited
		}
		if err != nil {
			t.Errorf("seed %d, version %q, %s: %v\n%s", seed, version, m.name, err, out)
			return applied
		}
		applied++
		if diff := cmp.Diff(finalState(t, plain, learned[0]), finalState(t, with, learned[1])); diff != "" {
			t.Errorf("seed %d, version %q, %s (-without +with):\n%s", seed, version, m.name, diff)
			return applied
		}
	}
	return applied
}

// applyMode initializes and applies a project.
func applyMode(tombolo, dir string, m planMode) (output []byte, err error) {
	apply := append([]string{"apply", "-input=false", "-no-color", "-auto-approve"}, m.args...)
	commands := [][]string{{"init", "-input=false", "-no-color"}, apply}
	if m.saved {
		plan := []string{"plan", "-input=false", "-no-color", "-out=saved.tfplan"}
		commands = [][]string{commands[0], append(plan, m.args...),
			{"apply", "-input=false", "-no-color", "saved.tfplan"}}
	}
	for _, args := range commands {
		cmd := exec.Command(tombolo, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TF_IN_AUTOMATION=1")
		if output, err = cmd.CombinedOutput(); err != nil {
			break
		}
	}
	return output, err
}

// finalState returns the normalised state of a project, without its serial, which counts applies.
func finalState(t *testing.T, dir string, n *normaliser) any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "terraform.tfstate"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	n.learn(doc)
	out := n.state("terraform.tfstate", doc)
	if state, ok := out.(map[string]any); ok {
		delete(state, "serial")
	}
	return out
}
