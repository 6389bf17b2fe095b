//go:build unix

package program_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tombolo-iac/tombolo/internal/program"
)

func TestRunFindsProgramsInPathOnly(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("bin", 0o755); err != nil {
		t.Fatal(err)
	}
	text := "#!/bin/sh\necho '{\"from\":\"'$0'\"}'\n"
	script(t, "bin/p", text)
	script(t, "here", text)
	if err := os.WriteFile("bin/plain", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		name, path string
		want       string // Result.Path; "" means not found
		err        string
	}{
		"absolute entry": {"p", filepath.Join(dir, "bin"), filepath.Join(dir, "bin/p"), ""},
		"relative entry": {"p", "/nonexistent:bin", "bin/p", ""},
		"dot":            {"here", ".", "here", ""},
		"empty entry":    {"here", "/nonexistent:", "here", ""},
		"not the current directory": {"here", filepath.Join(dir, "bin"), "",
			`exec: "here": executable file not found in $PATH`},
		"no PATH":               {"here", "", "", `exec: "here": executable file not found in $PATH`},
		"not executable":        {"plain", "bin", "", `exec: "plain": executable file not found in $PATH`},
		"a slash, without PATH": {"./here", "", "./here", ""},
		"a slash, missing": {
			"./missing", ".", "", `exec: "./missing": stat ./missing: no such file or directory`},
		"a slash, not executable":            {"bin/plain", "bin", "", `exec: "bin/plain": permission denied`},
		"a slash, a directory":               {"./bin", "bin", "", `exec: "./bin": is a directory`},
		"a directory of that name in PATH":   {"bin", ".", "", `exec: "bin": executable file not found in $PATH`},
		"the last PATH of several is in use": {"p", "x\x00PATH=bin", "bin/p", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			env := strings.Split("PATH="+test.path, "\x00")
			res, err := run(t, program.Command{Argv: []string{test.name}, Env: env})
			if test.want == "" {
				var lookup *program.LookupError
				if !errors.As(err, &lookup) || lookup.Program != test.name || err.Error() != test.err {
					t.Errorf("got error %v\nwant %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if res.Path != test.want || res.ExitCode != 0 {
				t.Errorf("ran %s (%s), want %s", res.Path, res.State, test.want)
			}
		})
	}
}

// A program that Tombolo selects does not come from the working directory, and neither do the programs that it starts.
func TestInstalledProgramsAreNotFromTheWorkingDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "here", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(dir, "here"))
	script(t, "p", "#!/bin/sh\necho '{\"from\":\"a stranger\"}'\n")
	script(t, "sub/p", "#!/bin/sh\necho '{\"from\":\"a stranger\"}'\n")
	for _, path := range []string{".", "", ":/nonexistent", "/nonexistent:", "sub"} {
		res, err := run(t, program.Command{Argv: []string{"p"}, Env: []string{"PATH=" + path}, Installed: true})
		var lookup *program.LookupError
		if !errors.As(err, &lookup) {
			t.Errorf("PATH=%s: ran %+v, %v", path, res, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	script(t, filepath.Join(dir, "bin", "p"), "#!/bin/sh\necho \"{\\\"path\\\":\\\"$PATH\\\"}\"\n")
	res, err := run(t, program.Command{Argv: []string{"p"}, Env: []string{"PATH=.:" + dir + "/bin:sub:"},
		Installed: true})
	if err != nil || strings.TrimSpace(string(res.Stdout)) != `{"path":"`+dir+`/bin"}` {
		t.Errorf("%v: %+v", err, res)
	}
}

func TestRunLooksUpInBaseAndExecutesInDir(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"there", "empty"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script(t, "there/p.sh", "#!/bin/sh\necho '{\"ran\":\"there\"}'\n")

	_, err := run(t, program.Command{Argv: []string{"./p.sh"}, Dir: "there"})
	var lookup *program.LookupError
	if !errors.As(err, &lookup) {
		t.Errorf("only there: got error %v", err)
	}
	script(t, "p.sh", "#!/bin/sh\necho '{\"ran\":\"here\"}'\n")
	if got := mustAnswer(t, program.Command{Argv: []string{"./p.sh"}, Dir: "there"}); got["ran"] != "there" {
		t.Errorf("in both: ran %s", got["ran"])
	}
	_, err = run(t, program.Command{Argv: []string{"./p.sh"}, Dir: "empty"})
	var start *program.StartError
	if !errors.As(err, &start) || err.Error() != "fork/exec ./p.sh: no such file or directory" {
		t.Errorf("only here: got error %v", err)
	}
}

func TestRunResolvesAgainstTheBase(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"bin", "there"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text := "#!/bin/sh\nprintf '{\"program\":\"%s\",\"dir\":\"%s\"}' \"$0\" \"$PWD\"\n"
	script(t, filepath.Join(base, "bin/p"), text)
	script(t, filepath.Join(base, "q"), text)
	script(t, filepath.Join(base, "there/q"), text)

	tests := map[string]struct {
		name, path, dir string
		want            map[string]string
	}{
		"a relative name":      {"./bin/p", "", "", map[string]string{"program": "./bin/p", "dir": base}},
		"a name in PATH":       {"p", "bin", "", map[string]string{"program": "bin/p", "dir": base}},
		"a relative directory": {"./q", "", "there", map[string]string{"program": "./q", "dir": base + "/there"}},
		"an absolute directory": {"./q", "", base + "/there", map[string]string{
			"program": "./q", "dir": base + "/there"}},
		"an absolute name there": {base + "/q", "", "there", map[string]string{"program": base + "/q", "dir": base +
			"/there"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := mustAnswer(t, program.Command{Argv: []string{test.name}, Base: base, Dir: test.dir, Env: []string{
				"PATH=" + test.path}})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	_, err = run(t, program.Command{Argv: []string{"./missing"}, Base: base})
	if want := `exec: "./missing": stat ./missing: no such file or directory`; err == nil || err.Error() != want {
		t.Errorf("got error %v\nwant %s", err, want)
	}
	_, err = run(t, program.Command{Argv: []string{"./q"}, Base: base, Dir: "nope"})
	if want := "chdir nope: no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("got error %v\nwant %s", err, want)
	}
}

func TestRunReportsWhyAProgramCannotStart(t *testing.T) {
	t.Chdir(t.TempDir())
	script(t, "noshebang", "echo hello\n")
	script(t, "badshebang", "#!/nonexistent/interpreter\n")
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		c    program.Command
		want string
	}{
		"no such directory": {program.Command{Argv: []string{"/bin/sh"}, Dir: "nope"},
			"chdir nope: no such file or directory"},
		"a file": {program.Command{Argv: []string{"/bin/sh"}, Dir: "file"},
			"fork/exec /bin/sh: not a directory"},
		"no #! line": {program.Command{Argv: []string{"./noshebang"}},
			"fork/exec ./noshebang: exec format error"},
		"no such #! program": {program.Command{Argv: []string{"./badshebang"}},
			"fork/exec ./badshebang: no such file or directory"},
		"NUL in an argument": {program.Command{Argv: []string{"/bin/sh", "a\x00b"}},
			"fork/exec /bin/sh: invalid argument"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			res, err := run(t, test.c)
			var start *program.StartError
			if res != nil || !errors.As(err, &start) || start.Err.Error() != test.want {
				t.Fatalf("got error %v\nwant %s", err, test.want)
			}
			if advice := strings.TrimSuffix(start.Advice(), "."); !strings.HasPrefix(err.Error(), test.want) ||
				!strings.HasSuffix(err.Error(), advice) || strings.Count(err.Error(), advice) > 1 && advice != "" {
				t.Errorf("the error is %q, the advice %q", err, advice)
			}
		})
	}
}

func TestStartErrorsExplainTheFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("there", 0o755); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ text, want string }{
		"a missing interpreter":   {"#! /no/such/interpreter -x\n", `"/no/such/interpreter"`},
		"no line end":             {"#!/no/such/interpreter", `"/no/such/interpreter"`},
		"line ends of Windows":    {"#!/bin/sh\r\n", "CR LF"},
		"Windows, with an option": {"#!/no/such/sh -e\r\n", `"/no/such/sh"`},
		"a long first line": {"#!/" + strings.Repeat("x", 100) + strings.Repeat(" x", 5000),
			strings.Repeat("x", 100)},
		"no first line": {"echo\n", "neither a program for this system nor a script"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			script(t, "there/p", test.text)
			for _, c := range []program.Command{{Argv: []string{"there/p"}}, {Argv: []string{"./p"}, Base: "there"}} {
				var start *program.StartError
				if _, err := run(t, c); !errors.As(err, &start) || !strings.Contains(start.Advice(), test.want) {
					t.Errorf("%+v: %v, %q", c.Argv, err, start.Advice())
				}
			}
		})
	}
	_, err := run(t, program.Command{Argv: []string{"sh"}, Dir: "gone"})
	var start *program.StartError
	if !errors.As(err, &start) || start.Advice() != "" {
		t.Errorf("a directory that is not there: %v", err)
	}
}
