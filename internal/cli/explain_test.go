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

// TestPagesOfErrorsTellWhatHappens runs the example of each page about a code: the last command prints exactly what the
// page shows, with the code of the page at its end and no other error beside it; with the mended files, all commands
// succeed. The lines that prepare things are those of TestErrorsOfNewUsers.
func TestPagesOfErrorsTellWhatHappens(t *testing.T) {
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
		if !strings.Contains(got, "\nMore: tombolo explain "+code+"\n[exit 1]") ||
			strings.Count(got, "\nError: ") != 1 {
			t.Errorf("the example does not end with one error, which has the code %s:\n%s", code, got)
		}
	})
}

// TestFoundExamplesTellWhatHappens runs the examples that TestExamplesAreFound has found: each prints exactly what its
// page shows, which is one problem of the code. With -update the texts are written anew; an example that does not end
// with its code any more has to be deleted.
func TestFoundExamplesTellWhatHappens(t *testing.T) {
	eachPage(t, "found", func(t *testing.T, path, code string, archive *txtar.Archive) {
		page := explain.Parse(archive)
		if page.Mend != "" {
			t.Errorf("a page with a mend belongs into the folder pages")
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

// runExample returns the output of the last command of an example, and fails the test if its mend mends nothing.
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
