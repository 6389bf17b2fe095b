package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/state"
)

var update = flag.Bool("update", false, "rewrite what the errors of testdata/errors look like")

// TestErrorsOfNewUsers runs the mistakes in testdata/errors and compares their output. Each archive has a sentence
// about the mistake, the commands, the files, and under "terminal" the complete output of the last command with its
// exit code. Besides the commands of tombolo, these lines prepare a case:
//
//	env NAME=VALUE       set a variable of the environment
//	write FILE @SECTION  replace a file by a section
//	mode PERM FILE       change the permissions of a file
//	lock                 take the lock of the state
//
// With -update the outputs are written again. Review each of them: does it say what was found, where, what was
// expected, and what to do?
func TestErrorsOfNewUsers(t *testing.T) {
	names, err := filepath.Glob("testdata/errors/*.txtar")
	if err != nil || len(names) < 100 {
		t.Fatalf("%d archives in testdata/errors (%v)", len(names), err)
	}
	for _, name := range names {
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for program := range titles {
				for _, line := range otherNames(program, runMistake(t, program, archive)) {
					t.Errorf("called as %s it says %q", program, line)
				}
			}
			got := runMistake(t, "tombolo", archive)
			errors, codes := strings.Count("\n"+got, "\n\nError: "), strings.Count(got, "\nMore: tombolo explain TB")
			if errors != codes {
				t.Errorf("%d errors have %d codes:\n%s", errors, codes, got)
			}
			want := ""
			for i := range archive.Files {
				if archive.Files[i].Name == "terminal" {
					want = string(archive.Files[i].Data)
					archive.Files[i].Data = []byte(got)
				}
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("another text (-want +got):\n%s", diff)
			}
		})
	}
}

// mistake is an archive in execution.
type mistake struct {
	t        *testing.T
	sections map[string][]byte
	environ  []string
	dir      string
	program  string // the name under which it is called
}

func newMistake(t *testing.T) *mistake {
	m := &mistake{t: t, program: "tombolo", sections: map[string][]byte{}, dir: t.TempDir(), environ: []string{
		"PATH=" + os.Getenv("PATH"), "TF_IN_AUTOMATION=1"}}
	t.Chdir(m.dir)
	return m
}

// otherNames returns wrong uses of program names in a text. Under its own name, the program says Terraform only about
// things of Terraform; called as terraform, it says only Terraform.
func otherNames(program, text string) []string {
	if program == "terraform" {
		return regexp.MustCompile(`(?i).*\btombolo\b.*`).FindAllString(text, -1)
	}
	text = regexp.MustCompile(`Unsupported Terraform Core version|HCP Terraform|Terraform Enterprise|a run `+
		`of\s+Terraform|by\s+Terraform\s+or\s+OpenTofu`).ReplaceAllString(text, "")
	return regexp.MustCompile(`.*(\bTerraform\b|"terraform ).*`).FindAllString(text, -1)
}

func runMistake(t *testing.T, program string, archive *txtar.Archive) string {
	m := newMistake(t)
	m.program = program
	for _, f := range archive.Files {
		m.sections[f.Name] = f.Data
		if f.Name != "commands" && f.Name != "terminal" && f.Name[0] != '@' {
			m.write(f.Name, f.Data)
		}
	}
	lines := strings.Split(strings.TrimSpace(string(m.sections["commands"])), "\n")
	for i, line := range lines {
		text := m.line(line)
		if i == len(lines)-1 {
			return m.clean(text)
		}
	}
	return ""
}

func (m *mistake) write(name string, data []byte) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// line runs one line of the commands and returns the output of a tombolo command.
func (m *mistake) line(line string) string {
	m.t.Helper()
	words, err := splitWords(line)
	if err != nil || len(words) == 0 {
		m.t.Fatalf("line %q: %v", line, err)
	}
	switch words[0] {
	case "tombolo":
		return m.tombolo(words[1:])
	case "env":
		m.environ = append(m.environ, words[1])
	case "write":
		m.write(words[1], m.sections[words[2]])
	case "mode":
		var mode os.FileMode
		fmt.Sscanf(words[1], "%o", &mode)
		if err := os.Chmod(words[2], mode); err != nil {
			m.t.Fatal(err)
		}
	case "lock":
		m.lock()
	default:
		m.t.Fatalf("unknown line %q", line)
	}
	return ""
}

func (m *mistake) tombolo(args []string) string {
	m.t.Helper()
	in, err := os.Open(os.DevNull)
	if err != nil {
		m.t.Fatal(err)
	}
	defer in.Close()
	var out bytes.Buffer
	a := &command.App{
		Surroundings: engine.Surroundings{Program: m.program, Title: titles[m.program], Environ: m.environ,
			StartDir: m.dir},
		In: command.NewInput(in), Out: &out, Err: &out,
	}
	code := catchPanic(a, func() command.Outcome { return start(m.t.Context(), a, args) }).ExitCode()
	return fmt.Sprintf("%s\n[exit %d]\n", strings.TrimRight(out.String(), "\n"), code)
}

func (m *mistake) lock() {
	m.t.Helper()
	ws, err := store.New(store.Options{}).Workspace(state.DefaultWorkspace)
	if err != nil {
		m.t.Fatal(err)
	}
	session, err := state.Acquire(m.t.Context(), ws, state.LockRequest{Info: state.LockInfo{
		ID: "0f8b5ce6-7d8c-4c5d-9b1e-000000000000", Operation: "OperationTypeApply", Who: "anna@build-7",
		Version: state.LanguageVersion,
		Created: time.Now().Truncate(time.Second).Add(123456789), // as long each time: lines end in the same place
	}}, 0, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = session.Unlock() })
}

var (
	took  = regexp.MustCompile(`(?m)^It took .*\n(?: +(?:\d+m)?\d+s  .*\n)*`)
	uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.0-9]*( ?[+-]\d{4}|Z)?( UTC)?`)
)

// clean replaces text that differs between runs.
func (m *mistake) clean(text string) string {
	if sh, err := exec.LookPath("sh"); err == nil {
		text = regexp.MustCompile(`(?m)^Program: `+regexp.QuoteMeta(sh)+`$`).ReplaceAllString(text,
			"Program: /usr/bin/sh")
	}
	text = strings.ReplaceAll(text, m.dir, "/home/me/project")
	text = took.ReplaceAllString(uuids.ReplaceAllString(text, "<uuid>"), "")
	return times.ReplaceAllString(text, "<time>")
}
