//go:build unix

package external

import (
	"os"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestProgramsThatCannotRunHaveAdvice(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"there", "folder"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("plain.sh", []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	script(t, "here", "#!/bin/sh\n")
	script(t, "there/p.sh", "#!/bin/sh\n")
	script(t, "windows.sh", "#!/bin/sh\r\necho '{}'\r\n")
	script(t, "no-interpreter", "#!/no/such/interpreter -x\necho '{}'\n")
	script(t, "no-first-line", "echo '{}'\n")
	script(t, "binary", "\x7fELF of another system")
	tests := map[string]struct {
		program cty.Value
		dir     string
		summary string
		want    string
	}{
		"a command line": {list("python3 ./p.py"), "", sumLookup,
			`Write each word as an element: ["python3", "./p.py"].`},
		"a pipe": {list("ls | cat"), "", sumLookup,
			`No shell is used. To use one, write ["sh", "-c", "ls | cat"].`},
		"a substitution":   {list("$(pwd)/p"), "", sumLookup, `["sh", "-c", "$(pwd)/p"].`},
		"a variable":       {list("$HOME/p"), "", sumLookup, `No shell is used that would replace variables.`},
		"a home directory": {list("~/p"), "", sumLookup, `pathexpand("~/p").`},
		"a file that is here": {list("here"), "", sumLookup,
			`"./here", or in a module "${path.module}/here".`},
		"a file that is there": {list("./p.sh"), "there", sumLookup,
			`working_dir has a file of that name, but it is not searched. Write abspath("there/p.sh").`},
		"not executable": {list("./plain.sh"), "", sumLookup,
			`(chmod +x), or run it with its interpreter: ["sh", "./plain.sh"].`},
		"line ends of Windows": {list("./windows.sh"), "", sumExecution, "Its first line ends with CR LF"},
		"out of working_dir":   {list("../windows.sh"), "folder", sumLookup, `abspath("windows.sh").`},
		"a missing interpreter": {list("./no-interpreter"), "", sumExecution,
			`but the interpreter in its first line does not: "/no/such/interpreter".`},
		"no interpreter": {list("./no-first-line"), "", sumExecution, `["sh", "./no-first-line"].`},
		"another system": {list("./binary"), "", sumExecution, "neither a program for this system nor a script"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := attrs{"program": test.program}
			if test.dir != "" {
				a["working_dir"] = cty.StringVal(test.dir)
			}
			_, diags := readData(t, New(Options{}), typeData, a)
			expectProblem(t, diags, test.summary, nil, test.want)
		})
	}
}

// If a provider runs programs in another directory, advice considers that directory.
func TestAdviceUsesTheLookupDirectory(t *testing.T) {
	dir := t.TempDir()
	script(t, dir+"/here", "#!/bin/sh\n")
	_, diags := readData(t, New(Options{Dir: dir}), typeData, attrs{"program": list("here")})
	expectProblem(t, diags, sumLookup, nil, `"./here"`)
	script(t, dir+"/windows.sh", "#!/bin/sh\r\n")
	_, diags = readData(t, New(Options{Dir: dir}), typeData, attrs{"program": list("./windows.sh")})
	expectProblem(t, diags, sumExecution, nil, "CR LF")
}

func TestUnreadableAnswersHaveAdvice(t *testing.T) {
	for out, want := range map[string]string{
		`{"b":"x","a":1}`: `The value of "a" is a number. Print it as a string.`,
		`{"ok":true}`:     `The value of "ok" is a boolean. Print it as a string.`,
		`{"a":{"b":"c"}}`: `The value of "a" is an object. Print it as a string of JSON, and ` +
			`decode it with jsondecode.`,
		`{"a":["b"]}`:         `The value of "a" is an array. Print it as a string of JSON`,
		"{'a': 'b'}\n":        `print(json.dumps(...))`,
		`{"\u001b[2Jx":true}`: `The value of "\x1b[2Jx" is a boolean`,
	} {
		_, diags := readData(t, New(Options{}), typeData, attrs{
			"program": list("sh", "-c", `printf %s "$1"`, "sh", out)})
		expectProblem(t, diags, sumResults, nil, want)
	}
	w := newWorld(t, Options{})
	diags := w.apply(t.Context(), attrs{"program": tuple("sh", "-c", `echo "{'id': '7'}"`)})
	expectProblem(t, diags, sumResults, nil, "print(json.dumps(...))", "The program may already have changed something")
}
