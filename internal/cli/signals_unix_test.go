//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// endings are the signals that end a command.
var endings = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE,
	syscall.SIGKILL}

// signalled is a project in which commands receive signals.
type signalled struct {
	t       *testing.T
	program string
	dir     string
	env     []string
	random  *rand.Rand
}

func newSignalled(t *testing.T, seed uint64) *signalled {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &signalled{t: t, program: filepath.Join(dir, "tombolo"), dir: filepath.Join(dir, "work"),
		random: rand.New(rand.NewPCG(seed, 1))}
	if err := os.Symlink(exe, s.program); err != nil {
		t.Skipf("needs a system with symbolic links: %s", err)
	}
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "CHECKPOINT_DISABLE=1",
		"TF_CLI_CONFIG_FILE=" + filepath.Join(dir, "none"), "TF_CLI_ARGS=-no-color"}
	s.write("../none", "")
	return s
}

func (s *signalled) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a command, and sends it a signal after a while unless it has ended. It returns the output and the exit code,
// which is negative if the signal ended the process.
func (s *signalled) run(after time.Duration, signal syscall.Signal, args ...string) (code int, output string) {
	s.t.Helper()
	command := programtest.Bounded(s.t, s.program, args...)
	command.Dir, command.Env = s.dir, s.env
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		s.t.Fatal(err)
	}
	if signal != 0 {
		time.Sleep(after)
		_ = command.Process.Signal(signal) // the process may have ended
	}
	_ = command.Wait() // the exit code is checked
	return command.ProcessState.ExitCode(), out.String()
}

// files returns the content of all files of the project.
func (s *signalled) files() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(s.dir, path)
		all[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// TestSignalsLeaveCompleteFiles ends fmt, init and test with each signal, at random moments. Afterwards every file is
// complete, and running the command again finishes the work.
func TestSignalsLeaveCompleteFiles(t *testing.T) {
	const rough, neat = "locals {\n  a =  [%d]\n    bb = 2\n}\n", "locals {\n  a  = [%d]\n  bb = 2\n}\n"
	for _, signal := range endings {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			s := newSignalled(t, uint64(signal))
			s.write("main.tf", "module \"a\" {\n  source = \"./a\"\n}\n\n"+
				"resource \"terraform_data\" \"x\" {\n  input = 1\n}\n")
			s.write("a/main.tf", "module \"b\" {\n  source = \"../b\"\n}\n")
			s.write("b/main.tf", "resource \"terraform_data\" \"y\" {\n  input = 2\n}\n")
			for i := range 3 {
				s.write(fmt.Sprintf("%d.tftest.hcl", i), "run \"x\" {}\n\nrun \"y\" {\n  command = apply\n}\n")
			}
			for round := range 2 {
				began := time.Now()
				s.run(0, 0, "version")
				most := 3 * time.Since(began)
				moment := func() time.Duration { return time.Duration(s.random.Int64N(int64(most))) }

				for i := range 40 {
					s.write(fmt.Sprintf("rough/%d.tf", i), fmt.Sprintf(rough, i))
				}
				s.run(moment(), signal, "fmt", "-recursive")
				for name, text := range s.files() {
					var i int
					if n, _ := fmt.Sscanf(name, "rough/%d.tf", &i); n == 1 {
						if text != fmt.Sprintf(rough, i) && text != fmt.Sprintf(neat, i) {
							t.Errorf("round %d: %s is cut: %q", round, name, text)
						}
					} else if strings.HasPrefix(name, "rough/") && signal != syscall.SIGKILL &&
						signal != syscall.SIGQUIT {
						t.Errorf("round %d: %s is left behind", round, name)
					}
				}
				if code, output := s.run(0, 0, "fmt", "-recursive"); code != 0 {
					t.Errorf("round %d: fmt exits with %d: %s", round, code, output)
				}
				if code, output := s.run(0, 0, "fmt", "-recursive", "-check"); code != 0 {
					t.Errorf("round %d: fmt has not finished: %s", round, output)
				}

				_ = os.RemoveAll(filepath.Join(s.dir, ".terraform"))
				s.run(moment(), signal, "init")
				if code, output := s.run(0, 0, "init"); code != 0 {
					t.Errorf("round %d: init exits with %d: %s", round, code, output)
				}
				if code, output := s.run(0, 0, "validate"); code != 0 {
					t.Errorf("round %d: init has not finished: %s", round, output)
				}

				s.run(moment(), signal, "test")
				code, output := s.run(0, 0, "test")
				if code != 0 || !strings.Contains(output, "6 passed, 0 failed") {
					t.Errorf("round %d: test exits with %d: %s", round, code, output)
				}
				s.left(signal == syscall.SIGKILL || signal == syscall.SIGQUIT, output)
			}
		})
	}
}

// left checks the files that a signalled test has left, after the next test with the given output. None may be left,
// except for objects after a kill, which the next test must name.
func (s *signalled) left(killed bool, output string) {
	s.t.Helper()
	for name, text := range s.files() {
		folder, kept := strings.CutPrefix(name, ".terraform/tests/")
		folder, _, _ = strings.Cut(folder, "/")
		switch {
		case kept && killed && strings.HasSuffix(name, ".tfstate"):
			code, objects := s.run(0, 0, "state", "list", "-state="+name)
			none := code == 1 && strings.Contains(objects, "No state file was found") && !strings.Contains(text,
				"terraform_data")
			if !none && (code != 0 || strings.TrimSpace(objects) != "" && !strings.Contains(output, folder)) {
				s.t.Errorf("%s has objects (%d), and the next test does not say so:\n%s\n%s", name, code, objects,
					output)
			}
		case kept && killed:
		case strings.Contains(name, "tfstate"), strings.Contains(name, ".new-"), strings.Contains(name, ".install-"):
			s.t.Errorf("%s is left behind", name)
		}
	}
	_ = os.RemoveAll(filepath.Join(s.dir, ".terraform/tests")) // the next round starts without it
}

// TestConcurrentEditsKeepAllBackups starts many edits of a state at once. Each waits for the lock, and writes its own
// backup of the state that it finds then.
func TestConcurrentEditsKeepAllBackups(t *testing.T) {
	const edits = 8
	s := newSignalled(t, 1)
	s.write("main.tf", fmt.Sprintf("resource \"terraform_data\" \"a\" {\n  count = %d\n}\n", edits))
	for _, words := range [][]string{{"init"}, {"apply", "-auto-approve"}} {
		if code, output := s.run(0, 0, words...); code != 0 {
			t.Fatalf("%v: %s", words, output)
		}
	}
	var all sync.WaitGroup
	for i := range edits {
		all.Go(func() {
			if code, output := s.run(0, 0, "state", "rm", "-lock-timeout=5m",
				fmt.Sprintf("terraform_data.a[%d]", i)); code != 0 {
				t.Errorf("edit %d: %s", i, output)
			}
		})
	}
	all.Wait()
	found := map[int]bool{}
	for name, text := range s.files() {
		if strings.HasPrefix(name, "terraform.tfstate.") && strings.HasSuffix(name, ".backup") {
			found[strings.Count(text, `"index_key"`)] = true
		}
	}
	for left := 1; left <= edits; left++ {
		if !found[left] {
			t.Errorf("no backup has %d objects: there are those of %v", left, found)
		}
	}
}
