package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tombolo-iac/tombolo/internal/explain"
)

// TestExplainPagesMatchTheOutput runs the example of each page about a code. The last command prints exactly the output
// on the page, with only that error and its code; with the corrected files, all commands succeed. The
// preparing lines are those of TestErrorsOfNewUsers.
func TestExplainPagesMatchTheOutput(t *testing.T) {
	eachPage(t, "pages", func(t *testing.T, path, code string, archive *txtar.Archive) {
		if _, ok := explain.Of(code); !ok {
			t.Errorf("the page %s is about no code", code)
		}
		got := runExample(t, explain.Parse(archive))
		if *update {
			for i := range archive.Files {
				if archive.Files[i].Name == "terminal" {
					archive.Files[i].Data = []byte(got)
				}
			}
			if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		if diff := cmp.Diff(explain.Parse(archive).Terminal, got); diff != "" {
			t.Errorf("another text (-want +got):\n%s", diff)
		}
		codes := anyCode.FindAllStringSubmatch(got, -1)
		if len(codes) != 1 || codes[0][1] != code || strings.Count(got, "\nError: ") != 1 ||
			!strings.HasSuffix(got, "\n[exit 1]\n") {
			t.Errorf("the example does not end with one error, which has the code %s:\n%s", code, got)
		}
	})
}

// TestFoundExamplesMatchTheOutput runs the examples that TestExamplesAreFound has found. Each prints exactly the output
// on its page, which is one problem with the code. With -update the outputs are written again; an example that fails
// with another code must be deleted.
func TestFoundExamplesMatchTheOutput(t *testing.T) {
	eachPage(t, "found", func(t *testing.T, path, code string, archive *txtar.Archive) {
		page := explain.Parse(archive)
		if page.Mend != "" {
			t.Errorf("a page with a correction belongs in the folder pages")
		}
		got := runExample(t, page)
		if *update {
			archive.Files[len(archive.Files)-1].Data = []byte(got)
			if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		if diff := cmp.Diff(page.Terminal, got); diff != "" {
			t.Errorf("another text: write it with -update, and pack it with "+
				"\"go test ./internal/explain -update\" (-want +got):\n%s", diff)
		}
		if codes := anyCode.FindAllStringSubmatch(got, -1); len(codes) != 1 || codes[0][1] != code {
			t.Errorf("the example does not end with one problem, of the code %s:\n%s", code, got)
		}
	})
}

// eachPage calls check for each page about a code in a folder of package explain.
func eachPage(t *testing.T, folder string, check func(t *testing.T, path, code string, page *txtar.Archive)) {
	names, err := filepath.Glob("../explain/" + folder + "/*.txtar")
	if err != nil || len(names) < 30 {
		t.Fatalf("%d pages (%v)", len(names), err)
	}
	for _, name := range names {
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		code := strings.TrimSuffix(filepath.Base(name), ".txtar")
		t.Run(code, func(t *testing.T) {
			page, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			check(t, path, code, page)
		})
	}
}

// runExample returns the output of the last command of an example, and fails the test if the corrected files do not
// help.
func runExample(t *testing.T, e *explain.Example) (terminal string) {
	m := newMistake(t)
	for _, f := range e.Files {
		m.sections[f.Name] = f.Data
		if f.Name[0] != '@' {
			m.write(f.Name, f.Data)
		}
	}
	for _, line := range e.Commands {
		terminal = m.line(line)
	}
	for _, f := range e.Mended {
		m.write(f.Name, f.Data)
	}
	for _, line := range e.Then {
		if text := m.line(line); strings.HasPrefix(line, "tombolo ") && !strings.HasSuffix(text, "[exit 0]\n") {
			t.Errorf("mended, %s says:\n%s", line, text)
		}
	}
	return m.clean(terminal)
}
