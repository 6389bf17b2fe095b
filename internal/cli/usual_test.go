package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
)

// TestUsualMistakes validates the mistakes in testdata/mistakes/usual.txtar, each in its own project. A section NAME is
// the file main.tf, in which « and » are around the text that must be marked, or « stands alone where nothing is;
// NAME/PATH is another file. The section "NAME: answer" has the title of the only error, the line to paste if there is
// one, and what Terraform answers, which TestTerraformsAnswersToUsualMistakes in package conformance compares with the
// program. A first line "plan" stands for that command in place of validate.
//
// The line that an error suggests is pasted, and the project must then be valid: without an error, of any kind.
//
// With -update marks and answers are written again, except for those of Terraform.
func TestUsualMistakes(t *testing.T) {
	const name = "testdata/mistakes/usual.txtar"
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	mistakes, pasted := 0, 0
	for i := range archive.Files {
		file := &archive.Files[i]
		if strings.ContainsAny(file.Name, "/:") {
			continue
		}
		mistakes++
		t.Run(file.Name, func(t *testing.T) {
			u := newUsual(t, archive, file.Name)
			if u.mend() {
				pasted++
			}
			if *update {
				file.Data = []byte(u.marked())
				u.want.Data = []byte(u.answer())
				return
			}
			if diff := cmp.Diff(string(file.Data), u.marked()); diff != "" {
				t.Errorf("another place (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(string(u.want.Data), u.answer()); diff != "" {
				t.Errorf("another answer (-want +got):\n%s", diff)
			}
		})
	}
	t.Logf("%d mistakes, %d lines pasted", mistakes, pasted)
	if mistakes < 80 || pasted < 50 {
		t.Errorf("only %d mistakes with %d lines to paste", mistakes, pasted)
	}
	if *update {
		if err := os.WriteFile(home+"/"+name, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// usual is a project with one of the usual mistakes, and what is said about it.
type usual struct {
	*mistake
	command    string
	text       string      // main.tf
	want       *txtar.File // the section with the answer
	problem    problem     // the error
	start, end int         // bytes of text
	terraform  string      // the line with Terraform's answer
}

// newUsual writes the project and runs the command.
func newUsual(t *testing.T, archive *txtar.Archive, name string) *usual {
	u := &usual{mistake: newMistake(t), command: "validate"}
	for i, f := range archive.Files {
		if path, ok := strings.CutPrefix(f.Name, name+"/"); ok {
			u.write(path, f.Data)
		}
		if f.Name == name {
			text := strings.NewReplacer("«", "", "»", "").Replace(string(f.Data))
			u.text = strings.TrimRight(text, "\n") + "\n"
		}
		if f.Name == name+": answer" {
			u.want = &archive.Files[i]
		}
	}
	if u.want == nil {
		t.Fatalf("no section %q", name+": answer")
	}
	for line := range strings.Lines(string(u.want.Data)) {
		if line == "plan\n" {
			u.command = "plan"
		}
		if strings.HasPrefix(line, "terraform: ") {
			u.terraform = line
		}
	}
	u.write("main.tf", []byte(u.text))
	u.run("init", "-backend=false")
	list := errorsIn(u.run(u.command))
	if len(list) != 1 {
		t.Fatalf("%d errors:\n%s", len(list), u.run(u.command))
	}
	u.problem = list[0]
	u.place()
	return u
}

// run returns what a command prints.
func (u *usual) run(args ...string) string {
	u.t.Helper()
	in, err := os.Open(os.DevNull)
	if err != nil {
		u.t.Fatal(err)
	}
	defer in.Close()
	var out bytes.Buffer
	a := &command.App{Surroundings: engine.Surroundings{Program: "tombolo", Title: "Tombolo", StartDir: u.dir,
		Environ: append(slices.Clone(u.environ), "TF_INPUT=0")}, In: command.NewInput(in), Out: &out, Err: &out}
	catchPanic(a, func() command.Outcome { return start(u.t.Context(), a, args) })
	return out.String()
}

// place finds the range of the error in the output for programs.
func (u *usual) place() {
	type problem struct {
		Severity, Summary string
		Range             *struct {
			Filename   string
			Start, End struct{ Byte int }
		}
	}
	var found []problem
	for _, text := range strings.SplitAfter(u.run(u.command, "-json"), "\n}") {
		var whole struct{ Diagnostics []problem }
		if json.Unmarshal([]byte(text), &whole) == nil {
			found = append(found, whole.Diagnostics...)
		}
		for line := range strings.Lines(text) {
			var event struct{ Diagnostic problem }
			if json.Unmarshal([]byte(line), &event) == nil {
				found = append(found, event.Diagnostic)
			}
		}
	}
	u.start = -1
	for _, p := range found {
		if p.Severity == "error" && p.Summary == u.problem.title && p.Range != nil && u.start < 0 {
			if p.Range.Filename != "main.tf" {
				u.t.Fatalf("the error is in %s", p.Range.Filename)
			}
			u.start, u.end = p.Range.Start.Byte, min(p.Range.End.Byte, len(u.text))
		}
	}
}

// marked returns the file with marks around the range of the error.
func (u *usual) marked() string {
	text := u.text
	switch {
	case u.start < 0:
		return text
	case u.start == u.end:
		text = text[:u.start] + "«" + text[u.start:]
	default:
		text = text[:u.start] + "«" + text[u.start:u.end] + "»" + text[u.end:]
	}
	return strings.TrimSuffix(text, "\n") + "\n" // a file of an archive ends with a line
}

// answer returns the section with the answer.
func (u *usual) answer() string {
	text := u.problem.title + "\n"
	if u.command != "validate" {
		text = u.command + "\n" + text
	}
	if u.problem.fixed > 0 {
		text += fmt.Sprintf("%d: %s\n", u.problem.fixed, u.problem.code)
	}
	return text + u.terraform
}

// mend pastes the suggested line, after which there must be no error. It reports whether there was one.
func (u *usual) mend() bool {
	if u.problem.fixed == 0 {
		return false
	}
	lines := strings.Split(u.text, "\n")
	lines[u.problem.fixed-1] = u.problem.code
	u.write("main.tf", []byte(strings.Join(lines, "\n")))
	u.run("init", "-backend=false")
	if text := u.run(u.command); len(errorsIn(text)) > 0 {
		u.t.Errorf("with line %d as\n    %s\nthere is still an error:\n%s", u.problem.fixed, u.problem.code, text)
	}
	return true
}
