package conformance

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// usualMistakes has mistakes with the answers that TestUsualMistakes in package cli checks.
const usualMistakes = "../internal/cli/testdata/mistakes/usual.txtar"

var recordUsual = flag.Bool("usual", false, "write terraform's answers to the usual mistakes again")

// TestTerraformsAnswersToUsualMistakes compares what Terraform answers to the usual mistakes with the line "terraform:"
// of each: how many errors it has, the title of the first, and its place. With -usual the lines are written again.
func TestTerraformsAnswersToUsualMistakes(t *testing.T) {
	terraform := terraform1_11.look(t)
	if terraform == "" {
		t.Skip("needs " + terraform1_11.where())
	}
	archive, err := txtar.ParseFile(usualMistakes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range archive.Files {
		file := &archive.Files[i]
		name, is := strings.CutSuffix(file.Name, ": answer")
		if !is {
			continue
		}
		t.Run(name, func(t *testing.T) {
			lines := strings.SplitAfter(string(file.Data), "\n")
			was := lines[max(len(lines)-2, 0)]
			text := "terraform: " + terraformsAnswer(t, terraform, archive, name, lines[0] == "plan\n") + "\n"
			if *recordUsual {
				before, _, _ := strings.Cut(string(file.Data), "terraform: ")
				file.Data = []byte(before + text)
				return
			}
			if diff := cmp.Diff(was, text); diff != "" {
				t.Errorf("Terraform answers otherwise (-want +got):\n%s", diff)
			}
		})
	}
	if *recordUsual {
		if err := os.WriteFile(usualMistakes, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// terraformsAnswer runs Terraform on a mistake.
func terraformsAnswer(t *testing.T, terraform string, archive *txtar.Archive, name string, plan bool) string {
	dir := t.TempDir()
	modules := false
	for _, f := range archive.Files {
		path, ok := strings.CutPrefix(f.Name, name+"/")
		if f.Name == name {
			path, ok = "main.tf", true
		}
		if !ok {
			continue
		}
		modules = modules || path != "main.tf"
		data := strings.NewReplacer("«", "", "»", "").Replace(string(f.Data))
		data = strings.TrimRight(data, "\n") + "\n"
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config := emptyFile(t)
	run := func(args ...string) string {
		cmd := programtest.Bounded(t, terraform, args...)
		cmd.Dir = dir
		cmd.Env = []string{"CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + config, "HOME=" + dir, "TF_INPUT=0"}
		out, _ := cmd.Output() // it fails because of the mistake
		return string(out)
	}
	if modules {
		run("init", "-backend=false")
	}
	command := "validate"
	if plan {
		command = "plan"
	}
	return answerIn(run(command, "-json"))
}

// answerIn returns the number of errors in the output of a command, and the first of them with its place.
func answerIn(output string) string {
	type problem struct {
		Severity, Summary string
		Range             *struct{ Start, End struct{ Line, Column int } }
	}
	var found []problem
	var whole struct{ Diagnostics []problem }
	if json.Unmarshal([]byte(output), &whole) == nil {
		found = whole.Diagnostics
	}
	for line := range strings.Lines(output) {
		var event struct{ Diagnostic problem }
		if json.Unmarshal([]byte(line), &event) == nil {
			found = append(found, event.Diagnostic)
		}
	}
	text, errors := "", 0
	for _, p := range found {
		if p.Severity != "error" {
			continue
		}
		if errors++; errors > 1 {
			continue
		}
		text = ": " + p.Summary
		if strings.HasPrefix(p.Summary, "Cycle: ") {
			text = ": Cycle" // in a random order
		}
		if r := p.Range; r != nil {
			text = fmt.Sprintf(" at %d:%d-%d:%d%s", r.Start.Line, r.Start.Column, r.End.Line, r.End.Column, text)
		}
	}
	return fmt.Sprintf("%d%s", errors, text)
}
