package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// commands are the commands of scripts that the test binary implements.
var commands = map[string]func(){"tombolo": func() { os.Exit(Main()) }, "terraform": func() { os.Exit(Main()) }}

func TestMain(m *testing.M) {
	programtest.UnderWildClock()
	if strings.HasSuffix(filepath.Base(os.Args[0]), ".test") {
		programtest.UsualHangup()
	}
	testscript.Main(m, commands)
}

func TestProgramIdentifiesItselfByItsName(t *testing.T) {
	for path, want := range map[string]string{
		"terraform": "terraform", "/usr/bin/terraform": "terraform", "./terraform.exe": "terraform",
		"Terraform.EXE": "terraform",
		"/usr/bin/tofu": "tofu", "tofu.exe": "tofu", "opentofu": "tombolo",
		"tombolo": "tombolo", "tombolo.exe": "tombolo", "/opt/terraform/tombolo": "tombolo",
		"terraform-1.11": "tombolo", "": "tombolo",
	} {
		if got, _, _ := calledAs(path); got != want {
			t.Errorf("called as %q: %s, want %s", path, got, want)
		}
	}
}

func TestSplitWordsMatchesTheShell(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"  a  b\t", []string{"a", "b"}},
		{`-var 'a=b c' "d e" f\ g`, []string{"-var", "a=b c", "d e", "f g"}},
		{`"a\"b\\c\d" 'a\b' ""`, []string{`a"b\c\d`, `a\b`, ""}},
		{`-var=a='x'"y"`, []string{"-var=a=xy"}},
		// Terraform drops the text after the semicolon.
		{`-var=a=x;y&z -no-color`, []string{"-var=a=x;y&z", "-no-color"}},
	} {
		got, err := splitWords(tt.in)
		if err != nil {
			t.Errorf("splitWords(%q): %v", tt.in, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("splitWords(%q) (-want +got):\n%s", tt.in, diff)
		}
	}
	for _, in := range []string{`'a`, `"a`, `a\`} {
		if got, err := splitWords(in); err == nil {
			t.Errorf("splitWords(%q) = %q, want an error", in, got)
		}
	}
}

// FuzzSplitWords checks that splitting returns the words that were quoted for a shell.
func FuzzSplitWords(f *testing.F) {
	for _, line := range []string{"", " ", "a b", `'a b' "c\\"d`, `"\x"`, `\`, "'", "''", "a\r\n\tb", "\xff '\xfe'",
		"\x00", `"$\$\` + "`" + `"`, "e\u0301\u00a0x", "a'b'c\"d\""} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := splitWords(line)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, word := range words {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		again, err := splitWords(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(words, again) {
			t.Errorf("%q is split to %q, which, quoted, is split to %q (%v)", line, words, again, err)
		}
	})
}
