package terragrunt_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/stack/terragrunt"
)

// statements are statements of a terragrunt.hcl, with %s for a text that is unique. converted reports whether the text
// has to be in a file that is written; otherwise there has to be a note for the line.
var statements = []struct {
	text      string
	converted bool
}{
	{"iam_role = \"%s\"", false},
	{"skip = \"%s\" != \"\"", false},
	{"retry \"%s\" {\n}", false},
	{"generate \"g\" {\n  path = \"%[1]s.tf\"\n  contents = \"# %[1]s\"\n}", true},
	{"generate \"g\" {\n  path = \"%[1]s.tf\"\n  contents = run_cmd(\"%[1]s\")\n}", false},
	{"dependencies {\n  paths = [\"../%s\"]\n}", true},
	{"dependency \"d%[1]s\" {\n  config_path = \"../%[1]s\"\n}", true},
	{"dependency \"d%[1]s\" {\n  config_path = get_env(\"%[1]s\")\n}", false},
	{"dependency \"d%[1]s\" {\n  config_path = \"../%[1]s\"\n  skip_outputs = true\n}", false},
	{"terraform {\n  extra_arguments \"%s\" {\n  }\n}", false},
	{"terraform {\n  before_hook \"%s\" {\n  }\n}", false},
	{"include \"i\" {\n  path = \"%s.hcl\"\n}", false},
	{"remote_state {\n  backend = \"local\"\n  config = { path = \"%s\" }\n}", true},
	{"remote_state {\n  backend = \"local\"\n  config = { path = run_cmd(\"%s\") }\n}", false},
	{"inputs = {\n  word = \"%s\"\n}", true},
	{"inputs = {\n  word = upper(\"%s\") == \"\" ? 1 : \"%[1]s\"\n}", true},
	{"inputs = {\n  word = sops_decrypt_file(\"%s\")\n}", false},
	{"inputs = {\n  other = \"%s\"\n}", false},
	{"inputs = merge({}, { word = \"%s\" })", false},
	{"feature \"%s\" {\n  default = 1\n}", false},
}

// TestNothingIsSkippedInSilence converts random files, and looks for each statement in the files that are written or in
// the notes.
func TestNothingIsSkippedInSilence(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		root := t.TempDir()
		dir := filepath.Join(root, "live", "unit")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		type want struct {
			text, all string
			from, to  int
			converted bool
		}
		var wants []want
		var file strings.Builder
		line := 1
		used := map[string]bool{}
		for _, i := range rng.Perm(len(statements))[:1+rng.IntN(6)] {
			s := statements[i]
			word, _, _ := strings.Cut(s.text, " ")
			if word != "dependency" && used[word] {
				continue // only one is allowed
			}
			used[word] = true
			unique := fmt.Sprintf("marker%d", i)
			text := fmt.Sprintf(s.text, unique)
			if n := strings.Index(text, "%!(EXTRA"); n >= 0 {
				text = text[:n]
			}
			lines := strings.Count(text, "\n") + 1
			wants = append(wants, want{unique, text, line, line + lines - 1, s.converted})
			file.WriteString(text + "\n")
			line += lines
		}
		for name, text := range map[string]string{"terragrunt.hcl": file.String(), "main.tf": "variable \"word\" " +
			"{}\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		result, err := terragrunt.Convert(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range wants {
			written := slices.ContainsFunc(result.Files, func(f terragrunt.File) bool {
				return strings.Contains(string(f.Content), w.text)
			})
			noted := slices.ContainsFunc(result.Notes, func(n terragrunt.Note) bool {
				return n.File == "live/unit/terragrunt.hcl" && n.Line >= w.from && n.Line <= w.to ||
					strings.Contains(n.File, w.text)
			})
			if w.converted && !written || !w.converted && !noted {
				t.Errorf("seed %d: written %v, noted %v:\n%s\nfiles %s\nnotes %v", seed, written, noted, w.all,
					result.Files, result.Notes)
			}
		}
	}
}
