package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2/hclparse"
)

// TestMain runs the test binary as a fake tombolo: FAKE_CONTENDER selects its behavior.
func TestMain(m *testing.M) {
	if mode := os.Getenv("FAKE_CONTENDER"); mode != "" {
		os.Exit(fake(mode, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// fake responds like terraform for ten objects, or slowly, or incorrectly.
func fake(mode string, args []string) int {
	switch args[0] {
	case "apply":
		if mode == "secrets" {
			fmt.Println("Apply complete! Resources: 11 added, 0 changed, 0 destroyed.")
		}
		if mode == "slow" {
			time.Sleep(time.Minute)
		}
		fmt.Println("Apply complete! Resources: 10 added, 0 changed, 0 destroyed.")
	case "plan":
		if mode == "secrets" {
			fmt.Println("Plan: 0 to add, 10 to change, 0 to destroy.")
		}
		if mode != "wrong" {
			fmt.Println("No changes.")
		}
	case "destroy":
		fmt.Println("Destroy complete! Resources: 10 destroyed.")
	}
	return 0
}

func measureFake(t *testing.T, mode, shapeName string, timeout time.Duration) []row {
	t.Helper()
	t.Setenv("FAKE_CONTENDER", mode)
	shapes, err := parseShapes(shapeName)
	if err != nil {
		t.Fatal(err)
	}
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := options{runs: 2, terraformRuns: 1, timeout: timeout, workDir: t.TempDir(),
		contenders: []contender{{"terraform", bin, true}, {"tombolo", bin, false}}}
	rows, err := measureShape(context.Background(), &o, shapes[0], 10, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestEveryShapeIsValidSyntax(t *testing.T) {
	for _, s := range shapes {
		dir := t.TempDir()
		if err := s.generate(dir, 20); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"main.tf", "m/main.tf"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				continue
			}
			if _, diags := hclparse.NewParser().ParseHCLFile(filepath.Join(dir, name)); diags.HasErrors() {
				t.Errorf("%s: %s: %v", s.name, name, diags)
			}
		}
	}
}

func TestEachContenderRunsEachStep(t *testing.T) {
	rows := measureFake(t, "good", "flat", time.Minute)
	if len(rows) != len(usual) {
		t.Fatalf("%d rows, want %d", len(rows), len(usual))
	}
	for _, r := range rows {
		if len(r.Cells) != 2 || len(r.Cells[0].Samples) != 1 || len(r.Cells[1].Samples) != 2 {
			t.Errorf("%s: %+v, want one sample of terraform and two of tombolo", r.Step, r.Cells)
		}
	}
	var out bytes.Buffer
	if err := writeTable(&out, rows, textTable); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"flat n=10", "no-op plan", "terraform/tombolo time", "\nall "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("table lacks %q:\n%s", want, out.String())
		}
	}
}

func TestTimeoutSkipsTheRest(t *testing.T) {
	rows := measureFake(t, "slow", "flat", 2*time.Second)
	if c := rows[1].Cells[1]; !c.TimedOut {
		t.Errorf("apply: %+v, want a timeout", c)
	}
	if c := rows[3].Cells[1]; !c.Skipped {
		t.Errorf("destroy: %+v, want skipped", c)
	}
	if got := describe(rows[1].Cells[1])[0]; got != "> 2 s" {
		t.Errorf("described as %q, want \"> 2 s\"", got)
	}
}

func TestWrongOutputIsAFailure(t *testing.T) {
	rows := measureFake(t, "wrong", "flat", time.Minute)
	if c := rows[2].Cells[1]; c.Failed == "" || len(c.Samples) != 0 {
		t.Errorf("no-op plan without its text: %+v, want a failure", c)
	}
}

func TestExternalShapeComparesWithPlainProcesses(t *testing.T) {
	if _, err := exec.LookPath("xargs"); err != nil {
		t.Skip("needs xargs")
	}
	t.Setenv("FAKE_CONTENDER", "good")
	found, err := parseShapes("external")
	if err != nil {
		t.Fatal(err)
	}
	s := found[0]
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := options{runs: 1, timeout: time.Minute, workDir: t.TempDir(), contenders: []contender{{"terraform", bin, true},
		{"tombolo", bin, false}}}
	rows, err := measureShape(context.Background(), &o, s, 10, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if c := rows[0].Cells[0]; c.Contender != "xargs -P 10" || len(c.Samples) != 1 {
		t.Errorf("baseline: %+v", c)
	}
	if err := writeTable(io.Discard, rows, textTable); err != nil {
		t.Error(err)
	}
}

func TestMedianOfEachMeasure(t *testing.T) {
	c := cell{Samples: []sample{{Wall: 3, CPU: 1, RSS: 2}, {Wall: 1, CPU: 2, RSS: 3}, {Wall: 2, CPU: 3, RSS: 1}}}
	got, ok := c.median()
	if want := (sample{Wall: 2, CPU: 2, RSS: 2}); !ok || got != want {
		t.Errorf("median of %+v = %+v, want %+v", c.Samples, got, want)
	}
}

func TestGrowthComparesSizesOfOneShape(t *testing.T) {
	at := func(n int, wall time.Duration) row {
		return row{Shape: "flat", N: n, Objects: n, Step: "plan",
			Cells: []cell{{Samples: []sample{{Wall: wall, CPU: wall / 2, RSS: int64(4000 * n)}}}}}
	}
	var out bytes.Buffer
	if err := writeGrowth(&out, []row{at(100, time.Second), at(1000, 11*time.Second)}, markdownTable); err != nil {
		t.Fatal(err)
	}
	want := "| flat | plan | 100 to 1000 | 10.0x | 11.0x | 11.0x | 10.0x | 4.0 kB |"
	if !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s\nwant a line %s", out.String(), want)
	}
}

func TestSecretsAreMeasuredInPairs(t *testing.T) {
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	args := []string{"secrets", "-n", "10", "-secrets", "1,20", "-pairs", "2", "-tombolo", bin}
	t.Setenv("FAKE_CONTENDER", "secrets")
	if err := run(t.Context(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n| 1 | ", "\n| 20 | ", "10 objects", " %"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	t.Setenv("FAKE_CONTENDER", "good") // which plans another number of changes
	if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
		t.Error("a plan with an unexpected text is measured")
	}
}

func TestSecretsArePlannedWithAndWithoutAMark(t *testing.T) {
	for _, sensitive := range []bool{false, true} {
		var text bytes.Buffer
		writeSecrets(&text, 5, 3, sensitive)
		if _, diags := hclparse.NewParser().ParseHCL(text.Bytes(), "main.tf"); diags.HasErrors() {
			t.Error(diags)
		}
		if got := strings.Contains(text.String(), "sensitive = true"); got != sensitive {
			t.Errorf("sensitive: got %v, want %v", got, sensitive)
		}
	}
}
