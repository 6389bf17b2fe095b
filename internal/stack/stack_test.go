package stack_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/projectfile"
	"github.com/tombolo-iac/tombolo/internal/stack"
	"github.com/tombolo-iac/tombolo/state"
)

// files writes files to a new directory.
func files(t *testing.T, contents map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range contents {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(dir string) (*stack.Stack, error) {
	file, diags := projectfile.Load(dir)
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	s, diags := stack.Load(dir, file)
	return s, diags.Err()
}

// TestRandomGraphsAreOrderedOrHaveACycle loads stacks with random dependencies. If these allow an order, each unit
// comes after those that it needs; otherwise the units that the error names form a cycle.
func TestRandomGraphsAreOrderedOrHaveACycle(t *testing.T) {
	const n = 12
	contents := map[string]string{}
	for u := range n {
		contents[fmt.Sprintf("u%d/main.tf", u)] = ""
	}
	dir := files(t, contents)
	cycles := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		needs := make([][]bool, n)
		var text strings.Builder
		for u := range n {
			needs[u] = make([]bool, n)
			fmt.Fprintf(&text, "unit \"u%d\" {\n  source = \"u%[1]d\"\n  depends_on = [", u)
			for d := range n {
				if d != u && (d < u && rng.IntN(4) == 0 || rng.IntN(60) == 0) {
					needs[u][d] = true
					fmt.Fprintf(&text, "unit.u%d, ", d)
				}
			}
			text.WriteString("]\n}\n")
		}
		if err := os.WriteFile(filepath.Join(dir, projectfile.Name), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := load(dir)
		reach := reachable(needs)
		isCycle := false
		for u := range reach {
			isCycle = isCycle || reach[u][u]
		}
		if isCycle != (err != nil) {
			t.Fatalf("seed %d: a cycle is %v, and the error is %v\n%s", seed, isCycle, err, text.String())
		}
		if err != nil {
			cycles++
			checkCycle(t, needs, err.Error())
			continue
		}
		place := map[string]int{}
		for i, u := range s.Units {
			place[u.Name] = i
		}
		for u := range n {
			for d := range n {
				if needs[u][d] && place[fmt.Sprint("u", d)] > place[fmt.Sprint("u", u)] {
					t.Fatalf("seed %d: u%d comes before u%d, which it needs", seed, u, d)
				}
			}
		}
	}
	if cycles == 0 || cycles == 300 {
		t.Errorf("%d of the graphs have cycles, so one of the cases was not tested", cycles)
	}
}

func reachable(needs [][]bool) [][]bool {
	reach := make([][]bool, len(needs))
	for u := range needs {
		reach[u] = slices.Clone(needs[u])
	}
	for k := range reach {
		for i := range reach {
			for j := range reach {
				reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
			}
		}
	}
	return reach
}

// checkCycle checks that the lines of an error are dependencies, each from the end of the one before, and the last one
// leads to the first.
func checkCycle(t *testing.T, needs [][]bool, text string) {
	t.Helper()
	first, last := -1, -1
	for line := range strings.Lines(text) {
		var from, to int
		if _, err := fmt.Sscanf(strings.TrimSpace(line), "u%d needs u%d (order)", &from, &to); err != nil {
			continue
		}
		if first < 0 {
			first = from
		} else if from != last {
			t.Fatalf("u%d does not follow u%d:\n%s", from, last, text)
		}
		if !needs[from][to] {
			t.Fatalf("u%d does not need u%d:\n%s", from, to, text)
		}
		last = to
	}
	if first < 0 || first != last {
		t.Fatalf("not a cycle:\n%s", text)
	}
}

func TestPatternsChooseUnits(t *testing.T) {
	dir := files(t, map[string]string{"live/eu/app/a.tf": "", "live/us/app/a.tf": "", "live/eu/net/a.tf": "",
		"tombolo.hcl": `unit "apps" {
  source     = "live/*/app"
  depends_on = [unit.net]
}
unit "net" {
  source = "live/eu/net"
}
`})
	s, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		choice stack.Choice
		want   string
	}{
		{stack.Choice{}, "net live/eu/app live/us/app"},
		{stack.Choice{Patterns: []string{"live/eu/app"}}, "live/eu/app"},
		{stack.Choice{Patterns: []string{"live/*/app"}}, "live/eu/app live/us/app"},
		{stack.Choice{Patterns: []string{"*"}}, "net"},
		{stack.Choice{Patterns: []string{"**"}}, "net live/eu/app live/us/app"},
		{stack.Choice{Patterns: []string{"**/app"}}, "live/eu/app live/us/app"},
		{stack.Choice{Patterns: []string{"apps"}, Except: []string{"live/us/*"}}, "live/eu/app"},
		{stack.Choice{Patterns: []string{"net"}, Dependents: true}, "net live/eu/app live/us/app"},
		{stack.Choice{Patterns: []string{"live/us/app"}, Dependencies: true}, "net live/us/app"},
		{stack.Choice{Changed: map[*stack.Unit]bool{}}, ""},
		{stack.Choice{Patterns: []string{"live"}}, "No units match"},
		{stack.Choice{Patterns: []string{"[x"}}, "Invalid pattern"},
		{stack.Choice{Except: []string{"nt"}}, "No units match"},
	} {
		units, diags := s.Choose(c.choice)
		var names []string
		for _, u := range units {
			names = append(names, u.Name)
		}
		got := strings.Join(names, " ")
		if diags.HasErrors() {
			got = diags[0].Summary
		}
		if got != c.want {
			t.Errorf("%+v chooses %q, want %q", c.choice, got, c.want)
		}
	}
}

// TestChangedPlanFilesAreRefused changes each part of a plan file, and checks that nothing of it can be applied.
func TestChangedPlanFilesAreRefused(t *testing.T) {
	ctx := context.Background()
	dir := files(t, map[string]string{
		"a/main.tf": "resource \"terraform_data\" \"a\" {\n  input = \"a\"\n}\noutput \"x\" {\n  value = " +
			"\"known\"\n}\n",
		"b/main.tf": "variable \"x\" {}\nresource \"terraform_data\" \"b\" {\n  input = var.x\n}\n",
		"tombolo.hcl": "unit \"a\" {\n  source = \"a\"\n}\nunit \"b\" {\n  source = \"b\"\n  variables = { x = " +
			"unit.a.outputs.x }\n}\n",
	})
	s, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	base := &engine.Surroundings{Environ: []string{"HOME=" + t.TempDir()}}
	run := func(keep bool) *stack.Run {
		return stack.NewRun(stack.Options{Stack: s, Units: s.Units, Base: base, Keep: keep,
			Open: engine.OpenOptions{Operation: state.OperationApply}})
	}
	planned := run(false)
	for _, r := range planned.Plan(ctx) {
		if r.Phase != stack.Planned {
			t.Fatalf("%s is %s: %s %v", r.Unit.Name, r.Phase, r.Reason, r.Problems)
		}
	}
	var content bytes.Buffer
	if err := planned.Write(ctx, &content); err != nil {
		t.Fatal(err)
	}
	restore := func(content []byte) (*stack.Run, error) {
		f, err := stack.OpenFile(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return nil, err
		}
		if _, diags := s.Chosen(f); diags.HasErrors() {
			return nil, diags.Err()
		}
		r := run(true)
		if diags := r.Restore(ctx, f); diags.HasErrors() {
			return nil, r.Close(ctx).Extend(diags).Err()
		}
		return r, nil
	}
	for what, edit := range map[string][2]string{
		"the hash":        {`"sha256": "`, `"sha256": "0`},
		"the format":      {`"format_version": "1.0"`, `"format_version": "9.0"`},
		"a unit":          {`"name": "b"`, `"name": "c"`},
		"a directory":     {`"dir": "b"`, `"dir": "a"`},
		"a dependency":    {`"a"` + "\n      ],\n      \"uses\"", `"z"` + "\n      ],\n      \"uses\""},
		"a used output":   {`"output": "x"`, `"output": "y"`},
		"a file":          {`"file": "units/2.plan"`, `"file": "units/3.plan"`},
		"swapped plans":   {`"file": "units/2.plan"`, `"file": "units/1.plan"`},
		"not JSON at all": {"{", ""},
	} {
		changed := edited(t, content.Bytes(), edit[0], edit[1])
		if r, err := restore(changed); err == nil {
			r.Close(ctx)
			t.Errorf("%s was changed, and the file was accepted", what)
		}
	}
	r, err := restore(content.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(ctx)
	for _, u := range r.Apply(ctx) {
		if u.Phase != stack.Applied {
			t.Errorf("%s is %s: %s %v", u.Unit.Name, u.Phase, u.Reason, u.Problems)
		}
	}
	if _, err := restore(content.Bytes()); err == nil || !strings.Contains(err.Error(), "stale") {
		t.Errorf("the plans were applied, and the file was accepted again: %v", err)
	}
}

// edited returns an archive whose manifest was changed.
func edited(t *testing.T, content []byte, old, now string) []byte {
	t.Helper()
	from, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	to := zip.NewWriter(&out)
	for _, e := range from.File {
		r, err := e.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if e.Name == "manifest.json" {
			before := b
			if b = bytes.Replace(b, []byte(old), []byte(now), 1); bytes.Equal(b, before) {
				t.Fatalf("the manifest has no %q:\n%s", old, before)
			}
		}
		w, err := to.Create(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
