package eval_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/eval"
)

// TestConfigurationsHaveExpectedValuesAndErrors runs the archives of testdata. A case is a folder: its
// files are a configuration; "want" lists its output values in the form of "show"; "# want-error: SUMMARY" is on the
// line of each error, or in the file "errors" as FILE:LINE: SUMMARY. A case whose name ends in _validate is walked as
// by "validate".
func TestConfigurationsHaveExpectedValuesAndErrors(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		cases := map[string]map[string][]byte{}
		var order []string
		for _, f := range archive.Files {
			dir, rest, _ := strings.Cut(f.Name, "/")
			if cases[dir] == nil {
				cases[dir] = map[string][]byte{}
				order = append(order, dir)
			}
			cases[dir][rest] = f.Data
		}
		topic := strings.TrimSuffix(filepath.Base(name), ".txtar")
		for _, c := range order {
			t.Run(topic+"/"+c, func(t *testing.T) { runCase(t, c, cases[c]) })
		}
	}
}

func runCase(t *testing.T, name string, files map[string][]byte) {
	want, errors := strings.TrimSpace(string(files["want"])), wantErrors(files)
	delete(files, "want")
	delete(files, "errors")
	vars := map[string]cty.Value{"unknown": cty.UnknownVal(cty.DynamicPseudoType), "unknown_list": cty.UnknownVal(
		cty.List(cty.String))}
	r := enter(t, files, eval.Inputs{Variables: vars, Validating: strings.HasSuffix(name, "_validate")})
	got := []string{}
	for _, d := range r.diags {
		at := "-"
		if d.Subject != nil {
			at = fmt.Sprintf("%s:%d", d.Subject.Filename, d.Subject.Start.Line)
		}
		got = append(got, at+": "+d.Summary)
	}
	slices.Sort(got)
	if diff := cmp.Diff(errors, got); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s\n%v", diff, r.diags.Err())
	}
	var lines []string
	for out, v := range r.outputs {
		lines = append(lines, out+" = "+show(v))
	}
	slices.Sort(lines)
	if all := strings.Join(lines, "\n"); want != "" && all != want {
		t.Errorf("outputs (-want +got):\n%s", cmp.Diff(want, all))
	}
}

// wantErrors returns the expected errors.
func wantErrors(files map[string][]byte) []string {
	out := []string{}
	for name, src := range files {
		for i, line := range strings.Split(string(src), "\n") {
			if name == "errors" && line != "" {
				out = append(out, line)
			}
			for _, part := range strings.Split(line, "# want-error: ")[1:] {
				out = append(out, fmt.Sprintf("%s:%d: %s", name, i+1, strings.TrimSpace(part)))
			}
		}
	}
	slices.Sort(out)
	return out
}
