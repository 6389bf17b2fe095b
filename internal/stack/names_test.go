package stack_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/projectfile"
	"github.com/tombolo-iac/tombolo/internal/stack"
)

// TestDirectoriesWithControlCharactersAreRefused checks that no name of a directory reaches a terminal as a command.
func TestDirectoriesWithControlCharactersAreRefused(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "live", "a\x1b[31m")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Skipf("needs a file system with such names: %s", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file, diags := projectfile.Parse(projectfile.Name, []byte("unit \"a\" {\n  source = \"live/*\"\n}\n"))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	_, diags = stack.Load(root, file)
	if !diags.HasErrors() {
		t.Fatal("the unit was accepted")
	}
	if text := diags[0].Detail; strings.Contains(text, "\x1b") || !strings.Contains(text, `\x1b[31m`) {
		t.Errorf("got %q, want a text with the escaped name", text)
	}
}

// TestAdviceQuotesDirectories checks that a shell reads the directory in advice as one word.
func TestAdviceQuotesDirectories(t *testing.T) {
	for dir, want := range map[string]string{
		"live/eu-1/app": "-chdir=live/eu-1/app", "a;rm": "-chdir='a;rm'", "a'b": `-chdir='a'\''b'`,
		"x[1]": "-chdir='x[1]'", "`a`": "-chdir='`a`'",
	} {
		if got := (&stack.Unit{Dir: dir}).Program("tombolo"); got != "tombolo "+want {
			t.Errorf("%s: got %s, want tombolo %s", dir, got, want)
		}
	}
}

// TestNamesWithCharactersOfPatternsMatchThemselves checks that a name selects its unit even if it looks like a pattern.
func TestNamesWithCharactersOfPatternsMatchThemselves(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"x[1]", "y"} {
		if err := os.MkdirAll(filepath.Join(root, "live", name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "live", name, "main.tf"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, diags := projectfile.Parse(projectfile.Name, []byte("unit \"a\" {\n  source = \"live/*\"\n}\n"))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	s, diags := stack.Load(root, file)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	units, diags := s.Choose(stack.Choice{Patterns: []string{"live/x[1]"}})
	if diags.HasErrors() || len(units) != 1 || units[0].Name != "live/x[1]" {
		t.Errorf("got %v and %v, want the unit live/x[1]", units, diags)
	}
}
