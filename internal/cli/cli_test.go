package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tombolo-iac/tombolo/internal/cli/clitest"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// commands are the commands of scripts that the test binary implements.
var commands = map[string]func(){"tombolo": func() { os.Exit(Main()) }, "terraform": func() { os.Exit(Main()) },
	"halfmove": halfMove}

// oracle is the path of the real terraform, or "".
var oracle string

func TestMain(m *testing.M) {
	programtest.UnderWildClock()
	if strings.HasSuffix(filepath.Base(os.Args[0]), ".test") {
		programtest.UsualHangup()
	}
	oracle, _ = exec.LookPath("terraform") // before this program has that name; "" if it is missing
	testscript.Main(m, commands)
}

// TestScripts runs the scripts in testdata, one topic each. In addition to the commands of testscript and clitest, they
// have
//
//	unforked ARG...       run tombolo as a user who cannot start another process (Linux)
//	unprivileged ARG...   run tombolo as an unprivileged user (Linux)
//	shut PERM FILE...     give files these permissions, whoever owns them
//	canary TEXT FILE...   the files, or stdout and stderr, must not hold the text
//	mode PERM FILE        the file must have these permissions
//	terraforms ...        a server of the API of HCP Terraform: see the function of that name
//	signal NAME FILE      send a signal to the process whose number the file holds
//
// the program halfmove (halfmove_test.go), and the condition oracle, that there is a real terraform, at $ORACLE.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root)
			e.Setenv("ORACLE", oracle)
			e.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // no test needs a network, and none gets one
			if runtime.GOOS == "linux" {
				// Nobody can create a folder there. /no-home, the default of testscript, can be created by root, and
				// then one script affects the next.
				e.Setenv("HOME", "/proc/no-home")
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "oracle" {
				return false, fmt.Errorf("no condition %s", name)
			}
			return oracle != "", nil
		},
		Cmds: clitest.Commands(map[string]clitest.Command{"canary": canary, "mode": mode, "shut": shut,
			"signal": sendSignal, "terraforms": terraforms}),
	})
}

func canary(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args[1:] {
		if strings.Contains(ts.ReadFile(name), args[0]) {
			ts.Fatalf("%s holds the secret", name)
		}
	}
}

func shut(ts *testscript.TestScript, _ bool, args []string) {
	perm, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	for _, name := range args[1:] {
		ts.Check(os.Chmod(ts.MkAbs(name), os.FileMode(perm)))
	}
}

func mode(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := info.Mode().Perm(); got != os.FileMode(want) {
		ts.Fatalf("%s has mode %o, want %o", args[1], got, want)
	}
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
