package conformance

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tombolo-iac/tombolo/internal/console"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
	"github.com/tombolo-iac/tombolo/internal/store"
)

var recordConsole = flag.String("console", "",
	"ask terraform for the answers of testdata/console/*.txt: `missing` or all")

// consoleDirs is a working directory, in which expressions are evaluated, and a home directory.
type consoleDirs struct{ work, home string }

// consoleFixture returns the directories for the transcripts: testdata/console/fixture.ar and files that txtar cannot
// contain.
func consoleFixture(t *testing.T) consoleDirs {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dirs := consoleDirs{filepath.Join(root, "work"), filepath.Join(root, "home")}
	write := func(name, content string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := txtar.ParseFile("testdata/console/fixture.ar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		write(filepath.Join(dirs.work, f.Name), string(f.Data))
	}
	for name, content := range map[string]string{
		"hello.txt": "Hello, World!", "crlf.txt": "a\r\nb\r\n", "bin.dat": "\xff\xfe\x00", "sub/b.txt": "b",
		"sub/deep/c.md": "c",
		"é.txt":         "accent", ".hidden": "", "we[ird].txt": "", "x,y/g": "", "b{r/f": "", "loop/x": "",
		"syntax.tftpl": "${", "bool.tftpl": "${true}", "object.tftpl": "${{a = [1]}}", "attr.tftpl": "${a.b.c}",
		"fail.tftpl": `${tonumber("x")}`,
		"file.tftpl": `${file("hello.txt")}`, "recursive.tftpl": `${templatefile("hello.txt", {})}`,
		"recursive_core.tftpl":   `${core::templatefile("hello.txt", {})}`,
		"recursive_string.tftpl": `${templatestring(name, {})}`,
		"funcs.tftpl":            `${upper(name)} ${core::upper(name)} ${try(name.nope, 1)}`,
	} {
		write(filepath.Join(dirs.work, name), content)
	}
	write(filepath.Join(dirs.home, "home.txt"), "home")
	if err := os.MkdirAll(filepath.Join(dirs.work, "dangling"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"link.txt": "hello.txt", "symdir": "sub", "dangling/broken": "nowhere",
		"loop/again": "."} {
		if err := os.Symlink(target, filepath.Join(dirs.work, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

// stable removes from an answer everything that differs between runs, and the block store of terraform_data, which
// version 1.11.4 does not have.
func (d consoleDirs) stable(text string) string {
	text = strings.NewReplacer(d.work, "<work>", d.home, "<home>", filepath.Dir(d.work), "<root>").Replace(text)
	var kept []string
	end := "" // the line that ends the type of a store
	for line := range strings.SplitSeq(text, "\n") {
		bare := strings.TrimLeft(line, " ")
		switch {
		case end != "":
			if line == end {
				end = ""
			}
		case bare == "store: object({":
			end = line[:len(line)-len(bare)] + "}),"
		case !strings.HasPrefix(bare, `"store" = null`):
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// TestConsoleAnswersAsRecorded evaluates the corpus of expressions in process and compares with the recorded text.
func TestConsoleAnswersAsRecorded(t *testing.T) {
	all, err := loadTranscripts("testdata/console")
	if err != nil {
		t.Fatal(err)
	}
	if *recordConsole != "" {
		recordTranscripts(t, all)
	}
	dirs := consoleFixture(t)
	session := openConsole(t, dirs)
	count := 0
	for _, transcript := range all {
		t.Run(transcript.name, func(t *testing.T) {
			for _, e := range transcript.exchanges {
				count++
				switch got := dirs.ask(session, e); {
				case !e.recorded:
					t.Errorf("%s:%d: %s: not recorded; run with -console=missing", transcript.file, e.line,
						e.expression())
				case got != e.want():
					t.Errorf("%s:%d: %s\nwant\n%s\ngot\n%s", transcript.file, e.line, e.expression(), e.want(), got)
				case e.reason != "" && got == e.answer:
					t.Errorf("%s:%d: %s: there is no difference any more", transcript.file, e.line, e.expression())
				}
			}
		})
	}
	if count < 1000 {
		t.Errorf("only %d expressions", count)
	}
}

// openConsole evaluates the fixture, and changes the working directory for the test.
func openConsole(t *testing.T, dirs consoleDirs) *console.Session {
	t.Helper()
	t.Chdir(dirs.work)
	t.Setenv("HOME", dirs.home)
	project, diags := engine.Load(t.Context(), engine.Options{
		DataDir: filepath.Join(dirs.home, ".terraform"),
		Store:   store.New(store.Options{Path: filepath.Join(dirs.home, "terraform.tfstate")}),
	})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	run, diags := project.Open(t.Context(), engine.OpenOptions{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	evaluator, diags := run.Console(t.Context(), engine.ConsoleOptions{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	t.Cleanup(func() {
		if diags := evaluator.Close().Extend(run.Close(t.Context())); diags.HasErrors() {
			t.Error(diags.Err())
		}
		if err := project.Close(); err != nil {
			t.Error(err)
		}
	})
	return console.NewSession(evaluator.Evaluate, evaluator.Redact)
}

func (d consoleDirs) ask(session *console.Session, e *exchange) answer {
	for _, line := range e.input {
		session.Add(line)
	}
	a := session.Answer()
	for _, problem := range a.Diagnostics {
		if a.Diagnostics.HasErrors() {
			return answer{error: problem.Summary}
		}
	}
	return answer{text: d.stable(a.Text)}
}

// laterFunctions are not in terraform 1.11.4; the cases newer/convert and opentofu/functions cover them.
var laterFunctions = []string{"base64gunzip", "cidrcontains", "convert", "urldecode"}

// TestEveryFunctionIsInTheConsoleCorpus checks that the corpus has a successful and a failing call of each function.
func TestEveryFunctionIsInTheConsoleCorpus(t *testing.T) {
	all, err := loadTranscripts("testdata/console")
	if err != nil {
		t.Fatal(err)
	}
	good, bad := map[string]bool{}, map[string]bool{}
	call := regexp.MustCompile(`\b([a-z0-9_]+)\(`)
	for _, transcript := range all {
		for _, e := range transcript.exchanges {
			for _, found := range call.FindAllStringSubmatch(e.expression(), -1) {
				if e.answer.error == "" {
					good[found[1]] = true
				} else {
					bad[found[1]] = true
				}
			}
		}
	}
	for name := range funcs.Table(funcs.Options{ConsoleMode: true}) {
		switch {
		case strings.HasPrefix(name, "core::") || slices.Contains(laterFunctions, name):
		case !good[name] && name != "list" && name != "map":
			t.Errorf("no call of %s succeeds", name)
		case !bad[name]:
			t.Errorf("no call of %s fails", name)
		}
	}
}

// TestRecordedConsoleAnswersMatchTerraform compares every 200th recorded answer with terraform's, or as
// TOMBOLO_CONSOLE_EVERY says.
func TestRecordedConsoleAnswersMatchTerraform(t *testing.T) {
	all, err := loadTranscripts("testdata/console")
	if err != nil {
		t.Fatal(err)
	}
	terraform := newConsoleOracle(t)
	n, every := 0, envNumber(t, "TOMBOLO_CONSOLE_EVERY", 200)
	for _, transcript := range all {
		for _, e := range transcript.exchanges {
			if n++; n%every != 0 || len(e.input) > 1 {
				continue
			}
			got, err := terraform.ask(e)
			if err != nil {
				t.Fatal(err)
			}
			if got != e.answer {
				t.Errorf("%s:%d: %s: recorded\n%s\nterraform answers\n%s", transcript.file, e.line, e.expression(),
					e.answer, got)
			}
		}
	}
}

// TestConsoleCommandAnswersAsTheSession runs the command for a part of the corpus and compares text, stream and exit
// code.
func TestConsoleCommandAnswersAsTheSession(t *testing.T) {
	all, err := loadTranscripts("testdata/console")
	if err != nil {
		t.Fatal(err)
	}
	o := consoleOracle{t: t, binary: findTombolo(t), dirs: consoleFixture(t)}
	n, every := 0, envNumber(t, "TOMBOLO_CONSOLE_EVERY", 200)
	for _, transcript := range all {
		for _, e := range transcript.exchanges {
			if n++; n%every != 0 && len(e.input) == 1 {
				continue
			}
			got, err := o.ask(e)
			if err != nil {
				t.Fatal(err)
			}
			if got != e.want() {
				t.Errorf("%s:%d: %s: want\n%s\ngot\n%s", transcript.file, e.line, e.expression(), e.want(), got)
			}
		}
	}
}

// consoleOracle runs a binary, one process per expression, because terraform only prints the last result of several
// lines.
type consoleOracle struct {
	t      testing.TB
	binary string
	dirs   consoleDirs
}

func newConsoleOracle(t *testing.T) consoleOracle {
	t.Helper()
	binary := findTerraform(t)
	return consoleOracle{t: t, binary: binary, dirs: consoleFixture(t)}
}

func (o consoleOracle) run(input string, args ...string) (stdout, stderr string, err error) {
	cmd := programtest.Bounded(o.t, o.binary, args...)
	cmd.Dir, cmd.Stdin = o.dirs.work, strings.NewReader(input)
	cmd.Env = programtest.Environ("HOME="+o.dirs.home, "TF_DATA_DIR="+filepath.Join(o.dirs.home, ".terraform"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return waits.ReplaceAllString(out.String(), ""), colors.ReplaceAllString(errs.String(), ""), err
}

var colors = regexp.MustCompile("\x1b\\[[0-9;]*m")

var errorSummary = regexp.MustCompile(`(?m)^[│ ]*Error: (.*)$`)

func (o consoleOracle) ask(e *exchange) (answer, error) {
	stdout, stderr, err := o.run(e.expression()+"\n", "console", "-state="+filepath.Join(o.dirs.home,
		"terraform.tfstate"))
	if err != nil {
		found := errorSummary.FindStringSubmatch(stderr)
		if found == nil || stdout != "" {
			return answer{}, fmt.Errorf("%s: %w\n%s%s", e.expression(), err, stdout, stderr)
		}
		return answer{error: found[1]}, nil
	}
	return answer{text: o.dirs.stable(strings.TrimSuffix(stdout, "\n"))}, nil
}

// recordTranscripts writes terraform's answers to the files.
func recordTranscripts(t *testing.T, all []*transcript) {
	var wanted []*exchange
	for _, transcript := range all {
		for _, e := range transcript.exchanges {
			// Terraform does not accept several lines from a pipe: such answers are written by hand.
			if (*recordConsole == "all" || !e.recorded) && len(e.input) == 1 {
				wanted = append(wanted, e)
			}
		}
	}
	var workers sync.WaitGroup
	for part := range slices.Chunk(wanted, len(wanted)/2+1) {
		o := newConsoleOracle(t)
		workers.Go(func() {
			for _, e := range part {
				got, err := o.ask(e)
				if err != nil {
					t.Error(err)
					continue
				}
				e.answer, e.recorded = got, true
			}
		})
	}
	workers.Wait()
	for _, transcript := range all {
		if err := transcript.write(); err != nil {
			t.Fatal(err)
		}
	}
}
